"""Comparisons, and choices by them. ncnn has no bool: a mask is a blob of 0 and 1.

    x > y              ->  Threshold(x - y)
    not m              ->  1 - m
    where(m, a, b)     ->  m * a + (1 - m) * b

The product of 0 and what is no finite number is NaN. So both values of a choice have to be finite
wherever their operands are, but for infinities that are constants.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i1
from xdsl.ir import SSAValue

from ncc.compiler.onnx.composed.pointwise import (
    ABSOLUTE,
    ADD,
    DIVIDE,
    MAXIMUM,
    MULTIPLY,
    REVERSE_SUBTRACT,
    SUBTRACT,
    binary,
)
from ncc.compiler.onnx.conversion import Conversion, composes, number_of
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.elementwise.activation_layers import ThresholdOp
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.unary import ExpOp, LogOp, PowerOp, Unary, UnaryOpOp
from ncc.dialects.ncnn.layer import Array
from ncc.dialects.onnx.dialect import versions_of
from ncc.dialects.onnx.operator import ConstantOp, Operator, constant_of
from ncc.dialects.onnx.plumbing import ViewOp

FINITE_UNARY = {0, 1, 2, 3, 4, 9, 10, 14, 16, 18, 19}
"""Operations of UnaryOp whose results are finite where x is, but for overflow of a square."""

FINITE_BINARY = {0, 1, 2, 4, 5, 7}
"""The same of BinaryOp."""


def mask(to: Conversion, value: SSAValue) -> SSAValue:
    """A value as a blob can hold it: a constant as 0 and 1."""
    array = constant_of(value)
    if array is None or element_of(value) == f32:
        return value
    return to.view(to.constant(array.astype(np.float32).reshape(-1)), shape(value))


def inverse(to: Conversion, value: SSAValue) -> SSAValue | None:
    return binary(to, REVERSE_SUBTRACT, value, 1.0)


def above(to: Conversion, x: SSAValue, y: SSAValue) -> SSAValue | None:
    """Whether x > y."""
    number, other = number_of(y), number_of(x)
    if number is not None:
        difference = binary(to, SUBTRACT, mask(to, x), number)
    elif other is not None:
        difference = binary(to, REVERSE_SUBTRACT, mask(to, y), other)
    else:
        difference = binary(to, SUBTRACT, mask(to, x), mask(to, y))
    return None if difference is None else threshold(to, difference)


def threshold(to: Conversion, x: SSAValue) -> SSAValue:
    """Whether x > 0."""
    return to.flat(ThresholdOp, x)


@composes(*versions_of("Greater", "Less", "GreaterOrEqual", "LessOrEqual"))
def compared(op: Operator, to: Conversion) -> SSAValue | None:
    """Which of two is larger."""
    x, y = op.operands
    if op.type_name in ("Less", "GreaterOrEqual"):
        x, y = y, x
    found = above(to, x, y)
    if found is None or op.type_name in ("Greater", "Less"):
        return found
    return inverse(to, found)


@composes(*versions_of("Equal"))
def equal(op: Operator, to: Conversion) -> SSAValue | None:
    """Whether there is no difference."""
    x, y = op.operands
    if number_of(x) is not None:
        x, y = y, x
    number = number_of(y)
    difference = binary(to, SUBTRACT, mask(to, x), mask(to, y) if number is None else number)
    if difference is None:
        return None
    return inverse(to, threshold(to, to.flat(UnaryOpOp, difference, op_type=ABSOLUTE)))


@composes(*versions_of("Not"))
def negation(op: Operator, to: Conversion) -> SSAValue | None:
    """1 - m."""
    return inverse(to, mask(to, op.operands[0]))


@composes(*versions_of("And", "Or", "Xor"))
def together(op: Operator, to: Conversion) -> SSAValue | None:
    """The product, the larger one, or the size of the difference."""
    x, y = (mask(to, value) for value in op.operands)
    kinds = {"And": MULTIPLY, "Or": MAXIMUM, "Xor": SUBTRACT}
    found = binary(to, kinds[op.type_name], x, y)
    if found is None or op.type_name != "Xor":
        return found
    return to.flat(UnaryOpOp, found, op_type=ABSOLUTE)


@composes(*versions_of("Cast"))
def cast(op: Operator, to: Conversion) -> SSAValue | None:
    """From bool to float32, and from float32 to itself: nothing."""
    return op.operands[0] if element_of(op.results[0]) == f32 else None


@composes(*versions_of("Where"))
def where(op: Operator, to: Conversion) -> SSAValue | None:
    """One of two values, by a mask."""
    chosen, yes, no = op.operands
    if element_of(op.results[0]) == i1:
        return None
    known = constant_of(chosen)
    held = mask(to, chosen)
    if known is None:
        other = inverse(to, held)
    else:
        other = to.view(to.constant(1.0 - known.reshape(-1)), shape(chosen))
    if other is None:
        return None
    first = _share(to, held, known, yes)
    second = _share(to, other, None if known is None else ~known.astype(np.bool_), no)
    if first is None or second is None:
        return None
    return binary(to, ADD, first, second)


def _share(to: Conversion, held: SSAValue, known: Array | None, value: SSAValue) -> SSAValue | None:
    """A value where a mask holds, and 0 elsewhere. known: the mask, if it is a constant."""
    array = constant_of(value)
    if array is not None and known is not None:
        part = np.where(known, array, np.zeros((), np.float32))
        return to.view(to.constant(part.reshape(-1)), part.shape)
    if array is not None and not np.isfinite(array).all():
        return _infinity(to, held, array)
    if array is None and not is_finite(value):
        return None
    number = number_of(value)
    return binary(to, MULTIPLY, held, mask(to, value) if number is None else number)


def _infinity(to: Conversion, held: SSAValue, array: Array) -> SSAValue | None:
    """An infinity where a mask holds, and 0 elsewhere: the largest number, twice. (A quotient by 0
    is NaN in some builds of ncnn.)
    """
    if array.size != 1 or not np.isinf(array).all():
        return None
    largest = float(np.finfo(np.float32).max)
    half = binary(to, MULTIPLY, held, largest if array.reshape(()) > 0 else -largest)
    return None if half is None else binary(to, ADD, half, half)


def is_finite(value: SSAValue) -> bool:
    """Whether a value is finite wherever inputs, weights and sums are, by the layers that compute
    each element by itself.
    """
    seen: set[SSAValue] = set()
    waiting = [value]
    while waiting:
        one = waiting.pop()
        if one in seen:
            continue
        seen.add(one)
        layer = one.owner
        if isinstance(layer, ConstantOp) and not np.isfinite(layer.array).all():
            return False
        if isinstance(layer, UnaryOpOp) and layer.op_type not in FINITE_UNARY:
            return False
        if isinstance(layer, BinaryOpOp) and not _is_finite_binary(layer):
            return False
        if isinstance(layer, ExpOp | LogOp | PowerOp):
            return False
        if isinstance(layer, ViewOp | Unary | BinaryOpOp):
            waiting += layer.operands
    return True


def _is_finite_binary(layer: BinaryOpOp) -> bool:
    if layer.with_scalar and layer.op_type == DIVIDE:
        return bool(layer.b)
    return layer.op_type in FINITE_BINARY
