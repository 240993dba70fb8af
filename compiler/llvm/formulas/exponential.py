"""exp, log and their relatives, as formulas over float32 lanes.

The argument is reduced by a power of two, and a polynomial does the rest (W. J. Cody and W. Waite,
Software Manual for the Elementary Functions, 1980).
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from math import erf as exact_erf
from math import inf, nan, sqrt
from math import log as exact_log

import numpy as np

from ncc.compiler.llvm.formulas.approximation import Array, interpolated
from ncc.compiler.llvm.formulas.avx512 import TABLE
from ncc.compiler.llvm.formulas.real import (
    MAGIC_BITS_WITH_BIAS,
    MAGIC_WITH_BIAS,
    Lanes,
    power_of_two,
)
from ncc.compiler.llvm.formulas.short_exp import LARGEST, short_exp_plus_one

LN2 = exact_log(2.0)
LOG2_E = 1.0 / LN2
# The high part has few bits, so that its product with an exponent is exact.
_LN2_HIGH = 0.693359375
_LN2_LOW = LN2 - _LN2_HIGH
_HALF_ROOT = sqrt(0.5)
_SMALLEST_NORMAL = 2.0**-126
_LOGISTIC_LIMIT = 88.3
# tanh: below this a polynomial in x*x, above it 1 - 2 / (exp(2x) + 1).
_TANH_SPLIT = 0.6


@cache
def _exp_tail() -> tuple[float, ...]:
    """(exp(r) - 1 - r) / r**2 on [-ln(2)/2, ln(2)/2]."""
    return interpolated(lambda r: (np.expm1(r) - r) / r**2, -0.349, 0.35, 4)


@cache
def _exp2_tail() -> tuple[float, ...]:
    """(2**r - 1) / r on [-1/2, 1/2]."""
    return interpolated(lambda r: np.expm1(r * LN2) / r, -0.5, 0.5, 5)


@cache
def _tanh_tail() -> tuple[float, ...]:
    """(tanh(x)/x - 1) / x**2 as a function of x**2, |x| <= _TANH_SPLIT."""

    def tail(square: Array) -> Array:
        x = np.sqrt(square)
        return (np.tanh(x) - x) / (square * x)

    return interpolated(tail, 1e-4, _TANH_SPLIT**2, 4)


@cache
def _log_tail() -> tuple[float, ...]:
    """(log(1 + f) - f + f**2/2) / f**3 for 1 + f in [sqrt(1/2), sqrt(2)]."""
    return interpolated(lambda f: (np.log1p(f) - f + f * f / 2) / f**3, -0.2930, 0.4143, 9)


@dataclass(frozen=True)
class _Reduced:
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


def _reduced(x: Lanes) -> _Reduced:
    shifted = x.times_plus(LOG2_E, MAGIC_WITH_BIAS)
    nearest = shifted - MAGIC_WITH_BIAS
    r = nearest.times_plus(-_LN2_LOW, nearest.times_plus(-_LN2_HIGH, x))
    return _Reduced(nearest, shifted.bits(), (r * r).times_plus(r.polynomial(_exp_tail()), r))


def exp(x: Lanes) -> Lanes:
    """exp(x) = 2**n * exp(r). Beyond the range of float32: 0 and infinity; NaN stays."""
    return _reduced(x.at_least(-104.0).at_most(89.0)).exp()


def exp2(x: Lanes) -> Lanes:
    """2**x = 2**n * 2**r."""
    x = x.at_least(-151.0).at_most(129.0)
    nearest, exponent = x.rounded()
    r = x - nearest
    fraction = r.times_plus(r.polynomial(_exp2_tail()), 1.0)
    return fraction.times_power_of_two(nearest, exponent)


def expm1(x: Lanes) -> Lanes:
    """exp(x) - 1 = 2 * (s*(exp(r) - 1) + (s - 1/2)), s = 2**(n-1): accurate near 0."""
    limited = x.at_least(-20.0).at_most(89.0)
    reduced = _reduced(limited)
    scale = power_of_two(reduced.exponent - 1)
    result = reduced.fraction.times_plus(scale, scale - 0.5) * 2.0
    return result.with_sign_of(x)


def _exp_of_negated_plus_one(x: Lanes) -> Lanes:
    """exp(-x) + 1 = 2**n * (exp(r) - 1) + (2**n + 1), |x| <= 88.3: the sum of two powers of two is
    exact for all n up to 23, and all but that behind it.
    """
    if x.fills_avx512 or x.fills_avx2:
        return short_exp_plus_one(x)
    reduced = _reduced(-x)
    return reduced.fraction.times_plus(reduced.scale, reduced.scale + 1.0)


def _upper_limit(x: Lanes) -> float:
    """The largest argument of that."""
    return LARGEST if x.fills_avx2 else _LOGISTIC_LIMIT


def logistic(x: Lanes) -> Lanes:
    """1 / (1 + exp(-x)), which is 0 (denormal, unless flushed) where float32 ends for exp(-x)."""
    limited = x.at_least(-_LOGISTIC_LIMIT).at_most(_upper_limit(x))
    return _exp_of_negated_plus_one(limited).inverse()


def swish(x: Lanes) -> Lanes:
    """x / (1 + exp(-x)), x limited below so that no infinity is divided by a limited sum; or
    x * (1 / (1 + exp(-x))), in which the second factor ends in 0. A NaN comes through x.
    """
    if x.divides:
        low = x.at_least(-_LOGISTIC_LIMIT)
        return low / _exp_of_negated_plus_one(low.at_most(_upper_limit(x)))
    return x * _exp_of_negated_plus_one(x.within(_LOGISTIC_LIMIT)).inverse()


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
    return f + square.times_plus(-0.5, square * f * f.polynomial(_log_tail()))


def _ends_of_log(x: Lanes, inside: Lanes) -> Lanes:
    """log(0) = -inf, log(inf) = inf, NaN for x < 0 and for NaN."""
    result = x.test("olt", inf).choose(inside, inf)
    outside = x.test("oeq", 0.0).choose(x.filled(-inf), nan)
    return x.test("ogt", 0.0).choose(result, outside)


def log(x: Lanes) -> Lanes:
    """log(x) = n*ln(2) + log(1 + f)."""
    power, f = _mantissa(x)
    square = f * f
    tail = (square * f).times_plus(f.polynomial(_log_tail()), power * _LN2_LOW)
    small = square.times_plus(-0.5, tail)
    return _ends_of_log(x, power.times_plus(_LN2_HIGH, f + small))


def _log_with_base(x: Lanes, natural: float, of_two: float) -> Lanes:
    """log(1 + f) / ln(base) + n * log(2, base); both factors are split into two floats."""
    power, f = _mantissa(x)
    y = _log_of_fraction(f)
    high, two = (float(np.float32(number)) for number in (natural, of_two))
    low = y.times_plus(natural - high, power * (of_two - two))
    return _ends_of_log(x, power.times_plus(two, y.times_plus(high, low)))


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


def _double_log2(magnitude: Lanes) -> Lanes:
    """log2 of a float32 that is not negative, in float64 with 1e-11 relative error.

    x = 2**n * m, m in [sqrt(1/2), sqrt(2)), s = (m-1)/(m+1): log(m) = 2*(s + s**3/3 + s**5/5 ...).
    """
    wide = magnitude.to_double()
    bits = wide.bits()
    # The exponent's bits in the place of the mantissa of 2**52 are a float64 of that size.
    biased = ((bits >> 52) | 0x4330000000000000).as_float()
    power = biased - (2.0**52 + 1023.0)
    m = ((bits & ((1 << 52) - 1)) | 0x3FF0000000000000).as_float()
    large = m.test("ogt", sqrt(2.0))
    m = large.choose(m * 0.5, m)
    power = large.choose(power + 1.0, power)
    s = (m - 1.0) / (m + 1.0)
    series = (s * s).polynomial([2.0 * LOG2_E / (2 * k + 1) for k in range(8)])
    result = s.times_plus(series, power)
    result = wide.test("oeq", 0.0).choose(result.filled(-inf), result)
    return wide.test("olt", inf).choose(result, wide)


def _double_exp2(x: Lanes) -> Lanes:
    """2**x in float64, |x| <= 1000; Taylor's series of 2**r, |r| <= 1/2."""
    nearest, exponent = x.rounded()
    r = x - nearest
    coefficients = [1.0]
    for k in range(1, 10):
        coefficients.append(coefficients[-1] * LN2 / k)
    return ((exponent << 52) + r.polynomial(coefficients).bits()).as_float()


