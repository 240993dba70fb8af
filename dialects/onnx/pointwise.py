"""What operators share that compute each element from those at its place."""

from __future__ import annotations

from collections.abc import Callable
from functools import reduce
from typing import Any, TypeAlias, TypeVar

import numpy as np

from ncc.dialects.element import element_of, is_integer
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.broadcast import broadcast, read
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, objects, operator
from ncc.dialects.onnx.rounded_sizes import rounded
from ncc.dialects.onnx.size_arithmetic import ARITHMETIC, OF_ONE, combined, divide, divide_exactly
from ncc.dialects.scalar import Scalar

ArrayFunction: TypeAlias = Callable[..., Any]
ScalarFunction: TypeAlias = Callable[..., Scalar]
T = TypeVar("T", bound=Operator)

ROUNDING = ("Ceil", "Floor", "Round")
"""Operators whose results are whole numbers."""


class UnaryOperator(Operator):
    """f(x); a class says it in numpy and as a scalar expression."""

    BY_ELEMENT = True

    def infer(self, x: Shape) -> Shape:
        return x

    def array(self, x: Array) -> Any:
        """f(x) in numpy."""
        raise NotImplementedError

    def scalar(self, x: Scalar) -> Scalar:
        """f(x) of one element."""
        raise NotImplementedError

    def reference(self, x: Array) -> Array:
        return np.asarray(self.array(x))

    def of_sizes(self, x: Array) -> Array | None:
        function = OF_ONE.get(self.type_name)
        return None if function is None else objects(list(map(function, x.flat)), x.shape)

    def of_fractions(self) -> Array | None:
        return rounded(self) if self.type_name in ROUNDING else None

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, self.scalar(x[at]))


class BinaryOperator(Operator):
    """f(x, y) with x and y broadcast to one shape."""

    BY_ELEMENT = True

    def infer(self, x: Shape, y: Shape) -> Shape:
        if len(set(map(self.element_at, self.places))) > 1:
            raise LayerError("its operands are not of one element type")
        return broadcast(x, y)

    def array(self, x: Array, y: Array) -> Any:
        """f(x, y) in numpy."""
        raise NotImplementedError

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        """f(x, y) of one element each."""
        raise NotImplementedError

    def reference(self, x: Array, y: Array) -> Array:
        return np.asarray(self.array(x, y))

    def of_sizes(self, *xs: Array) -> Array | None:
        function = ARITHMETIC.get(self.type_name)
        if function is divide and not is_integer(element_of(self.operands[0])):
            function = divide_exactly
        return None if function is None else combined(function, *xs)

    def lower(self, b: Builder, x: Tensor, y: Tensor) -> Tensor:
        at = b.loops_of(broadcast(x.shape, y.shape))
        return b.map(at, self.scalar(read(x, at), read(y, at)))


class VariadicOperator(BinaryOperator):
    """f(f(x, y), z)..., of one operand or more."""

    def infer(self, *xs: Shape) -> Shape:
        if len(set(map(self.element_at, self.places))) > 1:
            raise LayerError("its operands are not of one element type")
        return broadcast(*xs)

    def reference(self, *xs: Array) -> Array:
        return np.asarray(reduce(self.array, xs))

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        at = b.loops_of(broadcast(*(x.shape for x in xs)))
        return b.map(at, reduce(self.scalar, (read(x, at) for x in xs)))


def declared(
    kind: type[T],
    name: str,
    array: ArrayFunction,
    scalar: ScalarFunction,
    doc: str,
    since: int = 1,
    inputs: int | tuple[int, int | None] = 1,
) -> type[T]:
    """Declare an operator without attributes, by its function in numpy and of one element each."""
    members = {
        "__doc__": doc,
        "__module__": __name__,
        "array": lambda self, *xs: array(*xs),
        "scalar": lambda self, *xs: scalar(*xs),
    }
    return operator(name, since=since, inputs=inputs)(type(f"{name}Op", (kind,), members))


def unary(
    name: str, array: ArrayFunction, scalar: ScalarFunction, doc: str, since: int = 1
) -> type[UnaryOperator]:
    """Declare an operator of one operand."""
    return declared(UnaryOperator, name, array, scalar, doc, since)


def binary(
    name: str, array: ArrayFunction, scalar: ScalarFunction, doc: str, since: int = 7
) -> type[BinaryOperator]:
    """Declare an operator of two operands."""
    return declared(BinaryOperator, name, array, scalar, doc, since, 2)


def variadic(
    name: str, array: ArrayFunction, scalar: ScalarFunction, doc: str
) -> type[VariadicOperator]:
    """Declare an operator of one operand or more, by its function of two."""
    return declared(VariadicOperator, name, array, scalar, doc, 6, (1, None))
