"""Reductions along axes: Reduction and Softmax."""

from __future__ import annotations

from collections.abc import Sequence
from math import inf, prod

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Indices
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
    integers,
    layer,
    real,
)
from ncc.dialects.scalar import LEAST, Scalar, absolute, divisor, exp, log, over_size, select, sqrt

SUM, ABSOLUTE, SQUARES, MEAN, MAXIMUM, MINIMUM, PRODUCT, L1, L2, LOG_SUM, LOG_SUM_EXP = range(11)

_FLOAT32 = np.finfo(np.float32)
LARGEST = float(_FLOAT32.max)
SMALLEST_NORMAL = float(_FLOAT32.tiny)


@layer("Reduction")
class ReductionOp(Layer):
    """Some axes folded into one value: coeff * post(fold of pre(x)).

    | operation       | pre    | fold    | post                              |
    |-----------------|--------|---------|-----------------------------------|
    | 0 sum, 3 mean   |        | sum     | of the mean: / count              |
    | 1, 7            | abs    | sum     |                                   |
    | 2               | square | sum     |                                   |
    | 4 max, 5 min    |        | itself  |                                   |
    | 6               |        | product |                                   |
    | 8               | square | sum     | square root; 0 where not normal   |
    | 9               |        | sum     | ln                                |
    | 10              | exp    | sum     | ln                                |

    A vector is always reduced. Without `keepdims` the reduced axes are gone; [1] remains of all.
    Where there is no axis to reduce, each element is folded by itself.
    """

    operation = integer(0)
    reduce_all = integer(1, 1)
    coeff = real(2, 1.0)
    axes = integers(3)
    keepdims = integer(4)
    fixbug0 = integer(5)

    def check(self) -> None:
        check_choice(self, "operation", range(SUM, LOG_SUM_EXP + 1))
        if self.axes and not self.fixbug0:
            raise LayerError("axes without 5=1: the file is too old, convert it again", "axes")
        for axis in self.axes:
            if not -4 <= axis < 4:
                raise LayerError(f"axis {axis} is out of range for any rank", "axes")

    def reduced(self, rank: int) -> list[int]:
        """The axes that are folded, ascending; those that only a higher rank has are not."""
        if self.reduce_all or rank == 1:
            return list(range(rank))
        named = {axis + rank if axis < 0 else axis for axis in self.axes}
        return sorted(named & {*range(rank)})

    def infer(self, x: Shape) -> Shape:
        reduced = self.reduced(len(x))
        if self.keepdims:
            return tuple(1 if k in reduced else n for k, n in enumerate(x))
        return tuple(n for k, n in enumerate(x) if k not in reduced) or (1,)

    def count(self, x: Shape) -> int:
        """The divisor of the reduced values: how many elements a mean has."""
        return prod(x[axis] for axis in self.reduced(len(x))) if self.operation == MEAN else 1

    def reference(self, x: Array) -> Array:
        axes = tuple(self.reduced(x.ndim))
        with np.errstate(all="ignore"):
            match self.operation:
                case 4:
                    y = np.fmax.reduce(x, axes, initial=np.float32(-LARGEST))
                case 5:
                    y = np.fmin.reduce(x, axes, initial=np.float32(LARGEST))
                case 6:
                    y = np.prod(x, axes)
                case 1 | 7:
                    y = np.abs(x).sum(axes)
                case 2 | 8:
                    y = np.square(x).sum(axes)
                case 10:
                    y = np.exp(x).sum(axes)
                case _:
                    y = x.sum(axes)
            if self.operation == L2:
                y = np.where(y < SMALLEST_NORMAL, np.float32(0), np.sqrt(y))
            if self.operation in (LOG_SUM, LOG_SUM_EXP):
                y = np.log(y)
            y = np.asarray(y * np.float32(self.coeff / self.count(x.shape)))
        return y.reshape(self.infer(x.shape))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        reduced = self.reduced(x.rank)
        at, to, over = b.loops_around(x.shape, reduced)
        y = self._fold(b, x, at, to, over)
        post = b.loops_of(y.shape)
        folded = y[post]
        value = self._post(folded)
        factor = over_size(self.coeff, self.count(x.shape))
        if factor != 1.0:
            value = value * factor
        if value is not folded:
            y = b.map(post, value)
        return restore_axes(b, y, x.rank, reduced) if self.keepdims else y

    def _fold(
        self, b: Builder, x: Tensor, at: Sequence[AffineExpr], to: Indices, over: Indices
    ) -> Tensor:
        element = x[at]
        match self.operation:
            case 4:
                return b.max(to, over, element, init=-LARGEST)
            case 5:
                return b.min(to, over, element, init=LARGEST)
            case 6:
                return b.product(to, over, element)
            case 1 | 7:
                return b.sum(to, over, absolute(element))
            case 2 | 8:
                return b.sum(to, over, element * element)
            case 10:
                return b.sum(to, over, exp(element))
            case _:
                return b.sum(to, over, element)

    def _post(self, folded: Scalar) -> Scalar:
        if self.operation == L2:
            return select(folded < SMALLEST_NORMAL, 0.0, sqrt(folded))
        return log(folded) if self.operation in (LOG_SUM, LOG_SUM_EXP) else folded


