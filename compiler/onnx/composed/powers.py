"""Powers. ncnn's pow is exp(y * log(x)), which is NaN where x is not above 0: so whole exponents
become products.
"""

from __future__ import annotations

from xdsl.ir import SSAValue

from ncc.compiler.onnx.composed.pointwise import MAXIMUM, MULTIPLY, POWER, REVERSE_POWER, binary
from ncc.compiler.onnx.conversion import Conversion, composes_instead, number_of
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.elementwise.activation_layers import ClipOp, SigmoidOp
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.unary import UnaryOpOp
from ncc.dialects.ncnn.reduction.reduction import SoftmaxOp
from ncc.dialects.onnx.binary import PowOp
from ncc.dialects.onnx.plumbing import ViewOp

SQUARE, SQUARE_ROOT, EXPONENTIAL, RECIPROCAL = 4, 5, 7, 15
"""Operations of UnaryOp."""

UNARY = {2.0: SQUARE, 0.5: SQUARE_ROOT, -1.0: RECIPROCAL}
"""Exponents that are a function of their own."""

MOST = 8
"""The largest exponent that becomes products."""


@composes_instead(PowOp)
def power(op: PowOp, to: Conversion) -> SSAValue | None:
    """Of an exponent that is a number, or of a base that is above 0."""
    x, exponent = op.operands[0], number_of(op.operands[1])
    base = number_of(x)
    if base is not None and base > 0:
        return binary(to, REVERSE_POWER, op.operands[1], base)
    if exponent is None:
        return binary(to, POWER, x, op.operands[1]) if is_positive(x) else None
    if shape(x) != shape(op.results[0]):
        return None
    if exponent in UNARY:
        return to.flat(UnaryOpOp, x, op_type=UNARY[exponent])
    if exponent == int(exponent) and 1 <= exponent <= MOST:
        return _whole(to, x, int(exponent))
    return binary(to, POWER, x, exponent) if is_positive(x) else None


def _whole(to: Conversion, x: SSAValue, exponent: int) -> SSAValue | None:
    """Squares of squares, times x for each odd rest."""
    if exponent == 1:
        return x
    half = _whole(to, x, exponent // 2)
    square = None if half is None else to.flat(UnaryOpOp, half, op_type=SQUARE)
    return square if square is None or exponent % 2 == 0 else binary(to, MULTIPLY, square, x)


def is_positive(value: SSAValue) -> bool:
    """Whether a value is above 0 for certain."""
    while isinstance(value.owner, ViewOp):
        value = value.owner.operands[0]
    layer = value.owner
    match layer:
        case ClipOp():
            return layer.min > 0
        case BinaryOpOp():
            return layer.op_type == MAXIMUM and layer.with_scalar == 1 and layer.b > 0
        case UnaryOpOp():
            return layer.op_type == EXPONENTIAL
    return isinstance(layer, SigmoidOp | SoftmaxOp)
