"""Operators that compute each element from those at its place."""

from __future__ import annotations

from functools import reduce

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.broadcast import broadcast, read
from ncc.dialects.onnx.operator import Array, Operator, Shape, operator
from ncc.dialects.scalar import Scalar, at_least, exp, sigmoid, sqrt, tanh


class UnaryOperator(Operator):
    """f(x); a class says it in numpy and as a scalar expression."""

    def infer(self, x: Shape) -> Shape:
        return x

    def reference(self, x: Array) -> Array:
        raise NotImplementedError

    def scalar(self, x: Scalar) -> Scalar:
        """f(x) of one element."""
        raise NotImplementedError

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, self.scalar(x[at]))


class BinaryOperator(Operator):
    """f(x, y) with x and y broadcast to one shape."""

    def infer(self, x: Shape, y: Shape) -> Shape:
        return broadcast(x, y)

    def reference(self, x: Array, y: Array) -> Array:
        raise NotImplementedError

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        """f(x, y) of one element each."""
        raise NotImplementedError

    def lower(self, b: Builder, x: Tensor, y: Tensor) -> Tensor:
        at = b.loops_of(broadcast(x.shape, y.shape))
        return b.map(at, self.scalar(read(x, at), read(y, at)))


class VariadicOperator(Operator):
    """f(f(x, y), z)..., of one operand or more."""

    def infer(self, *xs: Shape) -> Shape:
        return broadcast(*xs)

    def step(self, x: Scalar, y: Scalar) -> Scalar:
        raise NotImplementedError

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        at = b.loops_of(broadcast(*(x.shape for x in xs)))
        return b.map(at, reduce(self.step, (read(x, at) for x in xs)))


@operator("Relu")
class ReluOp(UnaryOperator):
    """x where it is positive, else 0."""

    def reference(self, x: Array) -> Array:
        return np.maximum(x, 0).astype(x.dtype)

    def scalar(self, x: Scalar) -> Scalar:
        return at_least(x, 0.0)


@operator("Sigmoid")
class SigmoidOp(UnaryOperator):
    """1 / (1 + exp(-x))."""

    def reference(self, x: Array) -> Array:
        return np.asarray(1 / (1 + np.exp(-x)))

    def scalar(self, x: Scalar) -> Scalar:
        return sigmoid(x)


@operator("Tanh")
class TanhOp(UnaryOperator):
    """tanh(x)."""

    def reference(self, x: Array) -> Array:
        return np.tanh(x)

    def scalar(self, x: Scalar) -> Scalar:
        return tanh(x)


@operator("Exp")
class ExpOp(UnaryOperator):
    """exp(x)."""

    def reference(self, x: Array) -> Array:
        return np.exp(x)

    def scalar(self, x: Scalar) -> Scalar:
        return exp(x)


@operator("Sqrt")
class SqrtOp(UnaryOperator):
    """The square root."""

    def reference(self, x: Array) -> Array:
        return np.sqrt(x)

    def scalar(self, x: Scalar) -> Scalar:
        return sqrt(x)


@operator("Add", since=7, inputs=2)
class AddOp(BinaryOperator):
    """x + y."""

    def reference(self, x: Array, y: Array) -> Array:
        return np.add(x, y)

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        return x + y


@operator("Sub", since=7, inputs=2)
class SubOp(BinaryOperator):
    """x - y."""

    def reference(self, x: Array, y: Array) -> Array:
        return np.subtract(x, y)

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        return x - y


@operator("Mul", since=7, inputs=2)
class MulOp(BinaryOperator):
    """x * y."""

    def reference(self, x: Array, y: Array) -> Array:
        return np.multiply(x, y)

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        return x * y
