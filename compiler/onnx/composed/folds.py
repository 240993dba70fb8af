"""Folds over axes, parts of a whole along one, and products with vectors."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, composes, runs_of
from ncc.compiler.onnx.reduction import KINDS, fold_params
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.linear.linear import MatMulOp as MatMulLayer
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.reduction.reduction import ReductionOp
from ncc.dialects.ncnn.reduction.reduction import SoftmaxOp as SoftmaxLayer
from ncc.dialects.onnx.dialect import versions_of
from ncc.dialects.onnx.linear import MatMulOp
from ncc.dialects.onnx.reduction import Reduction
from ncc.dialects.onnx.softmax import SoftmaxOp, SoftmaxV1Op

IN_PARTS = ("ReduceSum", "ReduceMean", "ReduceMax", "ReduceMin", "ReduceProd")
"""Folds of some axes, of which others may be folded afterwards."""


@composes(*versions_of(*KINDS))
def reduction(op: Reduction, to: Conversion) -> SSAValue | None:
    """Neighbouring axes as one; others one after the other."""
    x, extents = op.operands[0], shape(op.operands[0])
    runs = runs_of(sorted(op.region(extents)))
    if not runs or (len(runs) > 1 and op.type_name not in IN_PARTS):
        return None
    params = fold_params(op, (1,))
    for first, *rest in runs:
        kept = tuple(1 if axis in rest else n for axis, n in enumerate(extents))
        count = prod(extents[axis] for axis in (first, *rest))
        merged = (*kept[:first], count, *kept[first + 1 :])
        x = to.layer(ReductionOp, [to.along(to.view(x, merged), first)], **params)
        extents = (*kept[:first], 1, *kept[first + 1 :])
        x = to.view(x, extents)
    return x


@composes(SoftmaxOp, SoftmaxV1Op)
def softmax(op: SoftmaxOp, to: Conversion) -> SSAValue | None:
    """Along one axis, of more axes than a blob has; or along neighbours, as one axis."""
    x, extents = op.operands[0], shape(op.operands[0])
    first, *rest = op.region(extents)
    if rest != list(range(first + 1, first + 1 + len(rest))):
        return None
    merged = (*extents[:first], prod(extents[k] for k in (first, *rest)))
    whole = to.view(x, (*merged, *extents[first + 1 + len(rest) :]))
    return to.layer(SoftmaxLayer, [to.along(whole, first)], axis=1, fixbug0=1)


@composes(MatMulOp)
def mat_mul(op: MatMulOp, to: Conversion) -> SSAValue | None:
    """A vector is a matrix of one row, or of one column."""
    x, y = op.operands
    if len(shape(x)) == 1:
        x = to.view(x, (1, *shape(x)))
    if len(shape(y)) == 1:
        y = to.view(y, (*shape(y), 1))
    if max(len(shape(x)), len(shape(y))) > MAX_RANK:
        return None
    return to.layer(MatMulLayer, [x, y])
