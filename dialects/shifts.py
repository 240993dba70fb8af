"""Shifts of integers, right for every count that is not negative."""

from __future__ import annotations

from xdsl.dialects import arith

from ncc.dialects.element import bits_of, is_unsigned
from ncc.dialects.scalar import Operand, Scalar, binary, scalar, select


def shift_left(x: Scalar, by: Operand) -> Scalar:
    """The bits of x further up by a number that is not negative."""
    by = scalar(by, x.type)
    inside = by < bits_of(x.type)
    return select(inside, binary(arith.ShLIOp, x, select(inside, by, 0)), 0)


def shift_right(x: Scalar, by: Operand) -> Scalar:
    """The bits of x further down; the sign, if the type has one, comes from above."""
    by = scalar(by, x.type)
    inside = by < bits_of(x.type)
    if is_unsigned(x.type):
        return select(inside, binary(arith.ShRUIOp, x, select(inside, by, 0)), 0)
    return binary(arith.ShRSIOp, x, select(inside, by, bits_of(x.type) - 1))
