"""Operators that compute element by element, of any number of axes."""

from __future__ import annotations

from collections.abc import Mapping
from math import prod

from xdsl.ir import SSAValue

from ncc.compiler.onnx import elementwise
from ncc.compiler.onnx.conversion import Conversion, composes, number_of
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.elementwise.activation_layers import MishOp, SoftplusOp
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.unary import UnaryOpOp
from ncc.dialects.ncnn.layer import Layer, Shape
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.onnx.binary import ModOp, PowOp
from ncc.dialects.onnx.broadcast import broadcast
from ncc.dialects.onnx.dialect import versions_of
from ncc.dialects.onnx.operator import Operator

ADD, SUBTRACT, MULTIPLY, DIVIDE, MAXIMUM, MINIMUM, POWER = range(7)
REVERSE_SUBTRACT, REVERSE_POWER = 7, 9
"""Operations of BinaryOp."""

REMAINDER = 12
"""The same, newer than most copies of ncnn."""

ABSOLUTE = 0
"""An operation of UnaryOp."""

FOLDS: Mapping[str, int] = {"Max": MAXIMUM, "Min": MINIMUM, "Sum": ADD}

NEWER = {"Sign": 20, "Sinh": 22, "Asinh": 23, "Cosh": 24, "Acosh": 25, "Atanh": 26}
"""Operations of UnaryOp that are newer than most copies of ncnn."""

LAYERS: Mapping[str, tuple[type[Layer], Mapping[str, int]]] = {
    "Softplus": (SoftplusOp, {}),
    "Mish": (MishOp, {}),
    **{name: (UnaryOpOp, {"op_type": kind}) for name, kind in NEWER.items()},
}


def binary(to: Conversion, kind: int, x: SSAValue, y: SSAValue | float) -> SSAValue | None:
    """An operation of BinaryOp on two values that are broadcast, or on one and a number."""
    if not isinstance(y, SSAValue):
        blob = x if len(shape(x)) <= MAX_RANK else to.view(x, (prod(shape(x)),))
        made = to.layer(BinaryOpOp, [blob], op_type=kind, with_scalar=1, b=float(y))
        return to.view(made, shape(x))
    result = broadcast(shape(x), shape(y))
    blobs = together(shape(x), shape(y))
    if max(map(len, blobs)) > MAX_RANK:
        return None
    operands = [to.view(value, blob) for value, blob in zip((x, y), blobs, strict=True)]
    return to.view(to.layer(BinaryOpOp, operands, op_type=kind), result)


def number_or_value(value: SSAValue) -> SSAValue | float:
    """The number of a constant of one element; other values as they are."""
    number = number_of(value)
    return value if number is None else number


def together(x: Shape, y: Shape) -> tuple[Shape, Shape]:
    """Two shapes with as many axes. Neighbours that are broadcast in the same way are one axis."""
    rank = max(len(x), len(y), 1)
    x, y = (1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y
    merged: list[tuple[int, int]] = []
    ways: list[tuple[bool, bool]] = []
    for m, n in zip(x, y, strict=True):
        if m == n == 1:
            continue
        way = (m == 1, n == 1)
        if ways and ways[-1] == way:
            merged[-1] = (merged[-1][0] * m, merged[-1][1] * n)
        else:
            merged.append((m, n))
            ways.append(way)
    pairs = merged or [(1, 1)]
    return tuple(m for m, _ in pairs), tuple(n for _, n in pairs)


@composes(*(cls for cls in elementwise.BINARY if cls is not PowOp))
def two_operands(op: Operator, to: Conversion) -> SSAValue | None:
    """Two operands of more axes than a blob has."""
    x, y = op.operands
    kind, swapped = elementwise.BINARY[type(op)]
    result = shape(op.results[0])
    for one, other, way in ((x, y, kind), (y, x, swapped)):
        number = number_of(other)
        if number is not None and shape(one) == result:
            return binary(to, way, one, number)
    return binary(to, kind, x, y)


@composes(*versions_of(*FOLDS))
def folded(op: Operator, to: Conversion) -> SSAValue | None:
    """The largest, the smallest, or the sum of several values."""
    found: SSAValue | None = op.operands[0]
    for other in op.operands[1:]:
        if found is not None:
            found = binary(to, FOLDS[op.type_name], found, number_or_value(other))
    return found


@composes(ModOp)
def modulo(op: ModOp, to: Conversion) -> SSAValue | None:
    """With the sign of the dividend; ncnn has none with that of the divisor."""
    x, y = op.operands
    return binary(to, REMAINDER, x, number_or_value(y)) if op.fmod else None


@composes(*versions_of(*LAYERS))
def one_operand(op: Operator, to: Conversion) -> SSAValue | None:
    """Each element by itself."""
    layer, params = LAYERS[op.type_name]
    return to.flat(layer, op.operands[0], **params)


@composes(*elementwise.LAYERS)
def of_many_axes(op: Operator, to: Conversion) -> SSAValue | None:
    """Each element by itself, of more axes than a blob has."""
    x, (layer, params) = op.operands[0], elementwise.LAYERS[type(op)]
    return None if len(shape(x)) <= MAX_RANK else to.flat(layer, x, **params(op))
