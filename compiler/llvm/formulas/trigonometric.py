"""sin, cos, tan and their inverses, as formulas over float32 and float64 lanes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import inf, nan, pi

import numpy as np

from ncc.compiler.llvm.formulas import double_angle
from ncc.compiler.llvm.formulas.approximation import Array, Interpolated
from ncc.compiler.llvm.formulas.real import Lanes

# pi/2 in two parts (fdlibm's): the high one has 33 bits, so that small multiples of it are exact.
_HALF_PI_HIGH = 1.57079632673412561417
_HALF_PI_LOW = 6.07710050650619224932e-11
_QUARTER_PI = pi / 4


def _of_square(function: Callable[[Array], Array]) -> Callable[[Array], Array]:
    return lambda square: function(np.sqrt(square))


def _series(coefficients: Callable[[], Sequence[float]]) -> Callable[[Array], Array]:
    return lambda x: np.asarray(np.polynomial.polynomial.polyval(x, coefficients()), np.float64)


def _asin_series() -> Sequence[float]:
    terms = [1.0]
    for k in range(1, 50):
        terms.append(terms[-1] * (2 * k - 1) / (2 * k))
    return [term / (2 * k + 1) for k, term in enumerate(terms)][1:]


def _atan_series() -> Sequence[float]:
    return [(-1) ** k / (2 * k + 1) for k in range(1, 40)]


_SIN_TAIL = Interpolated(_of_square(lambda r: (np.sin(r) - r) / r**3), 0.0, 0.63, 3)
"""(sin(r)/r - 1) / r**2 as a function of r**2, |r| <= pi/4."""
_COS_TAIL = Interpolated(
    _of_square(lambda r: (0.5 * r * r - 2.0 * np.sin(r / 2) ** 2) / r**4), 0.0, 0.63, 3
)
"""(cos(r) - 1 + r**2/2) / r**4 as a function of r**2, |r| <= pi/4."""
_ATAN_TAIL = Interpolated(_of_square(lambda t: (np.arctan(t) - t) / t**3), 0.0, 0.1717, 5)
"""(atan(t)/t - 1) / t**2 as a function of t**2, |t| <= tan(pi/8)."""
_ASIN_TAIL = Interpolated(_of_square(lambda t: (np.arcsin(t) - t) / t**3), 0.0, 0.25, 6)
"""(asin(t)/t - 1) / t**2 as a function of t**2, |t| <= 1/2."""
_ATAN_TAIL_OF_DOUBLE = Interpolated(_series(_atan_series), 0.0, 0.1717, 13)
_ASIN_TAIL_OF_DOUBLE = Interpolated(_series(_asin_series), 0.0, 0.25, 14)
"""The same for float64, from series, whose terms become small soon."""


def _quadrant(x: Lanes) -> tuple[Lanes, Lanes]:
    """n and r with x = n*pi/2 + r, |r| <= pi/4, computed in float64.

    Exact to float32 for |x| up to a million, where n has 20 bits. For larger x, which no network
    needs, the error grows, while |r| keeps its bound and NaN stays.
    """
    wide = x.to_double()
    nearest, number = (wide * (2.0 / pi)).rounded()
    r = nearest.times_plus(-_HALF_PI_LOW, nearest.times_plus(-_HALF_PI_HIGH, wide))
    bounded = r.to_single().at_least(-_QUARTER_PI).at_most(_QUARTER_PI)
    return number.narrowed(), bounded


def _sin_and_cos(r: Lanes) -> tuple[Lanes, Lanes]:
    """sin and cos for |r| <= pi/4: r + r**3 * P(r**2) and 1 - r**2/2 + r**4 * Q(r**2)."""
    square = r * r
    sin_r = (square * r).times_plus(square.polynomial(_SIN_TAIL.coefficients), r).with_sign_of(r)
    tail = (square * square) * square.polynomial(_COS_TAIL.coefficients)
    cos_r = square.times_plus(-0.5, tail) + 1.0
    return sin_r, cos_r


def _parts(x: Lanes) -> tuple[Lanes, Lanes, Lanes]:
    """n, sin r and cos r with x = n*pi/2 + r."""
    if x.is_double:
        return double_angle.parts(x)
    number, r = _quadrant(x)
    return (number, *_sin_and_cos(r))


def _wave(x: Lanes, ahead: int) -> Lanes:
    """sin(x + ahead * pi/2)."""
    number, sin_r, cos_r = _parts(x)
    number = number + ahead
    value = (number & 1).test("ne", 0).choose(cos_r, sin_r)
    return (number & 2).test("ne", 0).choose(-value, value)


def sin(x: Lanes) -> Lanes:
    """sin(n*pi/2 + r): sin r, cos r, -sin r or -cos r."""
    return _wave(x, 0)


def cos(x: Lanes) -> Lanes:
    """cos(x) = sin(x + pi/2)."""
    return _wave(x, 1)


def tan(x: Lanes) -> Lanes:
    """sin r / cos r, or -cos r / sin r in odd quadrants."""
    number, sin_r, cos_r = _parts(x)
    odd = (number & 1).test("ne", 0)
    return odd.choose(-cos_r, sin_r) / odd.choose(sin_r, cos_r)


def atan(x: Lanes) -> Lanes:
    """t + t**3 * P(t**2) after one of two reductions.

    atan(a) = pi/2 + atan(-1/a) above tan(3*pi/8), = pi/4 + atan((a-1)/(a+1)) above tan(pi/8).
    """
    a = abs(x)
    large, middle = a.test("ogt", 2.414213562), a.test("ogt", 0.4142135624)
    above = large.choose(a.filled(-1.0), middle.choose(a - 1.0, a))
    below = large.choose(a, middle.choose(a + 1.0, 1.0))
    start = large.choose(a.filled(pi / 2), middle.choose(a.filled(_QUARTER_PI), 0.0))
    t = above / below
    square = t * t
    tail = _ATAN_TAIL_OF_DOUBLE if x.is_double else _ATAN_TAIL
    angle = start + (square * t).times_plus(square.polynomial(tail.coefficients), t)
    return angle.with_sign_of(x)


def atan2(y: Lanes, x: Lanes) -> Lanes:
    """The angle of the point (x, y), from atan of the smaller by the larger of |x| and |y|."""
    a, b = abs(x), abs(y)
    steep = b.test("ogt", a)
    small, large = steep.choose(a, b), steep.choose(b, a)
    ratio = small / large
    ratio = large.test("oeq", 0.0).choose(ratio.filled(0.0), ratio)
    ratio = small.test("oeq", inf).choose(ratio.filled(1.0), ratio)
    angle = atan(ratio)
    angle = steep.choose(pi / 2 - angle, angle)
    left = x.filled(1.0).with_sign_of(x).test("olt", 0.0)
    angle = left.choose(pi - angle, angle).with_sign_of(y)
    return y.test("uno", x).choose(y.filled(nan), angle)


def _asin_inside(t: Lanes) -> Lanes:
    """asin(t), |t| <= 1/2: t + t**3 * P(t**2)."""
    square = t * t
    tail = _ASIN_TAIL_OF_DOUBLE if t.is_double else _ASIN_TAIL
    return (square * t).times_plus(square.polynomial(tail.coefficients), t)


def asin(x: Lanes) -> Lanes:
    """asin(a) = pi/2 - 2*asin(sqrt((1 - a)/2)) for a = |x| above 1/2; NaN outside [-1, 1]."""
    a = abs(x)
    far = a.test("ogt", 0.5)
    inside = _asin_inside(far.choose(((1.0 - a) * 0.5).sqrt(), a))
    return far.choose(pi / 2 - inside * 2.0, inside).with_sign_of(x)


def acos(x: Lanes) -> Lanes:
    """2*asin(sqrt((1 - a)/2)) for a = |x| above 1/2, and pi minus that where x < 0."""
    a = abs(x)
    far = a.test("ogt", 0.5)
    inside = _asin_inside(far.choose(((1.0 - a) * 0.5).sqrt(), a))
    outer = x.test("olt", 0.0).choose(pi - inside * 2.0, inside * 2.0)
    return far.choose(outer, pi / 2 - inside.with_sign_of(x))
