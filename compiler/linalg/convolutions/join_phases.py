"""Phases of a transposed convolution as channels of one convolution.

    y[o, 2p]     += x[i, p + u - 1] * w[o, i, 3 - 2u]
    y[o, 2p + 1] += x[i, p + u] * w[o, i, 2 - 2u]
                                           ->    c[o, r, q] = sum x[i, q + u - 1] * v[o, r, i, u]
                                                 y[o, 2q + r - 1] = c[o, r, q]

Each phase sums the taps that meet its cells, which lie as far apart as the stride. Of few channels
it fills a part of its blocks, or stores lane by lane; all phases together fill more, and read the
image once. A phase that has no tap where another has one has a zero there: of the cells of the
result, so many in front are counted as make the window of all phases the narrowest.

    y[o, p] += x[i, p + u] * w[o, i, 2 - u]    ->    y[o, p] = sum x[i, p + u] * v[o, i, u]

Where the stride is 1 there is one phase, and v is w the other way round: algorithms of convolutions
are for both.

Needs: the structured level before views are sunk; sequences as images.  Breaks: the order of
floating-point sums, and what an infinite cell makes of a tap that is none.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.channels.packing import BLOCK
from ncc.compiler.linalg.convolutions.convolution import start_of
from ncc.compiler.linalg.convolutions.parts import following, part
from ncc.compiler.linalg.insert import doc_of, erase_dead, put_for, tensor_of
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.tensors import is_constant, pad_sides, pad_value, weights_of
from ncc.compiler.linalg.view import Access, View, shape_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.element import element_of
from ncc.dialects.weight import WeightAttr

WORTH = 0.75
"""The most lanes that are multiplied, of those of all phases, where they are joined to have fewer:
what is joined is moved apart. Windows of several taps are joined for the algorithms of convolutions
as well.
"""


@dataclass(frozen=True)
class JoinPhases(ModulePass):
    """Make one convolution of the phases of each such layer; see the head of this file."""

    name = "join-phases"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for first in list(generics_of(block)):
            found = _Transposed.of(first)
            if found is not None:
                found.rewrite()
        erase_dead(block)


@dataclass(frozen=True)
class _Walk:
    """How a phase walks an axis: cell stride * q + place takes tap `taps[d]` from cell q + d."""

    stride: int
    place: int
    taps: Mapping[int, int]

    @staticmethod
    def of(view: View, data: Access, weights: Access, axis: int, along: int | None) -> _Walk | None:
        """That along an axis of the image; along: the axis of the weights that has its taps."""
        out, read = view.write.index[axis], data.index[axis]
        cells = out.loops()
        sums = read.loops() - cells
        if len(cells) != 1 or len(sums) > 1 or not sums <= set(view.reduced):
            return None
        (cell,) = cells
        if read.coefficient(cell) != 1 or out.coefficient(cell) < 1:
            return None
        tap = None if along is None else weights.index[along]
        if tap is not None and tap.loops() != sums:
            return None
        taps: dict[int, int] = {}
        count = prod(view.extents[loop] for loop in sums)
        for u in range(count):
            at = read.constant + sum(u * read.coefficient(loop) for loop in sums)
            step = 0 if tap is None else tap.constant + sum(u * tap.coefficient(s) for s in sums)
            taps[at] = step
        return _Walk(out.coefficient(cell), out.constant, taps)

    def behind(self, before: int) -> _Walk:
        """The same if so many more cells of the result lie in front."""
        more, place = divmod(self.place + before, self.stride)
        return _Walk(self.stride, place, {d - more: tap for d, tap in self.taps.items()})


@dataclass(frozen=True)
class _Axis:
    """All phases of an axis, in one window.

    before: cells in front of the result that are counted with it. first: where the window of its
    cell 0 begins. places: the tap of each phase at each place of the window, -1 where it has none.
    """

    before: int
    first: int
    places: tuple[tuple[int, ...], ...]

    @staticmethod
    def of(walks: Sequence[_Walk]) -> _Axis:
        """By as many cells in front as make the window the narrowest."""
        stride = walks[0].stride
        choices = [_Axis._behind(walks, before) for before in range(stride)]
        return min(choices, key=lambda axis: axis.window)

    @staticmethod
    def _behind(walks: Sequence[_Walk], before: int) -> _Axis:
        moved = [walk.behind(before) for walk in walks]
        reach = [d for walk in moved for d in walk.taps]
        taps_of = {walk.place: walk.taps for walk in moved}
        places = tuple(
            tuple(taps_of.get(phase, {}).get(d, -1) for d in range(min(reach), max(reach) + 1))
            for phase in range(walks[0].stride)
        )
        return _Axis(before, min(reach), places)

    @property
    def stride(self) -> int:
        return len(self.places)

    @property
    def window(self) -> int:
        return len(self.places[0])

    def cells(self, extent: int) -> int:
        """How many of each phase there are for so many of the result."""
        return -(-(extent + self.before) // self.stride)


@dataclass(frozen=True)
class _Transposed:
    """The phases of a transposed convolution, each of which goes on from the one before, what its
    sums start from, the weights, and its axes.
    """

    phases: tuple[GenericOp, ...]
    image: SSAValue
    weights: SSAValue
    start: SSAValue | float
    axes: tuple[_Axis, ...]

    @staticmethod
    def of(op: GenericOp) -> _Transposed | None:
        start = start_of(op, 1)
        if start is None or (isinstance(start, SSAValue) and not is_constant(start)):
            return None
        found = _phase(op)
        if found is None:
            return None
        image, weights, walks = found
        phases, all_walks = [op], [walks]
        while (after := _next(phases[-1])) is not None:
            found = _phase(after)
            if found is None or found[:2] != (image, weights):
                return None
            phases.append(after)
            all_walks.append(found[2])
        by_axis = list(zip(*all_walks, strict=True))
        if any(len({walk.stride for walk in walks}) > 1 for walks in by_axis):
            return None
        places = {tuple(walk.place for walk in walks) for walks in all_walks}
        if len(places) < len(phases):
            return None
        axes = tuple(map(_Axis.of, by_axis))
        one = _Transposed(tuple(phases), image, weights, start, axes)
        return one if one._sees_image() and one._is_worth(all_walks) else None

    def _sees_image(self) -> bool:
        """Whether a window begins in the image: what crops leave may be all border."""
        x, inner = self._source()
        sides = zip(self.axes, inner, shape_of(x)[1:], strict=True)
        return all(axis.first - offset < extent for axis, offset, extent in sides)

    def _is_worth(self, phases: Sequence[Sequence[_Walk]]) -> bool:
        if len(phases) == 1:
            (walks,) = phases
            return all(walk.stride == 1 for walk in walks) and any(map(_is_reversed, walks))
        outputs = shape_of(self.weights)[0]
        apart = _lanes(outputs) * sum(prod(len(walk.taps) for walk in walks) for walks in phases)
        count = outputs * prod(axis.stride for axis in self.axes)
        window = prod(axis.window for axis in self.axes)
        return _lanes(count) * window <= (WORTH if window == 1 else 1) * apart

    def rewrite(self) -> None:
        """Put the convolution in place of the last phase, or of what follows it at each cell."""
        last = self.phases[-1]
        block = Block()
        b = Builder(block, doc_of(last))
        outputs, *sizes = shape_of(last.results[0])
        strides = [axis.stride for axis in self.axes]
        cells = [axis.cells(size) for axis, size in zip(self.axes, sizes, strict=True)]
        origins = tuple(n // prod(strides) for n in range(outputs * prod(strides)))
        y = self._convolution(b, origins, cells)
        value, end = last.results[0], last
        for op in _followers(last):
            y = _on_phases(b, op, value, y, origins)
            value, end = op.results[0], op
        if prod(strides) > 1:
            y = _apart(b, y, strides)
            y = b.slice(y, [0, *(axis.before for axis in self.axes)], [outputs, *sizes])
        put_for(end, block, y.value)

    def _convolution(self, b: Builder, origins: tuple[int, ...], cells: Sequence[int]) -> Tensor:
        """The sums of all phases, as channels; origins: the channel that each is a phase of."""
        x = self._windows(b, cells)
        kept = weights_of(self.weights)
        taps = self.axes[len(self.axes) + 2 - len(kept.shape) :]
        kept = kept.phases(tuple(axis.places for axis in taps))
        wide = [axis for axis in self.axes if axis.window > 1]
        w = b.reshape(b.weight(WeightAttr(kept)), [*kept.shape[:2], *(a.window for a in wide)])
        shape = (len(origins), *cells)
        if isinstance(self.start, float):
            start = b.full(shape, self.start)
        else:
            bias = b.weight(WeightAttr(weights_of(self.start).taken(origins)))
            start = b.spread(bias, shape, axis=0)
        names = [f"c:{len(origins)}", *(f"y{k}:{count}" for k, count in enumerate(cells))]
        names += [f"i:{x.shape[0]}", *(f"u{k}:{axis.window}" for k, axis in enumerate(wide))]
        c, *rest = b.loops(" ".join(names))
        ys, i, us = rest[: len(cells)], rest[len(cells)], rest[len(cells) + 1 :]
        taken = iter(us)
        places = [
            y + next(taken) if axis.window > 1 else y for y, axis in zip(ys, self.axes, strict=True)
        ]
        return b.sum((c, *ys), over=(i, *us), of=x[(i, *places)] * w[(c, i, *us)], init=start)

    def _source(self) -> tuple[SSAValue, list[int]]:
        """The image without a border, and how wide that is in front."""
        pad = self.image.owner
        if isinstance(pad, tensor.PadOp) and pad_value(pad) == 0 and _is_around(pad):
            return pad.source, pad_sides(pad)[0][1:]
        return self.image, [0] * len(self.axes)

    def _windows(self, b: Builder, cells: Sequence[int]) -> Tensor:
        """The image with as much of a border as the windows of these cells cover."""
        source, inner = self._source()
        x = tensor_of(source)
        begin, size, low, high = [0], [x.shape[0]], [0], [0]
        for axis, count, offset, extent in zip(self.axes, cells, inner, x.shape[1:], strict=True):
            first = axis.first - offset
            last = first + count - 1 + axis.window
            begin.append(max(0, first))
            size.append(min(extent, last) - max(0, first))
            low.append(max(0, -first))
            high.append(max(0, last - extent))
        return b.pad(b.slice(x, begin, size), low, high)


def _phase(op: GenericOp) -> tuple[SSAValue, SSAValue, list[_Walk]] | None:
    """The image and the weights of a sum of products over windows, and how it walks its axes."""
    view = View(op)
    pair = view.product()
    if pair is None or len(view.live) != 2 or op.attributes or view.computes_coordinates:
        return None
    data, weights = (view.reads[k] for k in pair)
    if not is_constant(weights.value) or {element_of(v) for v in op.operands} != {f32}:
        return None
    output, channel = view.write.index[0].bare, data.index[0].bare
    image = range(1, len(view.write.index))
    if len(data.index) != 3 or len(view.write.index) != 3 or output is None or channel is None:
        return None
    if channel not in view.reduced or not weights.begins_with(output, channel):
        return None
    taps = len(weights.index) - 2
    if taps != 2 and not (taps == 1 and shape_of(op.results[0])[1] == 1):
        return None
    walks = []
    for axis in image:
        along = axis + 1 if taps == 2 else 2 if axis == 2 else None
        walk = _Walk.of(view, data, weights, axis, along)
        if walk is None:
            return None
        walks.append(walk)
    return data.value, weights.value, walks


def _next(op: GenericOp) -> GenericOp | None:
    """The phase that goes on from what this one leaves."""
    use = op.results[0].get_unique_use()
    after = None if use is None else use.operation
    goes_on = isinstance(after, GenericOp) and after.outputs[0] is op.results[0]
    return after if goes_on and isinstance(after, GenericOp) else None


def _is_reversed(walk: _Walk) -> bool:
    """Whether later cells of the image are multiplied by earlier taps."""
    taps = [walk.taps[d] for d in sorted(walk.taps)]
    return taps != sorted(taps)


def _is_around(pad: tensor.PadOp) -> bool:
    """Whether a pad has a border of the image, and adds no channels."""
    low, high = pad_sides(pad)
    return not low[0] and not high[0] and min(*low, *high) >= 0


def _lanes(channels: int) -> int:
    return -(-channels // BLOCK) * BLOCK


def _followers(op: GenericOp) -> Iterator[GenericOp]:
    """What is computed at each cell behind op, of its channel and numbers of that."""
    value = op.results[0]
    for after in following(op):
        view = View(after)
        channel = view.write.index[:1]
        for access in view.reads:
            if access.value is not value and not (
                is_constant(access.value) and access.index == channel
            ):
                return
        yield after
        value = after.results[0]


def _on_phases(
    b: Builder, op: GenericOp, value: SSAValue, y: Tensor, origins: tuple[int, ...]
) -> Tensor:
    """What follows a transposed convolution, of the phases of its channels."""

    def operand(access: Access, view: View) -> SSAValue:
        if access.value is value:
            return y.value
        return b.weight(WeightAttr(weights_of(access.value).taken(origins))).value

    return part(b, op, y.shape, operand)


def _apart(b: Builder, y: Tensor, strides: Sequence[int]) -> Tensor:
    """Phases that are channels, where their cells lie."""
    outputs, (rows, columns) = y.shape[0] // prod(strides), strides
    parts = b.expand(y, [[0, 1, 2], [3], [4]], [outputs, rows, columns, *y.shape[1:]])
    o, p, row, q, column = b.loops_of((outputs, y.shape[1], rows, y.shape[2], columns))
    cells = b.map((o, p, row, q, column), parts[o, row, column, p, q])
    return b.collapse(cells, [[0], [1, 2], [3, 4]])
