"""Detections: boxes decoded from feature maps, the best of them kept.

The results are rows (label, score, x1, y1, x2, y2), as many as are found: their number is known
to the run only. An expansion computes two values, the rows with their largest possible number,
and how many of them count.
"""

from __future__ import annotations

from math import prod
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32, i64

from ncc.dialects.imperative import Code, Memory, Value, Variable
from ncc.dialects.ncnn.checks import check_positive
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
    reals,
)
from ncc.dialects.ncnn.reduction import softmax_array
from ncc.dialects.ncnn.suppression import Found, Sorter, by_score, kept_of, suppress

COLUMNS = 6
"""Label, score, x1, y1, x2, y2."""

MOST_TURNS = 16
"""That share the classes: each has memory for all priors."""

MXNET = -233
"""num_class of a DetectionOutput whose inputs are laid out as MXNet does."""


def rows_of(labels: Array, scores: Array, boxes: Array) -> Array:
    """The rows of a result."""
    columns = [labels[:, None], scores[:, None], boxes]
    return np.concatenate(columns, axis=1, dtype=np.float32)


def write_row(row: Memory, label: Value, score: Value, box: Memory) -> None:
    """A row: label, score, corners."""
    row[0] = row.code.to_float(label)
    row[1] = score
    for k in range(4):
        row[2 + k] = box[k]


