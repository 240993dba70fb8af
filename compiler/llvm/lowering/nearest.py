"""Floats that become the nearest integers, halves away from zero.

    %x + copysign(0.49999997, %x), without its fraction   ->   one instruction, of %x
    %x + 0.49999997, where %x is not negative             ->   the same

0.49999997 is the largest float32 below a half: `dialects/casts.py` adds it before a conversion, so
that only fractions from a half on become one more. Where the processor rounds so by itself, nobody
reads the sum, and LLVM leaves it out.
"""

from __future__ import annotations

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import IntegerType, f32, i32
from xdsl.ir import Attribute, SSAValue

from ncc.compiler.llvm.instructions import FPToSIOp, element, lanes
from ncc.compiler.llvm.llvm_builder import LlvmBuilder, with_lanes
from ncc.compiler.llvm.lowering.constants import number_of
from ncc.compiler.llvm.lowering.function import Function, machine_type
from ncc.dialects.casts import BELOW_HALF


def lower_to_integer(function: Function, op: arith.FPToSIOp) -> None:
    """Without its fraction; or the nearest one, if the float was made for that."""
    type = machine_type(op.result.type)
    nearest = _nearest(function, op.input, type)
    if nearest is None:
        nearest = function.builder.convert(FPToSIOp, function.value(op.input), type)
    function.bind(op.result, nearest)


def _nearest(function: Function, value: SSAValue, type: Attribute) -> SSAValue | None:
    """The integers of this type nearest to what the float was before; None where it is no such sum,
    or the processor has no instruction.
    """
    builder, narrow = function.builder, element(type)
    rounded = _summand(value)
    if rounded is None or not isinstance(narrow, IntegerType) or narrow.width.data > 32:
        return None
    whole = _whole_numbers(builder, function.value(rounded))
    if whole is None or narrow == i32:
        return whole
    return builder.convert(llvm.TruncOp, whole, type)


def _summand(value: SSAValue) -> SSAValue | None:
    """x if the value is a float32 x plus nearly a half, with its sign."""
    total = value.owner
    if type(total) is not arith.AddfOp or element(value.type) != f32:
        return None
    x, half = total.lhs, total.rhs
    if type(half.owner) is math.CopySignOp and half.owner.rhs is x:
        return x if number_of(half.owner.lhs) == BELOW_HALF else None
    return x if number_of(half) == BELOW_HALF and _is_never_negative(x) else None


def _is_never_negative(value: SSAValue) -> bool:
    """Whether it is a maximum with a number from zero on, or this limited, or times a positive
    number.
    """
    owner = value.owner
    if type(owner) is arith.MaxnumfOp:
        return any(number_of(operand) >= 0 for operand in owner.operands)
    if isinstance(owner, arith.MinnumfOp | arith.MulfOp):
        return _is_never_negative(owner.lhs) and number_of(owner.rhs) > 0
    return False


def _whole_numbers(builder: LlvmBuilder, value: SSAValue) -> SSAValue | None:
    """The nearest int32; None if there is no instruction for so many."""
    count, whole = lanes(value.type), builder.target.lanes
    name = builder.processor.nearest.get(count)
    if name is not None:
        return builder.intrinsic(name, [value], with_lanes(i32, count))
    if whole not in builder.processor.nearest or not count or count % (2 * whole):
        return None
    half = count // 2
    parts = [builder.shuffle(value, value, range(at, at + half)) for at in (0, half)]
    low, high = (_whole_numbers(builder, part) for part in parts)
    if low is None or high is None:
        return None
    return builder.shuffle(low, high, range(count))
