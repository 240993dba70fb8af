"""Arithmetic of blobs: with one another, with a number, of their halves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import reduce
from typing import TypeAlias

import numpy as np
from xdsl.dialects.math import Atan2Op
from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.axes import only_axis
from ncc.dialects.ncnn.checks import check_choice
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integer,
    layer,
    real,
    reals,
)
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    binary,
    copy_sign,
    exp,
    floor,
    log,
    maximum,
    multiply_add,
    power,
    round_even,
    scalar,
    select,
    sigmoid,
    trunc,
)
from ncc.dialects.size import are_equal, is_equal

ArrayFunction: TypeAlias = Callable[[Array, Array], Array]
ScalarFunction: TypeAlias = Callable[[Scalar, Scalar], Scalar]


# --- BinaryOp's functions -------------------------------------------------------------------------


def larger(a: Scalar, b: Scalar) -> Scalar:
    """std::max(a, b): b where a < b, else a, so that only a NaN in a is seen."""
    return select(a < b, b, a)


def smaller(a: Scalar, b: Scalar) -> Scalar:
    """std::min(a, b): b where b < a, else a, so that only a NaN in a is seen."""
    return select(b < a, b, a)


def modulo(a: Scalar, b: Scalar) -> Scalar:
    """C's fmod: a - n b, n the whole part of a / b.

    The rounded quotient may be one too far; then the rest has the wrong sign and takes one b back.
    Exact while n is below 2**24; above, as rough as ncnn's own vector code.
    """
    rest = multiply_add(-trunc(a / b), b, a)
    back = rest + copy_sign(absolute(b), a)
    inside = select(rest * copy_sign(1.0, a) < 0.0, back, rest)
    return select(absolute(a) < absolute(b), a, inside)


def remainder(a: Scalar, b: Scalar) -> Scalar:
    """C's remainder: a - n b, n the whole number nearest to a / b (the even one of two).

    A quotient rounded to the wrong side of a tie leaves more than half of b: one b goes back.
    Exact while n is below 2**24.
    """
    size = absolute(b)
    rest = multiply_add(-round_even(a / b), b, a)
    nearest = select(absolute(rest) > size * 0.5, rest - copy_sign(size, rest), rest)
    return select(absolute(a) < size * 0.5, a, nearest)


def remainder_array(a: Array, b: Array) -> Array:
    """C's remainder, in float64, where a whole quotient of two float32 below 2**53 is exact."""
    a64, b64 = a.astype(np.float64), np.asarray(b, np.float64)
    rest = np.fmod(a64, b64)
    tie = np.abs(rest) * 2 == np.abs(b64)
    odd = np.fmod(np.trunc(a64 / b64), 2) != 0
    over = (np.abs(rest) * 2 > np.abs(b64)) | (tie & odd)
    nearest = np.where(over, rest - np.copysign(b64, rest), rest)
    return np.asarray(nearest, np.result_type(a, b))


def log_add_exp(a: Scalar, b: Scalar) -> Scalar:
    """ln(exp(a) + exp(b)), the larger one taken out so that it does not overflow."""
    largest = maximum(a, b)
    return largest + log(exp(a - largest) + exp(b - largest))


def log_add_exp_array(a: Array, b: Array) -> Array:
    """ln(exp(a) + exp(b)), the larger one taken out so that it does not overflow."""
    largest = np.fmax(a, b)
    return np.asarray(largest + np.log(np.exp(a - largest) + np.exp(b - largest)))


def _larger_array(a: Array, b: Array) -> Array:
    return np.where(a < b, b, a)


Function: TypeAlias = tuple[ArrayFunction, ScalarFunction]

SUBTRACT: Function = np.subtract, lambda a, b: a - b
DIVIDE: Function = np.divide, lambda a, b: a / b
POWER: Function = np.power, power
ARCTAN2: Function = np.arctan2, lambda a, b: binary(Atan2Op, a, b)
MODULO: Function = np.fmod, modulo
FLOOR_DIVIDE: Function = lambda a, b: np.floor(a / b), lambda a, b: floor(a / b)
REMAINDER: Function = remainder_array, remainder


