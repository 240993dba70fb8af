"""Maxima and means of windows."""

from __future__ import annotations

from collections.abc import Iterator
from functools import reduce
from itertools import product
from math import prod
from operator import mul
from typing import Any

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import i64
from xdsl.ir import Attribute

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, integers, required, string
from ncc.dialects.onnx.gather import wrapped
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, operator
from ncc.dialects.onnx.scatter import scattered
from ncc.dialects.onnx.windows import Window, windows
from ncc.dialects.scalar import equal, number_of_index, number_of_size, over_size, select, to_index
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal, is_open, largest


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
        high = [largest(0, end - w.low - w.size) for end, w in zip(ends, at, strict=True)]
        return [0, 0, *(w.low for w in at)], [0, 0, *high]

    def boxes(self, x: Shape) -> Iterator[Any]:
        """The elements of a padded image that each place of the window sees."""
        at, counts = self.windows(x), self.counts(x)
        for place in product(*(range(w.kernel) for w in at)):
            yield (...,) + tuple(
                slice(k * w.dilation, k * w.dilation + (n - 1) * w.stride + 1, w.stride)
                for k, w, n in zip(place, at, counts, strict=True)
            )


@operator("MaxPool", outputs=(1, 2))
class MaxPoolOp(Pool):
    """The largest element of each window, and its place among all elements of x."""

    storage_order = integer(0)

    def infer(self, x: Shape) -> Any:
        return [super().infer(x)] * 2

    def element_types(self, *operands: Attribute) -> list[Attribute]:
        return [operands[0], i64]

    def pixel_numbers(self, x: Shape) -> Array:
        """The place of each pixel in its channel, in the order that is asked for."""
        if self.storage_order:
            return np.arange(prod(x[2:])).reshape(x[:1:-1]).T
        return np.arange(prod(x[2:])).reshape(x[2:])

    def reference(self, x: Array) -> list[Array]:
        largest = self._largest(x)
        if len(self.results) == 1:
            return [largest]
        low, high = (sides[2:] for sides in self.padding(x.shape))
        pads = list(zip(low, high, strict=True))
        held = np.pad(x, [(0, 0), (0, 0), *pads], constant_values=-np.inf)
        scanned = np.pad(np.arange(prod(x.shape[2:])).reshape(x.shape[2:]), pads, mode="edge")
        first = np.full(largest.shape, prod(x.shape[2:]))
        for box in self.boxes(x.shape):
            hit = np.where(held[box] == largest, scanned[box[1:]], first)
            first = np.minimum(first, hit)
        channels = np.arange(prod(x.shape[:2])).reshape(x.shape[:2]) * prod(x.shape[2:])
        return [
            largest,
            self.pixel_numbers(x.shape).reshape(-1)[first]
            + np.expand_dims(channels, tuple(range(2, x.ndim))),
        ]

    def _largest(self, x: Array) -> Array:
        counts = self.counts(x.shape)
        low, high = self.padding(x.shape)
        least = -np.inf if np.issubdtype(x.dtype, np.floating) else np.iinfo(x.dtype).min
        padded = np.pad(x, list(zip(low, high, strict=True)), constant_values=least)
        found = np.full((*x.shape[:2], *counts), least, x.dtype)
        for box in self.boxes(x.shape):
            found = np.maximum(found, padded[box])
        return found

    def lower(self, b: Builder, x: Tensor) -> list[Tensor]:
        at, counts = self.windows(x.shape), self.counts(x.shape)
        least = float("-inf")
        padded = b.pad(x, *self.padding(x.shape), least)
        loops = b.loops_of([*x.shape[:2], *counts, *(w.kernel for w in at)])
        to, taps = loops[: x.rank], loops[x.rank :]
        seen = [o * w.stride + t * w.dilation for o, t, w in zip(to[2:], taps, at, strict=True)]
        largest = b.max(to, over=taps, of=padded[[*to[:2], *seen]])
        if len(self.results) == 1:
            return [largest]
        count = prod(x.shape[2:])
        pads = [side[2:] for side in self.padding(x.shape)]
        scanned = np.arange(count).reshape(x.shape[2:])
        places = b.constant(np.pad(scanned, list(zip(*pads, strict=True)), mode="edge"), i64)
        b.loops_of([*x.shape[:2], *counts, *(w.kernel for w in at)])
        hit = equal(padded[[*to[:2], *seen]], largest[to])
        first = b.min(to, over=taps, of=select(hit, places[seen], count - 1))
        numbers = b.constant(self.pixel_numbers(x.shape).reshape(-1), i64)
        before = b.constant(np.arange(prod(x.shape[:2])).reshape(x.shape[:2]) * count, i64)
        loops = b.loops_of(first.shape)
        number = numbers.at(to_index(first[loops]))
        return [largest, b.map(loops, number + before[loops[:2]])]


