"""Conversions of operators that move elements, and of softmax, which has an axis as they do."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, converts, shape
from ncc.dialects.ncnn.axes import EXTENT_NAMES
from ncc.dialects.ncnn.layer import Shape
from ncc.dialects.ncnn.movement.movement import PERMUTATIONS, PermuteOp
from ncc.dialects.ncnn.movement.movement import ConcatOp as ConcatLayer
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.reduction.reduction import SoftmaxOp as SoftmaxLayer
from ncc.dialects.onnx.movement import ConcatOp, TransposeOp
from ncc.dialects.onnx.softmax import SoftmaxOp, SoftmaxV1Op


@converts(TransposeOp)
def transpose(op: TransposeOp, to: Conversion) -> SSAValue | None:
    """A permutation of the axes whose extent is not 1."""
    x = op.operands[0]
    extents = shape(x)
    kept = [axis for axis in op.order(len(extents)) if extents[axis] != 1]
    here = sorted(kept)
    blob: Shape = tuple(extents[axis] for axis in here) or (1,)
    if len(blob) > MAX_RANK:
        return None
    order = tuple(here.index(axis) for axis in kept)
    if order == tuple(range(len(order))):
        return to.view(x, shape(op.results[0]))
    names = EXTENT_NAMES[len(blob)]
    wanted = "".join(names[axis] for axis in reversed(order))
    orders = ["".join(one) for one in PERMUTATIONS[len(blob)]]
    if wanted not in orders:
        return None
    return to.layer(PermuteOp, [to.view(x, blob)], {"order_type": orders.index(wanted)})


@converts(ConcatOp)
def concat(op: ConcatOp, to: Conversion) -> SSAValue | None:
    """Blobs one after the other: one axis before, one axis behind."""
    axis = op.along(shape(op.operands[0]))
    if len(op.operands) == 1:
        return op.operands[0]
    shapes = [shape(value) for value in op.operands]
    front = 1 if axis > 0 and shapes[0][0] == 1 else 0
    blobs = [one[front:] for one in shapes]
    if len(blobs[0]) > MAX_RANK:
        return None
    operands = [to.view(value, one) for value, one in zip(op.operands, blobs, strict=True)]
    return to.layer(ConcatLayer, operands, {"axis": axis - front})


@converts(SoftmaxOp, SoftmaxV1Op)
def softmax(op: SoftmaxOp, to: Conversion) -> SSAValue | None:
    """Parts of a whole along one axis."""
    x = op.operands[0]
    extents, region = shape(x), op.region(shape(x))
    if len(region) != 1 or not extents:
        return None
    front = 1 if region[0] > 0 and extents[0] == 1 else 0
    if len(extents) - front > MAX_RANK:
        return None
    blob = to.view(x, extents[front:])
    return to.layer(SoftmaxLayer, [blob], {"axis": region[0] - front, "fixbug0": 1})
