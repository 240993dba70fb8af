"""exp and its relatives, as formulas over float32 lanes; `double` has those of float64.

The argument is reduced by a power of two, and a polynomial does the rest (W. J. Cody and W. Waite,
Software Manual for the Elementary Functions, 1980).
"""

from __future__ import annotations

from math import log as exact_log
from typing import NamedTuple

import numpy as np

from ncc.compiler.llvm.formulas import double
from ncc.compiler.llvm.formulas.approximation import Interpolated
from ncc.compiler.llvm.formulas.real import (
    MAGIC_BITS_WITH_BIAS,
    MAGIC_WITH_BIAS,
    Lanes,
    power_of_two,
)

LN2 = exact_log(2.0)
LOG2_E = 1.0 / LN2
# The high part has few bits, so that its product with an exponent is exact.
LN2_HIGH = 0.693359375
LN2_LOW = LN2 - LN2_HIGH

_EXP_TAIL = Interpolated(lambda r: (np.expm1(r) - r) / r**2, -0.349, 0.35, 4)
"""(exp(r) - 1 - r) / r**2 on [-ln(2)/2, ln(2)/2]."""
_EXP2_TAIL = Interpolated(lambda r: np.expm1(r * LN2) / r, -0.5, 0.5, 5)
"""(2**r - 1) / r on [-1/2, 1/2]."""


class Reduced(NamedTuple):
    """x = n*ln(2) + r, |r| <= ln(2)/2."""

    nearest: Lanes
    """n as a float."""
    biased: Lanes
    """An integer whose low bits are n, biased like the exponent of a float."""
    fraction: Lanes
    """exp(r) - 1."""

    @property
    def exponent(self) -> Lanes:
        """n as an integer."""
        return self.biased - MAGIC_BITS_WITH_BIAS

    @property
    def scale(self) -> Lanes:
        """2**n, |n| <= 127, where 2**-127 is 0."""
        return (self.biased << 23).as_float()

    def exp(self) -> Lanes:
        """exp(x)."""
        return (self.fraction + 1.0).times_power_of_two(self.nearest, self.exponent)


def reduced(x: Lanes) -> Reduced:
    """x in parts, |x| <= 104; n is rounded by adding a number so large that no fraction is left."""
    shifted = x.times_plus(LOG2_E, MAGIC_WITH_BIAS)
    nearest = shifted - MAGIC_WITH_BIAS
    r = nearest.times_plus(-LN2_LOW, nearest.times_plus(-LN2_HIGH, x))
    return Reduced(
        nearest, shifted.bits(), (r * r).times_plus(r.polynomial(_EXP_TAIL.coefficients), r)
    )


def exp(x: Lanes) -> Lanes:
    """exp(x) = 2**n * exp(r). Beyond the range of float32: 0 and infinity; NaN stays."""
    if x.is_double:
        return double.exp(x)
    return reduced(x.at_least(-104.0).at_most(89.0)).exp()


def exp2(x: Lanes) -> Lanes:
    """2**x = 2**n * 2**r."""
    if x.is_double:
        return double.exp2(x)
    x = x.at_least(-151.0).at_most(129.0)
    nearest, exponent = x.rounded()
    r = x - nearest
    fraction = r.times_plus(r.polynomial(_EXP2_TAIL.coefficients), 1.0)
    return fraction.times_power_of_two(nearest, exponent)


def expm1(x: Lanes) -> Lanes:
    """exp(x) - 1 = 2 * (s*(exp(r) - 1) + (s - 1/2)), s = 2**(n-1): accurate near 0."""
    if x.is_double:
        return double.expm1(x)
    limited = x.at_least(-20.0).at_most(89.0)
    parts = reduced(limited)
    scale = power_of_two(parts.exponent - 1)
    result = parts.fraction.times_plus(scale, scale - 0.5) * 2.0
    return result.with_sign_of(x)