@operator("MaxUnpool", since=9, inputs=(2, 3))
class MaxUnpoolOp(Operator):
    """Elements at the places that MaxPool gave, zeros elsewhere."""

    SETTLES = (2,)

    kernel_shape = integers()
    pads = integers()
    strides = integers()

    def plain(self, x: Shape) -> Shape:
        """The shape that the windows cover, which places count in."""
        kernel = required(self.kernel_shape, "kernel_shape")
        rank = len(kernel)
        strides, pads = self.strides or (1,) * rank, self.pads or (0,) * 2 * rank
        if len(x) != rank + 2 or len(strides) != rank or len(pads) != 2 * rank:
            raise LayerError(f"windows of {rank} axes for {shown(x)}")
        axes = zip(x[2:], strides, kernel, pads[:rank], pads[rank:], strict=True)
        return (*x[:2], *((n - 1) * s + k - low - high for n, s, k, low, high in axes))

    def infer(self, x: Shape, places: Shape, *others: Shape) -> Shape:
        if not are_equal(places, x):
            raise LayerError(f"places {shown(places)} of {shown(x)}")
        wanted = self.optional_numbers(2)
        plain = self.plain(x)
        if wanted is None:
            return plain
        shape = tuple(wanted)
        if len(shape) != len(x) or any(n < m for n, m in zip(shape, plain, strict=True)):
            raise LayerError(f"{shown(plain)} cannot become {shown(shape)}")
        return shape

    def reference(self, x: Array, places: Array, *others: Array) -> Array:
        plain = self.plain(x.shape)
        flat = np.zeros(prod(plain), x.dtype)
        flat[places.reshape(-1)] = x.reshape(-1)
        whole = self.infer(x.shape, places.shape)
        pads = [(0, n - m) for n, m in zip(whole, plain, strict=True)]
        return np.pad(flat.reshape(plain), pads)

    def lower(self, b: Builder, x: Tensor, places: Tensor, *others: Tensor) -> Tensor:
        plain, count = self.plain(x.shape), prod(x.shape)
        zeros = b.full((prod(plain),), 0, x.element_type)
        flat = b.reshape(places, (count,))
        (k,) = b.loops_of((count,))
        inside = b.map((k,), wrapped(flat[k], prod(plain)))
        found = b.reshape(scattered(b, zeros, inside, b.reshape(x, (count, 1))), plain)
        whole = self.infer(x.shape, places.shape)
        high = [n - m for n, m in zip(whole, plain, strict=True)]
        return b.pad(found, [0] * x.rank, high)


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
        mean = b.scaled(total, over_size(1.0, prod(x.shape[2:]), x.element_type))
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
        """How many elements each window has, along each axis that is not open."""
        at = zip(self.windows(shapes[0]), self.counts(shapes[0]), strict=True)
        return sum(n * w.kernel for w, n in at if not is_open(n, w.size))

    def counted(self, x: Shape) -> list[NDArray[np.int64]]:
        """How many elements each window counts, along each axis."""
        at = zip(self.windows(x), self.counts(x), strict=True)
        return [self._counted_along(w, n) for w, n in at]

    def _counted_along(self, w: Window, n: int) -> NDArray[np.int64]:
        first, end = self._bounds(w)
        taps = np.arange(w.kernel) * w.dilation - w.low
        at = np.arange(n)[:, None] * w.stride + taps
        return np.asarray(((at >= first) & (at < end)).sum(1))

    def _bounds(self, w: Window) -> tuple[int, int]:
        """The first element that counts, and the one behind the last."""
        return (-w.low, w.size + w.high) if self.count_include_pad else (0, w.size)

    def _share(self, b: Builder, w: Window, n: int, kind: Attribute) -> Tensor:
        """1 over how many elements each window counts, along one axis."""
        if not is_open(n, w.size):
            return b.constant(1 / self._counted_along(w, n), kind)
        first, end = self._bounds(w)
        o, t = b.loops_of((n, w.kernel))
        window, tap = (number_of_index(b.index(loop), i64) for loop in (o, t))
        at = window * w.stride + tap * w.dilation - w.low
        counts = select(at >= first, select(at < number_of_size(end, i64), 1.0, 0.0), 0.0)
        total = b.sum((o,), over=(t,), of=counts)
        (o,) = b.loops_of((n,))
        return b.map((o,), 1.0 / total[o])

    def reference(self, x: Array) -> Array:
        padded = np.pad(x, list(zip(*self.padding(x.shape), strict=True)))
        total = np.zeros((*x.shape[:2], *self.counts(x.shape)), x.dtype)
        for box in self.boxes(x.shape):
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
        if not is_open(*x.shape[2:]):
            along = self.counted(x.shape)
            if all((one == one[0]).all() for one in along):
                return b.scaled(total, 1 / float(prod(int(one[0]) for one in along)))
        tables = [self._share(b, w, n, x.element_type) for w, n in zip(at, counts, strict=True)]
        loops = b.loops_of(total.shape)
        factors = [table[loop] for table, loop in zip(tables, loops[2:], strict=True)]
        return b.map(loops, reduce(mul, factors, total[loops]))