def restore_axes(b: Builder, y: Tensor, rank: int, reduced: Sequence[int]) -> Tensor:
    """The result of a reduction with an extent of 1 where an axis was reduced."""
    shape: list[int] = []
    groups: list[list[int]] = [[]]
    kept = 0
    for axis in range(rank):
        if axis not in reduced:
            if kept:
                groups.append([])
            shape.append(y.shape[kept])
            kept += 1
        else:
            shape.append(1)
        groups[-1].append(axis)
    return b.expand(y, groups, shape)


@layer("Softmax")
class SoftmaxOp(Layer):
    """exp(x - m) / sum of exp(x - m) along one axis, m the largest there."""

    axis = integer(0)
    fixbug0 = integer(1)

    def check(self) -> None:
        if self.axis != 0 and not self.fixbug0:
            raise LayerError("axis without 1=1: the file is too old, convert it again", "axis")

    def along(self, rank: int) -> int:
        """The axis; a vector has only one."""
        return only_axis(self.axis, rank)

    def infer(self, x: Shape) -> Shape:
        self.along(len(x))
        return x

    def reference(self, x: Array) -> Array:
        return softmax_array(x, self.along(x.ndim))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return softmax(b, x, [self.along(x.rank)])


def softmax_array(x: Array, axis: int, *, zeros: bool = False) -> Array:
    """exp(x - m) / sum of exp(x - m) along an axis, m the largest there; as `softmax`."""
    with np.errstate(all="ignore"):
        powers = np.exp(x - x.max(axis, keepdims=True, initial=_nothing(zeros)))
        total = powers.sum(axis, keepdims=True)
        if zeros:
            total = np.where(total == 0, np.float32(1), total)
        return np.asarray(powers / total)


def softmax(b: Builder, x: Tensor, axes: Sequence[int], *, zeros: bool = False) -> Tensor:
    """exp(x - m) / sum of exp(x - m) along axes, m the largest there.

    Where all x are -inf there, these are NaN; with `zeros` they are 0, by an m of the least float
    and a sum of 1 in place of 0.
    """
    at, to, over = b.loops_around(x.shape, axes)
    largest = b.max(to, over=over, of=x[at], init=_nothing(zeros))
    b.loops_of(x.shape)
    powers = b.map(at, exp(x[at] - largest[to]))
    b.loops_of(x.shape)
    total = b.sum(to, over=over, of=powers[at])
    b.loops_of(x.shape)
    return b.map(at, powers[at] / (divisor(total[to]) if zeros else total[to]))


def _nothing(zeros: bool) -> float:
    """The largest number of none, for a softmax."""
    return LEAST if zeros else -inf
