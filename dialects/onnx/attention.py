"""Attention by products, masks and a softmax.

    scores = (q * sqrt(scale)) (k * sqrt(scale))^T, limited by softcap, + bias
    y      = softmax(scores) v

Operators differ in how they say heads, caches and masks; `Attended` is what they have in common.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import reduce
from math import sqrt

import numpy as np
from xdsl.dialects.builtin import i1
from xdsl.ir import SSAValue

from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import LayerError, shape_of
from ncc.dialects.onnx.binary import AddOp, AndOp, DivOp, EqualOp, LessOrEqualOp, MulOp, WhereOp
from ncc.dialects.onnx.casts import CastLikeOp, CastOp
from ncc.dialects.onnx.composed import Writer
from ncc.dialects.onnx.gather import RangeOp
from ncc.dialects.onnx.linear import MatMulOp
from ncc.dialects.onnx.movement import ConcatOp, ReshapeOp, TransposeOp, UnsqueezeOp
from ncc.dialects.onnx.reduction import ReduceMaxOp
from ncc.dialects.onnx.slices import SliceOp
from ncc.dialects.onnx.softmax import SoftmaxOp
from ncc.dialects.onnx.unary import TanhOp
from ncc.dialects.shapes import Shape, shown
from ncc.dialects.size import is_equal


def extents_of(x: SSAValue, *ranks: int) -> Shape:
    """The shape of an operand, which has to have one of these numbers of axes; any, without."""
    shape = shape_of(x) or ()
    if ranks and len(shape) not in ranks:
        raise LayerError(f"an operand {shown(shape)} has not {' or '.join(map(str, ranks))} axes")
    return shape


def positions(w: Writer, count: int, *, column: bool = False) -> SSAValue:
    """The numbers below a count, as a row or as a column."""
    numbers = w(RangeOp, w.number(0), w.number(count), w.number(1))
    return w(UnsqueezeOp, numbers, w.numbers([1])) if column else numbers


def parted(w: Writer, x: SSAValue, shape: Shape, heads: int) -> tuple[SSAValue, Shape]:
    """(batch, rows, heads * size) as (batch, heads, rows, size), and that shape; a value of four
    axes as it is.
    """
    if len(shape) == 4:
        return x, shape
    if len(shape) != 3 or heads < 1 or shape[2] % heads:
        raise LayerError(f"{shown(shape)} does not fall into {heads} heads")
    batch, rows, columns = shape
    split = w(ReshapeOp, x, w.numbers([batch, rows, heads, columns // heads]))
    return w(TransposeOp, split, perm=(0, 2, 1, 3)), (batch, heads, rows, columns // heads)


def joined(w: Writer, x: SSAValue, shape: Shape) -> SSAValue:
    """(batch, heads, rows, size) as (batch, rows, heads * size)."""
    batch, heads, rows, size = shape
    turned = w(TransposeOp, x, perm=(0, 2, 1, 3))
    return w(ReshapeOp, turned, w.numbers([batch, rows, heads * size]))


def slice_of(w: Writer, x: SSAValue, axis: int, start: int, end: int) -> SSAValue:
    """A part along an axis."""
    return w(SliceOp, x, w.numbers([start]), w.numbers([end]), w.numbers([axis]))


def columns_of(w: Writer, x: SSAValue, start: int, end: int) -> SSAValue:
    """A part of the last axis."""
    return slice_of(w, x, -1, start, end)


def behind(
    w: Writer, past: SSAValue, before: int, new: tuple[SSAValue, Shape]
) -> tuple[SSAValue, Shape]:
    """Rows behind the `before` rows of a cache, by heads."""
    value, shape = new
    return w(ConcatOp, past, value, axis=2), (*shape[:2], before + shape[2], shape[3])


@dataclass
class Masks:
    """Which keys a query sees, and what is added to its scores."""

    allowed: list[SSAValue] = field(default_factory=list)
    """Bools, all of which have to hold."""
    bias: SSAValue | None = None
    each_sees_one: bool = True
    """Whether each query sees a key, whatever the masks are."""

    def add(self, w: Writer, mask: SSAValue, element: SSAValue) -> None:
        """A mask of a file, bools or numbers; `element` has its type."""
        self.each_sees_one = False
        if element_of(element) == i1:
            self.allowed.append(mask)
        else:
            self.bias = mask if self.bias is None else w(AddOp, self.bias, mask)

    def added(self, w: Writer, like: SSAValue) -> SSAValue | None:
        """What is added to scores."""
        if not self.allowed:
            return self.bias
        seen = reduce(lambda one, other: w(AndOp, one, other), self.allowed)
        bias = w.like(0.0, like) if self.bias is None else self.bias
        return w(WhereOp, seen, bias, w.like(-np.inf, like))


@dataclass
class Attended:
    """Attention of heads, (batch, heads, rows, size) each, of which those of queries may share one
    of keys and values. like: a value of their element type.
    """

    w: Writer
    like: SSAValue
    query: Shape
    key: Shape
    value: Shape

    def __post_init__(self) -> None:
        if self.query[1] % self.key[1] or self.key[1] != self.value[1]:
            counts = f"{self.query[1]}, {self.key[1]} and {self.value[1]}"
            raise LayerError(f"{counts} heads of queries, keys and values")
        if not is_equal(self.query[3], self.key[3]) or not is_equal(self.key[2], self.value[2]):
            raise LayerError(f"queries {self.query}, keys {self.key} and values {self.value}")

    @property
    def shape(self) -> Shape:
        """The shape of the result."""
        return (*self.query[:3], self.value[3])

    def scores(self, q: SSAValue, k: SSAValue, scale: float | None) -> SSAValue:
        """Products of queries and keys; each has its half of the scale."""
        w, size = self.w, self.query[3]
        root = w.like(sqrt(1 / sqrt(size) if scale is None else scale), self.like)
        keys = self._groups(w(MulOp, k, root), self.key, 1)
        swapped = (0, 1, 3, 2) if self.sharing == 1 else (0, 1, 2, 4, 3)
        queries = self._groups(w(MulOp, q, root), self.query, self.sharing)
        made = w(MatMulOp, queries, w(TransposeOp, keys, perm=swapped))
        return self._heads(made, (*self.query[:3], self.key[2]))

    def limited(self, scores: SSAValue, softcap: float) -> SSAValue:
        """Scores between -softcap and softcap, unless that is 0."""
        if softcap == 0:
            return scores
        w, most = self.w, self.w.like(softcap, self.like)
        return w(MulOp, w(TanhOp, w(DivOp, scores, most)), most)

    def parts(
        self, scores: SSAValue, bias: SSAValue | None, each_sees_one: bool, number: int | None
    ) -> SSAValue:
        """Scores as parts of a whole; of queries that see no key, zeros.

        number: ONNX's number of the element type of the softmax.
        """
        w = self.w
        given = scores if number is None else w(CastOp, scores, to=number)
        parts = w(SoftmaxOp, given, axis=-1)
        if number is not None:
            parts = w(CastLikeOp, parts, self.like)
        if bias is None or each_sees_one:
            return parts
        # The bias tells, because scores may be NaN.
        most = w(ReduceMaxOp, bias, w.numbers([-1]))
        none = w(EqualOp, most, w.like(-np.inf, self.like))
        return w(WhereOp, none, w.like(0.0, self.like), parts)

    def values(self, parts: SSAValue, v: SSAValue) -> SSAValue:
        """Sums of values by parts of a whole."""
        rows = (*self.query[:3], self.key[2])
        values = self._groups(v, self.value, 1)
        made = self.w(MatMulOp, self._groups(parts, rows, self.sharing), values)
        return self._heads(made, self.shape)

    @property
    def sharing(self) -> int:
        """The heads of queries that share one of keys."""
        return self.query[1] // self.key[1]

    def _groups(self, x: SSAValue, shape: Shape, count: int) -> SSAValue:
        """Heads in groups of so many, where heads share."""
        if self.sharing == 1:
            return x
        batch, heads, *rest = shape
        return self.w(ReshapeOp, x, self.w.numbers([batch, heads // count, count, *rest]))

    def _heads(self, x: SSAValue, shape: Shape) -> SSAValue:
        """Groups as heads again."""
        return x if self.sharing == 1 else self.w(ReshapeOp, x, self.w.numbers(shape))


def seen_before(
    w: Writer, rows: SSAValue, keys: int, left: int = -1, right: int = 0
) -> list[SSAValue]:
    """Which keys are at most `left` before the positions `rows` of queries, and at most `right`
    behind them; -1 is no limit.
    """
    columns, found = positions(w, keys), []
    if right >= 0:
        found.append(w(LessOrEqualOp, columns, w(AddOp, rows, w.number(right))))
    if left >= 0:
        found.append(w(LessOrEqualOp, rows, w(AddOp, columns, w.number(left))))
    return found