def _reversed(function: Function) -> Function:
    """f(b, a)."""
    array, scalar = function
    return lambda a, b: array(b, a), lambda a, b: scalar(b, a)


BINARY_FUNCTIONS: tuple[Function, ...] = (
    (np.add, lambda a, b: a + b),
    SUBTRACT,
    (np.multiply, lambda a, b: a * b),
    DIVIDE,
    (_larger_array, larger),
    (lambda a, b: np.where(b < a, b, a), smaller),
    POWER,
    _reversed(SUBTRACT),
    _reversed(DIVIDE),
    _reversed(POWER),
    ARCTAN2,
    _reversed(ARCTAN2),
    MODULO,
    _reversed(MODULO),
    (log_add_exp_array, log_add_exp),
    FLOOR_DIVIDE,
    _reversed(FLOOR_DIVIDE),
    REMAINDER,
    _reversed(REMAINDER),
)
"""BinaryOp's functions by its op_type."""


# --- broadcasting ---------------------------------------------------------------------------------


def first_axis(own: Shape, other: Shape) -> int:
    """The axis of the result that the first axis of a BinaryOp's operand lies on.

    ncnn aligns a lower rank with the outermost axes of the other operand. A vector is aligned with
    the innermost axis, unless its length is the outermost extent. One element is repeated anyway.
    """
    is_vector = len(own) == 1 and len(other) > 1
    if is_vector and (own[0] == 1 or not is_equal(own[0], other[0])):
        return len(other) - 1
    return 0


def aligned(own: Shape, other: Shape) -> Shape:
    """A BinaryOp operand's shape in the rank of the result, extents of 1 where it has no axis."""
    start, rank = first_axis(own, other), max(len(own), len(other))
    return (1,) * start + own + (1,) * (rank - start - len(own))


def broadcast(p: Shape, q: Shape) -> Shape:
    """The shape of a BinaryOp of two blobs: an extent of 1 is repeated, others must be equal."""
    pairs = list(zip(aligned(p, q), aligned(q, p), strict=True))
    if not all(1 in (m, n) or is_equal(m, n) for m, n in pairs):
        raise LayerError(f"{p} and {q} do not broadcast: their extents differ")
    return tuple(n if m == 1 else m for m, n in pairs)


def _named(b: Builder, x: Tensor, other: Tensor, shape: Shape) -> Tensor:
    """x with the extents of the broadcast shape, except those of 1."""
    start = first_axis(x.shape, other.shape)
    own = zip(x.shape, shape[start : start + x.rank], strict=True)
    return b.named(x, [n if n == 1 else whole for n, whole in own])


def _stretch(x: Tensor, other: Tensor, at: Sequence[AffineExpr], shape: Shape) -> Scalar:
    """The element of x that meets the element `at` of the broadcast shape."""
    start = first_axis(x.shape, other.shape)
    axes = range(start, start + x.rank)
    return x[[0 if n == 1 != shape[k] else at[k] for k, n in zip(axes, x.shape, strict=True)]]


