"""Remainders of numbers of every type."""

from __future__ import annotations

from math import inf

from xdsl.dialects.builtin import f32, f64

from ncc.dialects.element import is_half, is_integer, is_unsigned
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    convert,
    copy_sign,
    equal,
    not_equal,
    remainder,
    select,
    trunc,
)


def fmod(x: Scalar, y: Scalar) -> Scalar:
    """The remainder with the sign of the dividend, as C's fmod; of integers by 0, 0.

    Of floats it is exact if the quotient is less than 2**53.
    """
    if is_integer(x.type):
        return remainder(x, y)
    dividend, by = (absolute(convert(o, f64)) for o in (x, y))
    rest = _less(dividend, trunc(dividend / by), by)
    rest = select(rest < 0.0, rest + by, rest)
    rest = select(rest >= by, rest - by, rest)
    rest = select(equal(by, inf) & (dividend < inf), dividend, rest)
    return copy_sign(convert(rest, x.type), x)


def _less(x: Scalar, a: Scalar, b: Scalar) -> Scalar:
    """x - a * b of float64, where this is a number: parts of 26 bits have exact products (Dekker).

    Not every target has an instruction that rounds once.
    """
    (a1, a2), (b1, b2) = ((high := _upper_half(o), o - high) for o in (a, b))
    product = a * b
    rest = ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2
    return (x - product) - rest


def _upper_half(x: Scalar) -> Scalar:
    shifted = x * (2.0**27 + 1.0)
    return shifted - (shifted - x)


def modulo(x: Scalar, y: Scalar) -> Scalar:
    """The remainder with the sign of the divisor, as in Python; of integers by 0, 0."""
    if is_half(x.type):
        return convert(modulo(convert(x, f32), convert(y, f32)), x.type)
    rest = fmod(x, y)
    if is_unsigned(x.type):
        return rest
    return select(not_equal(rest, 0) & ((rest < 0) ^ (y < 0)), rest + y, rest)
