"""Fractions of 24 bits: numbers from -1 to 1 that memory holds in three bytes.

v: i24    ->    sitofp (extui v << 8) * 2**-31        v / 2**23, exactly, for v in two's complement
"""

from __future__ import annotations

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i32
from xdsl.ir import Operation, SSAValue

from ncc.dialects.element import i24
from ncc.dialects.operation import make

UPWARDS, BACK = 8, 2.0**-31
"""To the upper end of an int32, so that its sign is that of the fraction; what that is made up for
by.
"""


def operations_of(held: SSAValue) -> list[Operation]:
    """The operations that make float32 of a fraction."""

    def constant(value: FloatAttr | IntegerAttr) -> Operation:
        return make(arith.ConstantOp, result_types=[value.type], properties={"value": value})

    bits = make(arith.ExtUIOp, operands=[held], result_types=[i32])
    upwards = constant(IntegerAttr(UPWARDS, i32))
    shifted = arith.ShLIOp(bits.results[0], upwards.results[0])
    whole = make(arith.SIToFPOp, operands=[shifted.result], result_types=[f32])
    back = constant(FloatAttr(BACK, f32))
    made = arith.MulfOp(whole.results[0], back.results[0])
    return [bits, upwards, shifted, whole, back, made]


def held_by(number: SSAValue) -> SSAValue | None:
    """What memory holds of a float32 that is a fraction; None of another one."""
    made = number.owner
    whole = made.lhs.owner if isinstance(made, arith.MulfOp) else None
    shifted = whole.input.owner if isinstance(whole, arith.SIToFPOp) else None
    bits = shifted.lhs.owner if isinstance(shifted, arith.ShLIOp) else None
    return bits.input if isinstance(bits, arith.ExtUIOp) and bits.input.type == i24 else None
