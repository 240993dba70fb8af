"""log and its relatives, as formulas over float32 lanes; `double` has those of float64.

The argument is a power of two times 1 + f, and a polynomial in f does the rest (Cody and Waite).
"""

from __future__ import annotations

from math import inf, sqrt
from math import log as exact_log

import numpy as np

from ncc.compiler.llvm.formulas import double
from ncc.compiler.llvm.formulas.approximation import Interpolated
from ncc.compiler.llvm.formulas.exponential import LN2, LN2_HIGH, LN2_LOW, LOG2_E
from ncc.compiler.llvm.formulas.real import Lanes

_HALF_ROOT = sqrt(0.5)
_SMALLEST_NORMAL = 2.0**-126

_LOG_TAIL = Interpolated(lambda f: (np.log1p(f) - f + f * f / 2) / f**3, -0.2930, 0.4143, 9)
"""(log(1 + f) - f + f**2/2) / f**3 for 1 + f in [sqrt(1/2), sqrt(2)]."""


def _mantissa(x: Lanes) -> tuple[Lanes, Lanes]:
    """n as a float and f with x = 2**n * (1 + f), 1 + f in [sqrt(1/2), sqrt(2)), for x > 0."""
    denormal = x.test("olt", _SMALLEST_NORMAL)
    bits = denormal.choose(x * 2.0**23, x).bits()
    exponent = (bits - int(np.float32(_HALF_ROOT).view(np.int32))) >> 23
    fraction = (bits - (exponent << 23)).as_float() - 1.0
    power = exponent.to_real()
    return denormal.choose(power - 23.0, power), fraction


def _log_of_fraction(f: Lanes) -> Lanes:
    """log(1 + f) = f - f**2/2 + f**3 * P(f)."""
    square = f * f
    return f + square.times_plus(-0.5, square * f * f.polynomial(_LOG_TAIL.coefficients))


def log(x: Lanes) -> Lanes:
    """log(x) = n*ln(2) + log(1 + f)."""
    if x.is_double:
        return double.log(x)
    power, f = _mantissa(x)
    square = f * f
    tail = (square * f).times_plus(f.polynomial(_LOG_TAIL.coefficients), power * LN2_LOW)
    small = square.times_plus(-0.5, tail)
    return double.ends_of_log(x, power.times_plus(LN2_HIGH, f + small))


def _log_with_base(x: Lanes, natural: float, of_two: float) -> Lanes:
    """log(1 + f) / ln(base) + n * log(2, base); both factors are split into two floats."""
    if x.is_double:
        return double.log_with_base(x, natural)
    power, f = _mantissa(x)
    y = _log_of_fraction(f)
    high, two = (float(np.float32(number)) for number in (natural, of_two))
    low = y.times_plus(natural - high, power * (of_two - two))
    return double.ends_of_log(x, power.times_plus(two, y.times_plus(high, low)))


def log2(x: Lanes) -> Lanes:
    """The logarithm with base 2."""
    return _log_with_base(x, LOG2_E, 1.0)


def log10(x: Lanes) -> Lanes:
    """The logarithm with base 10."""
    return _log_with_base(x, 1.0 / exact_log(10.0), LN2 / exact_log(10.0))


def log1p(x: Lanes) -> Lanes:
    """log(1 + x) = log(u) * x / (u - 1) with u = 1 + x rounded: the errors of u cancel (Kahan)."""
    u = x + 1.0
    exact = log(u) * (x / (u - 1.0))
    result = u.test("oeq", 1.0).choose(x, exact)
    return x.test("oeq", inf).choose(x, result)
