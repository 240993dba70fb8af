"""Sums leave out the taps of windows that see nothing but the border of a small image.

    %p = pad %x by 1                %a = rows from `first` on of %p, taps from `first` on of %w
    %y = conv(%p, %w)       ->      %y = conv(%a, by the taps [first, last) of %w)

In an image of one row, each window sees the image through its middle row of taps; in one of one
element, through one tap of nine. Where the run tells how large an image is, it tells the taps, too:
loops over taps have code of their own in sums over channels, so that this costs nothing for other
images. In large windows of one channel, as 5x5, loops over rows of taps have. The products of parts
of numbers (`data_types/split_bf16.py`) leave out the same taps.

If nothing else reads %p, it has only the rows that are read: an image of one row has no border
above and below, which would have to be filled.

Needs: weights in the order in which they are read: other passes take them for constants.
Breaks: the NaN of an infinite weight times a zero of the border.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.affine_form import AffineForm
from ncc.compiler.linalg.analysis.convolution_dims import ConvolutionDims, Window
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.linalg.analysis.tensors import pad_value
from ncc.compiler.linalg.rewrite.decisions import CostedPass
from ncc.compiler.linalg.rewrite.insert import move_before, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.parts import Span
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import hint, hint_of_inputs, is_open, largest, smallest
from ncc.dialects.structured import offsets_of, pad_sides


class _Taps(NamedTuple):
    """A convolution, and the taps that see its image, by the axis of the image."""

    linalg_op: LinalgOp
    dims: ConvolutionDims
    seen: Mapping[int, Span]


class SkipBorderTaps(LinalgPattern[_Taps], CostedPass):
    """Let the run tell which taps see the image."""

    name = "skip-border-taps"

    def match(self, op: GenericOp) -> _Taps | str | None:
        linalg_op = LinalgOp(op)
        if not is_open(*shape_of(op.results[0])):
            return None
        dims = _dims(linalg_op)
        if dims is None or not dims.filter_loop:
            return None
        windows = self._with_loops_over_taps(linalg_op, dims)
        if not any(windows):
            return "it sums no channels, so that its taps have no loops"
        seen: dict[int, Span] = {}
        for axis, window in enumerate(windows):
            image = _image(dims.input.value, axis)
            if window is None or image is None or not _sees_the_first(window, image):
                continue
            taps = _seen(window, linalg_op.extents[window.image], image)
            if is_open(*taps):
                seen[axis] = taps
        if not seen:
            return "all its windows see all of their taps"
        few = any(_are_few(linalg_op.extents[one.image], self.costs) for one in dims.windows if one)
        # Matrix tiles have one loop for any number of taps.
        if len(linalg_op.products) == 1 and not few:
            return "its image seldom has a single row"
        return _Taps(linalg_op, dims, seen)

    def _with_loops_over_taps(
        self, linalg_op: LinalgOp, dims: ConvolutionDims
    ) -> Sequence[Window | None]:
        """The windows whose taps have a loop. If a sum is over taps alone, those of a row have
        none, and if these are few, none has.
        """
        if dims.input_channel and dims.output_channel:
            return dims.windows
        *rows, row = dims.filter_loop
        taps = prod(linalg_op.extents[loop] for loop in (*rows, row))
        few = taps <= self.costs.schedules.most_unrolled_taps
        return [one if one and one.tap in rows and not few else None for one in dims.windows]

    def rewrite(self, found: _Taps) -> None:
        linalg_op, (data, weights) = found.linalg_op, (found.dims.input, found.dims.filter)
        first, taps = [0] * len(weights.index), list(shape_of(weights.value))
        read: dict[int, Span] = {}
        for axis, (one, end) in found.seen.items():
            window = found.dims.windows[axis]
            if window is None or window.axis is None:
                continue
            # Of a part that an image does not have, no element sees a tap.
            first[window.axis], taps[window.axis] = one, largest(0, end - one)
            reach = window.stride * (linalg_op.extents[window.image] - 1)
            read[axis] = window.dilation * one, reach + window.dilation * (end - 1) + 1
        _read_part(linalg_op.op, weights, first, taps)
        begin, size = [0] * len(data.index), list(shape_of(data.value))
        for axis, (one, end) in read.items():
            begin[axis], size[axis] = one, largest(0, end - one)
        pad = data.value.owner
        if isinstance(pad, tensor.PadOp) and data.value.has_one_use():
            b = Builder(Block())
            part = b.slice(_padded(b, pad, read), [0] * len(size), size)
            replace_op(pad, b, part)
        else:
            _read_part(linalg_op.op, data, begin, size)


def _dims(linalg_op: LinalgOp) -> ConvolutionDims | None:
    """The dims of a convolution. Its products may be several, if all read the same windows."""
    dims = ConvolutionDims.of(linalg_op, next(iter(linalg_op.products), None))
    reads = {_moving(linalg_op.reads[position]) for position in linalg_op.live}
    return dims if dims and reads == {_moving(dims.input), _moving(dims.filter)} else None


def _moving(access: TensorAccess) -> tuple[SSAValue, tuple[AffineForm | None, ...]]:
    """What an access reads, without the axes of which it reads one place."""
    return access.value, tuple(form if form.terms else None for form in access.index)


def _are_few(count: int, costs: CostModel) -> bool:
    """Whether images have often one row, or column, where it is so many for the hint."""
    return is_open(count) and hint(count) * costs.convolutions.single_row_share <= hint_of_inputs(
        count
    )


def _image(value: SSAValue, axis: int) -> Span | None:
    """The elements of a padded image along an axis, or of a part of one, that are no border."""
    owner = value.owner
    if isinstance(owner, tensor.ExtractSliceOp):
        begin, whole = offsets_of(owner)[axis], _image(owner.source, axis)
        return None if whole is None else (whole[0] - begin, whole[1] - begin)
    if not isinstance(owner, tensor.PadOp) or pad_value(owner):
        return None
    low = pad_sides(owner)[0][axis]
    return low, low + shape_of(owner.source)[axis]


def _sees_the_first(window: Window, image: Span) -> bool:
    """Whether a tap of the first window sees the first element of the image, however small it is:
    so some tap is left.
    """
    if window.tap is None or is_open(image[0]) or image[0] % window.dilation:
        return False
    return 0 <= image[0] // window.dilation < window.taps


def _seen(window: Window, count: int, image: Span) -> Span:
    """The taps through which some of so many elements see the image."""
    stride, dilation = window.strides
    reach = stride * largest(0, count - 1)  # as far as one element, if there is none
    first = largest(0, -((reach - image[0]) // dilation))
    return first, smallest(window.taps, (image[1] - 1) // dilation + 1)


def _read_part(op: GenericOp, access: TensorAccess, begin: list[int], size: list[int]) -> None:
    """Let an operation read a part of an operand."""
    b = Builder(Block())
    made = b.slice(tensor_of(access.value), begin, size)
    move_before(b, op)
    for position, operand in enumerate(op.operands):
        if operand is access.value:
            op.operands[position] = made.value


def _padded(b: Builder, pad: tensor.PadOp, read: Mapping[int, Span]) -> Tensor:
    """The value of a pad with no more border along some axes than is read."""
    image, (low, high) = tensor_of(pad.source), pad_sides(pad)
    for axis, (begin, end) in read.items():
        high[axis] = largest(0, end - low[axis] - image.shape[axis])
        low[axis] -= begin
    return b.pad(image, low, high, pad_value(pad))
