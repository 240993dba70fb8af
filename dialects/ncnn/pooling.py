"""Pooling: the largest, or the mean, of each window."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integer,
    layer,
)
from ncc.dialects.ncnn.window import (
    SAME_LOWER,
    SAME_UPPER,
    Adaptive,
    Pad,
    Window,
    check_positive,
    output_sizes,
    padded_shape,
    windows_of,
)

LOWEST = float(np.finfo(np.float32).min)
"""What stands outside for the largest of a window."""

MAXIMUM, MEAN = 0, 1
FULL, VALID, PAD_SAME_UPPER, PAD_SAME_LOWER = 0, 1, 2, 3
KEEP = -233
"""The adaptive output extent that is that of the input."""


@layer("Pooling")
class PoolingOp(Layer):
    """The largest, or the mean, of each window of (c, h, w).

    Global pooling makes a vector. A matrix is one channel; of (c, d, h, w) only the first of d
    is read.
    """

    pooling_type = integer(0)
    kernel_w = integer(1)
    kernel_h = integer(11, "kernel_w")
    stride_w = integer(2, 1)
    stride_h = integer(12, "stride_w")
    pad_left = integer(3)
    pad_right = integer(14, "pad_left")
    pad_top = integer(13, "pad_left")
    pad_bottom = integer(15, "pad_top")
    global_pooling = integer(4)
    pad_mode = integer(5)
    avgpool_count_include_pad = integer(6)
    adaptive_pooling = integer(7)
    out_w = integer(8)
    out_h = integer(18, "out_w")

    def check(self) -> None:
        if self.pooling_type not in (MAXIMUM, MEAN):
            raise LayerError(
                f"pooling_type is {self.pooling_type}, neither 0 (max) nor 1 (average)",
                "pooling_type",
            )
        if self.global_pooling:
            return
        if self.adaptive_pooling:
            for name in ("out_w", "out_h"):
                if getattr(self, name) != KEEP:
                    check_positive(self, [name])
            return
        check_positive(self, ["kernel_w", "kernel_h", "stride_w", "stride_h"])
        if self.pad_mode not in (FULL, VALID, PAD_SAME_UPPER, PAD_SAME_LOWER):
            raise LayerError(f"pad_mode is {self.pad_mode}, none of 0 to 3", "pad_mode")
        pads = ("pad_left", "pad_right", "pad_top", "pad_bottom")
        for name in pads if self.pad_mode in (FULL, VALID) else ():
            if getattr(self, name) < 0:
                raise LayerError(f"{name} is {getattr(self, name)}, but must not be negative", name)

    # --- shapes -----------------------------------------------------------------------------

    @property
    def windows(self) -> list[Window]:
        return [Window(self.kernel_h, self.stride_h), Window(self.kernel_w, self.stride_w)]

    @property
    def explicit(self) -> list[Pad]:
        """The pads of (h, w); where the mode says SAME, a file may say -233, which pads nothing."""
        pads = (self.pad_top, self.pad_bottom, self.pad_left, self.pad_right)
        top, bottom, left, right = (max(pad, 0) for pad in pads)
        return [(top, bottom), (left, right)]

    @property
    def keeps_apart(self) -> bool:
        """Whether a mean leaves out of its sum and count what the pads say, and the tail."""
        return self.pooling_type == MEAN and not self.avgpool_count_include_pad

    def planes(self, x: Shape) -> Shape:
        """The (c, h, w) that are read of x."""
        if len(x) < 4:
            return (1,) * (3 - len(x)) + x
        return (x[0], *x[2:])

    def borders(self, sizes: Sequence[int]) -> list[Pad]:
        """All padding of (h, w): by the pads, by SAME, and the tail of the last window."""
        if self.pad_mode in (PAD_SAME_UPPER, PAD_SAME_LOWER):
            code = SAME_UPPER if self.pad_mode == PAD_SAME_UPPER else SAME_LOWER
            return [w.same(n, code) for w, n in zip(self.windows, sizes, strict=True)]
        if self.pad_mode == VALID:
            return self.explicit
        inside = padded_shape(sizes, self.explicit)
        output_sizes(self.windows, inside)  # a window that does not fit has no tail
        tails = [w.tail(n) for w, n in zip(self.windows, inside, strict=True)]
        return [(low, high + t) for (low, high), t in zip(self.explicit, tails, strict=True)]

    def adaptive(self, x: Shape) -> list[Adaptive]:
        """The parts of h and w."""
        wanted = zip(self.planes(x)[1:], (self.out_h, self.out_w), strict=True)
        return [Adaptive(n, n if out == KEEP else out) for n, out in wanted]

    def hands_on(self, x: Shape) -> bool:
        """Whether it is adaptive to the very extents of x: then x comes out, whatever its rank."""
        if self.global_pooling or not self.adaptive_pooling:
            return False
        return all(parts.size == parts.output for parts in self.adaptive(x))

    def infer(self, x: Shape) -> Shape:
        c, *sizes = self.planes(x)
        if self.global_pooling:
            return (c,)
        if self.hands_on(x):
            return x
        if self.adaptive_pooling:
            return (c, *(parts.output for parts in self.adaptive(x)))
        inside = padded_shape(sizes, self.borders(sizes))
        return (c, *output_sizes(self.windows, inside))

    def counted(self, sizes: Sequence[int]) -> list[tuple[int, int]]:
        """First cell and the one behind the last that a mean counts, in the padded (h, w).

        Those are the cells inside the pads that the params say. SAME ignores the pads where it
        pads, but not here.
        """
        inside = padded_shape(sizes, self.borders(sizes))
        tails = [0, 0]
        if self.pad_mode == FULL:
            pads = zip(self.borders(sizes), self.explicit, strict=True)
            tails = [border[1] - pad[1] for border, pad in pads]
        bounds = zip(inside, self.explicit, tails, strict=True)
        return [(low, max(low, n - high - tail)) for n, (low, high), tail in bounds]

    # --- meaning ----------------------------------------------------------------------------

    def reference(self, x: Array) -> Array:
        if self.hands_on(x.shape):
            return x
        x = (x[:, 0] if x.ndim == 4 else x).reshape(self.planes(x.shape))
        reduce = np.max if self.pooling_type == MAXIMUM else np.mean
        if self.global_pooling:
            return np.asarray(reduce(x, axis=(1, 2)))
        if self.adaptive_pooling:
            rows, columns = (parts.bounds for parts in self.adaptive(x.shape))
            cells = [
                [reduce(x[:, a:z, left:right], axis=(1, 2)) for left, right in columns]
                for a, z in rows
            ]
            return np.moveaxis(np.array(cells, np.float32), -1, 0)
        borders = self.borders(x.shape[1:])
        if self.pooling_type == MAXIMUM:
            wide = np.pad(x, [(0, 0), *borders], constant_values=np.float32(LOWEST))
            return np.asarray(windows_of(wide, self.windows).max(axis=(-2, -1)))
        wide = np.pad(x, [(0, 0), *borders])
        if not self.keeps_apart:
            return np.asarray(windows_of(wide, self.windows).mean(axis=(-2, -1)))
        real = np.zeros(wide.shape[1:], np.float32)
        (top, bottom), (left, right) = self.counted(x.shape[1:])
        real[top:bottom, left:right] = 1
        total = windows_of(np.where(real > 0, wide, 0), self.windows).sum(axis=(-2, -1))
        with np.errstate(invalid="ignore"):
            mean: Array = total / windows_of(real, self.windows).sum(axis=(-2, -1))
        return mean

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        if self.hands_on(x.shape):
            return x
        shape = self.planes(x.shape)
        if x.rank == 4:
            x = b.slice(x, (0, 0, 0, 0), (shape[0], 1, *shape[1:]))
        x = b.reshape(x, shape)
        if self.global_pooling:
            return self._expand_global(b, x)
        if self.adaptive_pooling:
            return self._expand_adaptive(b, x)
        lows, highs = zip((0, 0), *self.borders(shape[1:]), strict=True)
        if self.pooling_type == MAXIMUM:
            return _pool(b, b.pad(x, lows, highs, LOWEST), self.windows, MAXIMUM)
        x = b.pad(x, lows, highs)
        if not self.keeps_apart:
            total = _pool(b, x, self.windows, MEAN)
            c, y, z = b.loops_of(total.shape)
            return b.map((c, y, z), total[c, y, z] * (1 / (self.kernel_h * self.kernel_w)))
        return self._expand_mean_of_real(b, x, shape[1:])

    def _expand_global(self, b: Builder, x: Tensor) -> Tensor:
        c, y, z = b.loops_of(x.shape)
        if self.pooling_type == MAXIMUM:
            return b.max((c,), over=(y, z), of=x[c, y, z])
        total = b.sum((c,), over=(y, z), of=x[c, y, z])
        (c,) = b.loops_of(total.shape)
        return b.map((c,), total[c] * (1 / (x.shape[1] * x.shape[2])))

    def _expand_adaptive(self, b: Builder, x: Tensor) -> Tensor:
        parts = self.adaptive(x.shape)
        regular = [part.regular for part in parts]
        windows = [window for window in regular if window is not None]
        if len(windows) == len(parts):
            pooled = _pool(b, x, windows, self.pooling_type)
            if self.pooling_type == MAXIMUM:
                return pooled
            c, y, z = b.loops_of(pooled.shape)
            return b.map((c, y, z), pooled[c, y, z] * (1 / (windows[0].kernel * windows[1].kernel)))
        rows, columns = (b.table(part.cells()) for part in parts)
        if self.pooling_type == MAXIMUM:
            c, y, z, ky, kx = b.loops(f"c:{x.shape[0]} y z ky kx")
            cell = x.at(b.index(c), rows[y, ky], columns[z, kx])
            return b.max((c, y, z), over=(ky, kx), of=cell)
        high, wide = (b.table(part.shares()) for part in parts)
        c, y, z, ky, kx = b.loops(f"c:{x.shape[0]} y z ky kx")
        cell = x.at(b.index(c), rows[y, ky], columns[z, kx])
        return b.sum((c, y, z), over=(ky, kx), of=cell * high[y, ky] * wide[z, kx])

    def _expand_mean_of_real(self, b: Builder, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """The mean of what is not padding: a sum, times a table of 1 / cells."""
        (top, bottom), (left, right) = counted = self.counted(sizes)
        if self.pad_mode in (PAD_SAME_UPPER, PAD_SAME_LOWER):
            kept = (x.shape[0], bottom - top, right - left)
            behind = (0, x.shape[1] - bottom, x.shape[2] - right)
            x = b.pad(b.slice(x, (0, top, left), kept), (0, top, left), behind)
        total = _pool(b, x, self.windows, MEAN)
        cells = [
            _cells(window, n, bounds)
            for window, n, bounds in zip(self.windows, total.shape[1:], counted, strict=True)
        ]
        with np.errstate(divide="ignore"):
            inverse = (1 / np.outer(*cells)).astype(np.float32)
        if (inverse == inverse[0, 0]).all():
            c, y, z = b.loops_of(total.shape)
            return b.map((c, y, z), total[c, y, z] * float(inverse[0, 0]))
        table = b.table(inverse)
        c, y, z = b.loops_of(total.shape)
        return b.map((c, y, z), total[c, y, z] * table[y, z])


def _cells(window: Window, outputs: int, bounds: tuple[int, int]) -> NDArray[np.int64]:
    """How many cells between `bounds` each window along one axis has."""
    starts = np.arange(outputs) * window.stride
    inside = np.minimum(starts + window.kernel, bounds[1]) - np.maximum(starts, bounds[0])
    cells: NDArray[np.int64] = np.maximum(inside, 0)
    return cells


def _pool(b: Builder, x: Tensor, windows: Sequence[Window], kind: int) -> Tensor:
    """The largest or the sum of each window of a padded (c, h, w)."""
    rows, columns = windows
    high, wide = output_sizes(windows, x.shape[1:])
    c, y, z, ky, kx = b.loops(f"c y:{high} z:{wide} ky:{rows.kernel} kx:{columns.kernel}")
    cell = x[c, y * rows.stride + ky, z * columns.stride + kx]
    if kind == MAXIMUM:
        return b.max((c, y, z), over=(ky, kx), of=cell)
    return b.sum((c, y, z), over=(ky, kx), of=cell)
