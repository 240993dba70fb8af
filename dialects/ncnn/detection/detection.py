"""The detections of an SSD: boxes decoded from priors; the best of each class, then of all."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.dialects.builtin import f32, i64

from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.detection.detected_rows import COLUMNS, rows_of, write_row
from ncc.dialects.ncnn.detection.suppression import Sorter, by_score, kept_of, suppress
from ncc.dialects.ncnn.layer import (
    DYNAMIC,
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integer,
    layer,
    real,
)
from ncc.dialects.size import are_equal, largest, smallest
from ncc.dialects.statements import Code, Value

MOST_ITERATIONS = 16
"""The most iterations that share the classes, or the priors: each has memory for all priors."""

MXNET = -233
"""num_class of a DetectionOutput whose inputs have MXNet's layout."""


@layer("DetectionOutput", inputs=3)
class DetectionOutputOp(Layer):
    """The detections of an SSD: location offsets, class scores and prior boxes.

    A box is its prior, moved and scaled by the location and its variances. Each class but the first
    (background) keeps boxes with a score above confidence_threshold, of these the best nms_top_k,
    and suppresses them by nms_threshold. The result is the best keep_top_k of all classes. Without
    detections it is (0, 6).

    Inputs are (4 * priors), (priors * classes) and (2, 4 * priors), boxes and variances. With a
    num_class of -233, as in MXNet, they are (4 * priors), (classes, priors) and (priors, 4), and
    the variances are params. Boxes with a high background score are decoded, too (ncnn leaves them
    undefined, which matters only if scores do not add up to 1).
    """

    num_class = integer(0)
    nms_threshold = real(1, 0.05)
    nms_top_k = integer(2, 300)
    keep_top_k = integer(3, 100)
    confidence_threshold = real(4, 0.5)
    variances_0 = real(5, 0.1)
    variances_1 = real(6, 0.1)
    variances_2 = real(7, 0.2)
    variances_3 = real(8, 0.2)

    def check(self) -> None:
        if self.num_class != MXNET:
            check_positive(self, ["num_class"])
        check_positive(self, ["nms_top_k", "keep_top_k"])

    def counts(self, location: Shape, confidence: Shape, priors: Shape) -> tuple[int, int]:
        """The numbers of priors and of classes. Raises `LayerError` if the inputs do not fit."""
        mxnet = self.num_class == MXNET
        if len(priors) < 2 or (mxnet and len(confidence) < 2):
            raise LayerError(f"scores {confidence} and priors {priors} have too few axes")
        number = priors[-2] if mxnet else priors[-1] // 4
        classes = confidence[-2] if mxnet else self.num_class
        held = (prod(location), prod(confidence), prod(priors))
        if not are_equal(held, (4 * number, classes * number, number * (4 if mxnet else 8))):
            raise LayerError(
                f"locations {location}, scores {confidence} and priors {priors} do not fit "
                f"{number} priors of {classes} classes"
            )
        return number, classes

    def infer(self, location: Shape, confidence: Shape, priors: Shape) -> Shape:
        self.counts(location, confidence, priors)
        return (DYNAMIC, COLUMNS)

    @property
    def variances(self) -> list[float]:
        return [getattr(self, f"variances_{k}") for k in range(4)]

    def reference(self, location: Array, confidence: Array, priors: Array) -> Array:
        number, classes = self.counts(location.shape, confidence.shape, priors.shape)
        if self.num_class == MXNET:
            scores = confidence.reshape(classes, number)
            prior, variances = priors.reshape(number, 4), np.array(self.variances, np.float32)
        else:
            scores = confidence.reshape(number, classes).T
            prior, variances = priors.reshape(2, number, 4)
        move = location.reshape(number, 4) * variances
        size = prior[:, 2:] - prior[:, :2]
        centre = (prior[:, :2] + prior[:, 2:]) * np.float32(0.5) + move[:, :2] * size
        half = np.exp(move[:, 2:]) * size * np.float32(0.5)
        boxes = np.concatenate([centre - half, centre + half], axis=1)
        found = []
        for label in range(1, classes):
            above = np.flatnonzero(scores[label] > np.float32(self.confidence_threshold))
            best = above[by_score(scores[label, above])][: self.nms_top_k]
            kept = best[kept_of(boxes[best], self.nms_threshold)]
            found.append(rows_of(np.full(len(kept), label), scores[label, kept], boxes[kept]))
        rows = np.concatenate([np.zeros((0, COLUMNS), np.float32), *found])
        return rows[by_score(rows[:, 1])][: self.keep_top_k]

    def lower(self, b: Builder, location: Tensor, confidence: Tensor, priors: Tensor) -> Tensor:
        number, classes = self.counts(location.shape, confidence.shape, priors.shape)
        mxnet = self.num_class == MXNET
        location = b.reshape(location, (number, 4))
        confidence = b.reshape(confidence, (classes, number) if mxnet else (number, classes))
        priors = b.reshape(priors, (number, 4) if mxnet else (2, number, 4))
        lists, longest = largest(1, classes - 1), smallest(self.nms_top_k, number)
        kinds = [((lists, longest), f32), ((lists, longest, 4), f32), ((lists,), i64)]
        iterations = smallest(lists, MOST_ITERATIONS)
        above = [] if mxnet else self._above(b, confidence)
        code = Code([location, confidence, priors, *above], kinds, iterations=iterations)
        first, last = ((code.iteration + k) * (classes - 1) // iterations for k in range(2))
        candidates = _Candidates(code, number, longest)
        with code.range(last, first) as place:
            self._detect(code, place, candidates)
        made = b.code(code.operation())[: len(kinds)]
        return b.counted_code(self._best(made, classes - 1).operation())[0]

    def _above(self, b: Builder, confidence: Tensor) -> list[Tensor]:
        """The priors above the threshold and their numbers, by iteration and class.

        The scores of a prior are contiguous, those of a class are not. So an iteration tests all
        classes of some priors, whose scores are likely to be in the cache of its thread.
        """
        number, classes = confidence.shape
        lists, iterations = largest(1, classes - 1), smallest(number, MOST_ITERATIONS)
        kinds = [((iterations, lists, -(-number // iterations)), i64), ((iterations, lists), i64)]
        code = Code([confidence], kinds, iterations=iterations)
        found, counts = (result.part(code.iteration) for result in code.results)
        (scores,) = code.inputs
        with code.range(lists) as place:
            counts[place] = 0

        def is_above(place: Value) -> Value:
            return scores[box, place + 1] > self.confidence_threshold

        def counted(place: Value) -> Value:
            return code.select(is_above(place), code.value(1.0, f32), 0.0)

        first, last = ((code.iteration + k) * number // iterations for k in range(2))
        with code.range(last, first) as box:
            some = code.sum(classes - 1, counted) > 0.0
            with code.if_(some), code.range(classes - 1) as place, code.if_(is_above(place)):
                found[place, counts[place]] = box
                counts[place] = counts[place] + 1
        return b.code(code.operation())

    def _detect(self, code: Code, place: Value, candidates: _Candidates) -> None:
        """The detections of one class, by falling score."""
        rated, boxes, counts = code.results[:3]
        count = self._collect(code, place, candidates)
        order = candidates.sorter.order
        candidates.sorter.sort(candidates.scores, count)
        best = code.minimum(count, self.nms_top_k)

        def box_of(rank: Value) -> list[Value]:
            return self._moved(code, candidates.boxes[order[rank]])

        picked, corners = candidates.picked, candidates.corners
        kept = suppress(code, box_of, best, picked, corners, self.nms_threshold)
        with code.range(kept.value) as k:
            rated[place, k] = candidates.scores[order[picked[k]]]
            for side in range(4):
                boxes[place, k, side] = corners[side, k]
        counts[place] = kept.value

    def _collect(self, code: Code, place: Value, candidates: _Candidates) -> Value:
        """Copy the priors above the threshold, and their scores; returns their number."""
        scores, count = code.inputs[1], code.variable(0)

        def add(box: Value, score: Value) -> None:
            candidates.scores[count.value] = score
            candidates.boxes[count.value] = box
            count.value = count.value + 1

        if self.num_class == MXNET:
            with code.range(candidates.scores.shape[0]) as box:
                score = scores[place + 1, box]
                with code.if_(score > self.confidence_threshold):
                    add(box, score)
        else:
            found, counts = code.inputs[3:]
            with code.range(counts.shape[0]) as part, code.range(counts[part, place]) as k:
                box = found[part, place, k]
                add(box, scores[box, place + 1])
        return count.value

    def _moved(self, code: Code, i: Value) -> list[Value]:
        """The corners of a prior, moved and scaled by its location."""
        location, _, priors = code.inputs[:3]
        if self.num_class == MXNET:
            prior = [priors[i, k] for k in range(4)]
            move = [location[i, k] * self.variances[k] for k in range(4)]
        else:
            prior = [priors[0, i, k] for k in range(4)]
            move = [location[i, k] * priors[1, i, k] for k in range(4)]
        low, high = [], []
        for k in range(2):
            size = prior[k + 2] - prior[k]
            centre = (prior[k] + prior[k + 2]) * 0.5 + move[k] * size
            half = code.exp(move[k + 2]) * size * 0.5
            low.append(centre - half)
            high.append(centre + half)
        return low + high

    def _best(self, made: list[Tensor], lists: int) -> Code:
        """The best of all classes: a merge of their sorted lists."""
        most = smallest(self.keep_top_k, largest(1, lists) * made[0].shape[1])
        code = Code(made, [((most, COLUMNS), f32), ((1,), i64)])
        rated, boxes, counts = code.inputs
        heads, taken = code.scratch(counts.shape), code.scratch(counts.shape, i64)

        def show(label: Value) -> None:
            place = taken[label]
            some = place < counts[label]
            score = rated[label, code.select(some, place, 0)]
            heads[label] = code.select(some, score, float("-inf"))

        total = code.variable(0)
        with code.range(lists) as label:
            total.value = total.value + counts[label]
            taken[label] = 0
            show(label)
        count = code.minimum(total.value, self.keep_top_k)
        with code.range(count) as row:
            best = code.largest(lists, lambda label: heads[label], float("-inf"))
            first = code.variable(0)
            with code.while_(lambda: heads[first.value] < best):
                first.value = first.value + 1
            label = first.value
            write_row(code.results[0].part(row), label + 1, best, boxes.part(label, taken[label]))
            taken[label] = taken[label] + 1
            show(label)
        code.results[1][0] = count
        return code


class _Candidates:
    """Memory for the boxes of one class that pass the threshold, and for those that are kept."""

    def __init__(self, code: Code, number: int, longest: int) -> None:
        self.scores = code.private((number,))
        self.boxes = code.private((number,), i64)
        self.sorter = Sorter(code, number)
        self.picked = code.private((longest,), i64)
        self.corners = code.private((4, longest))
