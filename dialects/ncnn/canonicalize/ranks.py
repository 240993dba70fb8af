"""The rank of a value without its shape: a network may leave the shapes of inputs open."""

from __future__ import annotations

from xdsl.ir import SSAValue

from ncc.dialects.ncnn.convolution.convolution import ConvolutionOp
from ncc.dialects.ncnn.convolution.filtering import Filtering
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.per_channel import BatchNormOp, PReLUOp, ScaleOp
from ncc.dialects.ncnn.elementwise.unary import Unary
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.linear.linear import InnerProductOp
from ncc.dialects.ncnn.plumbing import DropoutOp, MemoryDataOp
from ncc.dialects.ncnn.pooling.pooling import PoolingOp

KEEP_RANK = (Unary, BatchNormOp, ScaleOp, PReLUOp, DropoutOp, BinaryOpOp)
"""Layers whose result has the shape of the operand where there is one."""


def rank_of(value: SSAValue) -> int | None:
    """The rank of a value: by its shape, or by the layers that made it; None where they leave it
    open.
    """
    shape, op = shape_of(value), value.owner
    while shape is None and isinstance(op, KEEP_RANK) and len(op.operands) == 1:
        value = op.operands[0]
        shape, op = shape_of(value), value.owner
    if shape is not None:
        return len(shape)
    match op:
        case MemoryDataOp():
            return len(op.shape)
        case PoolingOp():
            return 1 if op.global_pooling else 3
        case InnerProductOp():
            return 1 if rank_of(op.operands[0]) in (1, 3, 4) else None
        case ConvolutionOp() if op.is_dynamic or all(w.kernel == 1 for w in op.windows):
            return 3 if rank_of(op.operands[0]) in (2, 3) else None
        case Filtering():
            return len(op.AXES) + 1
    return None
