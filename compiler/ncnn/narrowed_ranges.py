"""Gives open extents the ranges that equations leave them.

    (h + 31) // 32 == 7                                      h: 193..224
    ((h - 5) // 2) * ((w - 5) // 2) == 1, h >= 7, w >= 7     h: 7..8, w: 7..8
    h + w == 64                                              h: 1..63, w: 1..63

An inner product takes one number of elements, and so do weights behind a Flatten: the layers before
it round, and many images lead there. Where a quotient is a number in these ranges (`size_form.py`),
layers and weights behind it have the shapes of one size, and one compilation runs all images.

A range leaves no solution out: an extent is no larger than where all others are least.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from ncc.dialects.shapes import OpenShape
from ncc.dialects.size import Assumption, Size
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import Form
from ncc.dialects.size_needs import needed
from ncc.runtime.extents import Range

FURTHER = 256
"""How far beyond twice its hint another value of an extent is looked for."""


def with_ranges(
    shapes: Mapping[str, OpenShape], assumed: Iterable[Assumption]
) -> Mapping[str, OpenShape]:
    """The shapes with narrower ranges of extents about which something is assumed."""
    assumed = list(assumed)
    ranges: dict[str, Range] = {}
    least = _least_of(assumed)
    for one in assumed:
        for symbol, (first, last) in _left_by(one, least).items():
            low, high = ranges.get(symbol.name, (symbol.least, symbol.most))
            ranges[symbol.name] = max(first, low), last if high is None else min(last, high)

    def narrowed(symbol: Symbol) -> Form:
        least, most = ranges.get(symbol.name, (symbol.least, symbol.most))
        return Form.atom(replace(symbol, least=least, most=most))

    def extent(n: int | None) -> int | None:
        if not isinstance(n, Size):
            return n
        return Size.of(n.form.with_values({one.name: narrowed(one) for one in n.form.symbols}))

    return {name: tuple(map(extent, shape)) for name, shape in shapes.items()}


def _least_of(assumed: Iterable[Assumption]) -> dict[Symbol, int]:
    """The least value of each extent of which inequalities tell one, as windows do."""
    found: dict[Symbol, int] = {}
    for one in needed(one for one in assumed if one.relation == ">="):
        for symbol in one.form.symbols:
            bound = Form.atom(symbol).plus(one.form, -1).constant
            if bound is not None:
                found[symbol] = bound
    return found


def _left_by(one: Assumption, least: Mapping[Symbol, int]) -> dict[Symbol, tuple[int, int]]:
    """The range of each extent in an equation, if the equation limits it; none where a larger
    extent makes up for another larger one, as in a == b, or has gaps, as multiples of a number do.
    """
    if one.relation != "==":
        return {}
    symbols = one.form.symbols
    hints = {symbol.name: symbol.hint for symbol in symbols}
    beyond = {symbol: 2 * symbol.hint + FURTHER for symbol in symbols}
    ends = [one.form.value({**hints, symbol.name: beyond[symbol]}) for symbol in symbols]
    if not all(end > 0 for end in ends) and not all(end < 0 for end in ends):
        return {}
    sign = 1 if ends and ends[0] > 0 else -1
    others = {symbol.name: least.get(symbol, symbol.least) for symbol in symbols}

    def over(symbol: Symbol, n: int) -> int:
        """By how much the form is too large where an extent is n, and the others are least."""
        return sign * one.form.value({**others, symbol.name: n})

    found: dict[Symbol, tuple[int, int]] = {}
    for symbol, end in beyond.items():
        last = end if symbol.most is None else min(end, symbol.most)
        tried = range(others[symbol.name], last + 1)
        excess = {n: over(symbol, n) for n in tried}
        fits = [n for n, by in excess.items() if by == 0 or (by < 0 and len(symbols) > 1)]
        if symbol.hint not in fits or fits[-1] - fits[0] >= len(fits):
            return {}
        if over(symbol, end) > 0:
            found[symbol] = fits[0], fits[-1]
    return found
