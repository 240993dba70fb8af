"""Activations that are layers of their own; those of a host stand in `activation`.

NaN stays NaN where nothing else is said.
"""

from __future__ import annotations

import math

import numpy as np

from ncc.dialects.ncnn.elementwise.activation import (
    hard_limits,
    hard_swish,
    hard_swish_array,
    logistic,
    logistic_array,
    mish,
)
from ncc.dialects.ncnn.elementwise.unary import Unary, declared, erf_array
from ncc.dialects.ncnn.layer import Array, integer, layer, real
from ncc.dialects.scalar import Scalar, absolute, clip, erf, exp, log, select, tanh

FLOAT_MAX = float(np.finfo(np.float32).max)


@layer("ReLU")
class ReLUOp(Unary):
    """slope * x below 0, else x; NaN stays."""

    slope = real(0)

    def array(self, x: Array) -> Array:
        return np.where(x < 0, x * self.slope if self.slope else 0.0, x)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x < 0.0, x * self.slope if self.slope else 0.0, x)


@layer("Clip")
class ClipOp(Unary):
    """x limited to [min, max]; NaN stays."""

    min = real(0, -FLOAT_MAX)
    max = real(1, FLOAT_MAX)

    def array(self, x: Array) -> Array:
        return np.clip(x, self.min, self.max)

    def scalar(self, x: Scalar) -> Scalar:
        return clip(x, self.min, self.max)


@layer("Threshold")
class ThresholdOp(Unary):
    """1 above the threshold, else 0 (and 0 for NaN)."""

    threshold = real(0)

    def array(self, x: Array) -> Array:
        return np.asarray(x > self.threshold).astype(x.dtype)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x > self.threshold, 1.0, 0.0)


@layer("Shrink")
class ShrinkOp(Unary):
    """x + bias below -lambd, x - bias above lambd, 0 between (and for NaN)."""

    bias = real(0)
    lambd = real(1, 0.5)

    def array(self, x: Array) -> Array:
        above = np.where(x > self.lambd, x - self.bias, 0.0)
        return np.where(x < -self.lambd, x + self.bias, above)

    def scalar(self, x: Scalar) -> Scalar:
        above = select(x > self.lambd, x - self.bias, 0.0)
        return select(x < -self.lambd, x + self.bias, above)


@layer("HardSigmoid")
class HardSigmoidOp(Unary):
    """alpha x + beta, 0 or 1 beyond where that reaches them."""

    alpha = real(0, 0.2)
    beta = real(1, 0.5)

    def array(self, x: Array) -> Array:
        low, high = hard_limits(self.alpha, self.beta)
        between = x * self.alpha + self.beta
        return np.where(x < low, 0.0, np.where(x > high, 1.0, between))

    def scalar(self, x: Scalar) -> Scalar:
        low, high = hard_limits(self.alpha, self.beta)
        between = x * self.alpha + self.beta
        return select(x < low, 0.0, select(x > high, 1.0, between))


@layer("HardSwish")
class HardSwishOp(Unary):
    """x times its hard sigmoid. The defaults are ncnn's 0.2 and 0.5, not 1/6."""

    alpha = real(0, 0.2)
    beta = real(1, 0.5)

    def array(self, x: Array) -> Array:
        return hard_swish_array(x, self.alpha, self.beta)

    def scalar(self, x: Scalar) -> Scalar:
        return hard_swish(x, self.alpha, self.beta)


SigmoidOp = declared(
    __name__,
    "Sigmoid",
    "1 / (1 + exp(-x)), x limited so that exp stays finite.",
    logistic_array,
    logistic,
)
SwishOp = declared(
    __name__,
    "Swish",
    "x / (1 + exp(-x)).",
    lambda x: np.asarray(x / (1.0 + np.exp(-x))),
    lambda x: x / (1.0 + exp(-x)),
)
TanHOp = declared(__name__, "TanH", "tanh(x).", np.tanh, tanh)


@layer("ELU")
class ELUOp(Unary):
    """alpha (exp(x) - 1) below 0, else x."""

    alpha = real(0, 0.1)

    def array(self, x: Array) -> Array:
        return np.where(x < 0, (np.exp(x) - 1.0) * self.alpha, x)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x < 0.0, (exp(x) - 1.0) * self.alpha, x)


@layer("SELU")
class SELUOp(Unary):
    """alpha lambda (exp(x) - 1) below 0, else lambda x."""

    alpha = real(0, 1.67326324)
    lambd = real(1, 1.050700987)

    def array(self, x: Array) -> Array:
        below = (np.exp(x) - 1.0) * (self.alpha * self.lambd)
        return np.where(x < 0, below, x * self.lambd)

    def scalar(self, x: Scalar) -> Scalar:
        below = (exp(x) - 1.0) * (self.alpha * self.lambd)
        return select(x < 0.0, below, x * self.lambd)


@layer("CELU")
class CELUOp(Unary):
    """alpha (exp(x / alpha) - 1) below 0, else x."""

    alpha = real(0, 1.0)

    def array(self, x: Array) -> Array:
        return np.where(x < 0, (np.exp(x / self.alpha) - 1.0) * self.alpha, x)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x < 0.0, (exp(x / self.alpha) - 1.0) * self.alpha, x)


def _mish_array(x: Array) -> Array:
    between = np.where(x < -20, np.exp(x), np.log(np.exp(x) + 1.0))
    return np.asarray(x * np.tanh(np.where(x > 20, x, between)))


MishOp = declared(
    __name__,
    "Mish",
    "x tanh(y), where y is x above 20, exp(x) below -20, and ln(1 + exp(x)) between.",
    _mish_array,
    mish,
)
SoftplusOp = declared(
    __name__,
    "Softplus",
    "ln(exp(x) + 1), which overflows to infinity above 88 as ncnn's does.",
    lambda x: np.log(np.exp(x) + 1.0),
    lambda x: log(exp(x) + 1.0),
)


@layer("BNLL")
class BNLLOp(Unary):
    """ln(1 + exp(x)), written so that it does not overflow."""

    def array(self, x: Array) -> Array:
        return np.where(x > 0, x + np.log(1.0 + np.exp(-x)), np.log(1.0 + np.exp(x)))

    def scalar(self, x: Scalar) -> Scalar:
        rest = log(exp(-absolute(x)) + 1.0)
        return select(x > 0.0, x + rest, rest)


@layer("GELU")
class GELUOp(Unary):
    """x times the normal distribution's mass below x: by erf, or (fast_gelu) by tanh."""

    fast_gelu = integer(0)

    def array(self, x: Array) -> Array:
        if self.fast_gelu:
            inner = 0.79788452 * (x + 0.044715 * x * x * x)
            return np.asarray(0.5 * x * (1.0 + np.tanh(inner)))
        return np.asarray(0.5 * x * (1.0 + erf_array(x * math.sqrt(0.5))))

    def scalar(self, x: Scalar) -> Scalar:
        if self.fast_gelu:  # (1 + tanh(y)) / 2 = 1 / (1 + exp(-2 y))
            twice = 2.0 * 0.79788452
            return x / (exp(-(x * (x * x * (twice * 0.044715) + twice))) + 1.0)
        return x * 0.5 * (erf(x * math.sqrt(0.5)) + 1.0)
