"""A transposed convolution becomes one convolution for all its phases, or one for each phase.

    y[o, 2p]     += x[i, p + u - 1] * w[o, i, 3 - 2u]
    y[o, 2p + 1] += x[i, p + u] * w[o, i, 2 - 2u]
                                           ->    c[o, r, q] = sum x[i, q + u - 1] * v[o, r, i, u]
                                                 y[o, 2q + r - 1] = c[o, r, q]

A phase is the elements of the result that lie a stride apart; it sums the taps that meet them. With
few channels, a phase does not fill its blocks, or stores lane by lane. All phases together fill
more lanes, and read the image once. If a phase lacks a tap that another phase has, its weight is
zero. The result gets as many elements in front as make the window of all phases narrowest.

    the same                               ->    c[o, p] = sum x[i, p + u - 1] * v[o, i, u]
                                                 d[o, p] = sum x[i, p + u] * t[o, i, u]
                                                 y[o, 2p], y[o, 2p + 1] = c[o, p], d[o, p]

Each phase becomes a convolution if that is cheaper: then the result has no elements in front, which
are many for a small image, and Winograd may fit the windows of single phases better.

    y[o, p] += x[i, p + u] * w[o, i, 2 - u]    ->    y[o, p] = sum x[i, p + u] * v[o, i, u]

With stride 1 there is one phase, and v is w reversed. Then algorithms for convolutions apply.

    y[o, p] += x[i, p + u - 3] * w[o, i, 3 - u]    ->    y[(o, p)] = sum x[i, 0] * w[o, i, p]

If the image is one element, each element of the result sees one tap and is a phase: this is a
matrix product.

Needs: the linalg level before views are sunk; sequences as images.  Breaks: the order of
floating-point sums, and what an infinite element makes of a tap that is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant, weights_of
from ncc.compiler.linalg.convolutions.choose_tiles import cycles_of, plain_cycles, shown
from ncc.compiler.linalg.convolutions.transposed import Axis, TransposedConvolution
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.insert import builder_for, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import following, part
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import by_hint, is_open, largest, smallest
from ncc.dialects.weights.derived import Phases, Taken
from ncc.dialects.weights.weight import WeightAttr


class JoinPhases(LinalgPattern["_Joining"], TargetPass):
    """Rewrite transposed convolutions as convolutions."""

    name = "join-phases"

    def match(self, op: GenericOp) -> _Joining | str | None:
        layer = TransposedConvolution.of(op)
        if layer is None:
            return None
        most = self.target.costs.convolutions.most_phases
        if _count(layer) > most:
            return f"it has more than {most} phases"
        if layer.reach > most:
            return f"its windows reach beyond more than {most} elements"
        way = _best(layer, self.target)
        if isinstance(way, str):
            return way
        return (
            _Joining(layer, way) if way.sees(layer) else "some of its windows see the border alone"
        )

    def describe(self, found: _Joining) -> str:
        return f"as {len(found.way.axes)} convolution" + "s" * (len(found.way.axes) > 1)

    def rewrite(self, found: _Joining) -> None:
        last = found.layer.phases[-1]
        b = builder_for(last)
        outputs, strides = shape_of(last.results[0])[0], found.way.strides
        made = [_convolution(b, found.layer, axes, found.way.extents) for axes in found.way.axes]
        y, joined = b.concat(made, 0), len(made) == 1
        origins = _origins(outputs, prod(strides)) if joined else (*range(outputs),) * len(made)
        value, end = last.results[0], last
        for op in _followers(last):
            y = _on_phases(b, op, value, y, origins)
            value, end = op.results[0], op
        if prod(strides) > 1:
            y = _apart(b, y, strides, joined)
            y = b.slice(y, [0, *found.way.before], [outputs, *found.layer.sizes])
        replace_op(end, b, y)


class _Way(NamedTuple):
    """One convolution for all phases, or one for each phase in order.

    axes: the axes of each convolution. extents: those of its result. strides: from element to
    element of a phase. before: elements in front of the result.
    """

    axes: tuple[tuple[Axis, ...], ...]
    extents: tuple[int, ...]
    strides: tuple[int, ...]
    before: tuple[int, ...]

    @staticmethod
    def joined(layer: TransposedConvolution) -> _Way:
        x, inner = layer.source()
        axes = tuple(
            Axis.of_one_element(walks, at, size) if _spreads(extent, size) else Axis.of(walks)
            for walks, at, size, extent in zip(
                zip(*layer.walks, strict=True), inner, layer.sizes, shape_of(x)[1:], strict=True
            )
        )
        extents = (axis.elements(size) for axis, size in zip(axes, layer.sizes, strict=True))
        strides, before = (axis.stride for axis in axes), (axis.before for axis in axes)
        return _Way((axes,), tuple(extents), tuple(strides), tuple(before))

    @staticmethod
    def apart(layer: TransposedConvolution) -> _Way:
        placed = sorted(layer.walks, key=lambda walks: [walk.offset for walk in walks])
        axes = tuple(tuple(map(Axis.of_phase, walks)) for walks in placed)
        strides = tuple(walk.stride for walk in placed[0])
        extents = (-(-size // stride) for size, stride in zip(layer.sizes, strides, strict=True))
        return _Way(axes, tuple(extents), strides, (0,) * len(strides))

    def sees(self, layer: TransposedConvolution) -> bool:
        """Whether windows begin in the image. After a crop, they may see border alone."""
        x, inner = layer.source()
        return all(
            axis.first - offset < extent
            for axes in self.axes
            for axis, offset, extent in zip(axes, inner, shape_of(x)[1:], strict=True)
        )

    def cycles(self, layer: TransposedConvolution, target: Target) -> float:
        """The cost, in tiles if they are cheaper."""
        outputs, inputs = shape_of(layer.weights)[:2]
        return sum(
            cycles_of(
                outputs * prod(axis.stride for axis in axes),
                inputs,
                self.extents,
                [axis.window for axis in axes],
                target,
            )
            for axes in self.axes
        )


class _Joining(NamedTuple):
    """A transposed convolution, and its replacement."""

    layer: TransposedConvolution
    way: _Way


def _spreads(extent: int, size: int) -> bool:
    """Whether each element of the result is a phase, which one element of the image makes."""
    return extent == 1 and not is_open(size) and size > 1


def _count(layer: TransposedConvolution) -> int:
    """How many phases one convolution would compute, including those without taps."""
    extents = shape_of(layer.source()[0])[1:]
    return prod(
        size if _spreads(extent, size) else walk.stride
        for walk, size, extent in zip(layer.walks[0], layer.sizes, extents, strict=True)
    )


@by_hint()
def _best(layer: TransposedConvolution, target: Target) -> _Way | str:
    """The cheapest replacement, or why the phases stay as they are."""
    joined, extents = _Way.joined(layer), shape_of(layer.source()[0])[1:]
    if any(map(_spreads, extents, layer.sizes)):
        return joined
    if len(layer.phases) == 1:
        (walks,) = layer.walks
        flat = all(walk.stride == 1 for walk in walks)
        reversed_taps = flat and any(walk.is_reversed for walk in walks)
        return joined if reversed_taps else "it is one phase, whose taps are in order"
    best, cycles = joined, joined.cycles(layer, target)
    apart = _Way.apart(layer)
    if len(layer.phases) == prod(apart.strides):
        least = apart.cycles(layer, target)
        if least <= target.costs.convolutions.phases_apart_worth * cycles:
            best, cycles = apart, least
    wide = any(len(walk.taps) > 1 for walks in layer.walks for walk in walks)
    plain = _plain(layer, target)
    worth = 1 if wide else target.costs.convolutions.joined_phases_worth
    if cycles <= worth * plain:
        return best
    return (
        f"phases as they are cost less; estimated cycles: as they are {shown(plain)}, "
        f"as convolutions {shown(cycles)}, which must be at most {worth:g} of that"
    )


def _plain(layer: TransposedConvolution, target: Target) -> float:
    """The cost of the phases as they are."""
    outputs, inputs = shape_of(layer.weights)[:2]
    total = 0.0
    for walks in layer.walks:
        pairs = zip(layer.sizes, walks, strict=True)
        extents = [-(-(size - walk.offset) // walk.stride) for size, walk in pairs]
        taps = [len(walk.taps) for walk in walks]
        total += plain_cycles(outputs, inputs, extents, taps, target)
    return total


def _convolution(
    b: Builder, layer: TransposedConvolution, axes: Sequence[Axis], extents: Sequence[int]
) -> Tensor:
    """The sums of the phases of these axes, as channels."""
    x = _windows(b, layer, axes, extents)
    kept = weights_of(layer.weights)
    origins = _origins(kept.shape[0], prod(axis.stride for axis in axes))
    taps = axes[len(axes) + 2 - len(kept.shape) :]
    kept = Phases(kept, tuple(axis.taps for axis in taps)).weights
    wide = [axis for axis in axes if axis.window > 1]
    w = b.reshape(b.weight(WeightAttr(kept)), [*kept.shape[:2], *(a.window for a in wide)])
    shape = (len(origins), *extents)
    if isinstance(layer.start, float):
        start = b.full(shape, layer.start)
    else:
        bias = b.weight(WeightAttr(Taken(weights_of(layer.start), origins).weights))
        start = b.spread(bias, shape, axis=0)
    sizes = {"c": len(origins), **{f"y{k}": count for k, count in enumerate(extents)}}
    sizes |= {"i": x.shape[0], **{f"u{k}": axis.window for k, axis in enumerate(wide)}}
    c, *rest = b.loops(" ".join(sizes), **sizes)
    ys, i, us = rest[: len(extents)], rest[len(extents)], rest[len(extents) + 1 :]
    taken = iter(us)
    index = [y + next(taken) if axis.window > 1 else y for y, axis in zip(ys, axes, strict=True)]
    return b.sum((c, *ys), over=(i, *us), of=x[(i, *index)] * w[(c, i, *us)], init=start)


def _windows(
    b: Builder, layer: TransposedConvolution, axes: Sequence[Axis], extents: Sequence[int]
) -> Tensor:
    """The image with the border that the windows of these elements cover."""
    source, inner = layer.source()
    x = tensor_of(source)
    begin, size, low, high = [0], [x.shape[0]], [0], [0]
    for axis, count, offset, extent in zip(axes, extents, inner, x.shape[1:], strict=True):
        first = axis.first - offset
        last = first + count - 1 + axis.window
        begin.append(max(0, first))
        size.append(smallest(extent, last) - max(0, first))
        low.append(max(0, -first))
        high.append(largest(0, last - extent))
    return b.pad(b.slice(x, begin, size), low, high)


def _origins(channels: int, phases: int) -> tuple[int, ...]:
    """The channel of each phase, if the phases of a channel are neighbours."""
    return tuple(n // phases for n in range(channels * phases))


def _followers(op: GenericOp) -> Iterator[GenericOp]:
    """The pointwise operations after op that read its result and vectors of channels."""
    value = op.results[0]
    for after in following(op):
        linalg_op = LinalgOp(after)
        channel = linalg_op.write.index[:1]
        for access in linalg_op.reads:
            if access.value is not value and not (
                is_constant(access.value) and access.index == channel
            ):
                return
        yield after
        value = after.results[0]


def _on_phases(
    b: Builder, op: GenericOp, value: SSAValue, y: Tensor, origins: tuple[int, ...]
) -> Tensor:
    """A follower, applied to y, whose channels are phases of channels."""

    def operand(access: TensorAccess, linalg_op: LinalgOp) -> SSAValue:
        if access.value is value:
            return y.value
        return b.weight(WeightAttr(Taken(weights_of(access.value), origins).weights)).value

    return part(b, op, y.shape, operand)


def _apart(b: Builder, y: Tensor, strides: Sequence[int], joined: bool) -> Tensor:
    """Moves the elements of phases, which are channels of y, to their rows and columns.

    joined: whether the phases of a channel are neighbours, or else the channels of a phase.
    """
    outputs, (rows, columns) = y.shape[0] // prod(strides), strides
    order = [outputs, rows, columns] if joined else [rows, columns, outputs]
    parts = b.expand(y, [[0, 1, 2], [3], [4]], [*order, *y.shape[1:]])
    o, p, row, q, column = b.loops_of((outputs, y.shape[1], rows, y.shape[2], columns))
    channel = (o, row, column) if joined else (row, column, o)
    moved = b.map((o, p, row, q, column), parts[(*channel, p, q)])
    return b.collapse(moved, [[0], [1, 2], [3, 4]])
