"""exp, log and pow of float64, and sums of two float64 that hold what rounding leaves.

As for float32, a power of two is taken out of the argument. Taylor's series of what is left end
where a term is less than 2**-56, so that no coefficient has to be fitted.
"""

from __future__ import annotations

from math import factorial, inf, nan, sqrt
from typing import NamedTuple

from ncc.compiler.llvm.formulas import rounding
from ncc.compiler.llvm.formulas.real import Lanes, power_of_two

# ln(2) in two parts: products of the first, of 41 bits, with an exponent are exact.
LN2_HIGH = float.fromhex("0x1.62e42fefa2000p-1")
LN2_LOW = float.fromhex("0x1.9ef35793c7673p-41")
LOG2_E = float.fromhex("0x1.71547652b82fep+0")

_SPLITTER = 2.0**27 + 1.0
_ROOT = sqrt(2.0)
_SMALLEST_NORMAL = 2.0**-1022

_EXP_TAIL = tuple(1 / factorial(k + 2) for k in range(12))
"""(exp(r) - 1 - r) / r**2, for |r| <= ln(2)/2."""
_LOG_TAIL = tuple(2 / (2 * k + 3) for k in range(11))
"""(log((1 + s) / (1 - s)) - 2 s) / s**3 as a function of s**2, for |s| <= 0.1716."""


class Pair(NamedTuple):
    """high + low, where low is what rounding the sum to high left."""

    high: Lanes
    low: Lanes

    @staticmethod
    def sum(a: Lanes, b: Lanes) -> Pair:
        """a + b, exactly (Knuth)."""
        total = a + b
        other = total - a
        return Pair(total, (a - (total - other)) + (b - other))

    @staticmethod
    def product(a: Lanes, b: Lanes) -> Pair:
        """a * b, exactly: by one instruction, or with factors of 26 bits (Dekker)."""
        product = a * b
        if a.builder.target.fma:
            return Pair(product, a.times_plus(b, -product))
        (a1, a2), (b1, b2) = _halves(a), _halves(b)
        return Pair(product, ((a1 * b1 - product) + a1 * b2 + a2 * b1) + a2 * b2)


def _halves(x: Lanes) -> tuple[Lanes, Lanes]:
    """x as two numbers of 26 bits."""
    shifted = x * _SPLITTER
    high = shifted - (shifted - x)
    return high, x - high


class Reduced(NamedTuple):
    """x = n*ln(2) + r, |r| <= ln(2)/2."""

    nearest: Lanes
    exponent: Lanes
    """n as an integer whose low bits are right."""
    fraction: Lanes
    """exp(r) - 1."""

    def exp(self) -> Lanes:
        """exp(x)."""
        return (self.fraction + 1.0).times_power_of_two(self.nearest, self.exponent)


def reduced(x: Lanes, rest: Lanes | None = None) -> Reduced:
    """x + rest in parts, |x| <= 1100."""
    nearest, exponent = (x * LOG2_E).rounded()
    r = nearest.times_plus(-LN2_LOW, nearest.times_plus(-LN2_HIGH, x))
    if rest is not None:
        r = r + rest
    return Reduced(nearest, exponent, (r * r).times_plus(r.polynomial(_EXP_TAIL), r))


def exp(x: Lanes) -> Lanes:
    """exp(x) = 2**n * exp(r). Beyond the range of float64: 0 and infinity; NaN stays."""
    return reduced(x.at_least(-746.0).at_most(710.0)).exp()


def exp2(x: Lanes) -> Lanes:
    """2**x = 2**n * exp(r * ln(2))."""
    x = x.at_least(-1076.0).at_most(1025.0)
    nearest, exponent = x.rounded()
    r = (x - nearest) * (LN2_HIGH + LN2_LOW)
    fraction = (r * r).times_plus(r.polynomial(_EXP_TAIL), r)
    return Reduced(nearest, exponent, fraction).exp()