@layer("BinaryOp", inputs=(1, 2))
class BinaryOpOp(Layer):
    """One of 19 functions of two blobs, or of a blob and the number b."""

    op_type = integer(0)
    with_scalar = integer(1)
    b = real(2)

    def check(self) -> None:
        check_choice(self, "op_type", range(len(BINARY_FUNCTIONS)))
        wanted = 1 if self.with_scalar else 2
        if len(self.operands) != wanted:
            raise LayerError(
                f"with_scalar is {self.with_scalar}, so there must be {wanted} inputs, "
                f"not {len(self.operands)}",
                "with_scalar",
            )

    def infer(self, p: Shape, q: Shape | None = None) -> Shape:
        return p if q is None else broadcast(p, q)

    def reference(self, p: Array, q: Array | None = None) -> Array:
        function = BINARY_FUNCTIONS[self.op_type][0]
        with np.errstate(all="ignore"):
            if q is None:
                return function(p, np.asarray(self.b, np.float32))
            stretched = p.reshape(aligned(p.shape, q.shape)), q.reshape(aligned(q.shape, p.shape))
            return function(*stretched)

    def lower(self, b: Builder, p: Tensor, q: Tensor | None = None) -> Tensor:
        function = BINARY_FUNCTIONS[self.op_type][1]
        if q is None:
            at = b.loops_of(p.shape)
            return b.map(at, function(p[at], scalar(self.b)))
        shape = broadcast(p.shape, q.shape)
        at = b.loops_of(shape)
        p, q = _named(b, p, q, shape), _named(b, q, p, shape)
        return b.map(at, function(_stretch(p, q, at, shape), _stretch(q, p, at, shape)))


PRODUCT, SUM, MAX = 0, 1, 2


@layer("Eltwise", inputs=(2, None))
class EltwiseOp(Layer):
    """Product, (weighted) sum or maximum of blobs of one shape."""

    op_type = integer(0)
    coeffs = reals(1)

    def check(self) -> None:
        check_choice(self, "op_type", (PRODUCT, SUM, MAX))
        if self.coeffs and len(self.coeffs) != len(self.operands):
            raise LayerError(f"{len(self.coeffs)} coeffs for {len(self.operands)} inputs", "coeffs")

    def infer(self, *xs: Shape) -> Shape:
        if not all(are_equal(x, xs[0]) for x in xs):
            raise LayerError(f"inputs of different shapes: {', '.join(map(str, xs))}")
        return xs[0]

    def reference(self, *xs: Array) -> Array:
        with np.errstate(all="ignore"):
            if self.op_type == PRODUCT:
                return reduce(np.multiply, xs)
            if self.op_type == MAX:
                return reduce(_larger_array, xs)
            scaled = [x * k for x, k in zip(xs, self._coefficients(), strict=True)]
            return reduce(np.add, scaled)

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        at = b.loops_of(xs[0].shape)
        read = [b.named(x, xs[0].shape)[at] for x in xs]
        if self.op_type == PRODUCT:
            return b.map(at, reduce(lambda p, q: p * q, read))
        if self.op_type == MAX:
            return b.map(at, reduce(larger, read))
        scaled = [x if k == 1.0 else x * k for x, k in zip(read, self._coefficients(), strict=True)]
        return b.map(at, reduce(lambda p, q: p + q, scaled))

    def _coefficients(self) -> tuple[float, ...]:
        return self.coeffs or (1.0,) * len(self.operands)


@layer("GLU")
class GLUOp(Layer):
    """a * sigmoid(b), where a and b are the halves of x along the axis.

    Of an odd extent the last one is left out. A vector has only one axis.
    """

    axis = integer(0)

    def along(self, rank: int) -> int:
        """The axis; that of a vector is always 0."""
        return only_axis(self.axis, rank)

    def infer(self, x: Shape) -> Shape:
        axis = self.along(len(x))
        if x[axis] < 2:
            raise LayerError(f"axis {axis} of {x} has no halves", "axis")
        return (*x[:axis], x[axis] // 2, *x[axis + 1 :])

    def reference(self, x: Array) -> Array:
        axis = self.along(x.ndim)
        half = x.shape[axis] // 2
        a, b = (np.take(x, range(k, k + half), axis) for k in (0, half))
        with np.errstate(over="ignore"):
            return np.asarray(a / (1 + np.exp(-b)))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        axis = self.along(x.rank)
        shape = self.infer(x.shape)
        middle = [shape[axis] if k == axis else 0 for k in range(x.rank)]
        first, second = b.slice(x, [0] * x.rank, shape), b.slice(x, middle, shape)
        at = b.loops_of(shape)
        return b.map(at, first[at] * sigmoid(second[at]))
