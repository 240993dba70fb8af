"""Scalar expressions: the body of one linalg operation, before it is IR.

    y = maximum(x[c, h, w] * s[c] + b[c], 0.0)

An expression is a tree of reads, constants and operations. `index_notation.Builder` writes it into
the body of a `linalg.generic`; a node that occurs several times (the same object) is written once.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, nan
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import (
    AnyFloat,
    FloatAttr,
    IndexType,
    IntegerAttr,
    IntegerType,
    f32,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ncc.dialects.attributes import SizeAttr
from ncc.dialects.element import is_integer, number
from ncc.dialects.rt import SizeOp
from ncc.dialects.shapes import Shape
from ncc.dialects.size import Size

index = IndexType()

LEAST = -3.4028234663852886e38
"""The lowest float32."""


@dataclass(frozen=True, eq=False)
class Scalar:
    """A value of element type `type`; arithmetic with the operators of Python.

    Both operands have one type; a number takes that of the other operand. Integers wrap around.
    """

    type: Attribute

    def __add__(self, other: Operand) -> Scalar:
        return _either(arith.AddfOp, arith.AddiOp, self, other)

    def __radd__(self, other: Operand) -> Scalar:
        return _either(arith.AddfOp, arith.AddiOp, other, self)

    def __sub__(self, other: Operand) -> Scalar:
        return _either(arith.SubfOp, arith.SubiOp, self, other)

    def __rsub__(self, other: Operand) -> Scalar:
        return _either(arith.SubfOp, arith.SubiOp, other, self)

    def __mul__(self, other: Operand) -> Scalar:
        return _either(arith.MulfOp, arith.MuliOp, self, other)

    def __rmul__(self, other: Operand) -> Scalar:
        return _either(arith.MulfOp, arith.MuliOp, other, self)

    def __truediv__(self, other: Operand) -> Scalar:
        return _apply(arith.DivfOp, self, other)

    def __rtruediv__(self, other: Operand) -> Scalar:
        return _apply(arith.DivfOp, other, self)

    def __neg__(self) -> Scalar:
        return _apply(arith.NegfOp, self)

    def __and__(self, other: Operand) -> Scalar:
        return _apply(arith.AndIOp, self, other)

    def __lt__(self, other: Operand) -> Scalar:
        return _compare("lt", self, other)

    def __le__(self, other: Operand) -> Scalar:
        return _compare("le", self, other)

    def __gt__(self, other: Operand) -> Scalar:
        return _compare("gt", self, other)

    def __ge__(self, other: Operand) -> Scalar:
        return _compare("ge", self, other)


Operand: TypeAlias = Scalar | float | int


@dataclass(frozen=True, eq=False)
class Read(Scalar):
    """An element of a tensor at affine coordinates of the loops. shape: that of the tensor."""

    tensor: SSAValue
    shape: Shape
    at: tuple[AffineExpr, ...]


@dataclass(frozen=True, eq=False)
class Gather(Scalar):
    """An element of a tensor at computed coordinates."""

    tensor: SSAValue
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
    """A number as an expression: float32 unless `type` is another element type or index."""
    if isinstance(value, Size):
        return number_of_size(value, type)
    return Constant(type, number(value, type))


def scalar(value: Operand, like: Attribute = f32) -> Scalar:
    """An operand as an expression; a number takes the type of the other operand."""
    return value if isinstance(value, Scalar) else constant(value, like)


_FASTMATH = (("fastmath", arith.FastMathFlagsAttr("none")),)
_OVERFLOW = (("overflowFlags", arith.IntegerOverflowAttr("none")),)
_WRAPPING = (arith.AddiOp, arith.SubiOp, arith.MuliOp)
_PLAIN = (arith.MaxSIOp, arith.MinSIOp, arith.AndIOp)
_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5}
_INTEGER_PREDICATES = {"eq": 0, "lt": 2, "le": 3, "gt": 4, "ge": 5}


def flags_of(operation: type[Operation]) -> tuple[tuple[str, Attribute], ...]:
    """The properties of an arithmetic operation."""
    if operation in _WRAPPING:
        return _OVERFLOW
    return () if operation in _PLAIN else _FASTMATH


def _alike(*operands: Operand) -> tuple[Scalar, ...]:
    """Operands of one type; numbers take that of the other operands."""
    like = next((o.type for o in operands if isinstance(o, Scalar)), f32)
    given = tuple(scalar(o, like) for o in operands)
    if any(o.type != like for o in given):
        raise TypeError(f"{', '.join(str(o.type) for o in given)} are not one type: convert first")
    return given


def _apply(operation: type[Operation], *operands: Operand) -> Scalar:
    given = _alike(*operands)
    return Apply(given[0].type, operation, given, flags_of(operation))


def _either(floats: type[Operation], integers: type[Operation], *operands: Operand) -> Scalar:
    """The operation for floats or the one for integers, by the type of the operands."""
    return _apply(integers if is_integer(_alike(*operands)[0].type) else floats, *operands)


def _compare(predicate: str, a: Operand, b: Operand) -> Scalar:
    given = _alike(a, b)
    if is_integer(given[0].type):
        code = IntegerAttr(_INTEGER_PREDICATES[predicate], i64)
        return Apply(i1, arith.CmpiOp, given, (("predicate", code),))
    code = IntegerAttr(_FLOAT_PREDICATES[predicate], i64)
    return Apply(i1, arith.CmpfOp, given, (("predicate", code), *_FASTMATH))


def equal(a: Operand, b: Operand) -> Scalar:
    """a == b, false where either is NaN."""
    return _compare("eq", a, b)


def select(condition: Scalar, yes: Operand, no: Operand) -> Scalar:
    """`yes` where the condition holds, else `no`."""
    like = next((o.type for o in (yes, no) if isinstance(o, Scalar)), f32)
    chosen = (condition, scalar(yes, like), scalar(no, like))
    return Apply(chosen[1].type, arith.SelectOp, chosen)


def divisor(x: Scalar) -> Scalar:
    """x, or 1 if it is 0, as a divisor."""
    return select(equal(x, 0.0), 1.0, x)


def maximum(a: Operand, b: Operand) -> Scalar:
    """The larger one; if one is NaN, the other one (C's fmax)."""
    return _either(arith.MaxnumfOp, arith.MaxSIOp, a, b)


def minimum(a: Operand, b: Operand) -> Scalar:
    """The smaller one; if one is NaN, the other one (C's fmin)."""
    return _either(arith.MinnumfOp, arith.MinSIOp, a, b)


def clamp(x: Operand, low: float, high: float) -> Scalar:
    """x limited to [low, high]."""
    return minimum(maximum(x, low), high)


def at_least(x: Scalar, low: float) -> Scalar:
    """x, or low if x is below it; NaN stays NaN."""
    return select(x < low, low, x)


def clip(x: Scalar, low: float, high: float) -> Scalar:
    """x limited to [low, high]; NaN stays NaN."""
    raised = at_least(x, low)
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


def convert(x: Scalar, type: Attribute) -> Scalar:
    """x as a value of another element type, in one step.

    A conversion to a wider type is exact. A float becomes the nearest narrower one, ties to even,
    and an integer the nearest float. A float becomes an integer by rounding towards zero. A
    narrower integer has the low bits.
    """
    if x.type == type:
        return x
    return Apply(type, conversion(x.type, type), (x,))


def bitcast(x: Scalar, type: Attribute) -> Scalar:
    """The bits of x as a value of another element type of that width."""
    return Apply(type, arith.BitcastOp, (x,))


def conversion(source: Attribute, target: Attribute) -> type[Operation]:
    """The operation of arith for a conversion of elements."""
    if is_integer(source) and is_integer(target):
        return arith.ExtSIOp if _bits(target) > _bits(source) else arith.TruncIOp
    if is_integer(source):
        return arith.SIToFPOp
    if is_integer(target):
        return arith.FPToSIOp
    return arith.ExtFOp if _bits(target) > _bits(source) else arith.TruncFOp


_BELOW_HALF = 0.49999997
"""The largest float32 below a half: to add it rounds up fractions from a half on."""


def saturated_int8(x: Scalar) -> Scalar:
    """A float as int8: rounded, halves away from zero, and limited to [-127, 127]; NaN is -127."""
    if _never_negative(x):
        return convert(minimum(x, 127.0) + _BELOW_HALF, i8)
    limited = clamp(x, -127.0, 127.0)
    return convert(limited + copy_sign(_BELOW_HALF, limited), i8)


def _never_negative(x: Scalar) -> bool:
    """Whether it is known to be at least zero and not NaN: a maximum with such a number, or this
    times a positive number.
    """
    match x:
        case Apply(operation=arith.MaxnumfOp, operands=operands):
            return any(_number_of(operand) >= 0 for operand in operands)
        case Apply(operation=arith.MulfOp, operands=(factor, by)):
            return _never_negative(factor) and 0 < _number_of(by) < inf
    return False


def _number_of(x: Scalar) -> float:
    """The number of a constant; NaN for any other value."""
    return float(x.value.value.data) if isinstance(x, Constant) else nan


def _bits(type: Attribute) -> int:
    if not isinstance(type, IntegerType | AnyFloat):
        raise TypeError(f"{type} has no width")
    return int(type.bitwidth)


def to_index(x: Scalar) -> Scalar:
    """An integer, or a non-negative float truncated, as an index."""
    return Apply(index, arith.IndexCastOp, (convert(x, i32),))


def number_of_size(size: int, type: Attribute = f32) -> Scalar:
    """An extent, or what was computed of some, as a number: a constant unless it is a size."""
    if not isinstance(size, Size):
        return constant(size, type)
    value = Apply(index, SizeOp, (), (("size", SizeAttr(size)),))
    if type == index:
        return value
    return convert(Apply(i32, arith.IndexCastOp, (value,)), type)


def over_size(value: float, size: int) -> Operand:
    """A number over an extent: a constant unless that is a size."""
    return value / number_of_size(size) if isinstance(size, Size) else value / size


def sigmoid(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x))."""
    return 1.0 / (exp(-x) + 1.0)