@layer("DetectionOutput", inputs=3)
class DetectionOutputOp(Layer):
    """The detections of an SSD: location offsets, class scores and prior boxes.

    A box is its prior, moved and scaled by the location and its variances. For each class but the
    first (background): those with a score above confidence_threshold, the best nms_top_k of them,
    suppressed by nms_threshold; of all classes the best keep_top_k. Nothing found is (0, 6).

    Inputs: (4 * priors), (priors * classes) and (2, 4 * priors), boxes and variances. With a
    num_class of -233 as in MXNet: (4 * priors), (classes, priors) and (priors, 4), the variances
    being params. A box whose background score is high is decoded as well (ncnn leaves it
    undefined, which matters only where scores do not add up to 1).
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
        """The numbers of priors and of classes; `LayerError` where the inputs do not fit."""
        mxnet = self.num_class == MXNET
        if len(priors) < 2 or (mxnet and len(confidence) < 2):
            raise LayerError(f"scores {confidence} and priors {priors} have too few axes")
        number = priors[-2] if mxnet else priors[-1] // 4
        classes = confidence[-2] if mxnet else self.num_class
        held = (prod(location), prod(confidence), prod(priors))
        if held != (4 * number, classes * number, number * (4 if mxnet else 8)):
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

    def expand(self, b: Builder, location: Tensor, confidence: Tensor, priors: Tensor) -> Tensor:
        number, classes = self.counts(location.shape, confidence.shape, priors.shape)
        mxnet = self.num_class == MXNET
        location = b.reshape(location, (number, 4))
        confidence = b.reshape(confidence, (classes, number) if mxnet else (number, classes))
        priors = b.reshape(priors, (number, 4) if mxnet else (2, number, 4))
        lists, longest = max(1, classes - 1), min(self.nms_top_k, number)
        kinds = [((lists, longest), f32), ((lists, longest, 4), f32), ((lists,), i64)]
        turns = min(lists, MOST_TURNS)
        code = Code([location, confidence, priors], kinds, turns=turns)
        first, last = ((code.turn + k) * (classes - 1) // turns for k in range(2))
        candidates = _Candidates(code, number, longest)
        with code.range(last, first) as place:
            self._detect(code, place, candidates)
        made = b.code(code.operation())[: len(kinds)]
        return b.counted_code(self._best(made, classes - 1).operation())[0]

    def _detect(self, code: Code, place: Value, candidates: _Candidates) -> None:
        """What is found of one class, by falling score."""
        rated, boxes, counts = code.results[:3]
        count = code.variable(0)
        with code.range(candidates.scores.shape[0]) as box:
            score = self._score(code, place + 1, box)
            with code.if_(score > self.confidence_threshold):
                candidates.scores[count.value] = score
                candidates.boxes[count.value] = box
                count.value = count.value + 1
        order = candidates.sorter.order
        candidates.sorter.sort(candidates.scores, count.value)
        best = code.minimum(count.value, self.nms_top_k)

        def box_of(rank: Value) -> list[Value]:
            return self._moved(code, candidates.boxes[order[rank]])

        picked, corners = candidates.picked, candidates.corners
        kept = suppress(code, box_of, best, picked, corners, self.nms_threshold)
        with code.range(kept.value) as k:
            rated[place, k] = candidates.scores[order[picked[k]]]
            for side in range(4):
                boxes[place, k, side] = corners[side, k]
        counts[place] = kept.value

    def _score(self, code: Code, label: Value, box: Value) -> Value:
        scores = code.inputs[1]
        return scores[label, box] if self.num_class == MXNET else scores[box, label]

    def _moved(self, code: Code, i: Value) -> list[Value]:
        """The corners of a prior, moved and scaled by its location."""
        location, _, priors = code.inputs
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
        """The best of all classes: again and again the first of the lists whose head is best."""
        most = min(self.keep_top_k, max(1, lists) * made[0].shape[1])
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
        self.scores = code.room((number,))
        self.boxes = code.room((number,), i64)
        self.sorter = Sorter(code, number)
        self.picked = code.room((longest,), i64)
        self.corners = code.room((4, longest))


Cell: TypeAlias = tuple[Value, Value]


class YoloLayer(Layer):
    """Detections in feature maps (num_box * (5 + num_class), h, w).

    Each cell has num_box anchors; of each: x, y, width, height, the logit that there is something,
    and one a class. Boxes with a confidence of at least confidence_threshold are suppressed by
    nms_threshold, all classes together. Labels count from 1. Nothing found is (0, 6).
    """

    num_class = integer(0, 20)
    num_box = integer(1, 5)
    confidence_threshold = real(2, 0.01)
    nms_threshold = real(3, 0.45)
    biases = reals(4)

    def check(self) -> None:
        check_positive(self, ["num_class", "num_box"])

    def anchor(self, head: int, box: int) -> tuple[float, float]:
        """Width and height of an anchor."""
        raise NotImplementedError

    def scale(self, head: int, w: int, h: int) -> tuple[int, int]:
        """What anchors of a map (h, w) are measured in: the width and height of the image."""
        raise NotImplementedError

    def rate_array(self, something: Array, classes: Array) -> tuple[Array, Array]:
        """Confidence and best class (from 0), of logits (boxes, h, w) and (boxes, class, h, w)."""
        raise NotImplementedError

    def rate(self, code: Code, x: Memory, first: Value, cell: Cell, logit: Value) -> Value:
        """The confidence of the anchor of channels from `first` on; `logit` is its best class's."""
        raise NotImplementedError

    def at_most(self, code: Code, something: Value) -> Value:
        """No smaller than the confidence, whatever the classes: few cells need a look at them."""
        raise NotImplementedError

    def infer(self, *maps: Shape) -> Shape:
        channels = self.num_box * (5 + self.num_class)
        for shape in maps:
            if len(shape) != 3 or shape[0] != channels:
                raise LayerError(
                    f"input {shape} is not ({channels}, h, w): num_box {self.num_box} times 5 + "
                    f"num_class {self.num_class}"
                )
        for head in range(len(maps)):
            for box in range(self.num_box):
                self.anchor(head, box)
            self.scale(head, 1, 1)
        return (DYNAMIC, COLUMNS)

    def reference(self, *maps: Array) -> Array:
        parts = [self._candidates(head, x) for head, x in enumerate(maps)]
        scores, labels, boxes = (np.concatenate(part) for part in zip(*parts, strict=True))
        passed = np.flatnonzero(scores >= np.float32(self.confidence_threshold))
        best = passed[by_score(scores[passed])]
        kept = best[kept_of(boxes[best], self.nms_threshold)]
        return rows_of(labels[kept] + 1, scores[kept], boxes[kept])

    def _candidates(self, head: int, x: Array) -> tuple[Array, Array, Array]:
        """Scores, labels and boxes of all anchors of a map."""
        h, w = x.shape[1:]
        split = x.reshape(self.num_box, 5 + self.num_class, h, w)
        anchors = np.array([self.anchor(head, k) for k in range(self.num_box)], np.float32)
        wide, high = self.scale(head, w, h)
        with np.errstate(over="ignore"):
            scores, labels = self.rate_array(split[:, 4], split[:, 5:])
            offset = 1 / (1 + np.exp(-split[:, :2]))
            sizes = np.exp(split[:, 2:4]) * anchors[:, :, None, None]
        row, column = np.indices((h, w), np.float32)
        centre_x, centre_y = (column + offset[:, 0]) / w, (row + offset[:, 1]) / h
        half_x, half_y = sizes[:, 0] / wide / 2, sizes[:, 1] / high / 2
        corners = [centre_x - half_x, centre_y - half_y, centre_x + half_x, centre_y + half_y]
        boxes = np.stack(corners, axis=-1).astype(np.float32)
        return scores.reshape(-1), labels.reshape(-1), boxes.reshape(-1, 4)

    def expand(self, b: Builder, *maps: Tensor) -> Tensor:
        rows = [self.num_box * x.shape[1] for x in maps]
        turns, width = sum(rows), max(x.shape[2] for x in maps)
        most = turns * width
        kinds = [((most,), f32), ((most,), i64), ((most, 4), f32), ((turns,), i64)]
        heads, boxes = range(len(maps)), range(self.num_box)
        anchors = np.array([self.anchor(head, box) for head in heads for box in boxes], np.float32)
        code = Code([*maps, b.table(anchors)], kinds, turns=turns)
        count = code.variable(0)
        first = 0
        for head, more in enumerate(rows):
            with code.if_((code.turn >= first) & (code.turn < first + more)):
                self._search(code, head, code.turn - first, code.turn * width, count)
            first += more
        code.results[3][code.turn] = count.value
        return b.counted_code(self._kept(b.code(code.operation())).operation())[0]

    def _kept(self, made: list[Tensor]) -> Code:
        """Of what all turns found, what nothing better hides."""
        most = made[0].shape[0]
        code = Code(made, [((most, COLUMNS), f32), ((1,), i64)])
        scores, labels, boxes, counts = code.inputs
        found = Found(code, scores, counts)
        picked, corners = code.scratch((most,), i64), code.scratch((4, most))

        def box_of(rank: Value) -> list[Value]:
            return [boxes[found[rank], side] for side in range(4)]

        kept = suppress(code, box_of, found.count, picked, corners, self.nms_threshold)
        with code.range(kept.value) as row:
            place = found[picked[row]]
            label = labels[place] + 1
            write_row(code.results[0].part(row), label, scores[place], boxes.part(place))
        code.results[1][0] = kept.value
        return code

    def _search(self, code: Code, head: int, row: Value, start: Value, count: Variable) -> None:
        """Put what one anchor finds in one row of a map at the places from `start` on."""
        x = code.inputs[head]
        _, h, w = x.shape
        box, i = row // h, row % h
        first = box * (5 + self.num_class)
        with code.range(w) as j:
            likely = self.at_most(code, x[first + 4, i, j]) >= self.confidence_threshold
            with code.if_(likely):
                anchor = code.inputs[-1].part(box + head * self.num_box)
                self._look(code, head, anchor, first, (i, j), start, count)

    def _look(
        self,
        code: Code,
        head: int,
        anchor: Memory,
        first: Value,
        cell: Cell,
        start: Value,
        count: Variable,
    ) -> None:
        """Add what the anchor of channels from `first` on finds in a cell."""
        x = code.inputs[head]
        scores, labels, boxes, _ = code.results
        label, logit = code.variable(0), code.variable(x[first + 5, *cell])
        with code.range(first + (5 + self.num_class), first + 6) as q:
            value, best = x[q, *cell], logit.value
            with code.if_(value > best):
                label.value = q - (first + 5)
                logit.value = value
        confidence = self.rate(code, x, first, cell, logit.value)
        with code.if_(confidence >= self.confidence_threshold):
            place = start + count.value
            h, w = x.shape[1:]
            sizes = self.scale(head, w, h)
            for k, (at, cells) in enumerate(zip(reversed(cell), (w, h), strict=True)):
                offset = code.sigmoid(x[first + k, *cell])
                centre = (code.to_float(at) + offset) / float(cells)
                size = code.exp(x[first + (2 + k), *cell]) * anchor[k]
                half = size / float(sizes[k]) * 0.5
                boxes[place, k] = centre - half
                boxes[place, k + 2] = centre + half
            scores[place], labels[place] = confidence, label.value
            count.value = count.value + 1


