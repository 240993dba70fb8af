"""Puts sizes in place of the extents of inputs that are open.

    data: 3 x ? x ?   ->   3 x data_h x data_w, which decisions take for 224 x 224

An extent that the layers allow one value only is that value: where a network is for 3 channels, the
first extent of ? x ? x ? is 3. One that has to equal another one, as those of two summands do, is
that other one, so that what is made of both is known to be of one size.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.ncnn.narrowed_ranges import FURTHER
from ncc.compiler.ncnn.open_shapes import open_shapes
from ncc.compiler.ncnn.ranges import ranges_of
from ncc.compiler.options import Options
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network, caches, implied_inputs, settling_inputs
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.shapes import OpenShape, Shape
from ncc.dialects.size import Assumption, Size, hint, is_equal, symbol_in
from ncc.dialects.size_atoms import Symbol
from ncc.dialects.size_form import Form, is_at_least
from ncc.runtime.extents import ANY, Range

CHANNELS, SIDE = 3, 224
"""The hint of the first extent of an image, and of all other open extents, if nobody gives one."""

Asked: TypeAlias = Mapping[str, OpenShape]


def default_hint(
    shape: OpenShape, ranges: Sequence[Range] = (), channels_last: bool = False
) -> Shape:
    """The shape that costs are compared for, where nobody says one."""
    found = []
    for axis, extent in enumerate(shape):
        least, most = ranges[axis] if ranges else ANY
        usual = CHANNELS if axis == 0 and len(shape) > 2 and not channels_last else SIDE
        within = max(least, usual if most is None else min(usual, most))
        found.append(within if extent is None else extent)
    return tuple(found)


def sized_shapes(module: ModuleOp, options: Options) -> dict[str, OpenShape]:
    """The shapes asked for, with sizes in place of extents that are open.

    Layers tell the shapes of caches and masks, unless a range is asked for. Raises Unsupported for
    an input that cannot have an open shape, or not beside another one.
    """
    network = Network.of(module)
    implied, emptied, settling = (
        names(network) for names in (implied_inputs, caches, settling_inputs)
    )
    known = open_shapes(module, options.input_shapes)
    shapes: dict[str, OpenShape] = dict(options.input_shapes)
    limited = ranges_of(module, options)
    taken: set[str] = set()
    for name, shape in known.items():
        is_told = name in implied and name not in options.ranges
        if shape is None or None not in shape or is_told:
            continue
        if settling or name in emptied - implied:
            raise Unsupported(
                f"open input {name!r} that may be empty, or beside one whose values decide shapes",
                nearest="a compilation for each shape",
            )
        ranges = limited.get(name, (ANY,) * len(shape))
        numbers = options.hints.get(name) or default_hint(shape, ranges, name in options.inputs)
        axes = axes_of(network.inputs[name], len(shape), name in options.inputs)
        symbols = extent_names(name, axes, taken)
        shapes[name] = tuple(
            Size.symbol(symbol, number, *range) if extent is None else extent
            for extent, symbol, number, range in zip(shape, symbols, numbers, ranges, strict=True)
        )
    return shapes


def has_sizes(shapes: Mapping[str, OpenShape]) -> bool:
    """Whether an extent of some shape is a size."""
    return any(isinstance(extent, Size) for shape in shapes.values() for extent in shape)


def with_equalities(shapes: Asked, assumed: Iterable[Assumption]) -> Asked:
    """The shapes with numbers, or expressions of other extents, in place of extents that are
    assumed to equal them.
    """
    symbols = [symbol for shape in shapes.values() for symbol in symbols_in(shape)]
    assumed = list(assumed)
    values = {one.name: Form.number(one.hint) for one in symbols if _is_decided(one, assumed)}
    for one in assumed:
        if one.relation != "==":
            continue
        found = _solved(one.form.with_values(values), symbols)
        if found is not None:
            values = {name: form.with_values(found) for name, form in values.items()} | found
    return {
        name: tuple(
            Size.of(extent.form.with_values(values)) if isinstance(extent, Size) else extent
            for extent in shape
        )
        for name, shape in shapes.items()
    }


def symbols_in(shape: Sequence[int | None]) -> Iterator[Symbol]:
    """The extents of inputs that a shape depends on."""
    for extent in shape:
        if isinstance(extent, Size):
            yield from extent.form.symbols


def _is_decided(symbol: Symbol, assumed: Iterable[Assumption]) -> bool:
    """Whether an extent has one value left, by its range, or by c // 4 == 3 and c % 4 == 0."""
    if symbol.least == symbol.most:
        return True
    forms = [one.form for one in assumed if one.relation == "==" and one.form.symbols == {symbol}]
    others = (n for n in range(1, 2 * symbol.hint + FURTHER) if n != symbol.hint)
    return bool(forms) and not any(
        all(form.value({symbol.name: n}) == 0 for form in forms) for n in others
    )


