"""The largest elements along an axis, in their order, and where they are."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute

from ncc.dialects.element import is_integer, ui64
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.carried import as_elements, carried
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, axis_of, operator
from ncc.dialects.scalar import index
from ncc.dialects.shapes import shown
from ncc.dialects.size import is_open
from ncc.dialects.statements import Code, MemoryView, Value

MOST_MERGES = 31
"""Runs of more numbers than an axis has are behind so many."""


@operator("TopK", since=11, inputs=2, outputs=2)
class TopKOp(Operator):
    """The k largest (or smallest) elements along an axis, best first, and their places.

    Of equal elements the first is better. NaN is larger than all numbers.
    """

    SETTLES: ClassVar[tuple[int, ...]] = (1,)

    axis = integer(-1)
    largest = integer(1)
    sorted = integer(1)

    def count(self) -> int:
        """How many elements are asked for."""
        return self.numbers(1)[0]

    def infer(self, x: Shape, *others: Shape) -> list[Shape]:
        axis, count = axis_of(self.axis, len(x)), self.count()
        if not x or not 0 <= count <= x[axis]:
            raise LayerError(f"the best {count} along axis {self.axis} of {shown(x)}")
        return [(*x[:axis], count, *x[axis + 1 :])] * 2

    def element_types(self, *operands: Attribute) -> Sequence[Attribute]:
        return [operands[0], i64]

    def reference(self, x: Array, *others: Array) -> list[Array]:
        axis, count = axis_of(self.axis, x.ndim), self.count()
        if self.largest:
            order = x.shape[axis] - 1 - np.flip(np.argsort(np.flip(x, axis), axis, "stable"), axis)
        else:
            order = np.argsort(x, axis, "stable")
        places = np.take(order, np.arange(count), axis)
        return [np.take_along_axis(x, places, axis), places]

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> list[Tensor]:
        if x.element_type in (i1, ui64):
            raise NotYet("TopK of bool or uint64")
        axis, count = axis_of(self.axis, x.rank), self.count()
        last = _moved(b, x, axis, x.rank - 1)
        extent = last.shape[-1]
        rows = carried(b, b.reshape(last, (prod(last.shape[:-1]), extent)))
        code = Code(
            [rows],
            [((rows.shape[0], count), rows.element_type), ((rows.shape[0], count), i64)],
            iterations=rows.shape[0],
        )
        row = code.inputs[0].part(code.iteration)
        order = sorted_by(code, extent, self._precedes(code, row))
        values, places = (result.part(code.iteration) for result in code.results)
        with code.range(count) as k:
            values[k] = row[order[k]]
            places[k] = order[k]
        found, at = b.code(code.operation())[:2]
        whole = (*last.shape[:-1], count)
        made = [as_elements(b, found, x.element_type), at]
        return [_moved(b, b.reshape(one, whole), x.rank - 1, axis) for one in made]

    def _precedes(self, code: Code, row: MemoryView) -> Any:
        """Whether one place comes before another one of a smaller number."""

        def precedes(here: Value, there: Value) -> Value:
            x, y = row[here], row[there]
            if is_integer(x.ssa.type):
                return x > y if self.largest else x < y
            x_is, y_is = (code.emit(arith.CmpfOp(v.ssa, v.ssa, "ord")) for v in (x, y))
            if not self.largest:  # a number before NaN
                return (x < y) | (x_is & _not(code, y_is))
            return (x > y) | (y_is & _not(code, x_is))

        return precedes


def _not(code: Code, flag: Value) -> Value:
    return code.emit(arith.XOrIOp(flag.ssa, code.value(1, i1).ssa))


def sorted_by(code: Code, count: int, precedes: Any) -> MemoryView:
    """The numbers below count, sorted: one before an earlier one only where `precedes` says so.

    Runs of 1, 2, 4, ... sorted numbers are merged two by two, from one memory to another.
    """
    if is_open(count):
        return _sorted_by_run(code, count, precedes)
    source, target = (code.private((count,), i64) for _ in range(2))
    with code.range(count) as k:
        source[k] = k
    width = 1
    while width < count:
        _merge(code, source, target, -(-count // (2 * width)), width, precedes)
        source, target, width = target, source, 2 * width
    return source


def _sorted_by_run(code: Code, count: int, precedes: Any) -> MemoryView:
    """The same where only the run knows the count: it merges until one run is left."""
    both, found = code.private((2, count), i64), code.private((count,), i64)
    width, side = code.variable(1), code.variable(0)
    with code.range(count) as k:
        both[0, k] = k
    with code.range(MOST_MERGES):
        source, target = both.part(side.value), both.part(1 - side.value)
        pairs = (code.value(count, index) + width.value * 2 - 1) // (width.value * 2)
        is_due = width.value < count
        _merge(code, source, target, code.select(is_due, pairs, 0), width.value, precedes)
        side.value = code.select(is_due, 1 - side.value, side.value)
        width.value = code.select(is_due, width.value * 2, width.value)
    with code.range(count) as k:
        found[k] = both[side.value, k]
    return found


def _merge(
    code: Code,
    source: MemoryView,
    target: MemoryView,
    pairs: int | Value,
    width: int | Value,
    precedes: Any,
) -> None:
    """Merge neighbouring runs of a width, so many pairs of them."""
    (count,) = source.shape
    with code.range(pairs) as pair:
        start = pair * (width * 2)
        middle = code.minimum(start + width, count)
        end = code.minimum(start + width * 2, count)
        left, right = code.variable(start), code.variable(middle)
        with code.range(end, start) as place:
            first = source[code.minimum(left.value, count - 1)]
            second = source[code.minimum(right.value, count - 1)]
            has_first, has_second = left.value < middle, right.value < end
            takes = (_not(code, has_first) | precedes(second, first)) & has_second
            target[place] = code.select(takes, second, first)
            right.value = right.value + code.select(takes, code.whole(1), code.whole(0))
            left.value = left.value + code.select(takes, code.whole(0), code.whole(1))


@operator("TopK", since=10, until=10, inputs=2, outputs=2)
class TopKV10Op(TopKOp):
    """The largest ones."""

    largest: Any = 1
    sorted: Any = 1


@operator("TopK", since=1, until=9, outputs=2)
class TopKV1Op(TopKOp):
    """The largest ones; their number is an attribute."""

    SETTLES = ()

    k = integer(1)
    largest: Any = 1
    sorted: Any = 1

    def count(self) -> int:
        return self.k


def _moved(b: Builder, x: Tensor, source: int, target: int) -> Tensor:
    """x with an axis at another place."""
    if source == target:
        return x
    order = [axis for axis in range(x.rank) if axis != source]
    order.insert(target, source)
    loops = b.loops_of([x.shape[axis] for axis in order])
    return b.map(loops, x[[loops[order.index(axis)] for axis in range(x.rank)]])