@layer("YoloDetectionOutput", inputs=(1, None))
class YoloDetectionOutputOp(YoloLayer):
    """The detections of YOLO version 2: a softmax over the classes.

    Anchors are in cells. Nothing found is an empty result (ncnn then hands on its input).
    """

    def anchor(self, head: int, box: int) -> tuple[float, float]:
        if len(self.biases) < 2 * self.num_box:
            raise LayerError(f"{len(self.biases)} biases for {self.num_box} boxes", "biases")
        return self.biases[2 * box], self.biases[2 * box + 1]

    def scale(self, head: int, w: int, h: int) -> tuple[int, int]:
        return w, h

    def rate_array(self, something: Array, classes: Array) -> tuple[Array, Array]:
        chances = softmax_array(classes, 1)
        sure = 1 / (1 + np.exp(-something))
        return sure * chances.max(1), chances.argmax(1)

    def rate(self, code: Code, x: Memory, first: Value, cell: Cell, logit: Value) -> Value:
        total = code.variable(0.0)
        with code.range(first + (5 + self.num_class), first + 5) as q:
            total.value = total.value + code.exp(x[q, *cell] - logit)
        return self.at_most(code, x[first + 4, *cell]) * (1.0 / total.value)

    def at_most(self, code: Code, something: Value) -> Value:
        return code.sigmoid(something)


