"""Pooling: the largest, or the mean, of each window, or of all.

A class names its axes and declares its params; everything else holds for any number of axes.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from math import prod
from operator import mul
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray
from xdsl.dialects.builtin import f32, i32

from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.layer import Array, Builder, Layer, LayerError, Shape, Tensor, integer, layer
from ncc.dialects.ncnn.pooling.pool import (
    LOWEST,
    MAXIMUM,
    MEAN,
    cells_of,
    check_pooling_type,
    largest,
    pool,
    pool_all,
)
from ncc.dialects.ncnn.window import (
    PAD_NAMES,
    SAME_LOWER,
    SAME_UPPER,
    Adaptive,
    Pad,
    Window,
    output_sizes,
    padded_shape,
    planes,
    windows_of,
)
from ncc.dialects.scalar import (
    Scalar,
    convert,
    minimum,
    number_of_index,
    number_of_size,
    over_size,
    select,
    to_index,
)
from ncc.dialects.size import is_open

FULL, VALID, PAD_SAME_UPPER, PAD_SAME_LOWER = 0, 1, 2, 3
KEEP = -233
"""The adaptive output extent that is that of the input."""


class PoolingLayer(Layer):
    """The largest, or the mean, of each window along the axes `AXES`.

    Global pooling makes a vector.
    """

    AXES: ClassVar[str]

    pooling_type = integer(0)
    kernel_w = integer(1)
    stride_w = integer(2, 1)
    pad_left = integer(3)
    pad_right = integer(14, "pad_left")
    global_pooling = integer(4)
    pad_mode = integer(5)
    avgpool_count_include_pad = integer(6)
    adaptive_pooling = integer(7)
    out_w = integer(8)

    def check(self) -> None:
        check_pooling_type(self.pooling_type)
        if self.global_pooling:
            return
        if self.adaptive_pooling:
            check_positive(self, [name for name in self._outs if not self.keeps(name)])
            return
        check_positive(self, [f"{what}_{a}" for what in ("kernel", "stride") for a in self._axes])
        check_choice(self, "pad_mode", (FULL, VALID, PAD_SAME_UPPER, PAD_SAME_LOWER))
        pads = [name for axis in self._axes for name in PAD_NAMES[axis]]
        for name in pads if self.pad_mode in (FULL, VALID) else ():
            if getattr(self, name) < 0:
                raise LayerError(f"{name} is {getattr(self, name)}, but must not be negative", name)

    @property
    def _axes(self) -> str:
        """The axes in ncnn's order, w first."""
        return self.AXES[::-1]

    @property
    def _outs(self) -> list[str]:
        return [f"out_{axis}" for axis in self._axes]

    def keeps(self, name: str) -> bool:
        """Whether this param of an adaptive output extent says that of the input."""
        return False

    # --- shapes -----------------------------------------------------------------------------

    @property
    def windows(self) -> list[Window]:
        """The window along each axis, in numpy order."""
        return [
            Window(getattr(self, f"kernel_{axis}"), getattr(self, f"stride_{axis}"))
            for axis in self.AXES
        ]

    @property
    def explicit(self) -> list[Pad]:
        """The pads of each axis; where the mode says SAME, a file may say -233: pads nothing."""
        pairs = ([max(getattr(self, name), 0) for name in PAD_NAMES[axis]] for axis in self.AXES)
        return [(low, high) for low, high in pairs]

    @property
    def keeps_apart(self) -> bool:
        """Whether a mean leaves out of its sum and count what the pads say, and the tail."""
        return self.pooling_type == MEAN and not self.avgpool_count_include_pad

    def read(self, x: Shape) -> Shape:
        """The extents that are read of x, from its first element on."""
        return x

    def planes(self, x: Shape) -> Shape:
        """The part of x that is read, as (channels, *space)."""
        raise NotImplementedError

    def same(self, axis: str, window: Window, size: int) -> Pad:
        """The padding that a SAME mode adds along an axis."""
        return window.same(size, SAME_UPPER if self.pad_mode == PAD_SAME_UPPER else SAME_LOWER)

    def borders(self, sizes: Sequence[int]) -> list[Pad]:
        """All padding of the space: by the pads, by SAME, and the tail of the last window."""
        if self.pad_mode in (PAD_SAME_UPPER, PAD_SAME_LOWER):
            each = zip(self.AXES, self.windows, sizes, strict=True)
            return [self.same(axis, window, n) for axis, window, n in each]
        if self.pad_mode == VALID:
            return self.explicit
        inside = padded_shape(sizes, self.explicit)
        tails = [w.tail(n) for w, n in zip(self.windows, inside, strict=True)]
        return [(low, high + t) for (low, high), t in zip(self.explicit, tails, strict=True)]

    def adaptive(self, x: Shape) -> list[Adaptive]:
        """The parts of each axis."""
        wanted = zip(self.planes(x)[1:], reversed(self._outs), strict=True)
        return [Adaptive(n, n if self.keeps(out) else getattr(self, out)) for n, out in wanted]

    def hands_on(self, x: Shape) -> bool:
        """Whether x itself comes out, whatever its rank."""
        return False

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

    def tables(self, x: Shape) -> int:
        """Cells and shares of parts that differ, or the shares of windows that differ."""
        if self.global_pooling or self.hands_on(x):
            return 0
        if self.adaptive_pooling:
            parts = self.adaptive(x)
            same = all(part.regular for part in parts)
            known = [part for part in parts if not is_open(part.size)]
            return 0 if same else sum(2 * part.output * part.longest for part in known)
        outputs = self.infer(x)[1:]
        if is_open(*outputs):
            return 0  # the run counts
        return (prod(outputs) if _is_small(outputs) else sum(outputs)) * self.keeps_apart

    def counted(self, sizes: Sequence[int]) -> list[tuple[int, int]]:
        """First element and the one behind the last that a mean counts, in the padded space.

        Those are the elements inside the pads that the params say. SAME ignores the pads where it
        pads, but not here.
        """
        inside = padded_shape(sizes, self.borders(sizes))
        tails = [0] * len(inside)
        if self.pad_mode == FULL:
            pads = zip(self.borders(sizes), self.explicit, strict=True)
            tails = [border[1] - pad[1] for border, pad in pads]
        bounds = zip(inside, self.explicit, tails, strict=True)
        return [(low, max(low, n - high - tail)) for n, (low, high), tail in bounds]

    # --- meaning ----------------------------------------------------------------------------

    def reference(self, x: Array) -> Array:
        if self.hands_on(x.shape):
            return x
        x = x[tuple(map(slice, self.read(x.shape)))].reshape(self.planes(x.shape))
        fold = largest if self.pooling_type == MAXIMUM else np.mean
        space = tuple(range(1, x.ndim))
        if self.global_pooling:
            return np.asarray(fold(x, axis=space))
        if self.adaptive_pooling:
            for axis, parts in zip(space, self.adaptive(x.shape), strict=True):
                bounds = zip(*parts.bounds, strict=True)
                elements = [fold(np.take(x, range(*part), axis), axis=axis) for part in bounds]
                x = np.stack(elements, axis)
            return x
        borders = self.borders(x.shape[1:])
        taps = tuple(range(-len(space), 0))
        if self.pooling_type == MAXIMUM:
            wide = np.pad(x, [(0, 0), *borders], constant_values=np.float32(LOWEST))
            return largest(windows_of(wide, self.windows), axis=taps)
        wide = np.pad(x, [(0, 0), *borders])
        if not self.keeps_apart:
            return np.asarray(windows_of(wide, self.windows).mean(axis=taps))
        real = np.zeros(wide.shape[1:], x.dtype)
        real[tuple(slice(*bounds) for bounds in self.counted(x.shape[1:]))] = 1
        total = windows_of(np.where(real > 0, wide, 0), self.windows).sum(axis=taps)
        with np.errstate(invalid="ignore"):
            mean: Array = total / windows_of(real, self.windows).sum(axis=taps)
        return mean

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        if self.hands_on(x.shape):
            return x
        shape = self.planes(x.shape)
        x = b.reshape(b.slice(x, [0] * x.rank, self.read(x.shape)), shape)
        if self.global_pooling:
            return pool_all(b, x, self.pooling_type)
        if self.adaptive_pooling:
            return self._expand_adaptive(b, x)
        lows, highs = zip((0, 0), *self.borders(shape[1:]), strict=True)
        if self.pooling_type == MAXIMUM:
            return pool(b, b.pad(x, lows, highs, LOWEST), self.windows, MAXIMUM)
        x = b.pad(x, lows, highs)
        if not self.keeps_apart:
            return b.scaled(pool(b, x, self.windows, MEAN), 1 / cells_of(self.windows))
        return self._expand_mean_of_real(b, x, shape[1:])

    def _expand_adaptive(self, b: Builder, x: Tensor) -> Tensor:
        parts = self.adaptive(x.shape)
        windows = [window for part in parts if (window := part.regular) is not None]
        if len(windows) == len(parts):
            pooled = pool(b, x, windows, self.pooling_type)
            if self.pooling_type == MAXIMUM:
                return pooled
            return b.scaled(pooled, over_size(1, cells_of(windows)))
        tables = [(_parts_of_run if is_open(part.size) else _parts)(b, part) for part in parts]
        elements, shares = zip(*tables, strict=True)
        count = len(parts)
        names = ["c", *(f"y{k}" for k in range(count)), *(f"u{k}" for k in range(count))]
        c, *loops = b.loops(" ".join(names), c=x.shape[0])
        ys, us = loops[:count], loops[count:]
        places = [to_index(table[y, u]) for table, y, u in zip(elements, ys, us, strict=True)]
        element = x.at(b.index(c), *places)
        if self.pooling_type == MAXIMUM:
            return b.max((c, *ys), over=us, of=element)
        for table, y, u in zip(shares, ys, us, strict=True):
            share = table[y, u]
            # Infinity, times no share, would be NaN.
            element = select(share > 0.0, element * share, 0.0)
        return b.sum((c, *ys), over=us, of=element)

    def _expand_mean_of_real(self, b: Builder, x: Tensor, sizes: Sequence[int]) -> Tensor:
        """The mean without padding: a sum, times a table of 1 / elements."""
        counted = self.counted(sizes)
        if any(start == stop for start, stop in counted):
            return b.full((x.shape[0], *output_sizes(self.windows, x.shape[1:])), float("nan"))
        if self.pad_mode in (PAD_SAME_UPPER, PAD_SAME_LOWER):
            starts = [start for start, _ in counted]
            kept = [stop - start for start, stop in counted]
            behind = [n - stop for n, (_, stop) in zip(x.shape[1:], counted, strict=True)]
            x = b.slice(x, (0, *starts), (x.shape[0], *kept))
            x = b.pad(x, (0, *starts), (0, *behind))
        total = pool(b, x, self.windows, MEAN)
        if is_open(*total.shape):
            return _mean_of_counted(b, total, self.windows, x.shape[1:], counted)
        elements = [
            _elements(window, n, bounds)
            for window, n, bounds in zip(self.windows, total.shape[1:], counted, strict=True)
        ]
        if all((along == along[0]).all() for along in elements):
            return b.scaled(total, float(_inverse([along[:1] for along in elements]).item()))
        table = _table(b, elements)
        c, *space = b.loops_of(total.shape)
        return b.map((c, *space), total[[c, *space]] * table[space])


