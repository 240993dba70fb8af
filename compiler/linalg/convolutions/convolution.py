"""Recognizes convolutions that tiles can compute.

Their window is a square, a row or a column. They may have groups, or sum over slices of a volume.
"""

from __future__ import annotations

from dataclasses import replace
from math import prod
from typing import NamedTuple, TypeGuard

from xdsl.dialects import tensor
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims, Window
from ncc.compiler.linalg.analysis.linalg_op import (
    LinalgOp,
    TensorAccess,
    filled_with,
    outs_of,
    shape_of,
)
from ncc.compiler.linalg.analysis.tensors import is_constant, pad_value
from ncc.compiler.linalg.convolutions.choose_tiles import Costs, costs_of
from ncc.compiler.linalg.convolutions.forms import BOTH
from ncc.compiler.linalg.convolutions.tiling import Tiling, compared_extent, has_many_weights
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.target import Target
from ncc.dialects.element import element_of
from ncc.dialects.size import is_open
from ncc.dialects.tile import TILE_K


class Convolution(NamedTuple):
    """y[o, p, q] = init[o] + the sum of x[i, s*p+k, s*q+l] * w[o, i, k, l] over i and a window.

    In groups, y[g, o, p, q] = init[g, o] + the sum of x[g*I + i, s*p+k, s*q+l] * w[g, o, i, k, l].
    With a dilation d, it is x[i, p+d*k, q+d*l].
    A volume has slices, too: y[o, z, ..] sums x[i, S*z+e*d, ..] * w[o, i, d, ..].
    costs: the algorithms that competed. bf16x3: whether bf16x3 did. whole: whether its tiles are
    too few for strips.
    """

    op: GenericOp
    x: SSAValue
    weights: SSAValue
    init: SSAValue | float
    tiling: Tiling
    costs: Costs
    bf16x3: bool
    whole: bool = False

    def has_tiles_of(self, other: Convolution) -> bool:
        """Whether both have the same V."""
        alike = replace(self.tiling, outputs=other.tiling.outputs) == other.tiling
        return alike and self.tiling.groups == 1

    def of_small_image(self, op: GenericOp, tiling: Tiling) -> Convolution:
        """The same convolution of a small image, in tiles of that form."""
        x = op.operands[list(self.op.operands).index(self.x)]
        *_, height, width = shape_of(op.results[0])
        tiling = replace(tiling, height=height, width=width)
        return self._replace(op=op, x=x, tiling=tiling, whole=True)

    def siblings(self) -> list[GenericOp]:
        """The other generics that read its image with the same border, in any order."""
        pad, images = self.x.owner, [self.x]
        if isinstance(pad, tensor.PadOp):
            pads = [use.operation for use in pad.source.uses]
            images = [one.result for one in pads if _same_border(one, pad)]
        found = (use.operation for image in images for use in image.uses)
        return [one for one in found if isinstance(one, GenericOp) and one is not self.op]


def _same_border(one: Operation, pad: tensor.PadOp) -> TypeGuard[tensor.PadOp]:
    """Whether both pads have the same elements, though one may have more at the end."""
    if not isinstance(one, tensor.PadOp) or pad_value(one) != pad_value(pad):
        return False
    return one.static_low == pad.static_low


