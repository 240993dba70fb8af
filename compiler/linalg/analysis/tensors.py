"""Tensors that no generic computes: constants, and views of other tensors.

A pad, a concat, a slice or a reshape is a place in memory and costs no work: `memory` finds it.
"""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import constant_number, shape_of
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.weight import ConstantOp

RESHAPES = (tensor.CollapseShapeOp, tensor.ExpandShapeOp)
VIEWS = (tensor.PadOp, tensor.ConcatOp, *RESHAPES, tensor.ExtractSliceOp)

OF_GROUPS = [[0, 1], [2], [3]]
"""The collapse of (group, channel, row, column) to an image; see `groups_of`."""


def unshaped(value: SSAValue) -> SSAValue:
    """The value that reshapes show as this one."""
    while isinstance(value.owner, RESHAPES):
        value = value.owner.operands[0]
    return value


def is_constant(value: SSAValue) -> bool:
    """Whether a value is a weight, or a weight under another shape."""
    owner = value.owner
    if isinstance(owner, GenericOp):
        return False
    return isinstance(unshaped(value).owner, ConstantOp)


def weights_of(value: SSAValue) -> Weights:
    """The source of a constant, with the shape of the value."""
    owner = unshaped(value).owner
    if not isinstance(owner, ConstantOp):
        raise CompilerBug("no constant")
    return Weights(shape_of(value), owner.value.data.source)


def pad_value(op: tensor.PadOp) -> float:
    """The constant in the border of a pad."""
    last = op.region.block.last_op
    number = constant_number(last.operands[0]) if last is not None else None
    if number is None:
        raise CompilerBug("a pad whose value is no constant")
    return number


def groups_of(op: tensor.CollapseShapeOp | tensor.ExpandShapeOp) -> list[list[int]]:
    """The reassociation of a reshape as lists of axes."""
    return [[axis.value.data for axis in group.data] for group in op.reassociation.data]
