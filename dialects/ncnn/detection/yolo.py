"""The detections of YOLO: anchors in cells of feature maps, then non-maximum suppression."""

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32, i32, i64

from ncc.dialects.element import holds
from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.detection.detected_rows import COLUMNS, rows_of, write_row
from ncc.dialects.ncnn.detection.suppression import Found, by_score, kept_of, suppress
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
from ncc.dialects.ncnn.reduction.reduction import softmax_array
from ncc.dialects.size import is_equal, is_open, largest
from ncc.dialects.statements import Code, MemoryView, Value, Variable

Cell: TypeAlias = tuple[Value, Value]


class YoloLayer(Layer):
    """Detections in feature maps (num_box * (5 + num_class), h, w).

    Each cell has num_box anchors with x, y, width, height, the logit of an object, and one logit
    for each class. Boxes with a confidence of at least confidence_threshold are suppressed by
    nms_threshold, all classes together. Labels count from 1. Without detections the result is (0,
    6).
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
        """The unit of anchors of a map (h, w): the width and height of the image."""
        raise NotImplementedError

    def scale_of_run(self, code: Code, head: int, cells: int) -> Value:
        """The unit along an axis of so many cells, where the run knows how many there are."""
        raise NotImplementedError

    def rate_array(self, something: Array, classes: Array) -> tuple[Array, Array]:
        """Confidence and best class (from 0), for logits (boxes, h, w) and (boxes, class, h, w)."""
        raise NotImplementedError

    def rate(
        self,
        code: Code,
        x: MemoryView,
        first: Value,
        row: Value,
        best: MemoryView,
        confidence: MemoryView,
    ) -> None:
        """Confidences of the anchor whose channels begin at `first`, in the cells of a row.

        best: the logit of the best class of each cell.
        """
        raise NotImplementedError

    def at_most(self, code: Code, something: Value) -> Value:
        """A bound of the confidence for any class: most rows need no look at the classes."""
        raise NotImplementedError

    def infer(self, *maps: Shape) -> Shape:
        channels = self.num_box * (5 + self.num_class)
        for shape in maps:
            if len(shape) != 3 or not is_equal(shape[0], channels):
                raise LayerError(
                    f"input {shape} is not ({channels}, h, w): num_box {self.num_box} times 5 + "
                    f"num_class {self.num_class}"
                )
        for head in range(len(maps)):
            for box in range(self.num_box):
                self.anchor(head, box)
            if not is_open(*maps[head]):
                self.scale(head, *maps[head][:0:-1])
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

    def lower(self, b: Builder, *maps: Tensor) -> Tensor:
        rows = [self.num_box * x.shape[1] for x in maps]
        iterations, width = sum(rows), largest(*(x.shape[2] for x in maps))
        most = iterations * width
        kinds = [((most,), f32), ((most,), i64), ((most, 4), f32), ((iterations,), i64)]
        heads, boxes = range(len(maps)), range(self.num_box)
        anchors = np.array([self.anchor(head, box) for head in heads for box in boxes], np.float32)
        code = Code([*maps, b.table(anchors)], kinds, iterations=iterations)
        count = code.variable(0)
        first = 0
        for head, more in enumerate(rows):
            with code.if_((code.iteration >= first) & (code.iteration < first + more)):
                self._search(code, head, code.iteration - first, code.iteration * width, count)
            first += more
        code.results[3][code.iteration] = count.value
        made = b.code(code.operation())[: len(kinds)]
        return b.counted_code(self._kept(made).operation())[0]

    def _kept(self, made: list[Tensor]) -> Code:
        """The detections of all iterations after non-maximum suppression."""
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
        """Write the detections of one anchor in one row of a map from index `start` on.

        All cells of the row are rated together, if one of them may reach the threshold.
        """
        x = code.inputs[head]
        _, h, w = x.shape
        box, i = row // h, row % h
        first = box * (5 + self.num_class)
        likeliest = code.largest(w, lambda j: x[first + 4, i, j], float("-inf"))
        with code.if_(self.at_most(code, likeliest) >= self.confidence_threshold):
            best, confidence = code.private((w,)), code.private((w,))
            with code.lanes(w) as j:
                best[j] = float("-inf")
            with self._classes(code, first) as q, code.lanes(w) as j:
                value = x[q, i, j]
                best[j] = code.select(value > best[j], value, best[j])
            self.rate(code, x, first, i, best, confidence)
            anchor = code.inputs[-1].part(box + head * self.num_box)
            with code.range(w) as j, code.if_(confidence[j] >= self.confidence_threshold):
                place = start + count.value
                code.results[0][place] = confidence[j]
                self._add(code, head, anchor, first, (i, j), place)
                count.value = count.value + 1

    def _classes(self, code: Code, first: Value) -> AbstractContextManager[Value]:
        """The class channels of the anchor whose channels begin at `first`."""
        return code.range(first + (5 + self.num_class), first + 5)

    def _add(
        self, code: Code, head: int, anchor: MemoryView, first: Value, cell: Cell, place: Value
    ) -> None:
        """Write label and box of the anchor whose channels begin at `first`, in a cell."""
        x = code.inputs[head]
        _, labels, boxes, _ = code.results
        label, logit = code.variable(0), code.variable(float("-inf"))
        with self._classes(code, first) as q:
            value, best = x[q, *cell], logit.value
            with code.if_(value > best):
                label.value = q - (first + 5)
                logit.value = value
        labels[place] = label.value
        h, w = x.shape[1:]
        for k, (at, cells) in enumerate(zip(reversed(cell), (w, h), strict=True)):
            offset = code.sigmoid(x[first + k, *cell])
            centre = (code.to_float(at) + offset) / cells
            size = code.exp(x[first + (2 + k), *cell]) * anchor[k]
            if is_open(w, h):
                half = size / self.scale_of_run(code, head, cells) * 0.5
            else:
                half = size / self.scale(head, w, h)[k] * 0.5
            boxes[place, k] = centre - half
            boxes[place, k + 2] = centre + half


@layer("YoloDetectionOutput", inputs=(1, None))
class YoloDetectionOutputOp(YoloLayer):
    """The detections of YOLO version 2: a softmax over the classes.

    Anchors are in cells. Without detections the result is empty (ncnn returns its input).
    """

    def anchor(self, head: int, box: int) -> tuple[float, float]:
        if len(self.biases) < 2 * self.num_box:
            raise LayerError(f"{len(self.biases)} biases for {self.num_box} boxes", "biases")
        return self.biases[2 * box], self.biases[2 * box + 1]

    def scale(self, head: int, w: int, h: int) -> tuple[int, int]:
        return w, h

    def scale_of_run(self, code: Code, head: int, cells: int) -> Value:
        return code.value(cells, f32)

    def rate_array(self, something: Array, classes: Array) -> tuple[Array, Array]:
        chances = softmax_array(classes, 1)
        sure = 1 / (1 + np.exp(-something))
        return sure * chances.max(1), chances.argmax(1)

    def rate(
        self,
        code: Code,
        x: MemoryView,
        first: Value,
        row: Value,
        best: MemoryView,
        confidence: MemoryView,
    ) -> None:
        w = x.shape[2]
        with code.lanes(w) as j:
            confidence[j] = 0.0
        with self._classes(code, first) as q, code.lanes(w) as j:
            confidence[j] = confidence[j] + code.exp(x[q, row, j] - best[j])
        with code.lanes(w) as j:
            confidence[j] = self.at_most(code, x[first + 4, row, j]) * (1.0 / confidence[j])

    def at_most(self, code: Code, something: Value) -> Value:
        return code.sigmoid(something)


@layer("Yolov3DetectionOutput", inputs=(1, None))
class Yolov3DetectionOutputOp(YoloLayer):
    """The detections of YOLO version 3: a logistic function for each class.

    The confidence is 1 / (1 + e^-b (1 + e^-c)), where b is the logit of an object and c the largest
    one of a class; NaN does not count. `mask` chooses the anchors of each map. Anchors are in
    pixels; a cell is anchors_scale pixels.
    """

    mask = reals(5)
    anchors_scale = reals(6)

    def anchor(self, head: int, box: int) -> tuple[float, float]:
        place = head * self.num_box + box
        if place >= len(self.mask):
            raise LayerError(f"{len(self.mask)} in mask, but map {head} needs more", "mask")
        named = self.mask[place]
        if not 0 <= named < len(self.biases) // 2:
            raise LayerError(f"mask names anchor {named:g}, which biases has not", "mask")
        chosen = int(named)
        return self.biases[2 * chosen], self.biases[2 * chosen + 1]

    def scale(self, head: int, w: int, h: int) -> tuple[int, int]:
        pixels = self._pixels(head)
        with np.errstate(over="ignore", invalid="ignore"):
            sizes = np.float32(pixels) * np.array((w, h), np.float32)
        if not all(holds(i32, size) for size in sizes):
            raise LayerError(f"{pixels:g} pixels a cell of {w}x{h} are no image", "anchors_scale")
        return int(sizes[0]), int(sizes[1])

    def scale_of_run(self, code: Code, head: int, cells: int) -> Value:
        size = code.value(cells, f32) * self._pixels(head)
        return code.convert(code.convert(size, i32), f32)

    def _pixels(self, head: int) -> float:
        if head >= len(self.anchors_scale):
            raise LayerError(f"anchors_scale has no value for map {head}", "anchors_scale")
        return self.anchors_scale[head]

    def rate_array(self, something: Array, classes: Array) -> tuple[Array, Array]:
        classes = np.where(np.isnan(classes), np.float32("-inf"), classes)
        best = classes.max(1)
        return 1 / (1 + np.exp(-something) * (1 + np.exp(-best))), classes.argmax(1)

    def rate(
        self,
        code: Code,
        x: MemoryView,
        first: Value,
        row: Value,
        best: MemoryView,
        confidence: MemoryView,
    ) -> None:
        with code.lanes(x.shape[2]) as j:
            something = x[first + 4, row, j]
            confidence[j] = 1.0 / (code.exp(-something) * (code.exp(-best[j]) + 1.0) + 1.0)

    def at_most(self, code: Code, something: Value) -> Value:
        return 1.0 / (code.exp(-something) + 1.0)
