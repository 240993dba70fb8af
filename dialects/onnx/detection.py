"""NonMaxSuppression: the best boxes of each class, without those that they overlap."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import f32, i64
from xdsl.ir import Attribute

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.detection.suppression import Sorter, by_score, kept_of, suppress
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, operator
from ncc.dialects.scalar import maximum, minimum
from ncc.dialects.shapes import DYNAMIC, shown
from ncc.dialects.size import are_equal, smallest
from ncc.dialects.statements import Code, Value


@dataclass(frozen=True)
class Limits:
    """most: boxes of a class. overlap: of two boxes that stay. score: what a box is above."""

    most: int
    overlap: float
    score: float


@operator("NonMaxSuppression", since=10, inputs=(2, 5))
class NonMaxSuppressionOp(Operator):
    """Rows (batch, class, box) of the boxes that stay, by falling score within a class.

    Boxes are (batch, boxes, 4): two opposite corners (y, x), or with center_point_box (x, y, width,
    height). Scores are (batch, classes, boxes). Only the run knows how many rows there are.
    """

    SETTLES = (2, 3, 4)

    center_point_box = integer(0)

    def limits(self) -> Limits:
        most, overlap, score = (self.optional(place) for place in self.SETTLES)
        return Limits(
            0 if most is None else max(0, int(most.reshape(()))),
            0.0 if overlap is None else float(overlap.reshape(())),
            float("-inf") if score is None else float(score.reshape(())),
        )

    def infer(self, boxes: Shape, scores: Shape, *others: Shape | None) -> Shape:
        fits = len(boxes) == len(scores) == 3 and boxes[2] == 4
        if not fits or not are_equal(boxes[:2], (scores[0], scores[2])):
            raise LayerError(f"boxes {shown(boxes)} with scores {shown(scores)}")
        if not self.limits().most:
            raise NotYet("NonMaxSuppression of no boxes (max_output_boxes_per_class is 0)")
        return (DYNAMIC, 3)

    def element_types(self, *operands: Attribute) -> Attribute:
        return i64

    def reference(self, boxes: Array, scores: Array, *others: Array | None) -> Array:
        limits = self.limits()
        if self.center_point_box:
            half = boxes[..., 2:] / 2
            corners = np.concatenate([boxes[..., :2] - half, boxes[..., :2] + half], 2)
        else:
            ends = boxes[..., :2], boxes[..., 2:]
            corners = np.concatenate([np.minimum(*ends), np.maximum(*ends)], 2)
        rows = []
        for batch, label in np.ndindex(scores.shape[:2]):
            rated = scores[batch, label]
            above = np.flatnonzero(rated > limits.score)
            order = above[by_score(rated[above])]
            kept = order[kept_of(corners[batch][order], limits.overlap)][: limits.most]
            rows += [(batch, label, box) for box in kept]
        return np.array(rows, np.int64).reshape(-1, 3)

    def lower(self, b: Builder, boxes: Tensor, scores: Tensor, *others: Tensor | None) -> Tensor:
        if boxes.element_type != f32:
            raise NotYet("NonMaxSuppression of other elements than float32")
        batches, classes, number = scores.shape
        lists, longest = batches * classes, smallest(self.limits().most, number)
        corners, rated = self._corners(b, boxes), b.reshape(scores, (lists, number))
        kinds = [((lists, longest), i64), ((lists,), i64)]
        code = Code([corners, rated], kinds, iterations=lists)
        self._select(code, number, classes)
        kept, counts = b.code(code.operation())[:2]
        return b.counted_code(_rows(kept, counts, classes).operation())[0]

    def _corners(self, b: Builder, boxes: Tensor) -> Tensor:
        """The lower corners of all boxes, and the upper ones: (batch, boxes, 4)."""
        parts, halves = [b.cut(boxes, 2, k, k + 2) for k in (0, 2)], []
        for upper in (False, True):
            n, k, side = b.loops_of((*boxes.shape[:2], 2))
            first, second = (part[n, k, side] for part in parts)
            if self.center_point_box:
                corner = first + second * 0.5 if upper else first - second * 0.5
            else:
                corner = maximum(first, second) if upper else minimum(first, second)
            halves.append(b.map((n, k, side), corner))
        return b.concat(halves, 2)

    def _select(self, code: Code, number: int, classes: int) -> None:
        """The boxes of one class of one image that stay."""
        limits, (corners, rated) = self.limits(), code.inputs
        kept, counts = code.results
        own, scores = corners.part(code.iteration // classes), rated.part(code.iteration)
        above, candidates = code.private((number,)), code.private((number,), i64)
        count = code.variable(0)
        with code.range(number) as box, code.if_(scores[box] > limits.score):
            above[count.value] = scores[box]
            candidates[count.value] = box
            count.value = count.value + 1
        sorter = Sorter(code, number)
        sorter.sort(above, count.value)
        longest = kept.shape[1]
        picked, sides = code.private((longest,), i64), code.private((4, longest))

        def box_of(rank: Value) -> list[Value]:
            box = candidates[sorter.order[rank]]
            return [own[box, side] for side in range(4)]

        found = suppress(code, box_of, count.value, picked, sides, limits.overlap)
        with code.range(found.value) as k:
            kept[code.iteration, k] = candidates[sorter.order[picked[k]]]
        counts[code.iteration] = found.value


def _rows(kept: Tensor, counts: Tensor, classes: int) -> Code:
    """All rows, and their number."""
    lists, longest = kept.shape
    code = Code([kept, counts], [((lists * longest, 3), i64), ((1,), i64)])
    boxes, numbers = code.inputs
    total = code.variable(0)
    with code.range(lists) as place, code.range(numbers[place]) as k:
        row = code.results[0].part(total.value)
        row[0], row[1] = place // classes, place % classes
        row[2] = boxes[place, k]
        total.value = total.value + 1
    code.results[1][0] = total.value
    return code
