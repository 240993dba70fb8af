"""Scalar expressions: the body of one linalg operation, before it is IR.

    y = maximum(x[c, h, w] * s[c] + b[c], 0.0)

An expression is a tree of reads, constants and operations. `index_notation.Builder` writes it into
the body of a `linalg.generic`; a node that occurs several times (the same object) is written once.

The type of the operands chooses an operation. float16 and bfloat16 are computed in float32, and
each result is rounded. `casts` converts between all types.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from math import inf
from typing import TypeAlias

from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IndexType, IntegerAttr, f32, f64, i1, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue
from xdsl.ir.affine import AffineExpr

from ncc.dialects.attributes import SizeAttr
from ncc.dialects.element import (
    bits_of,
    greatest,
    is_half,
    is_integer,
    is_unsigned,
    number,
    signless,
)
from ncc.dialects.rt import SizeOp
from ncc.dialects.shapes import Shape
from ncc.dialects.size import Size

index = IndexType()

LEAST = -3.4028234663852886e38
"""The lowest float32."""


def _infix(of_floats: type[Operation], of_integers: type[Operation]) -> tuple[_Infix, _Infix]:
    """An operator of Python, and the same with a number in front."""
    return (
        lambda x, y: _either(of_floats, of_integers, x, y),
        lambda y, x: _either(of_floats, of_integers, x, y),
    )


def _of_bits(operation: type[Operation]) -> _Infix:
    return lambda x, y: _apply(operation, x, y)


def _comparison(name: str) -> _Infix:
    return lambda x, y: _compare(name, x, y)


@dataclass(frozen=True, eq=False)
class Scalar:
    """A value of element type `type`; arithmetic with the operators of Python.

    Both operands have one type; a number takes that of the other operand. Integers wrap around.
    """

    type: Attribute

    __add__, __radd__ = _infix(arith.AddfOp, arith.AddiOp)
    __sub__, __rsub__ = _infix(arith.SubfOp, arith.SubiOp)
    __mul__, __rmul__ = _infix(arith.MulfOp, arith.MuliOp)
    __and__, __or__, __xor__ = map(_of_bits, (arith.AndIOp, arith.OrIOp, arith.XOrIOp))
    __lt__, __le__, __gt__, __ge__ = map(_comparison, ("lt", "le", "gt", "ge"))

    def __truediv__(self, other: Operand) -> Scalar:
        """Integers: towards zero; 0 where the divisor is 0."""
        return _divide(self, other)

    def __rtruediv__(self, other: Operand) -> Scalar:
        return _divide(other, self)

    def __neg__(self) -> Scalar:
        return 0 - self if is_integer(self.type) else _apply(arith.NegfOp, self)

    def __invert__(self) -> Scalar:
        ones = greatest(self.type) if is_unsigned(self.type) else -1
        return _apply(arith.XOrIOp, self, ones)


Operand: TypeAlias = Scalar | float | int
_Infix: TypeAlias = Callable[[Scalar, Operand], Scalar]


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
_WRAPPING = (arith.AddiOp, arith.SubiOp, arith.MuliOp, arith.ShLIOp)
_EXACT = (arith.DivSIOp, arith.DivUIOp, arith.ShRSIOp, arith.ShRUIOp)
_PLAIN = (
    arith.MaxSIOp, arith.MinSIOp, arith.MaxUIOp, arith.MinUIOp, arith.AndIOp, arith.OrIOp,
    arith.XOrIOp, arith.RemSIOp, arith.RemUIOp, math.AbsIOp, math.IPowIOp,
)  # fmt: skip
_FLOAT_PREDICATES = {"eq": 1, "gt": 2, "ge": 3, "lt": 4, "le": 5, "ne": 13, "uno": 14}
_INTEGER_PREDICATES = {"eq": 0, "ne": 1, "lt": 2, "le": 3, "gt": 4, "ge": 5}
_UNSIGNED = 4
"""From the number of a predicate of integers, an order, to that of integers without a sign."""


def flags_of(operation: type[Operation]) -> tuple[tuple[str, Attribute], ...]:
    """The properties of an arithmetic operation."""
    if operation in _WRAPPING:
        return _OVERFLOW
    return () if operation in (*_PLAIN, *_EXACT) else _FASTMATH


def _alike(*operands: Operand) -> tuple[Scalar, ...]:
    """Operands of one type; numbers take that of the other operands."""
    like = next((o.type for o in operands if isinstance(o, Scalar)), f32)
    given = tuple(scalar(o, like) for o in operands)
    if any(o.type != like for o in given):
        raise TypeError(f"{', '.join(str(o.type) for o in given)} are not one type: convert first")
    return given


def _apply(operation: type[Operation], *operands: Operand) -> Scalar:
    given = _alike(*operands)
    kind = given[0].type
    if is_half(kind):
        return convert(_apply(operation, *(convert(o, f32) for o in given)), kind)
    return Apply(kind, operation, given, flags_of(operation))


def _either(
    floats: type[Operation],
    integers: type[Operation],
    *operands: Operand,
    unsigned: type[Operation] | None = None,
) -> Scalar:
    """The operation for floats or the one for integers, by the type of the operands."""
    given = _alike(*operands)
    if not is_integer(given[0].type):
        return _apply(floats, *given)
    return _apply(unsigned if unsigned and is_unsigned(given[0].type) else integers, *given)


def _compare(predicate: str, a: Operand, b: Operand) -> Scalar:
    given = _alike(a, b)
    kind = given[0].type
    if is_half(kind):
        return _compare(predicate, *(convert(o, f32) for o in given))
    if is_integer(kind):
        ordered = predicate not in ("eq", "ne")
        number = _INTEGER_PREDICATES[predicate] + _UNSIGNED * (ordered and is_unsigned(kind))
        return Apply(i1, arith.CmpiOp, given, (("predicate", IntegerAttr(number, i64)),))
    code = IntegerAttr(_FLOAT_PREDICATES[predicate], i64)
    return Apply(i1, arith.CmpfOp, given, (("predicate", code), *_FASTMATH))


def equal(a: Operand, b: Operand) -> Scalar:
    """a == b, false where either is NaN."""
    return _compare("eq", a, b)


def not_equal(a: Operand, b: Operand) -> Scalar:
    """a != b, true where either is NaN."""
    return _compare("ne", a, b)


def is_nan(x: Scalar) -> Scalar:
    return constant(0, i1) if is_integer(x.type) else _compare("uno", x, x)


def is_infinite(x: Scalar) -> Scalar:
    return constant(0, i1) if is_integer(x.type) else equal(absolute(x), inf)


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
    return _either(arith.MaxnumfOp, arith.MaxSIOp, a, b, unsigned=arith.MaxUIOp)


def minimum(a: Operand, b: Operand) -> Scalar:
    """The smaller one; if one is NaN, the other one (C's fmin)."""
    return _either(arith.MinnumfOp, arith.MinSIOp, a, b, unsigned=arith.MinUIOp)


def nan_maximum(a: Operand, b: Operand) -> Scalar:
    """The larger one; NaN if one is NaN (numpy's maximum)."""
    return _either(arith.MaximumfOp, arith.MaxSIOp, a, b, unsigned=arith.MaxUIOp)


def nan_minimum(a: Operand, b: Operand) -> Scalar:
    """The smaller one; NaN if one is NaN (numpy's minimum)."""
    return _either(arith.MinimumfOp, arith.MinSIOp, a, b, unsigned=arith.MinUIOp)


def remainder(a: Operand, b: Operand) -> Scalar:
    """The remainder of integers with the sign of the dividend; by 0, 0."""
    x, y = _alike(a, b)
    by = _divisor(y)
    return _apply(arith.RemUIOp if is_unsigned(x.type) else arith.RemSIOp, x, by)


def _divide(a: Operand, b: Operand) -> Scalar:
    """a / b. No division of integers may trap."""
    x, y = _alike(a, b)
    if not is_integer(x.type):
        return _apply(arith.DivfOp, x, y)
    quotient = _either(arith.DivfOp, arith.DivSIOp, x, _divisor(y), unsigned=arith.DivUIOp)
    if isinstance(y, Constant) and y.value.value.data > 0:
        return quotient
    if not is_unsigned(x.type):
        quotient = select(equal(y, -1), -x, quotient)
    return select(equal(y, 0), 0, quotient)


def _divisor(y: Scalar) -> Scalar:
    """A divisor of integers; 1 in place of 0, and of -1, by which the least number overflows."""
    if isinstance(y, Constant) and y.value.value.data > 0:
        return y
    unit = equal(y, 0) if is_unsigned(y.type) else equal(y, 0) | equal(y, -1)
    return select(unit, 1, y)


def clamp(x: Operand, low: Operand, high: Operand) -> Scalar:
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
    (value,) = _alike(x)
    return value if is_unsigned(value.type) else _either(math.AbsFOp, math.AbsIOp, value)


def unary(operation: type[Operation]) -> Callable[[Operand], Scalar]:
    """The function that an operation of the math dialect is (`math.AsinOp`, ...)."""
    return lambda x: _apply(operation, x)


def _rounding(operation: type[Operation]) -> Callable[[Operand], Scalar]:
    """The same of a rounding to whole numbers, which integers are."""

    def rounded(x: Operand) -> Scalar:
        (value,) = _alike(x)
        return value if is_integer(value.type) else _apply(operation, value)

    return rounded


exp = unary(math.ExpOp)
log = unary(math.LogOp)
sqrt = unary(math.SqrtOp)
tanh = unary(math.TanhOp)
erf = unary(math.ErfOp)
sin = unary(math.SinOp)
cos = unary(math.CosOp)
floor = _rounding(math.FloorOp)
ceil = _rounding(math.CeilOp)
trunc = _rounding(math.TruncOp)
round_even = _rounding(math.RoundEvenOp)


def sign(x: Scalar) -> Scalar:
    """1, -1, or x itself: a zero or NaN."""
    negative = x if is_unsigned(x.type) else select(x < 0, -1, x)
    return select(x > 0, 1, negative)


def power(x: Operand, y: Operand) -> Scalar:
    """x to the y, as C's pow; integers wrap around, and a negative power is rounded towards 0."""
    base, exponent = _alike(x, y)
    if not is_unsigned(base.type):
        return _either(math.PowFOp, math.IPowIOp, base, exponent)
    kind = signless(base.type)  # x**y = (x**(y / 2))**2 * x**(y % 2)
    half = bitcast(_apply(arith.ShRUIOp, exponent, 1), kind)
    root = bitcast(_apply(math.IPowIOp, bitcast(base, kind), half), base.type)
    return root * root * select(equal(exponent & 1, 0), 1, base)


def multiply_add(a: Operand, b: Operand, c: Operand) -> Scalar:
    """a * b + c, rounded once."""
    return _apply(math.FmaOp, a, b, c)


def copy_sign(size: Operand, sign: Operand) -> Scalar:
    """The magnitude of `size` with the sign of `sign`."""
    return _apply(math.CopySignOp, size, sign)


def binary(operation: type[Operation], x: Operand, y: Operand) -> Scalar:
    """Any binary operation of arith or math (`math.Atan2Op`, ...)."""
    return _apply(operation, x, y)


def convert(x: Scalar, type: Attribute) -> Scalar:
    """x as a value of another element type, in one step.

    A conversion to a wider type is exact. A float becomes the nearest narrower one, ties to even,
    and an integer the nearest float. A float becomes an integer by rounding towards zero, if that
    is a number of the type (`casts` has all floats). A narrower integer has the low bits.
    """
    if x.type == type:
        return x
    if isinstance(x, Constant) and isinstance(x.value, FloatAttr) and is_half(x.type):
        return constant(x.value.value.data, type)
    if index in (x.type, type) and i64 not in (x.type, type):
        return convert(convert(x, i64), type)
    by_single = is_half(x.type) and type != f64 or is_half(type) and x.type != f64
    if by_single and f32 not in (x.type, type):
        return convert(convert(x, f32), type)
    return Apply(type, conversion(x.type, type), (x,))


def in_single(x: Scalar) -> Scalar:
    """Half precision as float32; a result that would be rounded to it is not."""
    if isinstance(x, Apply) and x.operation is arith.TruncFOp and x.operands[0].type == f32:
        return x.operands[0]
    return convert(x, f32)


def bitcast(x: Scalar, type: Attribute) -> Scalar:
    """The bits of x as a value of another element type of that width."""
    return x if x.type == type else Apply(type, arith.BitcastOp, (x,))


def conversion(source: Attribute, target: Attribute) -> type[Operation]:
    """The operation of arith for a conversion of elements."""
    if index in (source, target):
        return arith.IndexCastOp
    if is_integer(source) and is_integer(target):
        return _of_integers(source, target)
    if is_integer(source):
        return arith.UIToFPOp if is_unsigned(source) else arith.SIToFPOp
    if is_integer(target):
        return arith.FPToUIOp if is_unsigned(target) else arith.FPToSIOp
    return arith.ExtFOp if bits_of(target) > bits_of(source) else arith.TruncFOp


def _of_integers(source: Attribute, target: Attribute) -> type[Operation]:
    before, after = bits_of(source), bits_of(target)
    if before == after:
        return arith.BitcastOp
    if after < before:
        return arith.TruncIOp
    return arith.ExtUIOp if is_unsigned(source) else arith.ExtSIOp


def to_index(x: Scalar) -> Scalar:
    """An index, an integer, or a non-negative float truncated, as an index."""
    kind = i64 if is_integer(x.type) and (is_unsigned(x.type) or x.type == i64) else i32
    return x if x.type == index else Apply(index, arith.IndexCastOp, (convert(x, kind),))


def number_of_index(x: Scalar, type: Attribute = f32) -> Scalar:
    """An index as a number."""
    return convert(Apply(i32, arith.IndexCastOp, (x,)), type)


def number_of_size(size: int, type: Attribute = f32) -> Scalar:
    """An extent, or what was computed of some, as a number: a constant unless it is a size."""
    if not isinstance(size, Size):
        return constant(size, type)
    value = Apply(index, SizeOp, (), (("size", SizeAttr(size)),))
    return value if type == index else number_of_index(value, type)


def over_size(value: float, size: int, type: Attribute = f32) -> Operand:
    """A number over an extent: a constant unless that is a size."""
    return value / number_of_size(size, type) if isinstance(size, Size) else value / size


def sigmoid(x: Scalar) -> Scalar:
    """1 / (1 + exp(-x))."""
    return 1.0 / (exp(-x) + 1.0)
