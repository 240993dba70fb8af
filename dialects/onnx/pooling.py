"""Maxima and means of windows."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, integers, required, string
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, operator
from ncc.dialects.onnx.windows import Window, windows
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
        if min(counts) < 1:
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
        count = float(np.prod(x.shape[2:]))
        return b.reshape(b.scaled(total, 1 / count), self.infer(x.shape))
