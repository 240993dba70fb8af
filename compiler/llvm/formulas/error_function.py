"""erf, as a formula over float32 and float64 lanes."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache
from math import erf as exact_erf
from math import factorial, pi, sqrt

import numpy as np

from ncc.compiler.llvm.formulas.approximation import Array, Interpolated
from ncc.compiler.llvm.formulas.avx512 import TABLE
from ncc.compiler.llvm.formulas.exponential import exp, reduced
from ncc.compiler.llvm.formulas.real import Lanes

# Below this a polynomial in x*x, above it 1 - exp(a polynomial).
_SPLIT = 0.9
_WIDTH = 0.125
_FIRST_LESS_ONE = 0.1283791670955126
"""2 / sqrt(pi) - 1."""
_END = (TABLE - 1) * _WIDTH


def _series(square: Array) -> Array:
    """erf(x) / x - 1 as a function of x*x: Taylor's series, exact to float64 up to x = 1."""
    total = np.zeros_like(square)
    term = np.ones_like(square) * 2.0 / np.sqrt(np.pi)
    for k in range(30):
        total += term / (2 * k + 1)
        term = -term * square / (k + 1)
    return total - 1.0


def _denominator(values: Array) -> Array:
    """exp(-x**2) / (1 - erf(x)) for x > 0, from the continued fraction of erfc."""
    fraction = np.zeros_like(values)
    for k in range(200, 0, -1):
        fraction = (k / 2.0) / (values + fraction)
    result: Array = (values + fraction) * np.sqrt(np.pi)
    return result


def _log_erfc(values: Array) -> Array:
    """log(1 - erf(x)) for x > 0."""
    result: Array = -values * values - np.log(_denominator(values))
    return result


_NEAR = Interpolated(_series, 0.0, _SPLIT**2, 6)
"""erf(x) / x - 1 as a function of x*x, x <= _SPLIT."""
_FAR = Interpolated(_log_erfc, _SPLIT, 4.0, 8)
"""log(1 - erf(x)), _SPLIT <= x <= 4."""
_NEAR_OF_DOUBLE = (
    _FIRST_LESS_ONE,
    *(2.0 / sqrt(pi) * (-1) ** k / (factorial(k) * (2 * k + 1)) for k in range(1, 26)),
)
"""erf(x) / x - 1 as a function of x*x, x <= 1.5: Taylor's series."""
_FAR_OF_DOUBLE = Interpolated(
    lambda t: 1.0 / _denominator(1.0 / (t + 0.2) - 2.0), -0.076, 0.0858, 15
)
"""exp(x**2) * (1 - erf(x)) as a function of 1 / (x + 2) - 1/5, 1.5 <= x <= 6."""


@cache
def _pieces() -> tuple[tuple[float, ...], ...]:
    """erf(x) - 3x/4 in 31 pieces, and in one more, in which erf is 1 within 1e-7.

    A sum that rounds once adds 3x/4 again. Near 0 the difference is smaller than erf, and so are
    the errors of its coefficients.
    """
    exact: Callable[[Array], Array] = np.vectorize(exact_erf)
    half = _WIDTH / 2

    def piece(middle: float) -> Interpolated:
        return Interpolated(lambda r: exact(middle + r) - 0.75 * (middle + r), -half, half, 4)

    first = (0.0, *Interpolated(lambda r: exact(r) / r - 0.75, 1e-9, half, 3).coefficients)
    others = (piece(k * _WIDTH).coefficients for k in range(1, TABLE - 1))
    return (first, *others, (1.0 - 0.75 * _END, -0.75, 0.0, 0.0, 0.0))


def erf(x: Lanes) -> Lanes:
    """In pieces, if a table of two registers holds them; otherwise x + x*P(x*x) near 0 and
    1 - exp(Q(|x|)) elsewhere. 1 from 4 on.
    """
    magnitude = abs(x)
    if x.is_double:
        return _erf_of_double(x)
    if x.fills_avx512:
        limited = magnitude.at_most(_END)
        pieces = limited.piecewise(_pieces(), _WIDTH)
        return limited.times_plus(0.75, pieces).with_sign_of(x)
    near = x.times_plus((x * x).polynomial(_NEAR.coefficients), x)
    limited = magnitude.at_most(4.0)
    far = 1.0 - reduced(limited.polynomial(_FAR.coefficients)).exp()
    return magnitude.test("olt", _SPLIT).choose(near, far.with_sign_of(x))


def _erf_of_double(x: Lanes) -> Lanes:
    """x + x*P(x*x) up to 1.5, and 1 - exp(-x*x) * Q(1 / (|x| + 2)) elsewhere. 1 from 6 on."""
    magnitude = abs(x)
    near = x.times_plus((x * x).polynomial(_NEAR_OF_DOUBLE), x)
    limited = magnitude.at_most(6.0)
    place = 1.0 / (limited + 2.0) - 0.2
    far = 1.0 - exp(-(limited * limited)) * place.polynomial(_FAR_OF_DOUBLE.coefficients)
    return magnitude.test("olt", 1.5).choose(near, far.with_sign_of(x))
