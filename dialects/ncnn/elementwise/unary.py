"""Layers of one value in, one value out, the same function at every place.

Each states its function twice, side by side: `array` on a whole numpy array, `scalar` on the
element that a computation reads. All arithmetic is float32, overflow included.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TypeAlias

import numpy as np
from xdsl.dialects import math as math_dialect
from xdsl.ir import Operation

from ncc.dialects.ncnn.checks import check_choice
from ncc.dialects.ncnn.elementwise.activation import (
    hard_limits,
    hard_swish,
    hard_swish_array,
    logistic,
    logistic_array,
    mish,
)
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integer,
    layer,
    real,
)
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    ceil,
    clip,
    cos,
    erf,
    exp,
    floor,
    log,
    power,
    round_even,
    select,
    sin,
    sqrt,
    tanh,
    trunc,
    unary,
)

FLOAT_MAX = float(np.finfo(np.float32).max)


class Unary(Layer):
    """A function of one value, for every element of a blob of any rank."""

    def array(self, x: Array) -> Array:
        """The function, on an array."""
        raise NotImplementedError(f"{self.name} has no function on arrays")

    def scalar(self, x: Scalar) -> Scalar:
        """The function, on one value."""
        raise NotImplementedError(f"{self.name} has no function on values")

    def infer(self, x: Shape) -> Shape:
        return x

    def reference(self, x: Array) -> Array:
        with np.errstate(all="ignore"):
            return self.array(x).astype(np.float32, copy=False)

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, self.scalar(x[at]))


# --- piecewise linear -----------------------------------------------------------------------------


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


@layer("AbsVal")
class AbsValOp(Unary):
    """|x|."""

    def array(self, x: Array) -> Array:
        return np.abs(x)

    def scalar(self, x: Scalar) -> Scalar:
        return absolute(x)


@layer("Threshold")
class ThresholdOp(Unary):
    """1 above the threshold, else 0 (and 0 for NaN)."""

    threshold = real(0)

    def array(self, x: Array) -> Array:
        return np.asarray(x > self.threshold).astype(np.float32)

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


# --- exponential ----------------------------------------------------------------------------------


@layer("Sigmoid")
class SigmoidOp(Unary):
    """1 / (1 + exp(-x)), x limited so that exp stays finite."""

    def array(self, x: Array) -> Array:
        return logistic_array(x)

    def scalar(self, x: Scalar) -> Scalar:
        return logistic(x)


@layer("Swish")
class SwishOp(Unary):
    """x / (1 + exp(-x))."""

    def array(self, x: Array) -> Array:
        return np.asarray(x / (1.0 + np.exp(-x)))

    def scalar(self, x: Scalar) -> Scalar:
        return x / (1.0 + exp(-x))


@layer("TanH")
class TanHOp(Unary):
    """tanh(x)."""

    def array(self, x: Array) -> Array:
        return np.tanh(x)

    def scalar(self, x: Scalar) -> Scalar:
        return tanh(x)


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


@layer("Mish")
class MishOp(Unary):
    """x tanh(y), where y is x above 20, exp(x) below -20, and ln(1 + exp(x)) between."""

    def array(self, x: Array) -> Array:
        between = np.where(x < -20, np.exp(x), np.log(np.exp(x) + 1.0))
        return np.asarray(x * np.tanh(np.where(x > 20, x, between)))

    def scalar(self, x: Scalar) -> Scalar:
        return mish(x)


@layer("Softplus")
class SoftplusOp(Unary):
    """ln(exp(x) + 1), which overflows to infinity above 88 as ncnn's does."""

    def array(self, x: Array) -> Array:
        return np.log(np.exp(x) + 1.0)

    def scalar(self, x: Scalar) -> Scalar:
        return log(exp(x) + 1.0)


@layer("BNLL")
class BNLLOp(Unary):
    """ln(1 + exp(x)), written so that it does not overflow."""

    def array(self, x: Array) -> Array:
        return np.where(x > 0, x + np.log(1.0 + np.exp(-x)), np.log(1.0 + np.exp(x)))

    def scalar(self, x: Scalar) -> Scalar:
        rest = log(exp(-absolute(x)) + 1.0)
        return select(x > 0.0, x + rest, rest)


def erf_array(x: Array) -> Array:
    """The error function of every element (numpy has none)."""
    return np.fromiter(map(math.erf, x.ravel().tolist()), np.float32, x.size).reshape(x.shape)