def _solved(form: Form, symbols: Sequence[Symbol]) -> dict[str, Form] | None:
    """What the last extent must be, of those that can be told, if a form is to be 0: a number, or
    an expression of others, if no range is asked of it, or the expression never leaves the range.
    """
    for symbol in reversed(symbols):
        factor = dict(form.terms).get((symbol,))
        if factor is None:
            continue
        rest = form.plus(Form.atom(symbol), -factor)
        if rest.constant is not None:
            return {symbol.name: Form.number(symbol.hint)}
        if abs(factor) == 1 and symbol not in rest.symbols:
            found = rest.times(Form.number(-factor))
            if (symbol.least, symbol.most) == ANY or _is_in_range(found, symbol):
                return {symbol.name: found}
    return None


def _is_in_range(form: Form, symbol: Symbol) -> bool:
    """Whether a form is always in the range of an extent."""
    below = None if symbol.most is None else Form.number(symbol.most).plus(form, -1)
    return is_at_least(form, symbol.least) and (below is None or is_at_least(below, 0))


def with_own_extents(shapes: Asked, network: Network) -> Asked:
    """The same, and the shapes that layers tell of other inputs.

    Each extent of these is a size of its own: it is assumed to be what the layers say. Caches may
    be empty.
    """
    inputs, emptied = network.inputs, caches(network)
    told = {name: shape_of(value) or () for name, value in inputs.items() if name not in shapes}
    held = {symbol for shape in shapes.values() for symbol in symbols_in(shape)}
    taken = {one.name for shape in (*shapes.values(), *told.values()) for one in symbols_in(shape)}
    found = dict(shapes)
    for name, shape in told.items():
        names = extent_names(name, axes_of(inputs[name], len(shape)), taken)
        own = list(shape)
        for axis, extent in enumerate(shape):
            if isinstance(extent, Size) and symbol_in(extent) in (None, *held):
                least = 0 if name in emptied else 1
                own[axis] = Size.symbol(names[axis], hint(extent), least)
                is_equal(own[axis], extent)
        held.update(symbols_in(own))
        found[name] = tuple(own)
    return found


def axes_of(value: SSAValue, rank: int, is_of_pixels: bool = False) -> Sequence[str]:
    """What the axes of an input are called."""
    if is_of_pixels:
        return "hwc"[:rank]
    return value.owner.axis_names(rank) if isinstance(value.owner, InputOp) else ()


def extent_names(blob: str, axes: Sequence[str], taken: set[str]) -> list[str]:
    """What the extents of an input are called in expressions: no two extents are one."""
    plain = re.sub(r"[^A-Za-z0-9_]", "_", blob)
    stem = plain if not plain[:1].isdigit() else f"_{plain}"
    names = []
    for axis in axes:
        name = f"{stem}_{axis}"
        while name in taken:
            name += "_"
        taken.add(name)
        names.append(name)
    return names