def pow(x: Lanes, y: Lanes) -> Lanes:
    """x**y = 2**(y * log2(x)), the exponent in float64, with the special cases of C's powf.

    A negative base needs an integral exponent, and gives a negative result where that is odd.
    """
    magnitude, exponent = abs(x), y.to_double()
    product = exponent * _double_log2(magnitude)
    product = magnitude.test("oeq", 1.0).choose(product.filled(0.0), product)
    result = _double_exp2(product.at_least(-300.0).at_most(300.0)).to_single()

    whole = abs(exponent).at_most(2.0**30)
    half = whole * 0.5
    integral = whole.rounded()[0].test("oeq", whole)
    odd = integral & half.rounded()[0].test("one", half)
    negative = x.filled(1.0).with_sign_of(x).test("olt", 0.0)
    result = (negative & odd).choose(-result, result)
    undefined = x.test("olt", 0.0) & x.test("ogt", -inf) & integral.inverted()
    result = undefined.choose(x.filled(nan), result)
    return y.test("oeq", 0.0).choose(y.filled(1.0), result)


def cbrt(x: Lanes) -> Lanes:
    """The cube root, through the logarithm in float64."""
    third = (_double_log2(abs(x)) * (1.0 / 3.0)).at_least(-300.0)
    result = _double_exp2(third.at_most(300.0)).to_single().with_sign_of(x)
    return (abs(x).test("olt", inf) & x.test("one", 0.0)).choose(result, x)


