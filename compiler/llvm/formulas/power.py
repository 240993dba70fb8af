"""pow and the cube root: float32 lanes, whose logarithm and power of two are float64.

An exponent multiplies the error of a logarithm: that of float32 would be visible in a power of
2**127. `double` has the power of float64. Integers are multiplied.
"""

from __future__ import annotations

from math import inf, nan, sqrt

from ncc.compiler.llvm.formulas import double
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
    if x.is_double:
        integral = double.integral(y)
        odd = integral & double.integral(y * 0.5).inverted()
        return _with_special_cases(x, y, double.power_of_positive(abs(x), y), integral, odd)
    magnitude, exponent = abs(x), y.to_double()
    product = exponent * _double_log2(magnitude)
    product = magnitude.test("oeq", 1.0).choose(product.filled(0.0), product)
    result = _double_exp2(product.at_least(-300.0).at_most(300.0)).to_single()

    whole = abs(exponent).at_most(2.0**30)
    half = whole * 0.5
    integral = whole.rounded()[0].test("oeq", whole)
    odd = integral & half.rounded()[0].test("one", half)
    return _with_special_cases(x, y, result, integral, odd)


def _with_special_cases(x: Lanes, y: Lanes, result: Lanes, integral: Lanes, odd: Lanes) -> Lanes:
    """The power of x by that of its magnitude, and by whether y is an integer, and an odd one."""
    negative = x.filled(1.0).with_sign_of(x).test("olt", 0.0)
    result = (negative & odd).choose(-result, result)
    undefined = x.test("olt", 0.0) & x.test("ogt", -inf) & integral.inverted()
    result = undefined.choose(x.filled(nan), result)
    return y.test("oeq", 0.0).choose(y.filled(1.0), result)


def cbrt(x: Lanes) -> Lanes:
    """The cube root, through the logarithm in float64; of float64, with a step of Newton's."""
    if x.is_double:
        size = abs(x)
        root = double.exp(double.log(size) * (1.0 / 3.0))
        square = root * root
        root = (root - (square.times_plus(root, -size)) / (square * 3.0)).with_sign_of(x)
        return (size.test("olt", inf) & x.test("one", 0.0)).choose(root, x)
    third = (_double_log2(abs(x)) * (1.0 / 3.0)).at_least(-300.0)
    result = _double_exp2(third.at_most(300.0)).to_single().with_sign_of(x)
    return (abs(x).test("olt", inf) & x.test("one", 0.0)).choose(result, x)


def integer_power(x: Lanes, y: Lanes) -> Lanes:
    """x**y of integers, by squares of x for each bit of y; the result wraps around.

    A negative power is 1 or -1 of such a number, and otherwise 0.
    """
    bits = x.bits_of_integers
    result, square = x.filled(1), x
    for k in range(bits - 1):
        taken = (y & (1 << k)).test("ne", 0)
        result = taken.choose(result * square, result)
        if k < bits - 2:
            square = square * square
    odd = (y & 1).test("ne", 0)
    alternating = odd.choose(x, 1)
    unit = x.test("eq", 1) | x.test("eq", -1)
    return y.test("slt", 0).choose(unit.choose(alternating, 0), result)