@layer("Erf")
class ErfOp(Unary):
    """erf(x)."""

    def array(self, x: Array) -> Array:
        return erf_array(x)

    def scalar(self, x: Scalar) -> Scalar:
        return erf(x)


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


# --- exp, log and power of a line -----------------------------------------------------------------


@layer("Exp")
class ExpOp(Unary):
    """base to the (shift + scale x); base -1 stands for e."""

    base = real(0, -1.0)
    scale = real(1, 1.0)
    shift = real(2)

    def array(self, x: Array) -> Array:
        line = x * self.scale + self.shift
        return np.exp(line) if self.base == -1.0 else np.power(np.float32(self.base), line)

    def scalar(self, x: Scalar) -> Scalar:
        line = x * self.scale + self.shift
        return exp(line) if self.base == -1.0 else power(self.base, line)


@layer("Log")
class LogOp(Unary):
    """The logarithm of shift + scale x to the base; base -1 stands for e."""

    base = real(0, -1.0)
    scale = real(1, 1.0)
    shift = real(2)

    def check(self) -> None:
        if self.base != -1.0 and (self.base <= 0.0 or self.base == 1.0):
            raise LayerError(f"there is no logarithm to the base {self.base}", "base")

    def array(self, x: Array) -> Array:
        natural = np.log(x * self.scale + self.shift)
        return natural if self.base == -1.0 else natural / math.log(self.base)

    def scalar(self, x: Scalar) -> Scalar:
        natural = log(x * self.scale + self.shift)
        return natural if self.base == -1.0 else natural * (1.0 / math.log(self.base))


@layer("Power")
class PowerOp(Unary):
    """(shift + scale x) to the power, by C's powf."""

    power = real(0, 1.0)
    scale = real(1, 1.0)
    shift = real(2)

    def array(self, x: Array) -> Array:
        return np.power(x * self.scale + self.shift, np.float32(self.power))

    def scalar(self, x: Scalar) -> Scalar:
        return power(x * self.scale + self.shift, self.power)


# --- UnaryOp --------------------------------------------------------------------------------------

Function: TypeAlias = tuple[Callable[[Array], Array], Callable[[Scalar], Scalar]]


def _math(operation: type[Operation]) -> Callable[[Scalar], Scalar]:
    return lambda x: unary(operation, x)


def _sign(x: Scalar) -> Scalar:
    return select(x > 0.0, 1.0, select(x < 0.0, -1.0, 0.0))


def _sign_array(x: Array) -> Array:
    return np.asarray(x > 0).astype(np.float32) - np.asarray(x < 0).astype(np.float32)


UNARY_FUNCTIONS: tuple[Function, ...] = (
    (np.abs, absolute),
    (np.negative, lambda x: -x),
    (np.floor, floor),
    (np.ceil, ceil),
    (np.square, lambda x: x * x),
    (np.sqrt, sqrt),
    (lambda x: 1.0 / np.sqrt(x), lambda x: 1.0 / sqrt(x)),
    (np.exp, exp),
    (np.log, log),
    (np.sin, sin),
    (np.cos, cos),
    (np.tan, _math(math_dialect.TanOp)),
    (np.arcsin, _math(math_dialect.AsinOp)),
    (np.arccos, _math(math_dialect.AcosOp)),
    (np.arctan, _math(math_dialect.AtanOp)),
    (lambda x: 1.0 / x, lambda x: 1.0 / x),
    (np.tanh, tanh),
    (np.log10, _math(math_dialect.Log10Op)),
    (np.rint, round_even),
    (np.trunc, trunc),
    (_sign_array, _sign),
    (np.expm1, _math(math_dialect.ExpM1Op)),
    (np.sinh, _math(math_dialect.SinhOp)),
    (np.arcsinh, _math(math_dialect.AsinhOp)),
    (np.cosh, _math(math_dialect.CoshOp)),
    (np.arccosh, _math(math_dialect.AcoshOp)),
    (np.arctanh, _math(math_dialect.AtanhOp)),
    (np.log1p, _math(math_dialect.Log1pOp)),
)
"""UnaryOp's functions by its op_type. Rounding goes to even; the sign of NaN is 0."""


@layer("UnaryOp")
class UnaryOpOp(Unary):
    """One of 28 functions."""

    op_type = integer(0)

    def check(self) -> None:
        check_choice(self, "op_type", range(len(UNARY_FUNCTIONS)))

    def array(self, x: Array) -> Array:
        return UNARY_FUNCTIONS[self.op_type][0](x)

    def scalar(self, x: Scalar) -> Scalar:
        return UNARY_FUNCTIONS[self.op_type][1](x)
