"""Shifts of integers: by a negative count, or by all bits and more, no bit of x is left."""

from __future__ import annotations

from xdsl.dialects import arith

from ncc.dialects.element import bits_of, is_unsigned
from ncc.dialects.scalar import Operand, Scalar, binary, scalar, select


def shift_left(x: Scalar, by: Operand) -> Scalar:
    """The bits of x further up."""
    by = scalar(by, x.type)
    inside = _is_inside(by)
    return select(inside, binary(arith.ShLIOp, x, select(inside, by, 0)), 0)


def shift_right(x: Scalar, by: Operand) -> Scalar:
    """The bits of x further down; the sign, if the type has one, comes from above."""
    by = scalar(by, x.type)
    inside = _is_inside(by)
    if is_unsigned(x.type):
        return select(inside, binary(arith.ShRUIOp, x, select(inside, by, 0)), 0)
    return binary(arith.ShRSIOp, x, select(inside, by, bits_of(x.type) - 1))


def _is_inside(by: Scalar) -> Scalar:
    """Whether bits of x are left."""
    below = by < bits_of(by.type)
    return below if is_unsigned(by.type) else below & (by >= 0)
