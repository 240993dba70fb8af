"""Sliding windows: how far they reach, where they start, how many there are.

Convolution, pooling and unfolding share this arithmetic. Everything is per axis; sequences are in
numpy order, the last axis (w) last.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.shapes import Shape, shown
from ncc.dialects.size import is_equal, is_open, largest, smallest
from ncc.dialects.weights.sources import Array

SAME_UPPER = -233
"""Padding code: the result has ceil(n / stride) elements; an odd element of padding goes behind."""

SAME_LOWER = -234
"""Padding code: as SAME_UPPER, with the odd element before."""

Pad: TypeAlias = tuple[int, int]

PAD_NAMES = {
    "w": ("pad_left", "pad_right"),
    "h": ("pad_top", "pad_bottom"),
    "d": ("pad_front", "pad_behind"),
}
"""The params that say the padding before and behind each axis."""


class Window(NamedTuple):
    """A window along one axis: `kernel` taps, `dilation` elements apart, moved by `stride`."""

    kernel: int
    stride: int = 1
    dilation: int = 1

    @property
    def extent(self) -> int:
        """The elements from the first tap to the last, both counted."""
        return self.dilation * (self.kernel - 1) + 1

    def output(self, size: int) -> int:
        """How many windows start inside `size` elements without leaving them."""
        return (size - self.extent) // self.stride + 1

    def same(self, size: int, code: int) -> Pad:
        """The padding of SAME_UPPER or SAME_LOWER; none where nothing is missing."""
        total = largest(0, self.extent + (size - 1) // self.stride * self.stride - size)
        half = total // 2
        return (half, total - half) if code == SAME_UPPER else (total - half, half)

    def tail(self, size: int) -> int:
        """The elements behind `size` that make the last, partial window a whole one.

        A window that is larger than `size` is partial, too, if less than two strides are missing.
        ncnn divides such negative numbers towards 0: less than a stride makes two windows, more
        makes one, and a whole stride no tail.
        """
        if self.stride == 1:
            return 0
        missing = self.extent - size
        if missing < self.stride:
            further = largest(0, smallest(1, missing), -(missing // self.stride))
            return missing + self.stride * further
        is_one = not is_equal(missing, self.stride) and missing < 2 * self.stride
        return missing if is_one else 0


def convolution_pads(
    pads: Sequence[Pad], windows: Sequence[Window], sizes: Sequence[int]
) -> list[Pad]:
    """Padding by the rules of convolution: explicit where any is positive, else a code, else none.

    A code holds only where all pads are that code.
    """
    values = {value for pad in pads for value in pad}
    for code in (SAME_UPPER, SAME_LOWER):
        if values == {code}:
            return [w.same(n, code) for w, n in zip(windows, sizes, strict=True)]
    return list(pads) if max(values) > 0 else [(0, 0)] * len(pads)


def output_sizes(
    windows: Sequence[Window], padded: Sequence[int], what: str = "window"
) -> tuple[int, ...]:
    """The number of windows along each axis of a padded shape.

    Raises `LayerError` where a window does not fit.
    """
    for window, size in zip(windows, padded, strict=True):
        if window.extent > size:
            extents = shown(tuple(w.extent for w in windows))
            inside = shown(tuple(padded))
            raise LayerError(f"a {what} of {extents} does not fit into {inside} (padding included)")
    return tuple(w.output(n) for w, n in zip(windows, padded, strict=True))


def padded_shape(sizes: Sequence[int], pads: Sequence[Pad]) -> tuple[int, ...]:
    """Each extent with what stands before and behind it."""
    return tuple(low + n + high for n, (low, high) in zip(sizes, pads, strict=True))


def windows_of(x: Array, windows: Sequence[Window]) -> Array:
    """Every window of the last axes of x, as a view: shape (..., *outputs, *kernels)."""
    axes = tuple(range(x.ndim - len(windows), x.ndim))
    view = sliding_window_view(x, [w.extent for w in windows], axis=axes)
    steps = [slice(None, None, w.stride) for w in windows]
    taps = [slice(None, None, w.dilation) for w in windows]
    lead = [slice(None)] * (view.ndim - 2 * len(axes))
    chosen: Array = view[tuple(lead + steps + taps)]
    return chosen


def tap_places(
    tap: Sequence[int], windows: Sequence[Window], outputs: Sequence[int]
) -> tuple[slice, ...]:
    """The elements that one tap of every window falls on, for so many windows along each axis."""
    each = zip(tap, windows, outputs, strict=True)
    starts = [(k * w.dilation, w.stride, n) for k, w, n in each]
    return tuple(slice(start, start + (n - 1) * step + 1, step) for start, step, n in starts)


class Adaptive(NamedTuple):
    """Windows that divide an axis of `size` elements into `output` parts, which may overlap.

    Part i is [floor(i * size / output), ceil((i + 1) * size / output)).
    """

    size: int
    output: int

    @property
    def bounds(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The first elements of all parts, and the ones behind their last."""
        edges = np.arange(self.output + 1) * self.size
        return edges[:-1] // self.output, -(-edges[1:] // self.output)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """The elements of each part; some parts have one more than others."""
        starts, stops = self.bounds
        return stops - starts

    @property
    def longest(self) -> int:
        """The most elements that a part can have."""
        return smallest(self.size, -(-self.size // self.output) + 1)

    @property
    def regular(self) -> Window | None:
        """The ordinary window that is the same, where parts are equal; its stride is a number."""
        if self.size % self.output:
            return None
        elements = self.size // self.output
        if is_open(elements):
            return Window(elements) if self.output == 1 else None
        return Window(elements, elements)

    def elements(self) -> NDArray[np.int64]:
        """The elements of each part, shape (output, longest); short parts repeat their last
        element.
        """
        starts, stops = self.bounds
        elements: NDArray[np.int64] = np.minimum(
            starts[:, None] + np.arange(self.lengths.max()), stops[:, None] - 1
        )
        return elements

    def shares(self) -> NDArray[np.float32]:
        """The weight of each of `elements` in its part's mean: 1 / length, 0 for repeated ones."""
        lengths = self.lengths[:, None]
        shares = np.where(np.arange(lengths.max()) < lengths, 1 / lengths, 0)
        return shares.astype(np.float32)


def planes(shape: Shape, rank: int) -> Shape:
    """A shape with fewer axes than (channels, *space) read as one channel."""
    return (1,) * (rank - len(shape)) + shape