@layer("Yolov3DetectionOutput", inputs=(1, None))
class Yolov3DetectionOutputOp(YoloLayer):
    """The detections of YOLO version 3: a logistic function a class.

    The confidence is 1 / (1 + e^-b (1 + e^-c)), b the logit of something and c that of the class.
    `mask` chooses the anchors of each map; they are in pixels, anchors_scale pixels being a cell.
    """

    mask = reals(5)
    anchors_scale = reals(6)

    def anchor(self, head: int, box: int) -> tuple[float, float]:
        place = head * self.num_box + box
        if place >= len(self.mask):
            raise LayerError(f"{len(self.mask)} in mask, but map {head} needs more", "mask")
        chosen = int(self.mask[place])
        if not 0 <= chosen < len(self.biases) // 2:
            raise LayerError(f"mask names anchor {chosen}, which biases has not", "mask")
        return self.biases[2 * chosen], self.biases[2 * chosen + 1]

    def scale(self, head: int, w: int, h: int) -> tuple[int, int]:
        if head >= len(self.anchors_scale):
            raise LayerError(f"anchors_scale has no value for map {head}", "anchors_scale")
        pixels = np.float32(self.anchors_scale[head])
        return int(pixels * np.float32(w)), int(pixels * np.float32(h))

    def rate_array(self, something: Array, classes: Array) -> tuple[Array, Array]:
        best = classes.max(1)
        return 1 / (1 + np.exp(-something) * (1 + np.exp(-best))), classes.argmax(1)

    def rate(self, code: Code, x: Memory, first: Value, cell: Cell, logit: Value) -> Value:
        something = x[first + 4, *cell]
        return 1.0 / (code.exp(-something) * (code.exp(-logit) + 1.0) + 1.0)

    def at_most(self, code: Code, something: Value) -> Value:
        return 1.0 / (code.exp(-something) + 1.0)
