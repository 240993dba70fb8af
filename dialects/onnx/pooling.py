"""Maxima and means of windows."""

from __future__ import annotations

from functools import reduce
from itertools import product
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, integers, required, string
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, operator
from ncc.dialects.onnx.windows import Window, windows
from ncc.dialects.scalar import over_size
from ncc.dialects.shapes import shown


class Pool(Operator):
    """A window over each channel."""

    auto_pad = string("NOTSET")
    ceil_mode = integer(0)
    dilations = integers()
    kernel_shape = integers()
    pads = integers()
    strides = integers()

    def windows(self, x: Shape) -> tuple[Window, ...]:
        """The window along each axis of the image."""
        kernel = required(self.kernel_shape, "kernel_shape")
        return windows(x[2:], kernel, self.strides, self.dilations, self.pads, self.auto_pad)

    def counts(self, x: Shape) -> Shape:
        """How many places the window has along each axis."""
        up = self.ceil_mode and self.auto_pad in ("NOTSET", "")
        return tuple(w.count_up if up else w.count for w in self.windows(x))

    def infer(self, x: Shape) -> Shape:
        if len(x) < 3:
            raise LayerError(f"an image {shown(x)}")
        counts = self.counts(x)
        if any(count < 1 for count in counts):
            raise LayerError(f"the windows are larger than the image {shown(x)}")
        return (*x[:2], *counts)

    def padding(self, x: Shape) -> tuple[list[int], list[int]]:
        """The elements before and after each axis that windows cover."""
        at, counts = self.windows(x), self.counts(x)
        ends = [(n - 1) * w.stride + w.reach for n, w in zip(counts, at, strict=True)]
        high = [max(0, end - w.low - w.size) for end, w in zip(ends, at, strict=True)]
        return [0, 0, *(w.low for w in at)], [0, 0, *high]


@operator("MaxPool", outputs=(1, 2))
class MaxPoolOp(Pool):
    """The largest element of each window."""

    storage_order = integer(0)

    def check(self) -> None:
        if len(self.results) > 1:
            raise NotYet("MaxPool with the places of the maxima")

    def reference(self, x: Array) -> Array:
        at, counts = self.windows(x.shape), self.counts(x.shape)
        low, high = self.padding(x.shape)
        least = -np.inf if np.issubdtype(x.dtype, np.floating) else np.iinfo(x.dtype).min
        padded = np.pad(x, list(zip(low, high, strict=True)), constant_values=least)
        found = np.full((*x.shape[:2], *counts), least, x.dtype)
        for place in product(*(range(w.kernel) for w in at)):
            box: Any = (...,) + tuple(
                slice(k * w.dilation, k * w.dilation + (n - 1) * w.stride + 1, w.stride)
                for k, w, n in zip(place, at, counts, strict=True)
            )
            found = np.maximum(found, padded[box])
        return found

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        at, counts = self.windows(x.shape), self.counts(x.shape)
        least = float("-inf")
        padded = b.pad(x, *self.padding(x.shape), least)
        loops = b.loops_of([*x.shape[:2], *counts, *(w.kernel for w in at)])
        to, taps = loops[: x.rank], loops[x.rank :]
        seen = [o * w.stride + t * w.dilation for o, t, w in zip(to[2:], taps, at, strict=True)]
        return b.max(to, over=taps, of=padded[[*to[:2], *seen]])


@operator("GlobalAveragePool")
class GlobalAveragePoolOp(Operator):
    """The mean of each channel."""

    def infer(self, x: Shape) -> Shape:
        if len(x) < 3:
            raise LayerError(f"an image {shown(x)}")
        return (*x[:2], *[1] * (len(x) - 2))

    def reference(self, x: Array) -> Array:
        return np.asarray(x.mean(tuple(range(2, x.ndim)), keepdims=True))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        loops = b.loops_of(x.shape)
        total = b.sum(loops[:2], over=loops[2:], of=x[loops])
        mean = b.scaled(total, over_size(1.0, prod(x.shape[2:])))
        return b.reshape(mean, self.infer(x.shape))


@operator("GlobalMaxPool")
class GlobalMaxPoolOp(GlobalAveragePoolOp):
    """The largest element of each channel."""

    def reference(self, x: Array) -> Array:
        return np.asarray(x.max(tuple(range(2, x.ndim)), keepdims=True))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        loops = b.loops_of(x.shape)
        largest = b.max(loops[:2], over=loops[2:], of=x[loops], nan=True)
        return b.reshape(largest, self.infer(x.shape))


@operator("AveragePool", since=7)
class AveragePoolOp(Pool):
    """The mean of each window, of what lies in the image, or also of the padding."""

    count_include_pad = integer(0)

    def tables(self, *shapes: Shape) -> int:
        """How many elements each window has, along each axis."""
        kernels = required(self.kernel_shape, "kernel_shape")
        return sum(n * kernel for n, kernel in zip(self.counts(shapes[0]), kernels, strict=True))

    def counted(self, x: Shape) -> list[NDArray[np.int64]]:
        """How many elements each window counts, along each axis."""
        found = []
        for w, n in zip(self.windows(x), self.counts(x), strict=True):
            first, end = (-w.low, w.size + w.high) if self.count_include_pad else (0, w.size)
            taps = np.arange(w.kernel) * w.dilation - w.low
            at = np.arange(n)[:, None] * w.stride + taps
            found.append(((at >= first) & (at < end)).sum(1))
        return found

    def reference(self, x: Array) -> Array:
        at, counts = self.windows(x.shape), self.counts(x.shape)
        padded = np.pad(x, list(zip(*self.padding(x.shape), strict=True)))
        total = np.zeros((*x.shape[:2], *counts), x.dtype)
        for place in product(*(range(w.kernel) for w in at)):
            box: Any = (...,) + tuple(
                slice(k * w.dilation, k * w.dilation + (n - 1) * w.stride + 1, w.stride)
                for k, w, n in zip(place, at, counts, strict=True)
            )
            total += padded[box]
        for axis, along in enumerate(self.counted(x.shape), 2):
            total = total / along.reshape([-1 if k == axis else 1 for k in range(x.ndim)])
        return total

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        at, counts = self.windows(x.shape), self.counts(x.shape)
        padded = b.pad(x, *self.padding(x.shape))
        loops = b.loops_of([*x.shape[:2], *counts, *(w.kernel for w in at)])
        to, taps = loops[: x.rank], loops[x.rank :]
        seen = [o * w.stride + t * w.dilation for o, t, w in zip(to[2:], taps, at, strict=True)]
        total = b.sum(to, over=taps, of=padded[[*to[:2], *seen]])
        along = self.counted(x.shape)
        if all((one == one[0]).all() for one in along):
            return b.scaled(total, 1 / float(prod(int(one[0]) for one in along)))
        tables = [b.constant(1 / one, x.element_type) for one in along]
        loops = b.loops_of(total.shape)
        factors = [table[loop] for table, loop in zip(tables, loops[2:], strict=True)]
        return b.map(loops, reduce(mul, factors, total[loops]))
