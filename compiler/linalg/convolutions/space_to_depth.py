"""Strided convolutions of few channels read an image whose channels are phases of the old image.

    y[o, p, q] = init + the sum of x[i, s*p + k, s*q + l] * w[o, i, k, l]

    z[(i, e, f), p, q] = x[i, s*p + e, s*q + f]                  v[o, (i, e, f), k, l] =
    y[o, p, q] = init + the sum of z[c, p + k, q + l]                 w[o, i, s*k + e, s*l + f]
                                 * v[o, c, k, l]                      or 0 after the window

The new convolution has stride 1 and enough channels for Winograd: a first layer of 11x11 with
stride 4 gets windows of 3x3 over 48 channels. It pays if tiles, with the copy of the image, are
cheaper. A layer of 7x7 with stride 2 gets 12 channels only: in a ResNet, tiles of these would save
2 to 4 % on one thread, and lose as much on two.

Needs: the linalg level before algorithms of convolutions are chosen, plain images.
Breaks: nothing by itself.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value, weights_of
from ncc.compiler.linalg.convolutions.choose_tiles import cycles_of, plain_cycles, shown
from ncc.compiler.linalg.convolutions.convolution import SpatialConvolution, start_of
from ncc.compiler.linalg.rewrite.decisions import TargetPass
from ncc.compiler.linalg.rewrite.insert import builder_for, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import by_hint, smallest
from ncc.dialects.structured import pad_sides
from ncc.dialects.weights.derived import Unstrided
from ncc.dialects.weights.weight import WeightAttr


class SpaceToDepth(LinalgPattern["_Strided"], TargetPass):
    """Make phases of the image channels."""

    name = "space-to-depth"

    def match(self, op: GenericOp) -> _Strided | str | None:
        linalg_op = LinalgOp(op)
        found = SpatialConvolution.of(linalg_op)
        if isinstance(found, str) or len(found.windows) != 2 or len(found.channels) > 1:
            return None
        outputs, inputs, *window = shape_of(found.w.value)
        stride = found.windows[1].stride
        if len(window) < 2 or window[0] != window[1]:
            return "its window is one element, or no square"
        if stride == 1:
            return "its stride is 1"
        if stride >= window[0]:
            return "its stride is not less than its window"
        if {one.strides for one in found.windows} != {(stride, 1)} or start_of(op, 1) is None:
            return "it has a dilation, or its sums start from other values than a bias"
        if found.x.index[0].bare != found.inputs:
            return "its image has no axis of channels in front"
        split, fewest = inputs * stride**2, self.target.costs.winograd.fewest_tiled_channels
        if inputs >= fewest:
            return f"it reads {fewest} channels or more"
        if split < fewest:
            return f"its phases are {split} channels, fewer than {fewest}"
        return _Strided(op, found.x.value, found.w.value, stride)

    def check(self, found: _Strided) -> str | None:
        phases, plain = found.cycles(self.target)
        if phases <= self.target.costs.convolutions.phases_worth * plain:
            return None
        return f"a copy of the image does not pay; {_shown(phases, plain)}"

    def describe(self, found: _Strided) -> str:
        return _shown(*found.cycles(self.target))

    def rewrite(self, found: _Strided) -> None:
        b = builder_for(found.op)
        weight = Unstrided(weights_of(found.weights), found.stride).weights
        channels, *window = weight.shape[1:]
        *_, rows, columns = shape_of(found.op.results[0])
        size = rows + window[0] - 1, columns + window[1] - 1
        z, v = found.phases(b, size), b.weight(WeightAttr(weight))
        o, p, q, c, k, m = b.loops_of((weight.shape[0], rows, columns, channels, *window))
        init = tensor_of(outs_of(found.op))
        y = b.sum((o, p, q), over=(c, k, m), of=z[c, p + k, q + m] * v[o, c, k, m], init=init)
        replace_op(found.op, b, y)


def _shown(phases: float, plain: float) -> str:
    return f"estimated cycles: as it is {shown(plain)}, of phases {shown(phases)}"


class _Strided(NamedTuple):
    """A convolution of an image x by square windows, at a stride along both axes."""

    op: GenericOp
    x: SSAValue
    weights: SSAValue
    stride: int

    @by_hint()
    def cycles(self, target: Target) -> tuple[float, float]:
        """The cost of a convolution of phases, with the copy of the image, and of this one."""
        outputs, inputs, *window = shape_of(self.weights)
        *_, rows, columns = shape_of(self.op.results[0])
        extents, split = (rows, columns), inputs * self.stride**2
        taps = -(-window[0] // self.stride)
        moved = (
            target.costs.convolutions.moved_to_phase * split * prod(n + taps - 1 for n in extents)
        )
        tiled = moved + cycles_of(outputs, split, extents, (taps, taps), target)
        return tiled, plain_cycles(outputs, inputs, extents, window, target)

    def phases(self, b: Builder, size: tuple[int, int]) -> Tensor:
        """The phases of the image as channels, with so many rows and columns."""
        step = self.stride
        image = _cut(b, self.x, [n * step for n in size])
        channels, (rows, columns) = image.shape[0], size
        parts = b.expand(image, [[0], [1, 2], [3, 4]], [channels, rows, step, columns, step])
        i, e, f, p, q = b.loops_of((channels, step, step, rows, columns))
        return b.collapse(b.map((i, e, f, p, q), parts[i, p, e, q, f]), [[0, 1, 2], [3], [4]])


def _cut(b: Builder, x: SSAValue, size: list[int]) -> Tensor:
    """The image with so many rows and columns, cut or padded at the end."""
    pad, low, value = x.owner, [0, 0, 0], 0.0
    if isinstance(pad, tensor.PadOp):
        x, low, value = pad.source, pad_sides(pad)[0], pad_value(pad)
    image = tensor_of(x)
    room = [n - before for n, before in zip(size, low[1:], strict=True)]
    kept = [smallest(n, own) for n, own in zip(room, image.shape[1:], strict=True)]
    image = b.slice(image, [0, 0, 0], [image.shape[0], *kept])
    return b.pad(image, low, [0, *(n - own for n, own in zip(room, kept, strict=True))], value)