def sinh(x: Lanes) -> Lanes:
    """(e + e/(e+1)) / 2 with e = expm1(|x|); far out exp(|x|/2)**2 / 2, which overflows later."""
    magnitude = abs(x)
    e = expm1(magnitude.at_most(30.0))
    near = (e + e / (e + 1.0)) * 0.5
    root = exp(magnitude * 0.5)
    return magnitude.test("olt", 20.0).choose(near, root * 0.5 * root).with_sign_of(x)


def cosh(x: Lanes) -> Lanes:
    """(e + 1/e) / 2 with e = exp(|x|); far out exp(|x|/2)**2 / 2, which overflows later."""
    magnitude = abs(x)
    e = exp(magnitude.at_most(30.0))
    root = exp(magnitude * 0.5)
    near = (e + 1.0 / e) * 0.5
    return magnitude.test("olt", 20.0).choose(near, root * 0.5 * root)


def tanh(x: Lanes) -> Lanes:
    """x + x**3 * P(x**2) near 0; elsewhere 1 - 2 / (exp(2|x|) + 1), which is 1 from 9.02 on."""
    magnitude = abs(x)
    square = x * x
    near = (square * x).times_plus(square.polynomial(_tanh_tail()), x)
    exponent = magnitude.at_most(10.0) * 2.0
    far = _exp_of_negated_plus_one(-exponent).inverse().times_plus(-2.0, 1.0)
    return magnitude.test("olt", _TANH_SPLIT).choose(near, far).with_sign_of(x)