def expm1(x: Lanes) -> Lanes:
    """exp(x) - 1 = 2 * (s*(exp(r) - 1) + (s - 1/2)), s = 2**(n-1): accurate near 0."""
    parts = reduced(x.at_least(-40.0).at_most(710.0))
    scale = power_of_two(parts.exponent - 1)
    result = parts.fraction.times_plus(scale, scale - 0.5) * 2.0
    return result.with_sign_of(x)


def _mantissa(x: Lanes) -> tuple[Lanes, Lanes]:
    """n as a float and m with x = 2**n * m, m in [sqrt(1/2), sqrt(2)), for x > 0."""
    denormal = x.test("olt", _SMALLEST_NORMAL)
    bits = denormal.choose(x * 2.0**54, x).bits()
    # The exponent's bits in the place of the mantissa of 2**52 are a float64 of that size.
    biased = ((bits >> 52) | 0x4330000000000000).as_float()
    power = biased - (2.0**52 + 1023.0)
    power = denormal.choose(power - 54.0, power)
    m = ((bits & ((1 << 52) - 1)) | 0x3FF0000000000000).as_float()
    large = m.test("ogt", _ROOT)
    return large.choose(power + 1.0, power), large.choose(m * 0.5, m)


def _log_pair(x: Lanes) -> Pair:
    """log(x) for 0 < x < inf, with some ten bits more than a float64 has.

    log(m) = log((1 + s) / (1 - s)) = 2 s + s**3 * P(s**2), s = (m - 1) / (m + 1).
    """
    power, m = _mantissa(x)
    above, below = m - 1.0, Pair.sum(m, m.filled(1.0))
    s = above / below.high
    back = Pair.product(s, below.high)
    rest = (((above - back.high) - back.low) - s * below.low) / below.high
    square = s * s
    tail = (square * s).times_plus(square.polynomial(_LOG_TAIL), rest * 2.0)
    total = Pair.sum(power * LN2_HIGH, s * 2.0)
    low = total.low + power.times_plus(LN2_LOW, tail)
    return Pair.sum(total.high, low)


def ends_of_log(x: Lanes, inside: Lanes) -> Lanes:
    """log(0) = -inf, log(inf) = inf, NaN for x < 0 and for NaN."""
    result = x.test("olt", inf).choose(inside, inf)
    outside = x.test("oeq", 0.0).choose(x.filled(-inf), nan)
    return x.test("ogt", 0.0).choose(result, outside)


def log(x: Lanes) -> Lanes:
    """The natural logarithm."""
    return ends_of_log(x, _log_pair(x).high)


def log_with_base(x: Lanes, natural: float) -> Lanes:
    """log(x) * natural."""
    pair = _log_pair(x)
    return ends_of_log(x, pair.high.times_plus(natural, pair.low * natural))


def power_of_positive(x: Lanes, y: Lanes) -> Lanes:
    """x**y = exp(y * log(x)) for x >= 0; the logarithm and the product are pairs.

    y is limited: powers beyond are 0, 1 or infinity.
    """
    logarithm = _log_pair(x)
    exponent = y.at_least(-(2.0**70)).at_most(2.0**70)
    product = Pair.product(exponent, logarithm.high)
    low = exponent.times_plus(logarithm.low, product.low)
    inside = reduced(product.high.at_least(-760.0).at_most(720.0), low.within(1.0)).exp()
    growing = y.test("ogt", 0.0)
    of_infinity = growing.choose(y.filled(inf), 0.0)
    of_zero = growing.choose(y.filled(0.0), inf)
    result = x.test("oeq", inf).choose(of_infinity, inside)
    result = x.test("oeq", 0.0).choose(of_zero, result)
    return x.test("oeq", 1.0).choose(x, x.test("uno", y).choose(x + y, result))


def integral(x: Lanes) -> Lanes:
    """Whether a number is an integer."""
    return rounding.trunc(x).test("oeq", x)
