"""Activations: functions of one operand with attributes, element by element."""

from __future__ import annotations

from collections.abc import Container
from typing import Any, ClassVar

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import real, string
from ncc.dialects.onnx.broadcast import broadcast, read
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, operator
from ncc.dialects.onnx.pointwise import UnaryOperator, unary
from ncc.dialects.onnx.unary import erf_array
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    at_least,
    erf,
    exp,
    log,
    nan_maximum,
    nan_minimum,
    select,
    sigmoid,
    tanh,
)
from ncc.dialects.size import are_equal

LOWEST = -3.4028234663852886e38


def sigmoid_array(x: Array) -> Any:
    """1 / (1 + exp(-x))."""
    return 1 / (1 + np.exp(-x))


def softplus(x: Scalar) -> Scalar:
    """log(1 + exp(x)), where exp does not overflow."""
    return log(exp(-absolute(x)) + 1.0) + at_least(x, 0.0)


def softplus_array(x: Array) -> Any:
    """log(1 + exp(x))."""
    return np.logaddexp(x, 0)


ReluOp = unary("Relu", lambda x: np.maximum(x, 0), lambda x: at_least(x, 0), "x, or 0 below it.")
SigmoidOp = unary("Sigmoid", sigmoid_array, sigmoid, "1 / (1 + exp(-x)).")
SoftplusOp = unary("Softplus", softplus_array, softplus, "log(1 + exp(x)).")
SoftsignOp = unary(
    "Softsign", lambda x: x / (1 + np.abs(x)), lambda x: x / (absolute(x) + 1.0), "x / (1 + |x|)."
)
MishOp = unary(
    "Mish",
    lambda x: x * np.tanh(softplus_array(x)),
    lambda x: x * tanh(softplus(x)),
    "x * tanh(softplus(x)).",
    18,
)
HardSwishOp = unary(
    "HardSwish",
    lambda x: x * np.clip(x / 6 + 0.5, 0, 1),
    lambda x: x * nan_minimum(nan_maximum(x * (1 / 6) + 0.5, 0.0), 1.0),
    "x * max(0, min(1, x / 6 + 1 / 2)).",
    14,
)


@operator("LeakyRelu", since=6)
class LeakyReluOp(UnaryOperator):
    """x, or alpha * x below 0."""

    alpha = real(0.01)

    def array(self, x: Array) -> Any:
        return np.where(x < 0, x * self.alpha, x)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x < 0.0, x * self.alpha, x)


@operator("ThresholdedRelu", since=10)
class ThresholdedReluOp(UnaryOperator):
    """x where it is above alpha, else 0."""

    alpha = real(1.0)

    def array(self, x: Array) -> Any:
        return np.where(x > self.alpha, x, 0)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x > self.alpha, x, 0.0)


@operator("Shrink", since=9)
class ShrinkOp(UnaryOperator):
    """x nearer to 0 by bias, or 0 where it is within lambd of 0."""

    bias = real(0.0)
    lambd = real(0.5)

    def array(self, x: Array) -> Any:
        moved = np.where(x < 0, x + x.dtype.type(self.bias), x - x.dtype.type(self.bias))
        return np.where(np.abs(x) > self.lambd, moved, np.zeros((), x.dtype))

    def scalar(self, x: Scalar) -> Scalar:
        bias, least = float(self.bias), float(self.lambd)
        return select(x < -least, x + bias, select(x > least, x - bias, 0.0))


@operator("Elu", since=6)
class EluOp(UnaryOperator):
    """x, or alpha * (exp(x) - 1) below 0."""

    alpha = real(1.0)

    def array(self, x: Array) -> Any:
        return np.where(x < 0, self.alpha * np.expm1(np.minimum(x, 0)), x)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x < 0.0, (exp(x) - 1.0) * self.alpha, x)


@operator("Celu", since=12)
class CeluOp(UnaryOperator):
    """x, or alpha * (exp(x / alpha) - 1) below 0."""

    alpha = real(1.0)

    def array(self, x: Array) -> Any:
        return np.where(x < 0, self.alpha * np.expm1(np.minimum(x, 0) / self.alpha), x)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x < 0.0, (exp(x / self.alpha) - 1.0) * self.alpha, x)


