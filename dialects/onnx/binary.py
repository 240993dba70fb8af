"""Functions of two operands or more, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ncc.dialects.casts import cast
from ncc.dialects.element import is_integer, is_unsigned
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, required, string
from ncc.dialects.onnx.broadcast import broadcast, read
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, has_sizes, operator
from ncc.dialects.onnx.pointwise import (
    ArrayFunction,
    BinaryOperator,
    ScalarFunction,
    VariadicOperator,
    binary,
    declared,
    variadic,
)
from ncc.dialects.onnx.size_arithmetic import combined
from ncc.dialects.onnx.size_arithmetic import power as power_of_size
from ncc.dialects.remainders import fmod, modulo
from ncc.dialects.scalar import Scalar, equal, nan_maximum, nan_minimum, power, select
from ncc.dialects.shifts import shift_left, shift_right


def divide_array(x: Array, y: Array) -> Array:
    """x / y; of integers towards zero, and 0 where the divisor is 0."""
    if not np.issubdtype(x.dtype, np.integer):
        return np.asarray(x / y)
    divisor = np.where(y == 0, 1, y)
    quotient = np.abs(x) // np.abs(divisor) * np.sign(x) * np.sign(divisor)
    return np.where(y == 0, 0, quotient if x.dtype.kind == "i" else x // divisor)


AddOp = binary("Add", np.add, lambda x, y: x + y, "x + y.")
SubOp = binary("Sub", np.subtract, lambda x, y: x - y, "x - y.")
MulOp = binary("Mul", np.multiply, lambda x, y: x * y, "x * y.")
DivOp = binary("Div", divide_array, lambda x, y: x / y, "x / y, of integers towards zero.")
AndOp = binary("And", np.logical_and, lambda x, y: x & y, "Whether both hold.")
OrOp = binary("Or", np.logical_or, lambda x, y: x | y, "Whether one holds.")
XorOp = binary("Xor", np.logical_xor, lambda x, y: x ^ y, "Whether just one holds.")
BitwiseAndOp = binary("BitwiseAnd", np.bitwise_and, lambda x, y: x & y, "Bits in both.", 18)
BitwiseOrOp = binary("BitwiseOr", np.bitwise_or, lambda x, y: x | y, "Bits in one.", 18)
BitwiseXorOp = binary("BitwiseXor", np.bitwise_xor, lambda x, y: x ^ y, "Bits in just one.", 18)


class _Comparison(BinaryOperator):
    def element_types(self, *operands: Attribute) -> Attribute:
        return i1


def _comparison(
    name: str, array: ArrayFunction, scalar: ScalarFunction, since: int
) -> type[_Comparison]:
    doc = "A comparison of x and y."
    return declared(_Comparison, name, array, scalar, doc, since, 2)


EqualOp = _comparison("Equal", np.equal, equal, 7)
LessOp = _comparison("Less", np.less, lambda x, y: x < y, 7)
GreaterOp = _comparison("Greater", np.greater, lambda x, y: x > y, 7)
LessOrEqualOp = _comparison("LessOrEqual", np.less_equal, lambda x, y: x <= y, 12)
GreaterOrEqualOp = _comparison("GreaterOrEqual", np.greater_equal, lambda x, y: x >= y, 12)


@operator("Pow", since=7, inputs=2)
class PowOp(Operator):
    """x to the y, of the type of x."""

    def infer(self, x: Shape, y: Shape) -> Shape:
        return broadcast(x, y)

    def reference(self, x: Array, y: Array) -> Array:
        if np.issubdtype(x.dtype, np.integer) and np.issubdtype(y.dtype, np.integer):
            wide = np.asarray(y, np.int64)
            power = np.power(x, np.maximum(wide, 0).astype(x.dtype))
            small = np.where(x == 1, 1, np.where((x == -1) & (wide % 2 == 0), 1, -(x == -1) * 1))
            return np.where(wide < 0, small, power).astype(x.dtype)
        return np.power(x, y, dtype=np.result_type(x, y)).astype(x.dtype)

    def of_sizes(self, x: Array, y: Array) -> Array | None:
        return combined(power_of_size, x, y)

    def lower(self, b: Builder, x: Tensor, y: Tensor) -> Tensor:
        at = b.loops_of(broadcast(x.shape, y.shape))
        base, exponent = read(x, at), read(y, at)
        kind = base.type
        if is_integer(kind) and not is_integer(exponent.type):
            return b.map(at, cast(power(cast(base, exponent.type), exponent), kind))
        return b.map(at, power(base, cast(exponent, kind)))


@operator("Mod", since=10, inputs=2)
class ModOp(BinaryOperator):
    """The remainder: with the sign of the divisor, or with fmod=1 that of the dividend."""

    fmod = integer(0)

    def array(self, x: Array, y: Array) -> Any:
        if self.fmod:
            return np.fmod(x, y)
        return np.mod(x, y)

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        return fmod(x, y) if self.fmod else modulo(x, y)


@operator("BitShift", since=11, inputs=2)
class BitShiftOp(BinaryOperator):
    """The bits of x moved by y places."""

    direction = string()

    @property
    def left(self) -> bool:
        direction = required(self.direction, "direction")
        if direction not in ("LEFT", "RIGHT"):
            raise LayerError(f"the direction is {direction!r}", "direction")
        return direction == "LEFT"

    def array(self, x: Array, y: Array) -> Any:
        return np.left_shift(x, y) if self.left else np.right_shift(x, y)

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        if not self.left:
            return shift_right(x, y)
        moved = shift_left(x, y)
        return moved if is_unsigned(x.type) else select(y < 0, 0, moved)


MaxOp = variadic("Max", np.maximum, nan_maximum, "The largest operand; NaN where one is.")
MinOp = variadic("Min", np.minimum, nan_minimum, "The smallest operand; NaN where one is.")


@operator("Sum", since=6, inputs=(1, None))
class SumOp(VariadicOperator):
    """The sum of all operands."""

    def array(self, x: Array, y: Array) -> Any:
        return x + y

    def scalar(self, x: Scalar, y: Scalar) -> Scalar:
        return x + y


@operator("Mean", since=6, inputs=(1, None))
class MeanOp(SumOp):
    """The mean of all operands."""

    def reference(self, *xs: Array) -> Array:
        return np.asarray(super().reference(*xs) / len(xs))

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        total = super().lower(b, *xs)
        at = b.loops_of(total.shape)
        return b.map(at, total[at] / float(len(xs)))


@operator("Where", since=9, inputs=3)
class WhereOp(Operator):
    """x where the condition holds, else y."""

    def infer(self, condition: Shape, x: Shape, y: Shape) -> Shape:
        if self.element_at(1) != self.element_at(2):
            raise LayerError("x and y are not of one element type")
        return broadcast(condition, x, y)

    def element_types(self, *operands: Attribute) -> Attribute:
        return operands[1]

    def reference(self, condition: Array, x: Array, y: Array) -> Array:
        return np.where(condition, x, y)

    def of_sizes(self, condition: Array, x: Array, y: Array) -> Array | None:
        return None if has_sizes(condition) else self.reference(condition, x, y)

    def lower(self, b: Builder, condition: Tensor, x: Tensor, y: Tensor) -> Tensor:
        at = b.loops_of(broadcast(condition.shape, x.shape, y.shape))
        return b.map(at, select(read(condition, at), read(x, at), read(y, at)))
