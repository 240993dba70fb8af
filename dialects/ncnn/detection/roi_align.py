"""A region sampled between the pixels of a map: each bin is the mean of a grid of samples.

The grid of a bin has sampling_ratio by sampling_ratio samples, or about one for each pixel if that
is 0. A sample is interpolated between four pixels.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TypeAlias

import numpy as np

from ncc.dialects.ncnn.checks import check_choice
from ncc.dialects.ncnn.detection.regions import RegionPooling
from ncc.dialects.ncnn.layer import Array, Builder, Shape, Tensor, integer, layer
from ncc.dialects.ncnn.sampling.sampling import clamp_array
from ncc.dialects.statements import Code, Value

LARGEST_GRID = 1 << 16
"""The most samples along one axis of a bin: more than any region in memory needs."""

FARTHEST = 1 << 24
"""The largest coordinate of a sample beyond the border: no map has such a pixel."""


@layer("ROIAlign", inputs=2)
class ROIAlignOp(RegionPooling):
    """The mean of samples in each bin of a region, whose corners stay between pixels.

    `aligned` moves corners by half a pixel; otherwise a region has at least one pixel.

    Version 0 cuts each bin to the map and then lays its grid, but keeps the steps of the whole bin.
    So samples of a bin that is cut may be beyond the right border, where ncnn reads the next row.
    Version 1 is that of detectron2: one grid for all bins; samples more than one pixel outside
    count as 0, others have the value at the border.
    """

    sampling_ratio = integer(3)
    aligned = integer(4)
    version = integer(5)

    def check(self) -> None:
        super().check()
        check_choice(self, "version", (0, 1))

    # --- in numpy ---------------------------------------------------------------------------

    def pooled(self, x: Array, corners: Array) -> Array:
        high, wide = self.pooled_height, self.pooled_width
        x1, y1, x2, y2 = corners * np.float32(self.spatial_scale) - np.float32(
            0.5 if self.aligned else 0
        )
        rows = list(self._samples(y1, y2, high, x.shape[1]))
        columns = list(self._samples(x1, x2, wide, x.shape[2]))
        result = np.zeros((x.shape[0], high, wide), x.dtype)
        for i, (ys, number_y) in enumerate(rows):
            for j, (xs, number_x) in enumerate(columns):
                if len(ys) and len(xs):
                    samples = self._sampled(x, ys, xs)
                    result[:, i, j] = samples.sum((1, 2)) / np.float32(number_y * number_x)
        return result

    def _samples(
        self, low: np.float32, high: np.float32, pooled: int, extent: int
    ) -> Iterator[tuple[Array, int]]:
        """For each bin along an axis its samples' coordinates, and the divisor of their sum."""
        length = high - low if self.aligned else np.fmax(high - low, np.float32(1))
        size = length / np.float32(pooled)
        edges = low + np.arange(pooled + 1, dtype=np.float32) * size
        for bin in range(pooled):
            if self.version == 0:
                start, end = clamp_array(edges[bin : bin + 2], 0, extent)
                grid = self._grid(end - start) if end > start else 0
            else:
                start, grid = edges[bin], self._grid(size)
            if not grid:
                yield np.zeros(0, np.float32), 1
                continue
            at = start + (np.arange(grid, dtype=np.float32) + np.float32(0.5)) * size / np.float32(
                grid
            )
            if self.version == 1:
                at = np.maximum(at[(at >= -1) & (at <= extent)], 0)
            yield at.astype(np.float32), grid

    def _grid(self, cells: np.float32) -> int:
        if self.sampling_ratio > 0:
            return self.sampling_ratio
        return int(clamp_array(np.ceil(cells), 0, LARGEST_GRID))

    def _sampled(self, x: Array, ys: Array, xs: Array) -> Array:
        """The map (c, h, w) at all pairs of coordinates: (c, len(ys), len(xs))."""
        c, h, w = x.shape
        y0, y1, b = self._neighbours(ys, h)
        x0, x1, a = self._neighbours(xs, w)
        cells = x.reshape(c, h * w)

        def at(row: Array, column: Array) -> Array:
            places = np.minimum(row[:, None] * w + column, h * w - 1)
            return cells[:, places]

        upper = at(y0, x0) * (1 - a) + at(y0, x1) * a
        lower = at(y1, x0) * (1 - a) + at(y1, x1) * a
        b = b[:, None]
        sampled: Array = upper * (1 - b) + lower * b
        return sampled

    def _neighbours(self, at: Array, extent: int) -> tuple[Array, Array, Array]:
        """The pixels before and after each coordinate, and its fraction between them."""
        farthest = extent - 1 if self.version == 1 else FARTHEST
        first = clamp_array(at, 0, farthest).astype(np.int64)
        inside = first + 1 < extent
        share = np.where(inside, at - first, 0).astype(np.float32)
        return first, np.where(inside, first + 1, extent - 1), share

    # --- as statements ----------------------------------------------------------------------

    def cells(self, b: Builder, x: Tensor) -> Tensor:
        c, h, w = x.shape
        return b.reshape(x, (c, h * w))

    def write(self, code: Code, corners: list[Value], shape: Shape) -> None:
        x, result = code.inputs[0], code.results[0]
        channels, h, w = shape
        half = 0.5 if self.aligned else 0.0
        x1, y1, x2, y2 = (corner * self.spatial_scale - half for corner in corners)
        i = code.iteration
        rows = _Samples(self, code, (y1, y2), i, self.pooled_height, h)
        with code.range(self.pooled_width) as j:
            columns = _Samples(self, code, (x1, x2), j, self.pooled_width, w)
            with code.range(channels) as channel:
                result[channel, i, j] = 0.0
            with rows.each() as y, columns.each() as z:
                cells = _cells(code, h * w, w, rows.neighbours(y), columns.neighbours(z))
                with code.range(channels) as channel:
                    sample = result[channel, i, j]
                    for weight, place in cells:
                        sample = sample + weight * x[channel, place]
                    result[channel, i, j] = sample
            number = code.to_float(code.maximum(rows.grid * columns.grid, 1))
            with code.range(channels) as channel:
                result[channel, i, j] = result[channel, i, j] / number


