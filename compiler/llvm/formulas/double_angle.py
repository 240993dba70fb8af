"""sin and cos of float64 within a quadrant."""

from __future__ import annotations

from math import factorial, pi

from ncc.compiler.llvm.formulas.double import Pair
from ncc.compiler.llvm.formulas.real import Lanes

# pi/2 is the sum of these three.
_HALF_PI = float.fromhex("0x1.921fb54442d18p+0")
_HALF_PI_NEXT = float.fromhex("0x1.1a62633145c07p-54")
_HALF_PI_LAST = float.fromhex("-0x1.f1976b7ed8fbcp-110")
_EXACT = 2.0**50
"""Up to here quadrants are counted exactly."""

_SIN_TAIL = tuple((-1) ** k / factorial(2 * k + 1) for k in range(1, 9))
"""(sin(r)/r - 1) / r**2 as a function of r**2, |r| <= pi/4."""
_COS_TAIL = tuple((-1) ** k / factorial(2 * k) for k in range(2, 9))
"""(cos(r) - 1 + r**2/2) / r**4 as a function of r**2, |r| <= pi/4."""


def parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """n, sin r and cos r with x = n*pi/2 + r, |r| <= pi/4; n as an integer whose low bits are
    right.

    r is a pair, so that it is right next to multiples of pi/2, too. Numbers above 2**50, which no
    network needs, are taken for this one; infinity and NaN become NaN.
    """
    nan = x - x
    x = x.at_least(-_EXACT).at_most(_EXACT)
    nearest, number = (x * (2.0 / pi)).rounded()
    first = Pair.product(nearest, nearest.filled(_HALF_PI))
    second = Pair.product(nearest, nearest.filled(_HALF_PI_NEXT))
    rest = (x - first.high) - first.low
    near = Pair.sum(rest, -second.high)
    low = near.low - second.low - nearest * _HALF_PI_LAST + nan
    r = near.high
    square = r * r
    tail = (square * r).times_plus(square.polynomial(_SIN_TAIL), low)
    sin_r = (r + tail).with_sign_of(r)
    half = square * 0.5
    first_two = 1.0 - half
    tail = (square * square).times_plus(square.polynomial(_COS_TAIL), -(r * low))
    cos_r = first_two + (((1.0 - first_two) - half) + tail)
    return number, sin_r, cos_r
