"""Regions that may have an object: anchors at every cell of a map, moved, rated and suppressed.

Only the run knows how many there are; see `dialects/row_wise.py`.
"""

from __future__ import annotations

from math import floor, prod

import numpy as np
from xdsl.dialects.builtin import f32, i64

from ncc.dialects.ncnn.checks import check_positive
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
)
from ncc.dialects.size import are_equal, smallest
from ncc.dialects.statements import Code, Value

RATIOS = (0.5, 1.0, 2.0)
"""Height by width of the anchors."""

SCALES = (8.0, 16.0, 32.0)

ANCHORS = len(RATIOS) * len(SCALES)


@layer("Proposal", inputs=3, outputs=(1, 2))
class ProposalOp(Layer):
    """The regions proposed for an image: corners (n, 1, 4), and their scores (n, 1, 1) if asked.

    Inputs are scores (2 * 9, h, w), whose second half is used; the move and scale of each anchor,
    (4 * 9, h, w); and the image's height, width and scale. Anchors have about the area of a
    square of base_size, in three ratios and three scales; their distance is feat_stride.

    Regions are cut to the image. Regions are dropped that are narrower or lower than min_size *
    scale. The best pre_nms_topN (all if that is not positive) are suppressed by nms_thresh, and the
    best after_nms_topN stay. Without regions the result is (0, 1, 4), where ncnn fails.
    """

    feat_stride = integer(0, 16)
    base_size = integer(1, 16)
    pre_nms_topN = integer(2, 6000)
    after_nms_topN = integer(3, 300)
    nms_thresh = real(4, 0.7)
    min_size = integer(5, 16)

    def check(self) -> None:
        check_positive(self, ["after_nms_topN"])

    @property
    def anchors(self) -> Array:
        """The corners of the anchors at the first cell: (9, 4)."""
        centre = self.base_size * 0.5
        corners = []
        for ratio in RATIOS:
            wide = floor(np.float32(self.base_size) / np.sqrt(np.float32(ratio)) + 0.5)
            high = floor(wide * ratio + 0.5)
            for scale in SCALES:
                x, y = wide * scale * 0.5, high * scale * 0.5
                corners.append([centre - x, centre - y, centre + x, centre + y])
        return np.array(corners, np.float32)

    def best(self, candidates: int) -> int:
        """How many of these candidates stay after sorting."""
        return smallest(self.pre_nms_topN, candidates) if self.pre_nms_topN > 0 else candidates

    def infer(self, scores: Shape, moves: Shape, image: Shape) -> list[Shape]:
        if len(scores) != 3 or scores[0] < 2 * ANCHORS:
            raise LayerError(f"scores {scores} are not ({2 * ANCHORS}, h, w)")
        fit = len(moves) == 3 and moves[0] >= 4 * ANCHORS
        if not fit or not are_equal(moves[1:], scores[1:]):
            raise LayerError(f"moves {moves} are not ({4 * ANCHORS}, {scores[1]}, {scores[2]})")
        if prod(image) < 3:
            raise LayerError(f"image {image} is not its height, width and scale")
        found: list[Shape] = [(DYNAMIC, 1, 4), (DYNAMIC, 1, 1)]
        return found[: len(self.results)]

    def reference(self, scores: Array, moves: Array, image: Array) -> list[Array]:
        high, wide, scale = image.reshape(-1)[:3].astype(np.float32)
        boxes = self._boxes(moves)
        limits = np.array([wide - 1, high - 1, wide - 1, high - 1], np.float32)
        boxes = np.maximum(np.minimum(boxes, limits), np.float32(0))
        sizes = boxes[:, 2:] - boxes[:, :2] + 1
        large = np.flatnonzero((sizes >= np.float32(self.min_size) * scale).all(1))
        rated = scores[ANCHORS : 2 * ANCHORS].reshape(-1)[large]
        order = by_score(rated)[: self.best(len(large))]
        kept = order[kept_of(boxes[large[order]], self.nms_thresh)][: self.after_nms_topN]
        found = [boxes[large[kept]].reshape(-1, 1, 4), rated[kept].reshape(-1, 1, 1)]
        return found[: len(self.results)]

    def _boxes(self, moves: Array) -> Array:
        """The corners of all anchors moved and scaled, anchor by anchor: (9 * h * w, 4)."""
        _, h, w = moves.shape
        x, y, wide, high = moves[: 4 * ANCHORS].reshape(ANCHORS, 4, h, w).transpose(1, 0, 2, 3)
        row, column = np.indices((h, w), np.float32) * np.float32(self.feat_stride)
        anchors = self.anchors[:, :, None, None]
        size = anchors[:, 2:] - anchors[:, :2]
        centre_x = column + anchors[:, 0] + size[:, 0] * np.float32(0.5) + size[:, 0] * x
        centre_y = row + anchors[:, 1] + size[:, 1] * np.float32(0.5) + size[:, 1] * y
        with np.errstate(over="ignore", invalid="ignore"):
            half_x = size[:, 0] * np.exp(wide) * np.float32(0.5)
            half_y = size[:, 1] * np.exp(high) * np.float32(0.5)
            corners = [centre_x - half_x, centre_y - half_y, centre_x + half_x, centre_y + half_y]
        return np.stack(corners, axis=-1).reshape(-1, 4)

    def lower(self, b: Builder, scores: Tensor, moves: Tensor, image: Tensor) -> list[Tensor]:
        _, h, w = scores.shape
        iterations = ANCHORS * h
        kinds = [((iterations * w,), f32), ((iterations * w, 4), f32), ((iterations,), i64)]
        image = b.reshape(image, (prod(image.shape),))
        code = Code([scores, moves, image, b.table(self.anchors)], kinds, iterations=iterations)
        rated, boxes, counts = code.results
        anchor, i = code.iteration // h, code.iteration % h
        count = code.variable(0)
        with code.range(w) as j:
            box = self._moved(code, anchor, i, j)
            with code.if_(self._is_large(code, box)):
                place = code.iteration * w + count.value
                rated[place] = code.inputs[0][anchor + ANCHORS, i, j]
                for k in range(4):
                    boxes[place, k] = box[k]
                count.value = count.value + 1
        counts[code.iteration] = count.value
        kept = self._kept(b.code(code.operation()))
        return b.counted_code(kept.operation(), len(self.results))

    def _kept(self, made: list[Tensor]) -> Code:
        """The best detections of all iterations after non-maximum suppression."""
        most = self.best(made[0].shape[0])
        rows = smallest(self.after_nms_topN, most)
        kinds = [((rows, 1, 4), f32), ((1,), i64), ((rows, 1, 1), f32), ((1,), i64)]
        code = Code(made, kinds[: 2 * len(self.results)])
        rated, boxes, counts = code.inputs
        found = Found(code, rated, counts)
        picked, corners = code.scratch((rows,), i64), code.scratch((4, rows))

        def box_of(rank: Value) -> list[Value]:
            return [boxes[found[rank], side] for side in range(4)]

        best = code.minimum(found.count, most)
        kept = suppress(code, box_of, best, picked, corners, self.nms_thresh).value
        with code.range(kept) as place:
            for k in range(4):
                code.results[0][place, 0, k] = corners[k, place]
            if len(self.results) > 1:
                code.results[2][place, 0, 0] = rated[found[picked[place]]]
        for result in code.results[1::2]:
            result[0] = kept
        return code

    def _moved(self, code: Code, anchor: Value, i: Value, j: Value) -> list[Value]:
        """The corners of an anchor at a cell, moved, scaled and cut to the image."""
        _, moves, image, anchors = code.inputs
        low, high = [], []
        for axis, cell in enumerate((j, i)):
            size = anchors[anchor, axis + 2] - anchors[anchor, axis]
            begin = code.to_float(cell) * float(self.feat_stride) + anchors[anchor, axis]
            centre = begin + size * 0.5 + moves[anchor * 4 + axis, i, j] * size
            half = code.exp(moves[anchor * 4 + (2 + axis), i, j]) * size * 0.5
            last = image[1 - axis] - 1.0
            low.append(_clipped(code, centre - half, last))
            high.append(_clipped(code, centre + half, last))
        return low + high

    def _is_large(self, code: Code, box: list[Value]) -> Value:
        least = code.inputs[2][2] * float(self.min_size)
        return (box[2] - box[0] + 1.0 >= least) & (box[3] - box[1] + 1.0 >= least)


def _clipped(code: Code, x: Value, last: Value) -> Value:
    """From 0 to `last`; NaN stays."""
    x = code.select(x > last, last, x)
    return code.select(x < 0.0, 0.0, x)
