"""Images read between their pixels: GridSample and RoiAlign."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ncc.dialects.casts import cast
from ncc.dialects.element import is_half
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.sampling.sampling import (
    Tap,
    TapArrays,
    cubic_kernel,
    cubic_weights,
    frame,
    interpolate,
    interpolate_arrays,
    linear_tap_arrays,
    linear_taps,
)
from ncc.dialects.onnx.attribute import integer, real, string
from ncc.dialects.onnx.carried import as_elements
from ncc.dialects.onnx.gather import place
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, operator
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    clamp,
    constant,
    floor,
    maximum,
    minimum,
    number_of_index,
    round_even,
    select,
    to_index,
)
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal, largest

MODES = {"bilinear": "linear", "bicubic": "cubic"}
"""The names of op set 20, by those of op set 16."""


@operator("GridSample", since=16, inputs=2)
class GridSampleOp(Operator):
    """x (batch, channels, ...) at the places of a grid (batch, ..., axes), the last axis first.

    A coordinate runs from -1 to 1: with align_corners from the first pixel to the last, else from
    edge to edge. Places outside see zeros, the pixel at the edge, or the image mirrored again and
    again.
    """

    align_corners = integer(0)
    mode = string("linear")
    padding_mode = string("zeros")

    @property
    def way(self) -> str:
        return MODES.get(self.mode, self.mode)

    def check(self) -> None:
        if self.way not in ("linear", "nearest", "cubic"):
            raise LayerError(f"mode is {self.mode!r}", "mode")
        if self.padding_mode not in ("zeros", "border", "reflection"):
            raise LayerError(f"padding_mode is {self.padding_mode!r}", "padding_mode")

    def infer(self, x: Shape, grid: Shape) -> Shape:
        space = len(x) - 2
        if space < 1 or len(grid) != len(x) or not are_equal((grid[0], grid[-1]), (x[0], space)):
            raise LayerError(f"a grid {shown(grid)} for {shown(x)}")
        if self.way == "cubic" and space != 2:
            raise NotYet(f"cubic GridSample of {space} axes")
        return (*x[:2], *grid[1:-1])

    # --- in numpy -------------------------------------------------------------------------------

    def reference(self, x: Array, grid: Array) -> Array:
        wide = np.result_type(x, np.float32)
        made = []
        for image, points in zip(x.astype(wide), grid.astype(wide), strict=True):
            axes = zip(np.moveaxis(points, -1, 0)[::-1], image.shape[1:], strict=True)
            taps = [self._tap_arrays(coordinate, n) for coordinate, n in axes]
            made.append(interpolate_arrays(image, taps))
        return np.stack(made).astype(x.dtype)

    def _tap_arrays(self, coordinate: Array, n: int) -> list[TapArrays]:
        last = n - 1
        at = (coordinate + 1) / 2 * last if self.align_corners else ((coordinate + 1) * n - 1) / 2
        if self.way == "linear":
            return linear_tap_arrays(self._resolved_array(at, n))
        if self.way == "nearest":
            at = self._resolved_array(np.rint(at), n)
            return [(at, np.ones_like(at))]
        low = np.floor(at)
        steps = (-1, 0, 1, 2)
        return [(self._resolved_array(low + k, n), cubic_kernel(at - low - k)) for k in steps]

    def _resolved_array(self, at: Array, n: int) -> Array:
        if self.padding_mode == "zeros":
            return at
        if self.padding_mode == "reflection":
            first, span = self._mirror(n)
            off = np.abs(at - first)
            turns = np.floor(off / span)
            rest = off - turns * span
            at = np.where(turns % 2 == 0, rest, span - rest) + first
        return np.clip(at, 0, n - 1)

    def _mirror(self, n: int) -> tuple[float, int]:
        """Where the first mirror stands, and how far the second is from it. Of one pixel, all is at
        the edge: the distance is no matter.
        """
        return (0.0, largest(n - 1, 1)) if self.align_corners else (-0.5, n)

    # --- in index notation ----------------------------------------------------------------------

    def lower(self, b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        shape, element = self.infer(x.shape, grid.shape), x.element_type
        kind = f32 if is_half(element) else element
        x, grid = as_elements(b, x, kind), as_elements(b, grid, kind)
        samples, channels, *space = x.shape
        images = frame(b, b.reshape(x, (samples * channels, *space)))
        s, c, *points = b.loops_of(shape)
        coordinates = [grid[(s, *points, k)] for k in reversed(range(len(points)))]
        axes = zip(coordinates, space, strict=True)
        taps = [self._taps(coordinate, n) for coordinate, n in axes]
        channel = b.index(s) * channels + b.index(c)
        return as_elements(b, b.map((s, c, *points), interpolate(images, channel, taps)), element)

    def _taps(self, coordinate: Scalar, n: int) -> list[Tap]:
        last = n - 1
        if self.align_corners:
            at = (coordinate + 1.0) / 2.0 * last
        else:
            at = ((coordinate + 1.0) * n - 1.0) / 2.0
        if self.way == "linear":
            return linear_taps(self._resolved(at, n))
        if self.way == "nearest":
            return [(self._resolved(round_even(at), n), constant(1.0, coordinate.type))]
        low = floor(at)
        weights = cubic_weights(at - low)
        places = [self._resolved(low + k, n) for k in (-1.0, 0.0, 1.0, 2.0)]
        return list(zip(places, weights, strict=True))

    def _resolved(self, at: Scalar, n: int) -> Scalar:
        """A place by the padding mode."""
        if self.padding_mode == "zeros":
            return at
        if self.padding_mode == "reflection":
            first, span = self._mirror(n)
            off = absolute(at - first)
            turns = floor(off / span)
            rest = off - turns * span
            is_even = turns - floor(turns / 2.0) * 2.0 < 0.5
            at = select(is_even, rest, span - rest) + first
        return clamp(at, 0.0, n - 1)


@operator("RoiAlign", since=16, inputs=3)
class RoiAlignOp(Operator):
    """Regions of images, each as cells: the mean, or the largest, of some points in each cell.

    Regions are rows (x1, y1, x2, y2), and the third operand is the image of each.
    """

    coordinate_transformation_mode = string("half_pixel")
    mode = string("avg")
    output_height = integer(1)
    output_width = integer(1)
    sampling_ratio = integer(0)
    spatial_scale = real(1.0)

    def check(self) -> None:
        if self.mode not in ("avg", "max"):
            raise LayerError(f"mode is {self.mode!r}", "mode")
        if self.sampling_ratio < 1:
            raise NotYet("RoiAlign with sampling_ratio=0, where each region has other points")

    @property
    def is_aligned(self) -> bool:
        """Whether pixel 0 is at 0.5."""
        return bool(self.coordinate_transformation_mode == "half_pixel")

    @property
    def cells(self) -> tuple[int, int]:
        return self.output_height, self.output_width

    def infer(self, x: Shape, rois: Shape, images: Shape) -> Shape:
        fits = len(x) == 4 and len(rois) == 2 and rois[1] == 4
        if not fits or not are_equal(images, rois[:1]):
            raise LayerError(f"regions {shown(rois)} and images {shown(images)} of {shown(x)}")
        return (rois[0], x[1], *self.cells)

    def reference(self, x: Array, rois: Array, images: Array) -> Array:
        made = np.zeros(self.infer(x.shape, rois.shape, images.shape), x.dtype)
        points = self.sampling_ratio
        for region, cell_y, cell_x in product(range(len(rois)), *map(range, self.cells)):
            seen = [
                self._taps_at(x[int(images[region])], rois[region], (cell_y, cell_x), (py, px))
                for py, px in product(range(points), repeat=2)
            ]
            taps = np.stack(seen)  # (points, 4, channels)
            folded = taps.sum(1).mean(0) if self.mode == "avg" else taps.max((0, 1))
            made[region, :, cell_y, cell_x] = folded
        return made

    def _taps_at(
        self, image: Array, roi: Array, cell: tuple[int, int], point: tuple[int, int]
    ) -> Array:
        """The four pixels around a point, each times its weight: (4, channels)."""
        off = 0.5 if self.is_aligned else 0.0
        axes = []
        for k, n in enumerate(image.shape[1:]):
            low, high = (float(roi[side]) * self.spatial_scale - off for side in (1 - k, 3 - k))
            size = high - low if self.is_aligned else max(high - low, 1.0)
            share = cell[k] + (point[k] + 0.5) / self.sampling_ratio
            at = low + size / self.cells[k] * share
            inside = -1 <= at <= n
            at = min(max(at, 0.0), n - 1.0)
            first = int(at)
            pair = [(first, 1 - (at - first)), (min(first + 1, n - 1), at - first)]
            axes.append([(place, weight if inside else 0.0) for place, weight in pair])
        return np.stack([image[:, y, x] * (v * w) for (y, v), (x, w) in product(*axes)])

    def lower(self, b: Builder, x: Tensor, rois: Tensor, images: Tensor) -> Tensor:
        points = self.sampling_ratio
        shape = self.infer(x.shape, rois.shape, images.shape)
        r, c, cell_y, cell_x, y, z = loops = b.loops_of([*shape, points, points])
        axes = []
        for k, (cell, point) in enumerate(((cell_y, y), (cell_x, z))):
            low, high = (rois[r, side] * self.spatial_scale for side in (1 - k, 3 - k))
            low = low - 0.5 if self.is_aligned else low
            size = (high - 0.5 if self.is_aligned else high) - low
            size = size if self.is_aligned else maximum(size, 1.0)
            kind = x.element_type
            share = _number(b, cell, kind) + (_number(b, point, kind) + 0.5) / float(points)
            axes.append(self._pair(low + size / float(self.cells[k]) * share, x.shape[2 + k]))
        image = place(images[r], x.shape[0])
        seen = [
            x.at(image, b.index(c), to_index(row), to_index(column)) * (v * w)
            for (row, v), (column, w) in product(*axes)
        ]
        to, over = loops[:4], loops[4:]
        if self.mode == "avg":
            total = b.sum(to, over, (seen[0] + seen[1]) + (seen[2] + seen[3]))
            return b.scaled(total, 1 / points**2)
        largest = maximum(maximum(seen[0], seen[1]), maximum(seen[2], seen[3]))
        return b.max(to, over, largest)

    def _pair(self, at: Scalar, n: int) -> list[Tap]:
        """The two pixels around a place, and their weights: zero for places outside."""
        inside = select(at < -1.0, 0.0, select(at > n, 0.0, constant(1.0, at.type)))
        at = clamp(at, 0.0, n - 1)
        low = floor(at)
        share = at - low
        return [(low, (1.0 - share) * inside), (minimum(low + 1.0, n - 1.0), share * inside)]


def _number(b: Builder, loop: Any, kind: Attribute) -> Scalar:
    return cast(number_of_index(b.index(loop)), kind)


@operator("RoiAlign", since=10, until=15, inputs=3)
class RoiAlignV10Op(RoiAlignOp):
    """Pixel 0 is at 0."""

    coordinate_transformation_mode: Any = "output_half_pixel"