def match(op: GenericOp, target: Target, bf16x3: bool = False) -> Convolution | str:
    """op as a convolution, or why it is not computed in tiles.

    bf16x3: whether `SplitBf16` follows.
    """
    linalg_op = LinalgOp(op)
    found = SpatialConvolution.of(linalg_op)
    if isinstance(found, str):
        return found
    x, w, (*slices, rows, columns) = found.x, found.w, found.windows
    *groups, outputs, inputs = shape_of(w.value)[: len(found.channels) + 1]
    taps, axes = max(rows.taps, columns.taps), (rows.taps > 1, columns.taps > 1)
    if min(rows.taps, columns.taps) not in (1, taps):
        return "its window is neither a square nor a row nor a column"
    axes = axes if any(axes) else BOTH
    along = rows if axes[0] else columns
    stride, dilation = along.stride, along.dilation
    if x.index[0] != AffineForm.of({found.inputs: 1, **dict.fromkeys(found.channels[:-1], inputs)}):
        return "it reads other channels than those of its group"
    strides = [(stride, dilation) if several else (1, 1) for several in axes]
    if [rows.strides, columns.strides] != strides or min(stride, dilation) != 1:
        return "it has a stride and a dilation, or others along either axis"
    depth = next((Depth(linalg_op.extents[z.image], z.taps, *z.strides) for z in slices), IMAGE)
    fewest = target.costs.winograd.fewest_tiled_channels
    if min(outputs, inputs) < fewest:
        return f"it has fewer than {fewest} channels"
    if groups and (outputs % BLOCK or inputs % BLOCK):
        return "its groups are no whole blocks of channels"
    init = start_of(op, len(found.channels))
    if init is None:
        return "its sums start from other values than a bias"
    *_, height, width = shape_of(op.results[0])
    count = prod(groups)
    many = not bf16x3 and has_many_weights(w.value, stride, target)
    sides = (height, width), (width, height)
    extents = [compared_extent(one, other, target, many) for one, other in sides]
    sizes = count * outputs, inputs, *extents, target, count, depth, dilation, axes
    fewest_points = target.costs.data_types.fewest_bf16_points
    split = bf16x3 and inputs >= TILE_K and prod(extents) >= fewest_points
    opened = is_open(height, width)
    costs = costs_of(*sizes, taps, stride, split, opened)
    if costs.chosen is None:
        if not costs.tilings:
            shape = " x ".join(str(one.taps) for one in found.windows)
            return f"Winograd has no tiles for a window of {shape} at a stride of {stride}"
        return f"Winograd is not worth it; {costs}"
    tiling = replace(costs.chosen, height=height, width=width)
    return Convolution(op, x.value, w.value, init, tiling, costs, split)


class SpatialConvolution(NamedTuple):
    """A convolution of an image x, or a volume, by constant weights w[channels, inputs, taps].

    channels   loops over the channels of the result, groups first
    inputs     the loop over the channels of a sum
    windows    along the slices of a volume, then along rows and columns
    """

    x: TensorAccess
    w: TensorAccess
    channels: tuple[int, ...]
    inputs: int
    windows: tuple[Window, ...]

    @staticmethod
    def of(linalg_op: LinalgOp) -> SpatialConvolution | str:
        """An operation as such a convolution, or why it is none."""
        dims = ConvolutionDims.of(linalg_op)
        if dims is None or len(linalg_op.parallel) not in (3, 4):
            return "it is no convolution over two axes, or three"
        x, w, axes = dims.input, dims.filter, linalg_op.write.axes
        if {element_of(x.value), element_of(w.value)} != {f32}:
            return "it is not of float32"
        if not is_constant(w.value) or axes is None or len(axes) != len(linalg_op.parallel):
            return "its weights are computed, or its result is strided"
        count = len(axes) + 1 - len(x.index)
        if len(x.index) < 3 or count < 1:
            return "it is no convolution over two axes, or three"
        channels, inputs = axes[:count], dims.input_channel
        if len(inputs) != 1 or w.axes != (*channels, *inputs, *dims.filter_loop):
            return "its weights have other axes than channels and a window"
        windows = tuple(window for window in dims.windows[1:] if window is not None)
        if tuple(window.image for window in windows) != axes[count:]:
            return "its windows do not lie along slices, rows and columns"
        return SpatialConvolution(x, w, channels, *inputs, windows)


def start_of(op: GenericOp, channels: int) -> SSAValue | float | None:
    """The initial value of the sums: a vector or matrix of channels, or one number.

    channels: how many axes the channels have.
    """
    source = outs_of(op).owner
    if isinstance(source, GenericOp):
        linalg_op = LinalgOp(source)
        spread = linalg_op.is_pointwise and linalg_op.yielded is linalg_op.body.args[0]
        if spread and linalg_op.reads[0].index == linalg_op.write.index[:channels]:
            return linalg_op.reads[0].value
    return filled_with(outs_of(op))
