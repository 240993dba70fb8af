"""sinh, cosh, tanh and their inverses, as formulas over float32 and float64 lanes."""

from __future__ import annotations

import numpy as np

from ncc.compiler.llvm.formulas.approximation import Array, Interpolated
from ncc.compiler.llvm.formulas.exponential import LN2, exp, expm1
from ncc.compiler.llvm.formulas.logarithm import log, log1p
from ncc.compiler.llvm.formulas.logistic import exp_of_negated_plus_one
from ncc.compiler.llvm.formulas.real import Lanes

# tanh: below this a polynomial in x*x, above it 1 - 2 / (exp(2x) + 1).
_TANH_SPLIT = 0.6


def _tanh_tail(square: Array) -> Array:
    """(tanh(x)/x - 1) / x**2 as a function of x**2."""
    x = np.sqrt(square)
    return (np.tanh(x) - x) / (square * x)


_TANH_TAIL = Interpolated(_tanh_tail, 1e-4, _TANH_SPLIT**2, 4)


def sinh(x: Lanes) -> Lanes:
    """(e + e/(e+1)) / 2 with e = expm1(|x|); for large |x| exp(|x|/2)**2 / 2, which overflows
    later.
    """
    magnitude = abs(x)
    e = expm1(magnitude.at_most(30.0))
    near = (e + e / (e + 1.0)) * 0.5
    root = exp(magnitude * 0.5)
    return magnitude.test("olt", 20.0).choose(near, root * 0.5 * root).with_sign_of(x)


def cosh(x: Lanes) -> Lanes:
    """(e + 1/e) / 2 with e = exp(|x|); for large |x| exp(|x|/2)**2 / 2, which overflows later."""
    magnitude = abs(x)
    e = exp(magnitude.at_most(30.0))
    root = exp(magnitude * 0.5)
    near = (e + 1.0 / e) * 0.5
    return magnitude.test("olt", 20.0).choose(near, root * 0.5 * root)


def tanh(x: Lanes) -> Lanes:
    """x + x**3 * P(x**2) near 0; elsewhere 1 - 2 / (exp(2|x|) + 1), which is 1 from 9.02 on.

    Of float64, e / (e + 2) with e = exp(2|x|) - 1.
    """
    if x.is_double:
        e = expm1(abs(x).at_most(25.0) * 2.0)
        return (e / (e + 2.0)).with_sign_of(x)
    magnitude = abs(x)
    square = x * x
    near = (square * x).times_plus(square.polynomial(_TANH_TAIL.coefficients), x)
    exponent = magnitude.at_most(10.0) * 2.0
    far = exp_of_negated_plus_one(-exponent).inverse().times_plus(-2.0, 1.0)
    return magnitude.test("olt", _TANH_SPLIT).choose(near, far).with_sign_of(x)


def asinh(x: Lanes) -> Lanes:
    """log(a + sqrt(a*a + 1)) with a = |x|, written as a log1p; for large a log(a) + log(2)."""
    a = abs(x)
    limited = a.at_most(1e9)
    square = limited * limited
    near = log1p(limited + square / ((square + 1.0).sqrt() + 1.0))
    return a.test("olt", 1e9).choose(near, log(a) + LN2).with_sign_of(x)


def acosh(x: Lanes) -> Lanes:
    """log(x + sqrt(x*x - 1)), written as a log1p of t = x - 1; for large x log(x) + log(2).

    It takes two roots instead of the root of a product, which would be positive again far below 1.
    """
    t = x.at_most(1e9) - 1.0
    near = log1p(t + t.sqrt() * (t + 2.0).sqrt())
    return x.test("ult", 1e9).choose(near, log(x) + LN2)


def atanh(x: Lanes) -> Lanes:
    """log1p(2a / (1 - a)) / 2 with a = |x|."""
    a = abs(x)
    return (log1p(a * 2.0 / (1.0 - a)) * 0.5).with_sign_of(x)
