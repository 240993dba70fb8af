"""Movements along one axis after the other: a blob of three axes, those before the axis, it, and
those behind it.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, composes, number_of, runs_of
from ncc.compiler.onnx.movement import bounds, permuted
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.layer import Shape
from ncc.dialects.ncnn.movement.crop import CropOp
from ncc.dialects.ncnn.movement.movement import ConcatOp as ConcatLayer
from ncc.dialects.ncnn.movement.movement import FlipOp
from ncc.dialects.ncnn.movement.movement import SliceOp as SliceLayer
from ncc.dialects.ncnn.movement.movement import TileOp as TileLayer
from ncc.dialects.ncnn.movement.padding import CONSTANT, REFLECT, REPLICATE, PaddingOp
from ncc.dialects.ncnn.pooling.pooling import PoolingOp
from ncc.dialects.ncnn.sampling.resample import NEAREST, InterpOp
from ncc.dialects.onnx.gather import GatherOp, place_of_number
from ncc.dialects.onnx.movement import ConcatOp, TransposeOp
from ncc.dialects.onnx.operator import axis_of, constant_of
from ncc.dialects.onnx.padding import PadOp, PadV2Op
from ncc.dialects.onnx.slices import (
    ExpandOp,
    SliceOp,
    SliceV1Op,
    SplitOp,
    SplitV2Op,
    SplitV13Op,
    TileOp,
)
from ncc.dialects.size import is_open

MOST_RUNS = 64
"""Runs of neighbours in a constant index that are cropped one by one, at most."""


@composes(TransposeOp)
def transpose(op: TransposeOp, to: Conversion) -> SSAValue | None:
    """Neighbours that stay neighbours are one axis. Of more than four, one after the other comes to
    its place.
    """
    x = op.operands[0]
    extents = shape(x)
    order = [axis for axis in op.order(len(extents)) if extents[axis] != 1]
    groups: list[list[int]] = []
    for axis in order:
        between = range(groups[-1][-1] + 1, axis) if groups else ()
        if groups and axis > groups[-1][-1] and all(extents[k] == 1 for k in between):
            groups[-1].append(axis)
        else:
            groups.append([axis])
    here = sorted(groups)
    sizes = [prod(extents[axis] for axis in group) for group in here]
    wanted = [here.index(group) for group in groups]
    places = list(range(len(here)))
    found: SSAValue | None = x
    for front, group in enumerate(wanted):
        at = places.index(group)
        if at == front or found is None:
            continue
        before = [sizes[k] for k in places]
        sides = prod(before[:front]), prod(before[front:at]), before[at], prod(before[at + 1 :])
        found = permuted(to, to.view(found, sides), (0, 2, 1, 3))
        places.insert(front, places.pop(at))
    return found


@composes(ConcatOp)
def concat(op: ConcatOp, to: Conversion) -> SSAValue | None:
    """Of more axes than a blob has."""
    axis = op.along(shape(op.operands[0]))
    return to.layer(ConcatLayer, [to.along(value, axis) for value in op.operands], axis=1)


@composes(SplitOp, SplitV13Op, SplitV2Op)
def split(op: SplitOp | SplitV2Op, to: Conversion) -> Sequence[SSAValue] | None:
    """The same."""
    x = op.operands[0]
    axis, sizes = op.parts(shape(x))
    if min(sizes) < 1:
        return None
    return to.layers(len(sizes), SliceLayer, [to.along(x, axis)], slices=tuple(sizes), axis=1)


def cropped(to: Conversion, x: SSAValue, axis: int, first: int, count: int) -> SSAValue:
    """Neighbours along an axis."""
    extents = shape(x)
    start, end = bounds(first, count, extents[axis])
    made = to.layer(CropOp, [to.along(x, axis)], starts=(start,), ends=(end,), axes=(1,))
    return to.view(made, (*extents[:axis], count, *extents[axis + 1 :]))


def flipped(to: Conversion, x: SSAValue, axis: int) -> SSAValue:
    """An axis from back to front."""
    return to.view(to.layer(FlipOp, [to.along(x, axis)], axes=(1,)), shape(x))


def every(to: Conversion, x: SSAValue, axis: int, step: int) -> SSAValue:
    """The first element along an axis, and every `step`-th: a pool whose window is one element."""
    window = {"kernel_w": 1, "stride_w": 1, "kernel_h": 1, "stride_h": step}
    made = to.layer(PoolingOp, [to.along(x, axis)], **window, pooling_type=0, pad_mode=1)
    extents = shape(x)
    return to.view(made, (*extents[:axis], shape(made)[1], *extents[axis + 1 :]))


@composes(SliceOp, SliceV1Op)
def slice_(op: SliceOp | SliceV1Op, to: Conversion) -> SSAValue | None:
    """Axis by axis: the box, then its steps."""
    x = op.operands[0]
    for axis, (start, count, step) in enumerate(op.slices(shape(x))):
        extent = shape(x)[axis]
        if count < 1:
            return None
        reach = (count - 1) * abs(step) + 1
        if is_open(count) and step > 1 and (extent - start - 1) // step + 1 == count:
            reach = extent - start  # the steps end where the axis does
        first = start if step > 0 else start - reach + 1
        if reach != extent:
            x = cropped(to, x, axis, first, reach)
        if step < 0:
            x = flipped(to, x, axis)
        if abs(step) > 1 and (is_open(reach) or reach > 1):
            x = every(to, x, axis, abs(step))
    return x


@composes(GatherOp)
def gather(op: GatherOp, to: Conversion) -> SSAValue | None:
    """Slices at places that are constants: neighbours at once, others one by one."""
    x, places = op.operands[0], constant_of(op.operands[1])
    extents, index = shape(x), number_of(op.operands[1])
    axis = axis_of(op.axis, len(extents))
    if places is None or places.size < 1:
        return None
    if index is not None:
        return cropped(to, x, axis, place_of_number(int(index), extents[axis]), 1)
    runs = runs_of(place_of_number(int(k), extents[axis]) for k in places.reshape(-1))
    if len(runs) > MOST_RUNS:
        return None
    parts = [cropped(to, x, axis, run[0], len(run)) for run in runs]
    if len(parts) == 1:
        return parts[0]
    return to.layer(ConcatLayer, [to.along(part, axis) for part in parts], axis=1)


def repeated(to: Conversion, x: SSAValue, axis: int, count: int) -> SSAValue:
    """All elements along an axis, so many times."""
    extents = shape(x)
    made = to.layer(TileLayer, [to.along(x, axis)], axis=1, tiles=count)
    return to.view(made, (*extents[:axis], extents[axis] * count, *extents[axis + 1 :]))


def _spread(to: Conversion, x: SSAValue, result: Shape) -> SSAValue | None:
    """The number of each channel as an image, of a size that ncnn computes."""
    if result[0] != 1:
        return None
    wanted = to.expressions([to.view(x, shape(x)[1:])])
    size = wanted.text(result[:1:-1])
    return to.layer(InterpOp, wanted.operands, resize_type=NEAREST, size_expr=size)


@composes(ExpandOp, TileOp)
def repeats(op: ExpandOp | TileOp, to: Conversion) -> SSAValue | None:
    """Axis by axis."""
    result: Shape = shape(op.results[0])
    x = op.operands[0]
    x = to.view(x, (1,) * (len(result) - len(shape(x))) + shape(x))
    if is_open(*result[-2:]) and len(result) == 4 and shape(x) == (1, result[1], 1, 1):
        return _spread(to, x, result)
    for axis, extent in enumerate(result):
        count = extent // shape(x)[axis]
        if count > 1:
            x = repeated(to, x, axis, count)
    return x


@composes(PadOp, PadV2Op)
def pad(op: PadOp | PadV2Op, to: Conversion) -> SSAValue | None:
    """Axis by axis, by a value, the edge, or a mirror image; what is negative is cut away."""
    kinds = {"constant": CONSTANT, "edge": REPLICATE, "reflect": REFLECT}
    x, value = op.operands[0], op.filled_with()
    if value is None or op.mode not in kinds:
        return None
    for axis, (low, high) in enumerate(op.borders(shape(x))):
        extents = shape(x)
        if min(low, high) < 0:
            first = max(0, -low)
            x = cropped(to, x, axis, first, extents[axis] - first - max(0, -high))
            extents = shape(x)
        low, high = max(0, low), max(0, high)
        if low or high:
            how = {"type": kinds[op.mode], "value": float(value), "top": low, "bottom": high}
            made = to.layer(PaddingOp, [to.along(x, axis)], **how)
            x = to.view(made, (*extents[:axis], shape(made)[1], *extents[axis + 1 :]))
    return x
