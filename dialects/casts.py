"""Conversions of elements that are right for every number.

Between floats, and from integers, a value becomes the nearest one; integers keep their low bits; a
truth value is 0 or 1. A float becomes an integer by rounding towards zero. If that is no int32 (no
int64, for the types that do not fit into int32), the result is the lowest one, and narrower types
have its low bits, as on x86 in numpy and in onnxruntime.
"""

from __future__ import annotations

from math import inf, nan

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32, i1, i8, i32, i64
from xdsl.ir import Attribute

from ncc.dialects.element import bits_of, is_half, is_integer, least, ui32, ui64
from ncc.dialects.scalar import (
    Apply,
    Constant,
    Scalar,
    absolute,
    clamp,
    convert,
    copy_sign,
    minimum,
    not_equal,
    select,
)


def cast(x: Scalar, type: Attribute) -> Scalar:
    """x as a value of any other element type."""
    if x.type == type:
        return x
    if type == i1:
        return not_equal(x, 0)
    if is_integer(x.type) or not is_integer(type):
        return convert(x, type)
    if is_half(x.type):
        return cast(convert(x, f32), type)
    return _whole(x, type)


def _whole(x: Scalar, type: Attribute) -> Scalar:
    """A float32 or float64 as an integer."""
    if type == ui64:
        above = (x >= 2.0**63) & (x < 2.0**64)
        part = _signed(select(above, x - 2.0**63, x), i64)
        return convert(select(above, part ^ least(i64), part), type)
    by = i64 if type in (i64, ui32) else i32
    return convert(_signed(x, by), type)


def _signed(x: Scalar, type: Attribute) -> Scalar:
    """As int32 or int64."""
    inside = absolute(x) < 2.0 ** (bits_of(type) - 1)
    return select(inside, convert(x, type), least(type))


BELOW_HALF = 0.5 - 2.0**-25
"""The largest float32 below a half: to add it rounds up fractions from a half on."""


def saturated_int8(x: Scalar) -> Scalar:
    """A float as int8: rounded, halves away from zero, and limited to [-127, 127]; NaN is -127."""
    if _never_negative(x):
        return convert(minimum(x, 127.0) + BELOW_HALF, i8)
    limited = clamp(x, -127.0, 127.0)
    return convert(limited + copy_sign(BELOW_HALF, limited), i8)


def _never_negative(x: Scalar) -> bool:
    """Whether it is known to be at least zero and not NaN: a maximum with such a number, or this
    times a positive number.
    """
    match x:
        case Apply(operation=arith.MaxnumfOp, operands=operands):
            return any(_number_of(operand) >= 0 for operand in operands)
        case Apply(operation=arith.MulfOp, operands=(factor, by)):
            return _never_negative(factor) and 0 < _number_of(by) < inf
    return False


def _number_of(x: Scalar) -> float:
    """The number of a constant; NaN for any other value."""
    return float(x.value.value.data) if isinstance(x, Constant) else nan
