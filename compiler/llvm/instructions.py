"""LLVM instructions that xDSL's llvm dialect lacks, or restricts to scalars, under MLIR's names."""

from __future__ import annotations

from typing import ClassVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import I1, I64, AnyFloatConstr, IntegerAttr, IntegerType, VectorType
from xdsl.ir import Attribute
from xdsl.irdl import (
    AnyAttr,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.traits import Pure

REAL = AnyFloatConstr | VectorType.constr(AnyFloatConstr)


@irdl_op_definition
class ExtractElementOp(IRDLOperation):
    """One element of a vector."""

    name = "llvm.extractelement"

    T: ClassVar = VarConstraint("T", AnyAttr())
    vector = operand_def(VectorType.constr(T))
    position = operand_def(IntegerType)
    res = result_def(T)
    traits = traits_def(Pure())


@irdl_op_definition
class FPToSIOp(llvm.GenericCastOp):
    """To a signed integer, rounding towards zero."""

    name = "llvm.fptosi"


@irdl_op_definition
class FPToUIOp(llvm.GenericCastOp):
    """To an unsigned integer, rounding towards zero."""

    name = "llvm.fptoui"


@irdl_op_definition
class UIToFPOp(llvm.GenericCastOp):
    """From an unsigned integer, rounding to nearest."""

    name = "llvm.uitofp"


@irdl_op_definition
class FCmpOp(IRDLOperation):
    """Compare floats, lane by lane; predicates are numbered as in xDSL's llvm.fcmp."""

    name = "llvm.fcmp"

    T: ClassVar = VarConstraint("T", REAL)
    lhs = operand_def(T)
    rhs = operand_def(T)
    predicate = prop_def(IntegerAttr[I64])
    res = result_def(base(I1) | VectorType.constr(base(I1)))
    traits = traits_def(Pure())


@irdl_op_definition
class SelectOp(IRDLOperation):
    """Choose between two values, or lane by lane where the condition is a vector."""

    name = "llvm.select"

    T: ClassVar = VarConstraint("T", AnyAttr())
    cond = operand_def(base(I1) | VectorType.constr(base(I1)))
    lhs = operand_def(T)
    rhs = operand_def(T)
    res = result_def(T)
    traits = traits_def(Pure())


@irdl_op_definition
class FenceOp(IRDLOperation):
    """What is behind it is not scheduled before it, as far as this thread sees memory."""

    name = "llvm.fence"


def lanes(type: Attribute) -> int:
    """Number of lanes of a vector; 0 for a scalar."""
    return type.shape.data[0].data if isinstance(type, VectorType) else 0


def element(type: Attribute) -> Attribute:
    """The type of a lane; of a scalar, its own."""
    return type.element_type if isinstance(type, VectorType) else type
