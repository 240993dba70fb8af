"""Non-maximum suppression: greedy, of overlapping boxes, in numpy and as statements.

Boxes are (x1, y1, x2, y2). Candidates come by falling score; those of equal score keep their order.
A candidate is dropped if its intersection over union with a kept one exceeds a threshold.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects import arith
from xdsl.dialects.builtin import IndexType, f32, i32, i64

from ncc.dialects.ncnn.layer import Array
from ncc.dialects.statements import Code, MemoryView, Value, Variable

Indices = NDArray[np.int64]

BITS = 4
"""Bits of a digit of a radix sort."""

DIGITS = 1 << BITS
PASSES = 32 // BITS


def by_score(scores: Array) -> Indices:
    """The candidates by falling score, equal ones in their order."""
    return np.argsort(-scores, kind="stable")


def kept_of(boxes: Array, threshold: float) -> Indices:
    """The indices of the sorted boxes (n, 4) that are kept, ascending."""
    areas = (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])
    kept: list[int] = []
    for candidate, box in enumerate(boxes):
        others = boxes[kept]
        low = np.maximum(box[:2], others[:, :2])
        high = np.minimum(box[2:], others[:, 2:])
        width, height = np.maximum(high - low, np.float32(0)).T
        shared = width * height
        with np.errstate(all="ignore"):
            overlap = shared / (areas[candidate] + areas[kept] - shared)
        if not (overlap > np.float32(threshold)).any():
            kept.append(candidate)
    return np.array(kept, np.int64)


class Sorter:
    """Memory to sort up to `capacity` candidates: afterwards `order` has them by score."""

    def __init__(self, code: Code, capacity: int) -> None:
        self.code = code
        self.order = code.private((capacity,), i64)
        self._spare = code.private((capacity,), i64)
        self._keys = code.private((capacity,), i32)
        self._places = code.scratch((PASSES, DIGITS), i64)

    def sort(self, scores: MemoryView, count: Value) -> None:
        """Order 0 ... count - 1 by falling score, equal ones in their order, NaN last.

        It is a radix sort, with the lowest digit first: keys with a digit begin at an index that is
        the number of keys with smaller digits.
        """
        code, places = self.code, self._places
        with code.range(PASSES) as iteration, code.range(DIGITS) as digit:
            places[iteration, digit] = 0
        with code.range(count) as i:
            self.order[i] = i
            self._keys[i] = key = _key(code, scores[i])
            for number in range(PASSES):
                digit = _digit(code, key, number)
                places[number, digit] = places[number, digit] + 1
        with code.range(PASSES) as iteration:
            total = code.variable(0)
            with code.range(DIGITS) as digit:
                before = total.value
                total.value = before + places[iteration, digit]
                places[iteration, digit] = before
        for number in range(0, PASSES, 2):
            self._pass(number, self.order, self._spare, count)
            self._pass(number + 1, self._spare, self.order, count)

    def _pass(self, number: int, source: MemoryView, target: MemoryView, count: Value) -> None:
        """Group the candidates by a digit, in their order."""
        code = self.code
        with code.range(count) as i:
            candidate = source[i]
            digit = _digit(code, self._keys[candidate], number)
            place = self._places[number, digit]
            target[place] = candidate
            self._places[number, digit] = place + 1


def _key(code: Code, score: Value) -> Value:
    """Unsigned bits that are smaller for a larger score."""
    bits = code.emit(arith.BitcastOp((score + 0.0).ssa, i32))  # -0 is 0
    key = code.select(bits < 0, bits, code.value(0x7FFFFFFF, i32) - bits)
    return code.select(score >= score, key, -1)


def _digit(code: Code, key: Value, number: int) -> Value:
    """One digit of a key; the first is the lowest."""
    distance = code.value(BITS * number, i32)
    bits = code.emit(arith.ShRUIOp(key.ssa, distance.ssa)) & code.value(DIGITS - 1, i32)
    return code.emit(arith.IndexCastOp(bits.ssa, IndexType()))


class Found:
    """The detections of each iteration of a code, in its own part of memory, and their number.

    Iteration t writes its detections from index t * `width` on of the first results, and their
    number at index t of the last one.
    """

    def __init__(self, code: Code, scores: MemoryView, counts: MemoryView) -> None:
        """All detections by falling score; those of equal score keep their order."""
        capacity, (iterations,) = scores.shape[0], counts.shape
        self._places, rated = code.scratch((capacity,), i64), code.scratch((capacity,))
        self._sorter, count = Sorter(code, capacity), code.variable(0)
        with code.range(iterations) as iteration, code.range(counts[iteration]) as k:
            place = iteration * (capacity // iterations) + k
            self._places[count.value] = place
            rated[count.value] = scores[place]
            count.value = count.value + 1
        self._sorter.sort(rated, count.value)
        self.count = count.value

    def __getitem__(self, rank: Value) -> Value:
        """The index of the detection of this rank; the best has rank 0."""
        return self._places[self._sorter.order[rank]]


def suppress(
    code: Code,
    box_of: Callable[[Value], Sequence[Value]],
    count: Value,
    picked: MemoryView,
    corners: MemoryView,
    threshold: float,
) -> Variable:
    """Write the ranks of kept candidates to `picked` until it is full; returns their number.

    box_of(rank) are the sides of a candidate; `corners` (4, n) has those of kept ones. A candidate
    is compared with all kept ones at once.
    """
    kept, areas = code.variable(0), code.private(picked.shape)
    with code.range(count) as rank, code.if_(kept.value < picked.shape[0]):
        box, place = box_of(rank), kept.value
        area = _area(box)

        def hides(other: Value) -> Value:
            shared = _shared(code, box, [corners[side, other] for side in range(4)])
            overlap = shared / (area + areas[other] - shared)
            return code.select(overlap > threshold, code.value(1.0, f32), 0.0)

        hiding = code.sum(place, hides)
        picked[place], areas[place] = rank, area
        for side in range(4):
            corners[side, place] = box[side]
        kept.value = place + code.select(hiding > 0.0, 0, 1)
    return kept


def _area(box: Sequence[Value]) -> Value:
    left, top, right, bottom = box
    return (right - left) * (bottom - top)


def _shared(code: Code, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """The area that two boxes share; any number if one has NaN, since its area is NaN then."""
    low = [code.select(x > y, x, y) for x, y in zip(a[:2], b[:2], strict=True)]
    high = [code.select(x < y, x, y) for x, y in zip(a[2:], b[2:], strict=True)]
    width, height = (code.maximum(end - begin, 0.0) for begin, end in zip(low, high, strict=True))
    return width * height
