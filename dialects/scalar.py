"""Scalar expressions: what the body of one computation says, before it is IR.

    y = maximum(x[c, h, w] * s[c] + b[c], 0.0)

An expression is a tree of reads, constants and operations. `comprehension.Builder` writes it into
the body of a `linalg.generic`; equal nodes (the same object) are written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, IntegerType, f32, i1, i32, i64
from xdsl.ir import Attribute, Operation
from xdsl.ir.affine import AffineExpr

if TYPE_CHECKING:
    from ncc.dialects.comprehension import Tensor

index = IndexType()


@dataclass(frozen=True, eq=False)
class Scalar:
    """A value of element type `type`; float arithmetic with the operators of Python."""

    type: Attribute

    def __add__(self, other: Operand) -> Scalar:
        return _apply(arith.AddfOp, self, other)

    def __radd__(self, other: Operand) -> Scalar:
        return _apply(arith.AddfOp, other, self)

    def __sub__(self, other: Operand) -> Scalar:
        return _apply(arith.SubfOp, self, other)

    def __rsub__(self, other: Operand) -> Scalar:
        return _apply(arith.SubfOp, other, self)

    def __mul__(self, other: Operand) -> Scalar:
        return _apply(arith.MulfOp, self, other)

    def __rmul__(self, other: Operand) -> Scalar:
        return _apply(arith.MulfOp, other, self)

    def __truediv__(self, other: Operand) -> Scalar:
        return _apply(arith.DivfOp, self, other)

    def __rtruediv__(self, other: Operand) -> Scalar:
        return _apply(arith.DivfOp, other, self)

    def __neg__(self) -> Scalar:
        return _apply(arith.NegfOp, self)

    def __lt__(self, other: Operand) -> Scalar:
        return _compare("olt", self, other)

    def __le__(self, other: Operand) -> Scalar:
        return _compare("ole", self, other)

    def __gt__(self, other: Operand) -> Scalar:
        return _compare("ogt", self, other)

    def __ge__(self, other: Operand) -> Scalar:
        return _compare("oge", self, other)


Operand: TypeAlias = Scalar | float | int


@dataclass(frozen=True, eq=False)
class Read(Scalar):
    """An element of a tensor at affine coordinates of the loops."""

    tensor: Tensor
    at: tuple[AffineExpr, ...]


@dataclass(frozen=True, eq=False)
class Gather(Scalar):
    """An element of a tensor at computed coordinates."""

    tensor: Tensor
    at: tuple[Scalar, ...]


@dataclass(frozen=True, eq=False)
class LoopIndex(Scalar):
    """The value of a loop."""

    loop: AffineExpr


@dataclass(frozen=True, eq=False)
class Constant(Scalar):
    """A number."""

    value: FloatAttr | IntegerAttr


@dataclass(frozen=True, eq=False)
class Apply(Scalar):
    """An operation of arith or math on scalars, with the properties of that operation."""

    operation: type[Operation]
    operands: tuple[Scalar, ...]
    properties: tuple[tuple[str, Attribute], ...] = ()


def constant(value: float, type: Attribute = f32) -> Scalar:
    """A number as an expression: float32 unless `type` is an integer type or index."""
    if isinstance(type, IntegerType | IndexType):
        return Constant(type, IntegerAttr(int(value), type))
    return Constant(type, FloatAttr(float(value), f32))


def scalar(value: Operand, like: Attribute = f32) -> Scalar:
    """An operand as an expression; numbers take the type of what stands beside them."""
    return value if isinstance(value, Scalar) else constant(value, like)


_FASTMATH = (("fastmath", arith.FastMathFlagsAttr("none")),)
_PREDICATES = {"oeq": 1, "ogt": 2, "oge": 3, "olt": 4, "ole": 5, "one": 6}


def _apply(operation: type[Operation], *operands: Operand) -> Scalar:
    given = [scalar(o) for o in operands]
    return Apply(given[0].type, operation, tuple(given), _FASTMATH)


def _compare(predicate: str, a: Operand, b: Operand) -> Scalar:
    code = IntegerAttr(_PREDICATES[predicate], i64)
    return Apply(i1, arith.CmpfOp, (scalar(a), scalar(b)), (("predicate", code), *_FASTMATH))


def equal(a: Operand, b: Operand) -> Scalar:
    """a == b, false where either is NaN."""
    return _compare("oeq", a, b)


def select(condition: Scalar, yes: Operand, no: Operand) -> Scalar:
    """`yes` where the condition holds, else `no`."""
    like = next((o.type for o in (yes, no) if isinstance(o, Scalar)), f32)
    chosen = (condition, scalar(yes, like), scalar(no, like))
    return Apply(chosen[1].type, arith.SelectOp, chosen)


def maximum(a: Operand, b: Operand) -> Scalar:
    """The larger; the other one where one is NaN (C's fmax)."""
    return _apply(arith.MaxnumfOp, a, b)


def minimum(a: Operand, b: Operand) -> Scalar:
    """The smaller; the other one where one is NaN (C's fmin)."""
    return _apply(arith.MinnumfOp, a, b)


def clamp(x: Operand, low: float, high: float) -> Scalar:
    """x limited to [low, high]."""
    return minimum(maximum(x, low), high)


def clip(x: Scalar, low: float, high: float) -> Scalar:
    """x limited to [low, high]; NaN stays NaN."""
    raised = select(x < low, low, x)
    return select(raised > high, high, raised)


def absolute(x: Operand) -> Scalar:
    return _apply(math.AbsFOp, x)


def exp(x: Operand) -> Scalar:
    return _apply(math.ExpOp, x)


def log(x: Operand) -> Scalar:
    return _apply(math.LogOp, x)


def sqrt(x: Operand) -> Scalar:
    return _apply(math.SqrtOp, x)


def tanh(x: Operand) -> Scalar:
    return _apply(math.TanhOp, x)


def erf(x: Operand) -> Scalar:
    return _apply(math.ErfOp, x)


def sin(x: Operand) -> Scalar:
    return _apply(math.SinOp, x)


def cos(x: Operand) -> Scalar:
    return _apply(math.CosOp, x)


def floor(x: Operand) -> Scalar:
    return _apply(math.FloorOp, x)


def ceil(x: Operand) -> Scalar:
    return _apply(math.CeilOp, x)


def trunc(x: Operand) -> Scalar:
    return _apply(math.TruncOp, x)


def round_even(x: Operand) -> Scalar:
    return _apply(math.RoundEvenOp, x)


def power(x: Operand, y: Operand) -> Scalar:
    """x to the y, as C's powf."""
    return _apply(math.PowFOp, x, y)


def multiply_add(a: Operand, b: Operand, c: Operand) -> Scalar:
    """a * b + c, rounded once."""
    return _apply(math.FmaOp, a, b, c)


def copy_sign(size: Operand, sign: Operand) -> Scalar:
    """The magnitude of `size` with the sign of `sign`."""
    return _apply(math.CopySignOp, size, sign)


def unary(operation: type[Operation], x: Operand) -> Scalar:
    """Any unary float operation of the math dialect (`math.AsinOp`, ...)."""
    return _apply(operation, x)


def binary(operation: type[Operation], x: Operand, y: Operand) -> Scalar:
    """Any binary float operation of arith or math (`math.Atan2Op`, ...)."""
    return _apply(operation, x, y)


def to_index(x: Scalar) -> Scalar:
    """A non-negative float, truncated, as an index."""
    whole = Apply(i32, arith.FPToSIOp, (x,))
    return Apply(index, arith.IndexCastOp, (whole,))


def sigmoid(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x))."""
    return 1.0 / (exp(-x) + 1.0)
