"""Hints of open extents that the layers take together.

    a: 3 x 64..128 x ?     b: 3 x 100..512 x ?      c = a + b

The usual hints of a and b are 128 and 224, but the sum takes equal extents: so both are 128. Shape
inference notes what it took for different. Where it fails, an extent moves, within its range, so
that two of these are equal, and shapes are inferred again. Last, all extents become smaller, and
then larger.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Set
from dataclasses import replace
from functools import partial
from itertools import combinations
from textwrap import shorten
from typing import TypeAlias

from ncc.compiler.diagnostics import ModelError
from ncc.dialects.shapes import OpenShape
from ncc.dialects.size import Assumption, Size, assuming
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import ZERO, Form, is_at_least
from ncc.runtime.errors import InputError
from ncc.runtime.extents import ANY, is_within, shown_range

Asked: TypeAlias = Mapping[str, OpenShape]
Infer: TypeAlias = Callable[[Asked], None]

MOST_TRIES = 16
"""How often extents are moved: networks have few open ones."""

FACTORS = (1, 0.5, 0.25, 0.125, 2, 4)
"""Of the usual hints, in the order in which they are tried."""

MOST_TRIED = 4096
"""Extents below this are tried where quotients of one have to be a number, as of channels."""

MOST_ALIKE = 2
"""So many extents of an equation become one number: images are square, if one of their sizes fits.
"""

MOST_SHOWN = 100
"""Characters of an equation that an error shows."""


def with_fitting_hints(asked: Asked, infer: Infer) -> tuple[Asked, Iterable[Assumption]]:
    """The shapes with hints for which shapes are inferred, and what that takes for granted, which
    nothing notes.

    Raises the ModelError of the first hints where none are found, and InputError where that is so
    because of the ranges that are asked for.
    """
    try:
        return _fitting(asked, infer)
    except ModelError:
        free = _with_symbols(asked, lambda one: replace(one, least=1, most=None))
        if free != asked:
            _check_ranges(asked, free, infer)
        raise


def _fitting(asked: Asked, infer: Infer) -> tuple[Asked, Iterable[Assumption]]:
    """The same without a look at ranges that do not meet.

    Where the usual hints and their neighbours fail, smaller and larger images are tried: a table of
    positions has no more rows, or a window is as large as that.
    """
    first: ModelError | None = None
    is_open = any(isinstance(extent, Size) for shape in asked.values() for extent in shape)
    for factor in FACTORS if is_open else FACTORS[:1]:
        shapes = _with_symbols(asked, partial(_scaled, factor))
        for _ in range(MOST_TRIES):
            with assuming(kept=False) as assumed:
                try:
                    infer(shapes)
                    return shapes, assumed
                except ModelError as error:
                    first = first or error
            moved = next(_moved(shapes, assumed), None)
            if moved is None:
                break
            shapes = moved
    assert first is not None
    raise first


def _moved(shapes: Asked, assumed: Iterable[Assumption]) -> Iterator[Asked]:
    """The shapes with other hints, for which sizes are equal that were taken for different: two
    sizes first, then a size and a number. Last come extents of 1, since these broadcast: layers may
    take any.
    """
    forms = [one.form for one in assumed if one.relation == "!="]
    for least in (2, 1):
        for form in sorted(forms, key=lambda form: len(form.symbols) < 2):
            hints = _hints_for(form, least)
            if hints:
                yield _with_symbols(shapes, partial(_hinted, hints))


def _scaled(factor: float, symbol: Symbol) -> Symbol:
    """An extent whose hint is so many times as large, as far as its range lets it be."""
    hint = max(int(symbol.hint * factor), symbol.least)
    return replace(symbol, hint=hint if symbol.most is None else min(hint, symbol.most))


def _hinted(hints: Mapping[str, int], symbol: Symbol) -> Symbol:
    return replace(symbol, hint=hints.get(symbol.name, symbol.hint))


def _hints_for(form: Form, least: int) -> dict[str, int]:
    """Other hints of one extent, or of two, for which a form is 0; none where ranges do not let it,
    or below the least one.
    """
    factors = {m[0]: f for m, f in form.terms if len(m) == 1 and isinstance(m[0], Symbol)}
    for symbol, factor in reversed(factors.items()):
        to, rest = divmod(symbol.hint * factor - form.hint, factor)
        if not rest and _fits(form, {symbol}, to, least):
            return {symbol.name: to}
    for (one, f), (other, g) in combinations(factors.items(), 2):
        if f == -g and len(form.terms) == 2:
            low = max(one.least, other.least)
            most = min(one.most or low, other.most or low)
            if 1 < low <= most:
                return {one.name: most, other.name: most}
    if len(form.symbols) > MOST_ALIKE:
        return {}
    usual = max(symbol.hint for symbol in form.symbols)
    for to in sorted(range(1, MOST_TRIED), key=lambda n: abs(n - usual)):
        if _fits(form, form.symbols, to, least):
            return {symbol.name: to for symbol in form.symbols}
    return {}


def _fits(form: Form, symbols: Set[Symbol], to: int, least: int) -> bool:
    """Whether the form is 0 where some extents are `to`, and they can be that."""
    if to < least or not all(is_within(to, (one.least, one.most)) for one in symbols):
        return False
    values = {one.name: one.hint for one in form.symbols}
    return form.value({**values, **{one.name: to for one in symbols}}) == 0


def _with_symbols(asked: Asked, change: Callable[[Symbol], Symbol]) -> Asked:
    """The shapes with other symbols of the same names."""

    def changed(extent: int | None) -> int | None:
        if not isinstance(extent, Size):
            return extent
        symbols = {one.name: Form.atom(change(one)) for one in extent.form.symbols}
        return Size.of(extent.form.with_values(symbols))

    return {name: tuple(map(changed, shape)) for name, shape in asked.items()}


def _check_ranges(asked: Asked, free: Asked, infer: Infer) -> None:
    """Raise InputError where the layers take shapes, but none in the ranges."""
    try:
        _, assumed = _fitting(free, infer)
    except ModelError:
        return
    inputs = {
        symbol.name: (name, symbol)
        for name, shape in asked.items()
        for extent in shape
        if isinstance(extent, Size)
        for symbol in extent.form.symbols
    }
    ranged = {name: Form.atom(symbol) for name, (_, symbol) in inputs.items()}
    for one in assumed:
        form = one.form.with_values(ranged)
        if one.relation == "==" and any(is_at_least(f, 1) for f in (form, ZERO.plus(form, -1))):
            said = [inputs[symbol.name] for symbol in sorted(form.symbols, key=lambda s: s.name)]
            ranges = ((s, (s.least, s.most)) for _, s in said)
            found = ", ".join(f"{s.name} is {shown_range(r)}" for s, r in ranges if r != ANY)
            names = " and ".join(dict.fromkeys(repr(name) for name, _ in said))
            raise InputError(
                f"no shapes of {names} in their ranges fit the layers, which take "
                f"{shorten(str(replace(one, form=form)), MOST_SHOWN, placeholder=' ..')}: {found}"
            )