@operator("Selu", since=6)
class SeluOp(UnaryOperator):
    """gamma * x, or gamma * alpha * (exp(x) - 1) below 0."""

    alpha = real(1.6732631921768188)
    gamma = real(1.0507010221481323)

    def array(self, x: Array) -> Any:
        return self.gamma * np.where(x <= 0, self.alpha * np.expm1(np.minimum(x, 0)), x)

    def scalar(self, x: Scalar) -> Scalar:
        return select(x > 0.0, x, (exp(x) - 1.0) * self.alpha) * self.gamma


@operator("HardSigmoid", since=6)
class HardSigmoidOp(UnaryOperator):
    """max(0, min(1, alpha * x + beta))."""

    alpha = real(0.2)
    beta = real(0.5)

    def array(self, x: Array) -> Any:
        return np.clip(x * x.dtype.type(self.alpha) + x.dtype.type(self.beta), 0, 1)

    def scalar(self, x: Scalar) -> Scalar:
        return nan_minimum(nan_maximum(x * self.alpha + self.beta, 0.0), 1.0)


@operator("Gelu", since=20)
class GeluOp(UnaryOperator):
    """x times the probability that a normal number is below it, or its approximation by tanh."""

    approximate = string("none")

    def check(self) -> None:
        if self.approximate not in ("none", "tanh"):
            raise LayerError(f"approximate is {self.approximate!r}", "approximate")

    def array(self, x: Array) -> Any:
        if self.approximate == "none":
            return 0.5 * x * (1 + erf_array(x / np.sqrt(2)))
        return 0.5 * x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    def scalar(self, x: Scalar) -> Scalar:
        if self.approximate == "none":
            return x * 0.5 * (erf(x * 0.7071067811865476) + 1.0)
        return x * 0.5 * (tanh((x + x * x * x * 0.044715) * 0.7978845608028654) + 1.0)


@operator("PRelu", since=7, inputs=2)
class PReluOp(Operator):
    """x, or slope * x below 0."""

    ALIKE: ClassVar[Container[int]] = (0, 1)

    def infer(self, x: Shape, slope: Shape) -> Shape:
        if not are_equal(broadcast(x, slope), x):
            raise LayerError("the slope has more elements than x")
        return x

    def reference(self, x: Array, slope: Array) -> Array:
        return np.where(x < 0, x * slope, x)

    def lower(self, b: Builder, x: Tensor, slope: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, select(x[at] < 0, x[at] * read(slope, at), x[at]))


@operator("Clip", since=11, inputs=(1, 3))
class ClipOp(Operator):
    """x limited to [min, max], of which each may be left out."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2)

    def infer(self, x: Shape, low: Shape | None = None, high: Shape | None = None) -> Shape:
        if any(one not in (None, (), (1,)) for one in (low, high)):
            raise LayerError("a limit that is no scalar")
        return x

    def reference(self, x: Array, low: Array | None = None, high: Array | None = None) -> Array:
        raised = x if low is None else np.maximum(x, low.reshape(()))
        return np.asarray(raised if high is None else np.minimum(raised, high.reshape(())))

    def lower(
        self, b: Builder, x: Tensor, low: Tensor | None = None, high: Tensor | None = None
    ) -> Tensor:
        at = b.loops_of(x.shape)
        value: Scalar = x[at]
        if low is not None:
            value = nan_maximum(value, low[[0] * low.rank])
        if high is not None:
            value = nan_minimum(value, high[[0] * high.rank])
        return b.map(at, value)


@operator("Clip", since=6, until=10)
class ClipV6Op(UnaryOperator):
    """x limited to [min, max]."""

    min = real(LOWEST)
    max = real(-LOWEST)

    def array(self, x: Array) -> Any:
        return np.clip(x, self.min, self.max)

    def scalar(self, x: Scalar) -> Scalar:
        return nan_minimum(nan_maximum(x, self.min), self.max)
