"""Greedy suppression of overlapping boxes, in numpy and as statements.

Boxes are (x1, y1, x2, y2). Candidates are taken by falling score, those of equal score in the order
they were found; one is dropped where its intersection over union with one that was kept exceeds a
threshold.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i64

from ncc.dialects.imperative import Code, Memory, Value, Variable
from ncc.dialects.ncnn.layer import Array

Indices = NDArray[np.int64]


def by_score(scores: Array) -> Indices:
    """The candidates by falling score, equal ones in their order."""
    return np.argsort(-scores, kind="stable")


def kept_of(boxes: Array, threshold: float) -> Indices:
    """Which of the sorted boxes (n, 4) are kept, ascending."""
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
    """Memory to sort up to `capacity` candidates: afterwards `order` holds them by score."""

    def __init__(self, code: Code, capacity: int) -> None:
        self.code = code
        self.order = code.scratch((capacity,), i64)
        self._spare = code.scratch((capacity,), i64)

    def sort(self, scores: Memory, count: Value) -> None:
        """Order 0 ... count - 1 by falling score, equal ones in their order (a merge sort)."""
        code = self.code
        with code.range(count) as i:
            self.order[i] = i
        width = code.variable(1)
        with code.while_(lambda: width.value < count):
            left = code.variable(0)
            with code.while_(lambda: left.value < count):
                middle = code.minimum(left.value + width.value, count)
                end = code.minimum(middle + width.value, count)
                self._merge(scores, left.value, middle, end)
                left.value = end
            with code.range(count) as i:
                self.order[i] = self._spare[i]
            width.value = width.value * 2

    def _merge(self, scores: Memory, start: Value, middle: Value, end: Value) -> None:
        """Merge the sorted order[start:middle] and order[middle:end] into the spare memory."""
        code = self.code
        left, right = code.variable(start), code.variable(middle)
        with code.range(end, start) as place:
            i, j = left.value, right.value
            first = self.order[code.minimum(i, middle - 1)]
            second = self.order[code.minimum(j, end - 1)]
            better = (i >= middle) | (scores[second] > scores[first])
            from_right = (j < end) & better
            self._spare[place] = code.select(from_right, second, first)
            step = code.select(from_right, 1, 0)
            right.value = j + step
            left.value = i + 1 - step


def suppress(
    code: Code, boxes: Memory, order: Memory, count: Value, picked: Memory, threshold: float
) -> Variable:
    """Put those of order[:count] that are kept into `picked` until it is full; how many they are.

    `order` holds rows of `boxes` (n, 4). A candidate is held against all that are kept at once.
    """
    kept, corners = code.variable(0), code.scratch((4, *picked.shape))
    with code.range(count) as k, code.if_(kept.value < picked.shape[0]):
        candidate, place = order[k], kept.value
        box = [boxes[candidate, side] for side in range(4)]

        def overlap(other: Value) -> Value:
            return _overlap(code, box, [corners[side, other] for side in range(4)])

        worst = code.largest(place, overlap, float("-inf"))
        picked[place] = candidate
        for side in range(4):
            corners[side, place] = box[side]
        kept.value = place + code.select(worst > threshold, 0, 1)
    return kept


def _overlap(code: Code, a: Sequence[Value], b: Sequence[Value]) -> Value:
    """Intersection over union of two boxes."""
    left, top, right, bottom = a
    left_b, top_b, right_b, bottom_b = b
    width = code.minimum(right, right_b) - code.maximum(left, left_b)
    height = code.minimum(bottom, bottom_b) - code.maximum(top, top_b)
    shared = code.maximum(width, 0.0) * code.maximum(height, 0.0)
    areas = (right - left) * (bottom - top) + (right_b - left_b) * (bottom_b - top_b)
    return shared / (areas - shared)