def asinh(x: Lanes) -> Lanes:
    """log(a + sqrt(a*a + 1)) with a = |x|, written as a log1p; far out log(a) + log(2)."""
    a = abs(x)
    limited = a.at_most(1e9)
    square = limited * limited
    near = log1p(limited + square / ((square + 1.0).sqrt() + 1.0))
    return a.test("olt", 1e9).choose(near, log(a) + LN2).with_sign_of(x)


def acosh(x: Lanes) -> Lanes:
    """log(x + sqrt(x*x - 1)), written as a log1p of t = x - 1; far out log(x) + log(2).

    Two roots in place of that of a product, which far below 1 is positive again.
    """
    t = x.at_most(1e9) - 1.0
    near = log1p(t + t.sqrt() * (t + 2.0).sqrt())
    return x.test("ult", 1e9).choose(near, log(x) + LN2)


def atanh(x: Lanes) -> Lanes:
    """log1p(2a / (1 - a)) / 2 with a = |x|."""
    a = abs(x)
    return (log1p(a * 2.0 / (1.0 - a)) * 0.5).with_sign_of(x)


# erf: below this a polynomial in x*x, above it 1 - exp(a polynomial).
_ERF_SPLIT = 0.9
_ERF_WIDTH = 0.125
_ERF_END = (TABLE - 1) * _ERF_WIDTH


def _erf_series(square: Array) -> Array:
    """erf(x) / x - 1 as a function of x*x: Taylor's series, exact to float64 up to x = 1."""
    total = np.zeros_like(square)
    term = np.ones_like(square) * 2.0 / np.sqrt(np.pi)
    for k in range(30):
        total += term / (2 * k + 1)
        term = -term * square / (k + 1)
    return total - 1.0


def _log_erfc(values: Array) -> Array:
    """log(1 - erf(x)) for x > 0, from the continued fraction of erfc."""
    fraction = np.zeros_like(values)
    for k in range(200, 0, -1):
        fraction = (k / 2.0) / (values + fraction)
    result: Array = -values * values - np.log((values + fraction) * np.sqrt(np.pi))
    return result


@cache
def _erf_near() -> tuple[float, ...]:
    return interpolated(_erf_series, 0.0, _ERF_SPLIT**2, 6)


@cache
def _erf_far() -> tuple[float, ...]:
    return interpolated(_log_erfc, _ERF_SPLIT, 4.0, 8)


@cache
def _erf_pieces() -> tuple[tuple[float, ...], ...]:
    """erf(x) - 3x/4 in 31 pieces, and in one more as if erf were 1, as it is there to 1e-7.

    What is taken away comes back in a sum that is rounded once; what remains is smaller than erf
    near 0, and so are the errors of its coefficients.
    """
    exact: Callable[[Array], Array] = np.vectorize(exact_erf)
    half = _ERF_WIDTH / 2

    def piece(middle: float) -> tuple[float, ...]:
        return interpolated(lambda r: exact(middle + r) - 0.75 * (middle + r), -half, half, 4)

    first = (0.0, *interpolated(lambda r: exact(r) / r - 0.75, 1e-9, half, 3))
    others = (piece(k * _ERF_WIDTH) for k in range(1, TABLE - 1))
    return (first, *others, (1.0 - 0.75 * _ERF_END, -0.75, 0.0, 0.0, 0.0))


def erf(x: Lanes) -> Lanes:
    """In pieces, where a table of two registers holds them; otherwise x + x*P(x*x) near 0 and
    1 - exp(Q(|x|)) elsewhere. 1 from 4 on.
    """
    magnitude = abs(x)
    if x.fills_avx512:
        limited = magnitude.at_most(_ERF_END)
        pieces = limited.piecewise(_erf_pieces(), _ERF_WIDTH)
        return limited.times_plus(0.75, pieces).with_sign_of(x)
    near = x.times_plus((x * x).polynomial(_erf_near()), x)
    limited = magnitude.at_most(4.0)
    far = 1.0 - _reduced(limited.polynomial(_erf_far())).exp()
    return magnitude.test("olt", _ERF_SPLIT).choose(near, far.with_sign_of(x))