MOST_CONSTANT = 1 << 20
"""Cells of a plane that a constant may say something of each of; the run computes more."""


def _parts(b: Builder, part: Adaptive) -> tuple[Tensor, Tensor]:
    """The elements of each part, and their shares of its mean."""
    return b.table(part.elements()), b.table(part.shares())


def _parts_of_run(b: Builder, part: Adaptive) -> tuple[Tensor, Tensor]:
    """The same where the run knows how many elements there are."""
    size, output = number_of_size(part.size, i32), number_of_size(part.output, i32)
    shape = (part.output, part.longest)

    def bounds(at: Scalar) -> tuple[Scalar, Scalar]:
        return at * size / output, ((at + 1) * size + output - 1) / output

    y, u = b.loops_of(shape)
    start, stop = bounds(number_of_index(b.index(y), i32))
    elements = b.map((y, u), minimum(start + number_of_index(b.index(u), i32), stop - 1))
    y, u = b.loops_of(shape)
    start, stop = bounds(number_of_index(b.index(y), i32))
    inside = number_of_index(b.index(u), i32) < stop - start
    shares = b.map((y, u), select(inside, 1.0 / convert(stop - start, f32), 0.0))
    return elements, shares


def _is_small(plane: Sequence[int]) -> bool:
    return prod(plane) <= MOST_CONSTANT


