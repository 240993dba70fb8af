"""A region of a feature map, pooled to one size: (c, h, w) to (c, pooled_height, pooled_width).

A region is its corners (x1, y1, x2, y2), the first four values of the second input. If the input is
the result of a Proposal, its first row is the region, as in ncnn, and no layer reads the others. If
it has no rows, the region is (0, 0, 0, 0), where ncnn fails.

A region is cut into pooled_height times pooled_width bins. Cells outside of the map do not count;
an empty bin is 0.
"""

from __future__ import annotations

from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import f32

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
)
from ncc.dialects.ncnn.reciprocal import refined_reciprocal
from ncc.dialects.ncnn.sampling.sampling import clamp_array
from ncc.dialects.size import is_equal
from ncc.dialects.statements import Code, Value

CORNERS = 4

Span = tuple[Value, Value]
"""The first cell of a bin along an axis, and the one after the last."""


class RegionPooling(Layer):
    """The common part of all ways to pool a region: its corners, and the loop over its bins."""

    READS_COUNTED: ClassVar[bool] = True

    pooled_width = integer(0)
    pooled_height = integer(1)
    spatial_scale = real(2, 1.0)

    def check(self) -> None:
        check_positive(self, ["pooled_width", "pooled_height"])

    def channels(self, held: int) -> int:
        """The channels of the result. Raises `LayerError` if a map of so many does not fit."""
        return held

    def pooled(self, x: Array, corners: Array) -> Array:
        """The result of a map and the four corners."""
        raise NotImplementedError

    def cells(self, b: Builder, x: Tensor) -> Tensor:
        """The map with the shape that the statements read."""
        return x

    def write(self, code: Code, corners: list[Value], shape: Shape) -> None:
        """Statements that fill row `code.iteration` of the result from the first input, the map."""
        raise NotImplementedError

    def infer(self, x: Shape, region: Shape) -> Shape:
        if len(x) != 3:
            raise LayerError(f"a map has 3 axes, (c, h, w), not {len(x)}: {x}")
        # From the third axis on ncnn aligns what it holds, so that corners lie in one channel.
        held = region[1:] if len(region) > 2 else region
        if DYNAMIC not in held and prod(held) < CORNERS:
            raise LayerError(f"a region has {CORNERS} corners in a row, but the input is {region}")
        return (self.channels(x[0]), self.pooled_height, self.pooled_width)

    def reference(self, x: Array, region: Array) -> Array:
        corners = region.reshape(-1)[:CORNERS] if region.size else np.zeros(CORNERS)
        with np.errstate(all="ignore"):
            return self.pooled(x, corners.astype(np.float32))

    def lower(self, b: Builder, x: Tensor, region: Tensor) -> Tensor:
        inputs = [self.cells(b, x), region, *([region.count] if region.count else [])]
        shape = self.infer(x.shape, region.shape)
        code = Code(inputs, [(shape, f32)], iterations=self.pooled_height)
        first = [np.unravel_index(k, region.shape) for k in range(CORNERS)]
        corners = [code.inputs[1][tuple(map(int, place))] for place in first]
        if region.count is not None:
            found = code.inputs[2][0] > 0
            corners = [code.select(found, corner, 0.0) for corner in corners]
        self.write(code, corners, x.shape)
        return b.code(code.operation())[0]


class CellPooling(RegionPooling):
    """Bins of whole cells: every cell that a bin touches counts."""

    def bins(self, low: np.float32, high: np.float32, pooled: int, extent: int) -> Array:
        """First cells and ends of the bins along an axis between two corners: (pooled, 2)."""
        raise NotImplementedError

    def span(
        self, code: Code, low: Value, high: Value, bin: Value, pooled: int, extent: int
    ) -> Span:
        """The same of one bin, as statements."""
        raise NotImplementedError

    def pool_array(self, cells: Array) -> Array:
        """One value for each channel, from the cells (c, n) of a bin, at least one."""
        raise NotImplementedError

    def pool(
        self, code: Code, channel: Value, i: Value, j: Value, rows: Span, columns: Span
    ) -> None:
        """The value of bin (i, j), which is not empty, in a channel of the result."""
        raise NotImplementedError

    def of_bin(self, x: Array, i: int, j: int) -> Array:
        """The channels of the map that are pooled into bin (i, j)."""
        return x

    def pooled(self, x: Array, corners: Array) -> Array:
        c, h, w = x.shape
        x1, y1, x2, y2 = corners
        rows = self.bins(y1, y2, self.pooled_height, h)
        columns = self.bins(x1, x2, self.pooled_width, w)
        result = np.zeros((self.channels(c), len(rows), len(columns)), x.dtype)
        for i, (top, bottom) in enumerate(rows):
            for j, (left, right) in enumerate(columns):
                cells = self.of_bin(x, i, j)[:, top:bottom, left:right]
                if cells.size:
                    result[:, i, j] = self.pool_array(cells.reshape(len(cells), -1))
        return result

    def write(self, code: Code, corners: list[Value], shape: Shape) -> None:
        x1, y1, x2, y2 = corners
        _, h, w = shape
        result = code.results[0]
        channels, high, wide = result.shape
        i = code.iteration
        rows = self.span(code, y1, y2, i, high, h)
        with code.range(wide) as j:
            columns = self.span(code, x1, x2, j, wide, w)
            with code.range(channels) as channel:
                result[channel, i, j] = 0.0
                with code.if_((rows[1] > rows[0]) & (columns[1] > columns[0])):
                    self.pool(code, channel, i, j, rows, columns)


