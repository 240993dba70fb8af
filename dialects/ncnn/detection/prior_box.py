"""PriorBox: the boxes that detections start from, a constant of shapes and params."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.layer import (
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
from ncc.dialects.scalar import Operand, Scalar, clamp, number_of_index, number_of_size, scalar
from ncc.dialects.size import is_open

FROM_SHAPE = -233
"""A size or step that is taken from the shapes of the inputs."""


@layer("PriorBox", inputs=(1, 2))
class PriorBoxOp(Layer):
    """Boxes (x1, y1, x2, y2) of several sizes and forms at each cell of (c, h, w).

    With an image as second input, or its size in the params, the result is (2, 4 * boxes): the
    boxes as parts of the image, then their variances. Each cell has a box of each min size, of the
    mean of it and its max size, and of each aspect ratio; with `flip`, also of the inverse ratio.

    With one input, no size of an image and no max sizes (as in MXNet), the result is (4 * boxes): a
    square of each min size, and the first size in all aspect ratios but the first.
    """

    min_sizes = reals(0)
    max_sizes = reals(1)
    aspect_ratios = reals(2)
    variances_0 = real(3, 0.1)
    variances_1 = real(4, 0.1)
    variances_2 = real(5, 0.2)
    variances_3 = real(6, 0.2)
    flip = integer(7, 1)
    clip = integer(8)
    image_width = integer(9)
    image_height = integer(10)
    step_width = real(11, FROM_SHAPE)
    step_height = real(12, FROM_SHAPE)
    offset = real(13)
    step_mmdetection = integer(14)
    center_mmdetection = integer(15)

    def check(self) -> None:
        if not self.min_sizes:
            raise LayerError("min_sizes is empty", "min_sizes")
        if self.max_sizes and len(self.max_sizes) < len(self.min_sizes):
            raise LayerError(
                f"{len(self.max_sizes)} max_sizes for {len(self.min_sizes)} min_sizes", "max_sizes"
            )
        if any(ratio <= 0 for ratio in self.aspect_ratios):
            raise LayerError(
                f"aspect_ratios {self.aspect_ratios} must be positive", "aspect_ratios"
            )
        for name in ("image_width", "image_height"):
            size = getattr(self, name)
            if size <= 0 and size != FROM_SHAPE:
                raise LayerError(f"{name} is {size}, but must be positive or -233", name)

    def squares_only(self, inputs: int) -> bool:
        """Whether boxes are made as MXNet makes them."""
        unknown = self.image_width == self.image_height == FROM_SHAPE
        return inputs == 1 and unknown and not self.max_sizes

    @property
    def boxes(self) -> int:
        """Boxes of a cell."""
        forms = len(self.aspect_ratios) * (2 if self.flip else 1)
        sizes = 2 if self.max_sizes else 1
        return len(self.min_sizes) * (sizes + forms)

    def infer(self, x: Shape, image: Shape | None = None) -> Shape:
        if len(x) != 3 or (image is not None and len(image) != 3):
            raise LayerError(f"inputs {x} and {image} are not (c, h, w)")
        cells = x[1] * x[2]
        if self.squares_only(1 if image is None else 2):
            return (4 * cells * (len(self.min_sizes) + max(0, len(self.aspect_ratios) - 1)),)
        if image is None and FROM_SHAPE in (self.image_width, self.image_height):
            raise LayerError("the size of the image is neither a param nor a second input")
        return (2, 4 * cells * self.boxes)

    def tables(self, x: Shape, image: Shape | None = None) -> int:
        if self._is_made_by_run(x, image):
            return 0
        return prod(self.infer(x, image))

    def reference(self, x: Array, image: Array | None = None) -> Array:
        return self.table(x.shape, None if image is None else image.shape)

    def lower(self, b: Builder, x: Tensor, image: Tensor | None = None) -> Tensor:
        shape = None if image is None else image.shape
        if self._is_made_by_run(x.shape, shape):
            return self._expand_boxes(b, x.shape, shape)
        return b.table(self.table(x.shape, shape))

    def _is_made_by_run(self, x: Shape, image: Shape | None) -> bool:
        """Whether inputs decide how many boxes there are, and where."""
        return is_open(*x, *(image or ()))

    def _expand_boxes(self, b: Builder, x: Shape, image: Shape | None) -> Tensor:
        """The same boxes in float32, by the cell of each."""
        h, w = x[1:]
        steps = (self.step_width, w), (self.step_height, h)
        if self.squares_only(1 if image is None else 2):
            lengths = [1.0 / number_of_size(n) if step == FROM_SHAPE else step for step, n in steps]
            firsts = [length * self.offset for length in lengths]
            wider = number_of_size(h) / number_of_size(w), scalar(1.0)
            halves = self._halves_of_squares(1, 1)
            boxes = self._boxes_of_run(b, (h, w), firsts, lengths, halves, wider)
            return b.reshape(boxes, (prod(boxes.shape),))
        whole, less = self._extents_of(image), 1.0 if self.center_mmdetection else 0.0
        lengths = [
            self._length_of_run(size, n) if step == FROM_SHAPE else step
            for size, (step, n) in zip(whole, steps, strict=True)
        ]
        firsts = [(length - less) * self.offset for length in lengths]
        parts = number_of_size(whole[0]), number_of_size(whole[1])
        halves = np.array(self._sizes()) / 2
        boxes = self._boxes_of_run(b, (h, w), firsts, lengths, halves, parts=parts)
        count = prod(boxes.shape)
        flat, variances = b.loops_of((count // 4, 4))
        table = b.table(np.array([getattr(self, f"variances_{k}") for k in range(4)], np.float32))
        both = [boxes, b.map((flat, variances), table[variances])]
        return b.concat([b.reshape(one, (1, count)) for one in both], 0)

    def _length_of_run(self, image: int, cells: int) -> Scalar:
        """The distance of cells in the image."""
        if self.step_mmdetection:
            return number_of_size(-(-image // cells))
        return number_of_size(image) / number_of_size(cells)

    def _boxes_of_run(
        self,
        b: Builder,
        cells: Shape,
        firsts: Sequence[Operand],
        lengths: Sequence[Operand],
        halves: Array,
        wider: tuple[Scalar, Scalar] | None = None,
        parts: tuple[Scalar, Scalar] | None = None,
    ) -> Tensor:
        """(rows, columns, boxes, 4): each half width and height around each centre. Pairs are x, y.

        firsts, lengths: the first centre and the distance of two. wider: what half extents are
        multiplied by. parts: what the result is divided by.
        """
        centres: list[Tensor] = []
        for count, first, length in zip(reversed(cells), firsts, lengths, strict=True):
            (k,) = b.loops_of((count,))
            centres.append(b.map((k,), _number(b, k) * length + first))
        corners = b.table(np.concatenate([-halves, halves], axis=1).astype(np.float32))
        across = b.table(np.array([1, 0, 1, 0], np.float32))
        row, column, box, side = b.loops_of((*cells, len(halves), 4))
        is_x, is_y = across[side], 1.0 - across[side]
        half = corners[box, side]
        if wider is not None:
            half = half * (wider[0] * is_x + wider[1] * is_y)
        value = centres[0][column] * is_x + centres[1][row] * is_y + half
        if parts is not None:
            value = value / (parts[0] * is_x + parts[1] * is_y)
        return b.map((row, column, box, side), clamp(value, 0.0, 1.0) if self.clip else value)

    def _extents_of(self, image: Shape | None) -> tuple[int, int]:
        """Width and height of the image."""
        wide = image[2] if image and self.image_width == FROM_SHAPE else self.image_width
        high = image[1] if image and self.image_height == FROM_SHAPE else self.image_height
        return wide, high

    @np.errstate(invalid="ignore", over="ignore")
    def table(self, x: Shape, image: Shape | None) -> Array:
        """The boxes, in float32."""
        h, w = x[1:]
        if self.squares_only(1 if image is None else 2):
            return self._clipped(self._squares(h, w)).reshape(self.infer(x, image))
        wide, high = self._extents_of(image)
        step_x, step_y = self._step(self.step_width, wide, w), self._step(self.step_height, high, h)
        less = 1.0 if self.center_mmdetection else 0.0
        centres_x = self.offset * (step_x - less) + np.arange(w) * step_x
        centres_y = self.offset * (step_y - less) + np.arange(h) * step_y
        sizes = np.array(self._sizes())
        boxes = _around(centres_x, centres_y, sizes / 2) / np.array([wide, high, wide, high])
        variances = [getattr(self, f"variances_{k}") for k in range(4)]
        flat = self._clipped(boxes).reshape(-1)
        return np.stack([flat, np.resize(np.array(variances, np.float32), flat.shape)])

    def _step(self, step: float, image: int, cells: int) -> float:
        """The distance of cells in the image."""
        if step != FROM_SHAPE:
            return step
        return float(np.ceil(image / cells)) if self.step_mmdetection else image / cells

    def _sizes(self) -> list[tuple[float, float]]:
        """Width and height of each box of a cell, in order."""
        sizes: list[tuple[float, float]] = []
        for k, least in enumerate(self.min_sizes):
            sizes.append((least, least))
            if self.max_sizes:
                mean = float(np.sqrt(least * self.max_sizes[k]))
                sizes.append((mean, mean))
            for ratio in self.aspect_ratios:
                root = float(np.sqrt(ratio))
                sizes.append((least * root, least / root))
                if self.flip:
                    sizes.append((least / root, least * root))
        return sizes

    def _squares(self, h: int, w: int) -> Array:
        """The boxes of MXNet, as parts of the image."""
        step_x = 1 / w if self.step_width == FROM_SHAPE else self.step_width
        step_y = 1 / h if self.step_height == FROM_SHAPE else self.step_height
        centres_x = self.offset * step_x + np.arange(w) * step_x
        centres_y = self.offset * step_y + np.arange(h) * step_y
        return _around(centres_x, centres_y, self._halves_of_squares(h, w))

    def _halves_of_squares(self, h: int, w: int) -> Array:
        """Half of the width and of the height of these boxes, where an image has h by w cells."""
        halves = [(size * h / w / 2, size / 2) for size in self.min_sizes]
        first = self.min_sizes[0]
        for ratio in self.aspect_ratios[1:]:
            root = float(np.sqrt(ratio))
            halves.append((first * h / w * root / 2, first / root / 2))
        return np.array(halves)

    def _clipped(self, boxes: Array) -> Array:
        return (np.clip(boxes, 0, 1) if self.clip else boxes).astype(np.float32)


def _number(b: Builder, loop: AffineExpr) -> Scalar:
    return number_of_index(b.index(loop))


def _around(centres_x: Array, centres_y: Array, halves: Sequence[Sequence[float]] | Array) -> Array:
    """(rows, columns, boxes, 4): each half width and height around each centre."""
    half = np.asarray(halves)
    corners = np.concatenate([-half, half], axis=1)
    centres = np.stack(np.broadcast_arrays(centres_x[None, :], centres_y[:, None]), axis=-1)
    return np.asarray(np.tile(centres, 2)[:, :, None, :] + corners)
