"""Rounding to integers without the instructions of SSE 4.1.

A float32 from 2**23 on has no fraction (a float64 from 2**52 on). A smaller one is rounded to the
nearest even integer by adding and subtracting this number; then the integer is corrected by one.
"""

from __future__ import annotations

from ncc.compiler.llvm.formulas.real import Lanes

_NO_FRACTION, _NO_FRACTION_OF_DOUBLE = 2.0**23, 2.0**52


def _nearest(magnitude: Lanes) -> Lanes:
    """The integer nearest to a number that is not negative; NaN stays."""
    end = _NO_FRACTION_OF_DOUBLE if magnitude.is_double else _NO_FRACTION
    rounded = (magnitude + end) - end
    return magnitude.test("olt", end).choose(rounded, magnitude)


def round_even(x: Lanes) -> Lanes:
    """To the nearest integer, halves to the even one."""
    return _nearest(abs(x)).with_sign_of(x)


def round(x: Lanes) -> Lanes:
    """To the nearest integer, halves away from zero."""
    magnitude = abs(x)
    nearest = _nearest(magnitude)
    short = (magnitude - nearest).test("oeq", 0.5)
    return short.choose(nearest + 1.0, nearest).with_sign_of(x)


def trunc(x: Lanes) -> Lanes:
    """Towards zero."""
    magnitude = abs(x)
    nearest = _nearest(magnitude)
    return nearest.test("ogt", magnitude).choose(nearest - 1.0, nearest).with_sign_of(x)


def floor(x: Lanes) -> Lanes:
    """Down."""
    nearest = round_even(x)
    return nearest.test("ogt", x).choose(nearest - 1.0, nearest).with_sign_of(x)


def ceil(x: Lanes) -> Lanes:
    """Up."""
    nearest = round_even(x)
    return nearest.test("olt", x).choose(nearest + 1.0, nearest).with_sign_of(x)