Neighbours: TypeAlias = tuple[Value, Value, Value]
"""The pixels before and after a sample along an axis, and its fraction between them."""


class _Samples:
    """The samples of one bin along one axis."""

    def __init__(
        self,
        op: ROIAlignOp,
        code: Code,
        corners: tuple[Value, Value],
        bin: Value,
        pooled: int,
        extent: int,
    ) -> None:
        self.code, self.extent, self.version = code, extent, op.version
        length = corners[1] - corners[0]
        self.size = (length if op.aligned else code.maximum(length, 1.0)) / float(pooled)
        self.start = corners[0] + code.to_float(bin) * self.size
        cells = self.size
        if op.version == 0:
            end = corners[0] + code.to_float(bin + 1) * self.size
            self.start, end = (
                code.minimum(code.maximum(at, 0.0), extent) for at in (self.start, end)
            )
            cells = end - self.start
        self.grid = code.to_index(code.ceil(cells), LARGEST_GRID)
        if op.sampling_ratio > 0:
            self.grid = code.whole(op.sampling_ratio)
            if op.version == 0:
                self.grid = code.select(cells > 0.0, self.grid, 0)

    @contextmanager
    def each(self) -> Iterator[Value]:
        """The coordinates of the valid samples, one by one."""
        code = self.code
        with code.range(self.grid) as k:
            step = (code.to_float(k) + 0.5) * self.size / code.to_float(self.grid)
            at = self.start + step
            if self.version == 0:
                yield at
            else:
                with code.if_((at >= -1.0) & (at <= self.extent)):
                    yield code.maximum(at, 0.0)

    def neighbours(self, at: Value) -> Neighbours:
        """The pixels that a sample is interpolated between."""
        code = self.code
        first = code.to_index(at, self.extent - 1 if self.version == 1 else FARTHEST)
        inside = first + 1 < self.extent
        share = code.select(inside, at - code.to_float(first), 0.0)
        return first, code.select(inside, first + 1, self.extent - 1), share


def _cells(
    code: Code, size: int, w: int, rows: Neighbours, columns: Neighbours
) -> list[tuple[Value, Value]]:
    """Weight and index (in a channel of `size` pixels) of the four pixels around a sample."""
    cells = []
    for row, up in ((rows[0], 1.0 - rows[2]), (rows[1], rows[2])):
        for column, left in ((columns[0], 1.0 - columns[2]), (columns[1], columns[2])):
            cells.append((up * left, code.minimum(row * w + column, size - 1)))
    return cells