@layer("ROIPooling", inputs=2)
class ROIPoolingOp(CellPooling):
    """The largest cell of each bin of a region whose corners are rounded to cells.

    The region has at least one cell, including its last one. The result is NaN only if the first
    cell is NaN. The size of a bin is a product with a reciprocal, as in ncnn's release. It is below
    the quotient, so that most bins that begin between two cells begin one cell before, and bins
    that end there do not include one more cell.
    """

    def bins(self, low: np.float32, high: np.float32, pooled: int, extent: int) -> Array:
        first, last = (_rounded(corner * np.float32(self.spatial_scale)) for corner in (low, high))
        size = np.fmax(last - first + 1, np.float32(1)) * _reciprocal(pooled)
        edges = np.arange(pooled + 1, dtype=np.float32) * size
        bounds = [first + np.floor(edges[:-1]), first + np.ceil(edges[1:])]
        return _cells(bounds, extent)

    def span(
        self, code: Code, low: Value, high: Value, bin: Value, pooled: int, extent: int
    ) -> Span:
        first, last = (code.round(corner * self.spatial_scale) for corner in (low, high))
        size = code.maximum(last - first + 1.0, 1.0) * float(_reciprocal(pooled))
        start = first + code.floor(code.to_float(bin) * size)
        end = first + code.ceil(code.to_float(bin + 1) * size)
        return code.to_index(start, extent), code.to_index(end, extent)

    def pool_array(self, cells: Array) -> Array:
        return np.where(np.isnan(cells[:, 0]), cells[:, 0], np.fmax.reduce(cells, axis=1))

    def pool(
        self, code: Code, channel: Value, i: Value, j: Value, rows: Span, columns: Span
    ) -> None:
        x = code.inputs[0]
        largest = code.variable(0.0)
        largest.value = x[channel, rows[0], columns[0]]
        with code.range(rows[1], rows[0]) as y, code.range(columns[1], columns[0]) as z:
            cell, best = x[channel, y, z], largest.value
            largest.value = code.select(cell > best, cell, best)
        code.results[0][channel, i, j] = largest.value


@layer("PSROIPooling", inputs=2)
class PSROIPoolingOp(CellPooling):
    """The mean of each bin; every bin has its own channels.

    Bin (i, j) of channel q reads channel (q * pooled_height + i) * pooled_width + j of the map.

    Corners are rounded before they are scaled, the second one plus 1. A region is at least 0.1
    cells wide and high.
    """

    pooled_width = integer(0, 7)
    pooled_height = integer(1, 7)
    spatial_scale = real(2, 0.0625)
    output_dim = integer(3)

    def check(self) -> None:
        super().check()
        check_positive(self, ["output_dim"])

    def channels(self, held: int) -> int:
        wanted = self.output_dim * self.pooled_height * self.pooled_width
        if not is_equal(held, wanted):
            raise LayerError(
                f"{held} channels are not output_dim * pooled_height * pooled_width = {wanted}"
            )
        return self.output_dim

    def of_bin(self, x: Array, i: int, j: int) -> Array:
        return x[i * self.pooled_width + j :: self.pooled_height * self.pooled_width]

    def bins(self, low: np.float32, high: np.float32, pooled: int, extent: int) -> Array:
        scale = np.float32(self.spatial_scale)
        first, end = _rounded(low) * scale, _rounded(high + np.float32(1)) * scale
        size = np.fmax(end - first, np.float32(0.1)) / np.float32(pooled)
        edges = first + np.arange(pooled + 1, dtype=np.float32) * size
        bounds = [np.floor(edges[:-1]), np.ceil(edges[1:])]
        return _cells(bounds, extent)

    def span(
        self, code: Code, low: Value, high: Value, bin: Value, pooled: int, extent: int
    ) -> Span:
        first = code.round(low) * self.spatial_scale
        end = code.round(high + 1.0) * self.spatial_scale
        size = code.maximum(end - first, 0.1) / float(pooled)
        start = code.floor(first + code.to_float(bin) * size)
        end = code.ceil(first + code.to_float(bin + 1) * size)
        return code.to_index(start, extent), code.to_index(end, extent)

    def pool_array(self, cells: Array) -> Array:
        mean: Array = cells.mean(axis=1)
        return mean

    def pool(
        self, code: Code, channel: Value, i: Value, j: Value, rows: Span, columns: Span
    ) -> None:
        x, source = code.inputs[0], (channel * self.pooled_height + i) * self.pooled_width + j
        total = code.variable(0.0)
        with code.range(rows[1], rows[0]) as y, code.range(columns[1], columns[0]) as z:
            total.value = total.value + x[source, y, z]
        cells = (rows[1] - rows[0]) * (columns[1] - columns[0])
        code.results[0][channel, i, j] = total.value / code.to_float(cells)


def _reciprocal(pooled: int) -> np.float32:
    """The factor by which ROIPooling divides a region into bins."""
    return np.float32(refined_reciprocal(np.float32(pooled)))


def _cells(bounds: list[Array], extent: int) -> Array:
    """Bounds of bins as cells of an axis."""
    return clamp_array(np.stack(bounds, axis=1), 0, extent).astype(np.int64)


def _rounded(x: np.float32) -> np.float32:
    """To the nearest integer, halves away from zero."""
    size = np.abs(x)
    whole = np.floor(size)
    return np.float32(np.copysign(whole + (size - whole >= 0.5), x))
