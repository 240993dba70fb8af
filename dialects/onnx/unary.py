"""Functions of one operand, element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.dialects import math
from xdsl.dialects.builtin import i1
from xdsl.ir import Attribute

from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.operator import Array, operator
from ncc.dialects.onnx.pointwise import UnaryOperator, unary
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    ceil,
    constant,
    cos,
    erf,
    exp,
    floor,
    is_infinite,
    is_nan,
    log,
    round_even,
    sign,
    sin,
    sqrt,
    tanh,
)
from ncc.dialects.scalar import unary as scalar_unary


def erf_array(x: Array) -> Array:
    """The error function, in float64."""
    from math import erf as exact

    return np.asarray(np.vectorize(exact, otypes=[np.float64])(x))


AbsOp = unary("Abs", np.abs, absolute, "The magnitude.")
CeilOp = unary("Ceil", np.ceil, ceil, "Rounded up.")
CosOp = unary("Cos", np.cos, cos, "The cosine.")
ErfOp = unary("Erf", erf_array, erf, "The error function.")
ExpOp = unary("Exp", np.exp, exp, "exp(x).")
FloorOp = unary("Floor", np.floor, floor, "Rounded down.")
LogOp = unary("Log", np.log, log, "The natural logarithm.")
NegOp = unary("Neg", np.negative, lambda x: -x, "-x.")
ReciprocalOp = unary("Reciprocal", np.reciprocal, lambda x: 1.0 / x, "1 / x.")
RoundOp = unary("Round", np.rint, round_even, "The nearest whole number, the even one of two.")
SignOp = unary("Sign", np.sign, sign, "-1, 0 or 1.")
SinOp = unary("Sin", np.sin, sin, "The sine.")
SqrtOp = unary("Sqrt", np.sqrt, sqrt, "The square root.")
TanhOp = unary("Tanh", np.tanh, tanh, "The hyperbolic tangent.")
TanOp = unary("Tan", np.tan, scalar_unary(math.TanOp), "The tangent.")
AsinOp = unary("Asin", np.arcsin, scalar_unary(math.AsinOp), "The inverse sine.")
AcosOp = unary("Acos", np.arccos, scalar_unary(math.AcosOp), "The inverse cosine.")
AtanOp = unary("Atan", np.arctan, scalar_unary(math.AtanOp), "The inverse tangent.")
SinhOp = unary("Sinh", np.sinh, scalar_unary(math.SinhOp), "The hyperbolic sine.")
CoshOp = unary("Cosh", np.cosh, scalar_unary(math.CoshOp), "The hyperbolic cosine.")
AsinhOp = unary("Asinh", np.arcsinh, scalar_unary(math.AsinhOp), "The inverse of sinh.")
AcoshOp = unary("Acosh", np.arccosh, scalar_unary(math.AcoshOp), "The inverse of cosh.")
AtanhOp = unary("Atanh", np.arctanh, scalar_unary(math.AtanhOp), "The inverse of tanh.")
BitwiseNotOp = unary("BitwiseNot", np.invert, lambda x: ~x, "All bits the other way.")
NotOp = unary("Not", np.logical_not, lambda x: ~x, "False for true.")


class _Predicate(UnaryOperator):
    def element_types(self, *operands: Attribute) -> Attribute:
        return i1


@operator("IsNaN", since=9)
class IsNaNOp(_Predicate):
    """Whether x is no number."""

    def array(self, x: Array) -> Any:
        return np.isnan(x)

    def scalar(self, x: Scalar) -> Scalar:
        return is_nan(x)


@operator("IsInf", since=10)
class IsInfOp(_Predicate):
    """Whether x is an infinity, of those that are asked for."""

    detect_negative = integer(1)
    detect_positive = integer(1)

    def array(self, x: Array) -> Any:
        below, above = bool(self.detect_negative), bool(self.detect_positive)
        return np.isinf(x) & ((x < 0) & below | (x > 0) & above)

    def scalar(self, x: Scalar) -> Scalar:
        below, above = constant(self.detect_negative, i1), constant(self.detect_positive, i1)
        return is_infinite(x) & ((x < 0) & below | (x > 0) & above)
