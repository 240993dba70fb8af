"""What each scalar operation of arith and math computes, in numpy.

The operations of a `linalg.generic`'s body act on whole arrays here: every operand is an array (or
a numpy scalar) that broadcasts against the others.
"""

from __future__ import annotations

import math as python_math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, bf16, f16, f32, f64
from xdsl.ir import Attribute, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects import bfloat16, element
from ncc.dialects.element import is_half, is_integer
from ncc.dialects.weights.sources import Array

Float: TypeAlias = type[np.floating[Any]]


def dtype_of(type: Attribute, float_type: Float = np.float32) -> np.dtype[Any]:
    """The numpy type of an element type; `float_type` stands for f32."""
    if type == f32:
        return np.dtype(float_type)
    try:
        return element.dtype_of(type)
    except TypeError as error:
        raise CompilerBug(str(error)) from error


def number(attribute: Attribute, float_type: Float = np.float32) -> Array:
    """The value of an `arith.constant` as an array of rank 0."""
    if not isinstance(attribute, FloatAttr | IntegerAttr):
        raise CompilerBug(f"{attribute} is no number")
    if is_integer(attribute.type):  # a constant has no sign, and may have been written with one
        return np.array(attribute.value.data).astype(dtype_of(attribute.type))
    stored = element.as_stored(np.array(attribute.value.data), attribute.type)
    return stored.astype(dtype_of(attribute.type, float_type), copy=False)


def compute(op: Operation, operands: Sequence[Array], float_type: Float = np.float32) -> Array:
    """The result of one scalar operation.

    Raises `CompilerBug` for an operation that has no meaning here.
    """
    result = op.results[0].type if op.results else None
    if result is None:
        raise CompilerBug(f"{op.name} computes nothing")
    dtype = dtype_of(result, float_type)
    if isinstance(op, arith.ConstantOp):
        return number(op.value, float_type)
    if isinstance(op, arith.BitcastOp):
        bits = operands[0].astype(dtype_of(op.input.type), order="C")
        return bits.view(dtype_of(result)).astype(dtype, copy=False)
    if isinstance(op, arith.TruncFOp) and op.input.type == f64 and is_half(result):
        return _half_of_double(operands[0], result)
    if isinstance(op, arith.ExtFOp) and op.input.type == bf16:
        return bfloat16.from_bfloat16(operands[0]).astype(dtype)
    if isinstance(op, arith.TruncFOp) and result == bf16:
        return bfloat16.to_bfloat16(operands[0])
    if isinstance(op, arith.CmpfOp):
        return _FLOAT_COMPARISONS[op.predicate.value.data](*operands)
    if isinstance(op, arith.CmpiOp):
        return _compare_integers(op.predicate.value.data, *operands)
    function = _FUNCTIONS.get(type(op))
    if function is None:
        raise CompilerBug(f"{op.name} has no meaning in the linalg level")
    with np.errstate(all="ignore"):
        return np.asarray(function(*operands)).astype(dtype, copy=False)


def _half_of_double(x: Array, target: Attribute) -> Array:
    """The nearest number of half precision, by the odd one of both float32 around a float64."""
    if target == f16:
        return np.asarray(x.astype(np.float16))
    near = x.astype(np.float32)
    side = np.where(x > near, np.inf, -np.inf).astype(np.float32)
    odd = np.where(near.view(np.uint32) & 1, near, np.nextafter(near, side))
    keeps = (near == x) | ~np.isfinite(near)
    return bfloat16.to_bfloat16(np.where(keeps, near, odd).astype(np.float32))


Function: TypeAlias = Callable[..., Array]

_erf = np.frompyfunc(python_math.erf, 1, 1)


def _round_half_away(x: Array) -> Array:
    return np.asarray(np.copysign(np.floor(np.abs(x) + 0.5), x))


def _divide_truncating(a: Array, b: Array) -> Array:
    up = (np.remainder(a, b) != 0) & ((a < 0) != (b < 0))
    return np.asarray(np.floor_divide(a, b) + up)


def _power_of_integers(x: Array, y: Array) -> Array:
    """Products wrap around; a negative power is one of 1 or -1, and else 0."""
    result, square = np.ones_like(x + y), x
    for k in range(8 * x.dtype.itemsize - 1):
        result = np.where((y >> k) & 1, result * square, result)
        square = square * square
    unit = np.where((x == 1) | (x == -1), np.where(y & 1, x, 1), 0)
    return np.where(y < 0, unit, result)


def _shifted_without_sign(x: Array, by: Array) -> Array:
    unsigned = f"u{x.dtype.itemsize}"
    return np.asarray((x.view(unsigned) >> by.view(unsigned)).view(x.dtype))


def _without_sign(x: Array) -> Array:
    return x if x.dtype == np.bool_ else x.view(f"u{x.dtype.itemsize}")


def _same(x: Array) -> Array:
    return x


def _unordered(a: Array, b: Array) -> Array:
    return np.asarray(np.isnan(a) | np.isnan(b))


