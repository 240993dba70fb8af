"""pow and the cube root: float32 lanes, whose logarithm and power of two are float64.

An exponent multiplies the error of a logarithm: that of float32 would be visible in a power of
2**127.
"""

from __future__ import annotations

from math import inf, nan, sqrt

from ncc.compiler.llvm.formulas.exponential import LN2, LOG2_E
from ncc.compiler.llvm.formulas.real import Lanes


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

    A negative base needs an integral exponent; if that is odd, the result is negative.
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