def _inverse(elements: Sequence[NDArray[np.int64]]) -> Array:
    """1 / elements of each window, by the elements along each axis."""
    with np.errstate(divide="ignore"):
        return np.asarray(1 / reduce(np.multiply.outer, elements)).astype(np.float32)


def _table(b: Builder, elements: Sequence[NDArray[np.int64]]) -> Tensor:
    """The same as a tensor."""
    plane = [len(along) for along in elements]
    if _is_small(plane):
        return b.table(_inverse(elements))
    tables = [b.table(along.astype(np.float32)) for along in elements]
    space = b.loops_of(plane)
    counts = [table[loop] for table, loop in zip(tables, space, strict=True)]
    return b.map(space, 1.0 / reduce(mul, counts))


def _mean_of_counted(
    b: Builder,
    total: Tensor,
    windows: Sequence[Window],
    sizes: Sequence[int],
    counted: Sequence[tuple[int, int]],
) -> Tensor:
    """The same with sizes: the run counts the elements of each window, along each axis."""
    whole, counts = 1.0, list[Tensor | None]()
    for window, n, (start, stop), outputs in zip(
        windows, sizes, counted, total.shape[1:], strict=True
    ):
        if (start, stop) == (0, n):
            whole *= window.kernel
            counts.append(None)
        elif is_open(n):
            ones = b.pad(b.full((1, stop - start), 1.0), (0, start), (0, n - stop))
            counts.append(b.reshape(pool(b, ones, [window], MEAN), (outputs,)))
        else:
            counts.append(b.table(_elements(window, outputs, (start, stop)).astype(np.float32)))
    c, *space = b.loops_of(total.shape)
    pairs = zip(counts, space, strict=True)
    along = [count[loop] for count, loop in pairs if count is not None]
    factor = 1.0 / (reduce(mul, along) * whole) if along else 1 / whole
    return b.map((c, *space), total[[c, *space]] * factor)