def _ordered(test: Function) -> Function:
    return lambda a, b: test(a, b) & ~_unordered(a, b)


def _or_unordered(test: Function) -> Function:
    return lambda a, b: test(a, b) | _unordered(a, b)


_TESTS: Sequence[Function] = (
    np.equal,
    np.greater,
    np.greater_equal,
    np.less,
    np.less_equal,
    np.not_equal,
)

# In the order of the predicate's number: false, six ordered, ord, six unordered, uno, true.
_FLOAT_COMPARISONS: Sequence[Function] = (
    lambda a, b: np.zeros(np.broadcast_shapes(a.shape, b.shape), np.bool_),
    *(_ordered(test) for test in _TESTS),
    lambda a, b: ~_unordered(a, b),
    *(_or_unordered(test) for test in _TESTS),
    _unordered,
    lambda a, b: np.ones(np.broadcast_shapes(a.shape, b.shape), np.bool_),
)

_INTEGER_COMPARISONS: Sequence[Function] = (
    np.equal,
    np.not_equal,
    np.less,
    np.less_equal,
    np.greater,
    np.greater_equal,
)


def _compare_integers(predicate: int, a: Array, b: Array) -> Array:
    if predicate < len(_INTEGER_COMPARISONS):
        return np.asarray(_INTEGER_COMPARISONS[predicate](a, b))
    unsigned = np.dtype(f"u{a.dtype.itemsize}")  # the same four orders, of unsigned numbers
    return np.asarray(_INTEGER_COMPARISONS[predicate - 4](a.view(unsigned), b.view(unsigned)))


COMBINERS: Mapping[type[Operation], np.ufunc] = {
    arith.AddfOp: np.add,
    arith.MulfOp: np.multiply,
    arith.MaxnumfOp: np.fmax,
    arith.MinnumfOp: np.fmin,
    arith.MaximumfOp: np.maximum,
    arith.MinimumfOp: np.minimum,
    arith.AddiOp: np.add,
    arith.MuliOp: np.multiply,
    arith.MaxSIOp: np.maximum,
    arith.MinSIOp: np.minimum,
    arith.MaxUIOp: np.maximum,
    arith.MinUIOp: np.minimum,
}
"""The operations that a reduction may fold with: associative and commutative."""

_FUNCTIONS: Mapping[type[Operation], Function] = {
    **COMBINERS,
    arith.SubfOp: np.subtract,
    arith.DivfOp: np.divide,
    arith.NegfOp: np.negative,
    arith.SubiOp: np.subtract,
    arith.DivSIOp: _divide_truncating,
    arith.FloorDivSIOp: np.floor_divide,
    arith.RemSIOp: np.fmod,
    arith.DivUIOp: np.floor_divide,
    arith.RemUIOp: np.fmod,
    arith.ShRUIOp: _shifted_without_sign,
    arith.UIToFPOp: _same,
    arith.FPToUIOp: np.trunc,
    math.IPowIOp: _power_of_integers,
    arith.AndIOp: np.bitwise_and,
    arith.OrIOp: np.bitwise_or,
    arith.XOrIOp: np.bitwise_xor,
    arith.ShLIOp: np.left_shift,
    arith.ShRSIOp: np.right_shift,
    arith.SelectOp: np.where,
    arith.IndexCastOp: _same,
    arith.ExtFOp: _same,
    arith.TruncFOp: _same,
    arith.ExtSIOp: _same,
    arith.ExtUIOp: _without_sign,
    arith.TruncIOp: _same,
    arith.SIToFPOp: _same,
    arith.FPToSIOp: np.trunc,
    math.AbsFOp: np.abs,
    math.AbsIOp: np.abs,
    math.AcosOp: np.arccos,
    math.AcoshOp: np.arccosh,
    math.AsinOp: np.arcsin,
    math.AsinhOp: np.arcsinh,
    math.AtanOp: np.arctan,
    math.AtanhOp: np.arctanh,
    math.Atan2Op: np.arctan2,
    math.CbrtOp: np.cbrt,
    math.CeilOp: np.ceil,
    math.CopySignOp: np.copysign,
    math.CosOp: np.cos,
    math.CoshOp: np.cosh,
    math.ErfOp: _erf,
    math.ExpOp: np.exp,
    math.Exp2Op: np.exp2,
    math.ExpM1Op: np.expm1,
    math.FloorOp: np.floor,
    math.FmaOp: lambda a, b, c: a * b + c,
    math.LogOp: np.log,
    math.Log10Op: np.log10,
    math.Log1pOp: np.log1p,
    math.Log2Op: np.log2,
    math.PowFOp: np.power,
    math.RoundEvenOp: np.rint,
    math.RoundOp: _round_half_away,
    math.RsqrtOp: lambda x: 1 / np.sqrt(x),
    math.SinOp: np.sin,
    math.SinhOp: np.sinh,
    math.SqrtOp: np.sqrt,
    math.TanOp: np.tan,
    math.TanhOp: np.tanh,
    math.TruncOp: np.trunc,
}
