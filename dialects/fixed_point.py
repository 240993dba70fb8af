"""FixedPoint: numbers from -1 to 1 that memory holds in three bytes, or in two and a half.

v: i24    ->    sitofp (extui v << 8) * 2**-31                v / 2**23, for v in two's complement
v: i20    ->    bitcast (extui v << 3 + 0x40000000) - 3.0     v / 2**19 - 1

Sixteen i20 that lie side by side are twenty words of two bytes, of which the first sixteen are bits
of one each, and the last four what is left (`ncc.dialects.weights.narrow.ShortFixedPoint`).
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects import arith
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i32
from xdsl.ir import Operation, SSAValue

from ncc.dialects.element import i20, i24
from ncc.dialects.operation import make

UPWARDS, BACK = 8, 2.0**-31
"""To the upper end of an int32, so that its sign is that of the fraction; what that is made up for
by.
"""

TO_MANTISSA, FROM_TWO, MIDDLE = 3, 0x40000000, 3.0
"""To the upper end of what a float32 has behind its exponent; the bits of 2.0, so that numbers are
from there up to 4.0; what is 0.
"""


def operations_of(held: SSAValue) -> list[Operation]:
    """The operations that make float32 of a fraction."""
    return [*(_of_short if held.type == i20 else _of_long)(held)]


def _of_long(held: SSAValue) -> Iterator[Operation]:
    bits, upwards = _bits(held), _constant(IntegerAttr(UPWARDS, i32))
    shifted = arith.ShLIOp(bits.results[0], upwards.results[0])
    whole = make(arith.SIToFPOp, operands=[shifted.result], result_types=[f32])
    back = _constant(FloatAttr(BACK, f32))
    yield from (bits, upwards, shifted, whole, back)
    yield arith.MulfOp(whole.results[0], back.results[0])


def _of_short(held: SSAValue) -> Iterator[Operation]:
    bits, places = _bits(held), _constant(IntegerAttr(TO_MANTISSA, i32))
    shifted = arith.ShLIOp(bits.results[0], places.results[0])
    from_two = _constant(IntegerAttr(FROM_TWO, i32))
    added = arith.AddiOp(shifted.result, from_two.results[0])
    number = make(arith.BitcastOp, operands=[added.result], result_types=[f32])
    middle = _constant(FloatAttr(MIDDLE, f32))
    yield from (bits, places, shifted, from_two, added, number, middle)
    yield arith.SubfOp(number.results[0], middle.results[0])


def _bits(held: SSAValue) -> Operation:
    return make(arith.ExtUIOp, operands=[held], result_types=[i32])


def _constant(value: FloatAttr | IntegerAttr) -> Operation:
    return make(arith.ConstantOp, result_types=[value.type], properties={"value": value})


_STEPS = {
    i24: (arith.MulfOp, arith.SIToFPOp, arith.ShLIOp, arith.ExtUIOp),
    i20: (arith.SubfOp, arith.BitcastOp, arith.AddiOp, arith.ShLIOp, arith.ExtUIOp),
}
"""The operations that convert either to float32, the last one first, along first operands."""

_LAST = tuple(steps[0] for steps in _STEPS.values())


def held_by(number: SSAValue) -> SSAValue | None:
    """The stored type of a float32 that is a fraction; None for any other value."""
    if not isinstance(number.owner, _LAST):
        return None
    for held, steps in _STEPS.items():
        value = number
        for step in steps:
            if not isinstance(value.owner, step):
                break
            value = value.owner.operands[0]
        else:
            return value if value.type == held else None
    return None