def _elements(window: Window, outputs: int, bounds: tuple[int, int]) -> NDArray[np.int64]:
    """How many elements between `bounds` each window along one axis has."""
    starts = np.arange(outputs) * window.stride
    inside = np.minimum(starts + window.kernel, bounds[1]) - np.maximum(starts, bounds[0])
    elements: NDArray[np.int64] = np.maximum(inside, 0)
    return elements


class PoolingOnPlane(PoolingLayer):
    """The params of the second axis; what is adaptive may keep extents, and hands on x itself where
    it keeps all of them.
    """

    AXES: ClassVar[str] = "hw"

    kernel_h = integer(11, "kernel_w")
    stride_h = integer(12, "stride_w")
    pad_top = integer(13, "pad_left")
    pad_bottom = integer(15, "pad_top")
    out_h = integer(18, "out_w")

    def keeps(self, name: str) -> bool:
        return bool(getattr(self, name) == KEEP)

    def hands_on(self, x: Shape) -> bool:
        """Where it is adaptive to the very extents of x."""
        if self.global_pooling or not self.adaptive_pooling:
            return False
        return all(parts.size == parts.output for parts in self.adaptive(x))


@layer("Pooling")
class PoolingOp(PoolingOnPlane):
    """The largest, or the mean, of each window of (c, h, w).

    Global pooling makes a vector. A matrix is one channel; of (c, d, h, w) only the first of d
    is read.
    """

    def read(self, x: Shape) -> Shape:
        return x if len(x) < 4 else (x[0], 1, *x[2:])

    def planes(self, x: Shape) -> Shape:
        return planes(x, 3) if len(x) < 4 else (x[0], *x[2:])


@layer("Pooling1D")
class Pooling1DOp(PoolingLayer):
    """The largest, or the mean, of each window of the rows of a matrix (c, w).

    Of (c, h, w) and (c, d, h, w) only the first matrix is read.
    """

    AXES: ClassVar[str] = "w"

    def read(self, x: Shape) -> Shape:
        return (*[1] * (len(x) - 2), *x[-2:])

    def planes(self, x: Shape) -> Shape:
        return planes(x[-2:], 2)


@layer("Pooling3D")
class Pooling3DOp(PoolingOnPlane):
    """The largest, or the mean, of each window of (c, d, h, w); fewer axes have a depth of 1."""

    AXES: ClassVar[str] = "dhw"

    kernel_d = integer(21, "kernel_w")
    stride_d = integer(22, "stride_w")
    pad_front = integer(23, "pad_left")
    pad_behind = integer(16, "pad_front")
    out_d = integer(28, "out_w")

    def planes(self, x: Shape) -> Shape:
        c, *space = planes(x, 3)
        return (c, *planes(tuple(space), 3))

    def same(self, axis: str, window: Window, size: int) -> Pad:
        """As of a plane, but SAME_LOWER has its odd element of depth behind, as SAME_UPPER has."""
        return window.same(size, SAME_UPPER) if axis == "d" else super().same(axis, window, size)
