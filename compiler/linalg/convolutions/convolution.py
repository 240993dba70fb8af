"""What a convolution is that tiles can compute: by a window that is a square, a row or a column, in
groups or not, or of slices.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod
from typing import TypeGuard

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.linalg_op import (
    LinalgOp,
    TensorAccess,
    filled_with,
    outs_of,
    shape_of,
)
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_value
from ncc.compiler.linalg.convolutions.choose_tiles import (
    FEWEST_CHANNELS,
    Costs,
    costs_of,
    tiling_of,
)
from ncc.compiler.linalg.convolutions.forms import BOTH
from ncc.compiler.linalg.convolutions.tiling import Tiling
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.linalg.data_types.bf16_values import STEP
from ncc.compiler.linalg.data_types.split_bf16 import FEWEST_ROWS
from ncc.compiler.target import Target
from ncc.dialects.element import element_of


@dataclass(frozen=True)
class Convolution:
    """y[o, p, q] = init[o] + the sum of x[i, s*p+k, s*q+l] * w[o, i, k, l] over i and a window.

    In groups, y[g, o, p, q] = init[g, o] + the sum of x[g*I + i, s*p+k, s*q+l] * w[g, o, i, k, l].
    With a dilation d, it is x[i, p+d*k, q+d*l].
    Of a volume, there are slices beside: y[o, z, ..] by x[i, S*z+e*d, ..] * w[o, i, d, ..].
    halves: whether sums by halves of bfloat16 competed.
    """

    op: GenericOp
    x: SSAValue
    weights: SSAValue
    init: SSAValue | float
    tiling: Tiling
    halves: bool = False

    @property
    def costs(self) -> Costs:
        """The algorithms that competed."""
        t = self.tiling
        sizes = t.outputs, t.inputs, t.height, t.width, t.target, t.groups, t.depth, t.dilation
        return costs_of(*sizes, t.axes, t.form.taps, t.form.stride, self.halves)

    def has_tiles_of(self, other: Convolution) -> bool:
        """Whether tiles of what both read are the same, channel by channel."""
        alike = replace(self.tiling, outputs=other.tiling.outputs) == other.tiling
        return alike and self.tiling.groups == 1

    def beside(self) -> list[GenericOp]:
        """The other computations that read its image, in the same border, in any order."""
        pad, images = self.x.owner, [self.x]
        if isinstance(pad, tensor.PadOp):
            pads = [use.operation for use in pad.source.uses]
            images = [one.result for one in pads if _same_border(one, pad)]
        found = (use.operation for image in images for use in image.uses)
        return [one for one in found if isinstance(one, GenericOp) and one is not self.op]


def _same_border(one: Operation, pad: tensor.PadOp) -> TypeGuard[tensor.PadOp]:
    """Whether cells of both are the same; behind them may be more than tiles of both read."""
    if not isinstance(one, tensor.PadOp) or pad_value(one) != pad_value(pad):
        return False
    return one.static_low == pad.static_low


def match(op: GenericOp, target: Target, halves: bool = False) -> Convolution | str:
    """The convolution that op is, or why it is not computed in tiles.

    halves: whether `SplitBf16` follows.
    """
    linalg_op = LinalgOp(op)
    loops = ConvolutionDims.of(linalg_op)
    if not isinstance(loops, ConvolutionDims):
        return loops
    x, w = loops.x, loops.w
    *groups, outputs, inputs = shape_of(w.value)[: len(loops.channels) + 1]
    window = [1 if tap is None else linalg_op.extents[tap] for tap in loops.taps[-2:]]
    taps, axes = max(window), (window[0] > 1, window[1] > 1)
    if min(window) not in (1, taps):
        return "its window is neither a square nor a row nor a column"
    axes = axes if any(axes) else BOTH
    stride, dilation = loops.steps(-2 if axes[0] else -1)
    if x.index[0] != AffineForm.of({loops.inputs: 1, **dict.fromkeys(loops.channels[:-1], inputs)}):
        return "it reads other channels than those of its group"
    if x.index[-2:] != loops.plane(stride, dilation, axes) or min(stride, dilation) != 1:
        return "it has a stride and a dilation, or others along either axis"
    depth = loops.depth(linalg_op)
    if depth is None:
        return "its slices are not those of a window"
    if min(outputs, inputs) < FEWEST_CHANNELS:
        return f"it has fewer than {FEWEST_CHANNELS} channels"
    if groups and (outputs % BLOCK or inputs % BLOCK):
        return "its groups are no whole blocks of channels"
    init = start_of(op, len(loops.channels))
    if init is None:
        return "it goes on from other values than a bias"
    *_, rows, columns = shape_of(op.results[0])
    count = prod(groups)
    sizes = count * outputs, inputs, rows, columns, target, count, depth, dilation, axes
    halved = halves and inputs >= STEP and rows * columns >= FEWEST_ROWS
    tiling = tiling_of(*sizes, taps=taps, stride=stride, halves=halved)
    if tiling is None:
        costs = costs_of(*sizes, taps, stride, halved)
        if not costs.tilings:
            shape = " x ".join(map(str, window))
            return f"Winograd has no tiles for a window of {shape} at a stride of {stride}"
        return f"Winograd is not worth it; {costs}"
    return Convolution(op, x.value, w.value, init, tiling, halved)


@dataclass(frozen=True)
class ConvolutionDims:
    """What a convolution reads, x and w, and its loops.

    channels   of the result, those of groups first
    slices     of the result; none of an image
    image      rows and columns of the result
    inputs     channels that are summed
    taps       the window: along the slices, if there are such, along rows and columns; none is one
    """

    x: TensorAccess
    w: TensorAccess
    channels: tuple[int, ...]
    slices: tuple[int, ...]
    image: tuple[int, int]
    inputs: int
    taps: tuple[int | None, ...]

    @staticmethod
    def of(linalg_op: LinalgOp) -> ConvolutionDims | str:
        """The loops, or why it is none."""
        pair = linalg_op.product
        if pair is None or len(linalg_op.parallel) not in (3, 4):
            return "it is no convolution over two axes, or three"
        x, w = (linalg_op.reads[i] for i in pair)
        if {element_of(x.value), element_of(w.value)} != {f32}:
            return "it is not of float32"
        axes, loops = linalg_op.write.axes, w.axes
        if not is_constant(w.value) or axes is None or len(axes) != len(linalg_op.parallel):
            return "its weights are computed, or its result is strided"
        slices = len(x.index) - 3
        if not 0 <= slices <= len(axes) - 3:
            return "it is no convolution over two axes, or three"
        *_, row, column = axes
        count = len(axes) - 2 - slices
        if loops is None or len(loops) == count or loops[:count] != axes[:count]:
            return "its weights have other axes than channels and a window"
        inputs, *sums = loops[count:]
        taps = [next((tap for tap in sums if tap in form.loops()), None) for form in x.index[1:]]
        found = [tap for tap in taps if tap is not None]
        if found != sums or {inputs, *sums} != set(linalg_op.reduced):
            return "its weights have other axes than channels and a window"
        return ConvolutionDims(
            x, w, axes[:count], axes[count:-2], (row, column), inputs, tuple(taps)
        )

    def steps(self, axis: int) -> tuple[int, int]:
        """The stride and the dilation along an axis."""
        read, tap = self.x.index[axis], self.taps[axis]
        return read.coefficient(self.image[axis]), 1 if tap is None else read.coefficient(tap)

    def plane(self, stride: int, dilation: int, axes: tuple[bool, bool]) -> tuple[AffineForm, ...]:
        """The rows and columns that are read, by a stride and a dilation along some axes; along
        others, windows have one cell, one apart.
        """

        def read(cell: int, tap: int | None, several: bool) -> AffineForm:
            taps = {} if tap is None else {tap: dilation if several else 1}
            return AffineForm.of({cell: stride if several else 1, **taps})

        return tuple(map(read, self.image, self.taps[-2:], axes))

    def depth(self, linalg_op: LinalgOp) -> Depth | None:
        """How slices of the result read those of a volume, by no loop or one over taps."""
        if not self.slices:
            return IMAGE
        (z,), read = self.slices, self.x.index[1]
        taps = [tap for tap in self.taps[:-2] if tap is not None]
        stride, dilations = read.coefficient(z), [read.coefficient(tap) for tap in taps]
        if read.constant or read.loops() != {z, *taps}:
            return None
        return Depth(
            linalg_op.extents[z], prod(linalg_op.extents[tap] for tap in taps), stride, *dilations
        )


def start_of(op: GenericOp, channels: int) -> SSAValue | float | None:
    """The numbers along that many axes of channels, or the one, that the sums start from."""
    source = outs_of(op).owner
    if isinstance(source, GenericOp):
        linalg_op = LinalgOp(source)
        spread = linalg_op.is_pointwise and linalg_op.yielded is linalg_op.body.args[0]
        if spread and linalg_op.reads[0].index == linalg_op.write.index[:channels]:
            return linalg_op.reads[0].value
    return filled_with(outs_of(op))
