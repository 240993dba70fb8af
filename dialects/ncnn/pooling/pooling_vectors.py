"""Poolings whose result has one size for images of any size: StatisticsPooling, SPP."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

import numpy as np

from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.layer import Array, Builder, Layer, LayerError, Shape, Tensor, integer, layer
from ncc.dialects.ncnn.pooling.pool import (
    MAXIMUM,
    MEAN,
    cells_of,
    check_pooling_type,
    largest,
    pool,
    pool_all,
)
from ncc.dialects.ncnn.window import Pad, Window, planes, windows_of
from ncc.dialects.scalar import over_size, sqrt


@layer("StatisticsPooling")
class StatisticsPoolingOp(Layer):
    """The mean of each channel; with include_stddev, then the standard deviation of each.

    The deviation is that of the elements themselves: the mean of squares, not divided by n - 1.
    """

    include_stddev = integer(0)

    def _channels(self, x: Shape) -> Shape:
        """x as (channels, elements)."""
        shape = planes(x, 3)
        return (shape[0], prod(shape[1:]))

    def infer(self, x: Shape) -> Shape:
        return (self._channels(x)[0] * (2 if self.include_stddev else 1),)

    def reference(self, x: Array) -> Array:
        elements = x.reshape(self._channels(x.shape))
        mean = elements.mean(axis=1)
        return np.concatenate([mean, elements.std(axis=1)]) if self.include_stddev else mean

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        elements = b.reshape(x, self._channels(x.shape))
        mean = pool_all(b, elements, MEAN)
        if not self.include_stddev:
            return mean
        c, k = b.loops_of(elements.shape)
        distance = elements[c, k] - mean[c]
        total = b.sum((c,), over=(k,), of=distance * distance)
        (c,) = b.loops_of(total.shape)
        deviation = b.map((c,), sqrt(total[c] * over_size(1, elements.shape[1])))
        return b.concat([mean, deviation], 0)


@dataclass(frozen=True)
class Bins:
    """One axis of an image in `count` equal windows; zeros are added on both sides, if need be."""

    size: int
    count: int

    @property
    def window(self) -> Window:
        elements = -(-self.size // self.count)
        return Window(elements, elements)

    @property
    def pad(self) -> Pad:
        """The zeros on either side; those behind the last window are not read."""
        elements = (self.window.kernel * self.count - self.size + 1) // 2
        return elements, self.window.kernel * self.count - self.size - elements


HIGHEST_PYRAMID = 15
"""More levels have more bins than a Mat of ncnn can have columns."""


@layer("SPP")
class SPPOp(Layer):
    """A spatial pyramid: level p divides (c, h, w) into 2^p by 2^p bins, of each channel one value.

    The values, level by level and each level (c, 2^p, 2^p), fill the result (2, 1, bins), where
    bins counts those of all levels. That is all there are where c is 2; of more channels ncnn
    writes the rest behind its result, and here it is dropped.
    """

    pooling_type = integer(0)
    pyramid_height = integer(1, 1)

    def check(self) -> None:
        check_pooling_type(self.pooling_type)
        check_positive(self, ["pyramid_height"])
        if self.pyramid_height > HIGHEST_PYRAMID:
            raise LayerError(
                f"pyramid_height is {self.pyramid_height}, but at most {HIGHEST_PYRAMID}",
                "pyramid_height",
            )

    @property
    def bins(self) -> int:
        """How many bins all levels have."""
        return int((4**self.pyramid_height - 1) // 3)

    def levels(self, x: Shape) -> list[tuple[Bins, Bins]]:
        """The bins of h and of w, of each level."""
        counts = (2**level for level in range(self.pyramid_height))
        return [(Bins(x[1], count), Bins(x[2], count)) for count in counts]

    def infer(self, x: Shape) -> Shape:
        if len(x) != 3 or x[0] < 2:
            raise LayerError(f"SPP takes (c, h, w) with two channels or more, not {x}")
        return (2, 1, self.bins)

    def reference(self, x: Array) -> Array:
        fold = largest if self.pooling_type == MAXIMUM else np.mean
        levels = []
        for axes in self.levels(x.shape):
            wide = np.pad(x, [(0, 0), *(axis.pad for axis in axes)])
            windows = windows_of(wide, [axis.window for axis in axes])
            levels.append(fold(windows, axis=(-2, -1)).reshape(-1))
        shape = self.infer(x.shape)
        return np.concatenate(levels)[: prod(shape)].reshape(shape)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        levels = []
        for rows, columns in self.levels(x.shape):
            windows = [rows.window, columns.window]
            low, high = (0, rows.pad[0], columns.pad[0]), (0, rows.pad[1], columns.pad[1])
            pooled = pool(b, b.pad(x, low, high), windows, self.pooling_type)
            if self.pooling_type == MEAN:
                pooled = b.scaled(pooled, over_size(1, cells_of(windows)))
            levels.append(b.reshape(pooled, (prod(pooled.shape),)))
        shape = self.infer(x.shape)
        flat = b.concat(levels, 0)
        return b.reshape(b.slice(flat, (0,), (prod(shape),)), shape)
