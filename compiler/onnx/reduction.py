"""Conversions of folds over axes, and of normalization by stored statistics."""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, converts, weight_of
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.elementwise.per_channel import BatchNormOp
from ncc.dialects.ncnn.layer import ParamValue
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.reduction.reduction import ReductionOp
from ncc.dialects.onnx.dialect import versions_of
from ncc.dialects.onnx.normalization import BatchNormalizationOp
from ncc.dialects.onnx.reduction import Reduction

KINDS: Mapping[str, int] = {
    "ReduceSum": 0,
    "ReduceSumSquare": 2,
    "ReduceMean": 3,
    "ReduceMax": 4,
    "ReduceMin": 5,
    "ReduceProd": 6,
    "ReduceL1": 7,
    "ReduceL2": 8,
    "ReduceLogSum": 9,
}
"""Operations of ncnn's Reduction."""

EXACT = ("ReduceSum", "ReduceSumSquare", "ReduceMean", "ReduceProd", "ReduceL1")
"""Those of which the layer is exactly the operator, for all values."""


def fold_params(op: Reduction, axes: tuple[int, ...]) -> dict[str, ParamValue]:
    """The params of a Reduction over some axes of a blob, which stay as axes of 1."""
    kind = KINDS[op.type_name]
    return {"operation": kind, "reduce_all": 0, "axes": axes, "keepdims": 1, "fixbug0": 1}


@converts(*versions_of(*EXACT))
def reduction(op: Reduction, to: Conversion) -> SSAValue | None:
    """A fold of some axes of one sample, or of all."""
    x = op.operands[0]
    extents, region = shape(x), op.region(shape(x))
    front = 1 if len(extents) > 1 and extents[0] == 1 else 0
    blob = extents[front:]
    axes = tuple(axis - front for axis in region if axis >= front)
    if not axes or len(blob) > MAX_RANK:
        return None
    return to.layer(ReductionOp, [to.view(x, blob)], **fold_params(op, axes))


@converts(BatchNormalizationOp)
def batch_normalization(op: BatchNormalizationOp, to: Conversion) -> SSAValue | None:
    """Of one sample, by statistics that are constants."""
    x = op.operands[0]
    weights = [weight_of(value) for value in op.operands[1:]]
    extents = shape(x)
    if extents[0] != 1 or len(extents) - 1 > MAX_RANK:
        return None
    names = ("slope", "bias", "mean", "var")
    held = {name: one for name, one in zip(names, weights, strict=True) if one is not None}
    if len(held) < len(names):
        return None
    blob = to.view(x, extents[1:])
    return to.layer(BatchNormOp, [blob], held, channels=extents[1], eps=op.epsilon)
