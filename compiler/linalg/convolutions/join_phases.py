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

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.channels.packing import lanes_in
from ncc.compiler.linalg.convolutions.parts import following, part
from ncc.compiler.linalg.convolutions.transposed import TransposedConvolution
from ncc.compiler.linalg.insert import doc_of, erase_dead, put_for, tensor_of
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.tensors import is_constant, weights_of
from ncc.compiler.linalg.view import Access, View, shape_of
from ncc.dialects.comprehension import Builder, Tensor
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
            layer = TransposedConvolution.of(first)
            if layer is not None and _sees_image(layer) and _is_worth(layer):
                _rewrite(layer)
        erase_dead(block)


def _sees_image(layer: TransposedConvolution) -> bool:
    """Whether a window begins in the image: what crops leave may be all border."""
    x, inner = layer.source()
    sides = zip(layer.axes, inner, shape_of(x)[1:], strict=True)
    return all(axis.first - offset < extent for axis, offset, extent in sides)


def _is_worth(layer: TransposedConvolution) -> bool:
    """Whether all phases together multiply fewer lanes, or the only one has its taps reversed."""
    if len(layer.phases) == 1:
        (walks,) = layer.walks
        return all(walk.stride == 1 for walk in walks) and any(walk.is_reversed for walk in walks)
    outputs = shape_of(layer.weights)[0]
    apart = lanes_in(outputs) * sum(prod(len(walk.taps) for walk in walks) for walks in layer.walks)
    count = outputs * prod(axis.stride for axis in layer.axes)
    window = prod(axis.window for axis in layer.axes)
    return lanes_in(count) * window <= (WORTH if window == 1 else 1) * apart


def _rewrite(layer: TransposedConvolution) -> None:
    """Put the convolution in place of the last phase, or of what follows it at each cell."""
    last = layer.phases[-1]
    block = Block()
    b = Builder(block, doc_of(last))
    outputs, *sizes = shape_of(last.results[0])
    strides = [axis.stride for axis in layer.axes]
    cells = [axis.cells(size) for axis, size in zip(layer.axes, sizes, strict=True)]
    origins = tuple(n // prod(strides) for n in range(outputs * prod(strides)))
    y = _convolution(b, layer, origins, cells)
    value, end = last.results[0], last
    for op in _followers(last):
        y = _on_phases(b, op, value, y, origins)
        value, end = op.results[0], op
    if prod(strides) > 1:
        y = _apart(b, y, strides)
        y = b.slice(y, [0, *(axis.before for axis in layer.axes)], [outputs, *sizes])
    put_for(end, block, y.value)


def _convolution(
    b: Builder, layer: TransposedConvolution, origins: tuple[int, ...], cells: Sequence[int]
) -> Tensor:
    """The sums of all phases, as channels; origins: the channel that each is a phase of."""
    x = _windows(b, layer, cells)
    kept = weights_of(layer.weights)
    taps = layer.axes[len(layer.axes) + 2 - len(kept.shape) :]
    kept = kept.phases(tuple(axis.places for axis in taps))
    wide = [axis for axis in layer.axes if axis.window > 1]
    w = b.reshape(b.weight(WeightAttr(kept)), [*kept.shape[:2], *(a.window for a in wide)])
    shape = (len(origins), *cells)
    if isinstance(layer.start, float):
        start = b.full(shape, layer.start)
    else:
        bias = b.weight(WeightAttr(weights_of(layer.start).taken(origins)))
        start = b.spread(bias, shape, axis=0)
    names = [f"c:{len(origins)}", *(f"y{k}:{count}" for k, count in enumerate(cells))]
    names += [f"i:{x.shape[0]}", *(f"u{k}:{axis.window}" for k, axis in enumerate(wide))]
    c, *rest = b.loops(" ".join(names))
    ys, i, us = rest[: len(cells)], rest[len(cells)], rest[len(cells) + 1 :]
    taken = iter(us)
    places = [
        y + next(taken) if axis.window > 1 else y for y, axis in zip(ys, layer.axes, strict=True)
    ]
    return b.sum((c, *ys), over=(i, *us), of=x[(i, *places)] * w[(c, i, *us)], init=start)


def _windows(b: Builder, layer: TransposedConvolution, cells: Sequence[int]) -> Tensor:
    """The image with as much of a border as the windows of these cells cover."""
    source, inner = layer.source()
    x = tensor_of(source)
    begin, size, low, high = [0], [x.shape[0]], [0], [0]
    for axis, count, offset, extent in zip(layer.axes, cells, inner, x.shape[1:], strict=True):
        first = axis.first - offset
        last = first + count - 1 + axis.window
        begin.append(max(0, first))
        size.append(min(extent, last) - max(0, first))
        low.append(max(0, -first))
        high.append(max(0, last - extent))
    return b.pad(b.slice(x, begin, size), low, high)


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
