"""Interp: an image at another size.

A place y of the result looks at the place (y + 1/2) * ratio - 1/2 of the input, or y * ratio with
align_corner, where ratio is the step in the input. It is size / size of the result where the
result's size was asked for, and 1 / scale where a scale was, though the result's size is then
rounded down. Nearest looks at y * ratio, rounded down.

An image is resized one axis at a time where several rows of the result read the same rows of the
input: these rows are computed once, and the second axis reads them as vectors.
"""

from __future__ import annotations

import operator
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.ncnn.axes import extents, scaled_extent
from ncc.dialects.ncnn.checks import check_choice
from ncc.dialects.ncnn.expression import check_expression, evaluate_expression
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    integer,
    layer,
    real,
    string,
)
from ncc.dialects.ncnn.sampling.sampling import cubic_kernel
from ncc.dialects.ncnn.sampling.taps_of_run import TapsOfRun
from ncc.dialects.scalar import Scalar, number_of_size, scalar, to_index
from ncc.dialects.size import is_equal, is_never_below, is_open

NONE, NEAREST, BILINEAR, BICUBIC = range(4)

TAPS = {NEAREST: 1, BILINEAR: 2, BICUBIC: 4}
"""The elements that a place of the result looks at, along each axis."""


Tap: TypeAlias = tuple[Tensor, Tensor]
"""An element and its weight, of each place along one axis."""


class ResampledAxis(NamedTuple):
    """The places of one axis of the result: `n` pixels become `out`.

    scale: what the step is 1 over; n / out where there is none.
    """

    n: int
    out: int
    scale: float | None = None
    align_corner: bool = False

    @property
    def ratio(self) -> np.float32:
        """The step, in pixels."""
        if self.scale is not None:
            return np.float32(1) / np.float32(self.scale)
        return np.float32(self.n) / np.float32(self.out)

    @property
    def is_open(self) -> bool:
        """Whether only the run knows how many places there are."""
        return is_open(self.n, self.out)

    def nearest(self) -> NDArray[np.int64]:
        """The pixel that each place shows."""
        places = np.arange(self.out, dtype=np.float32) * self.ratio
        return np.minimum(places.astype(np.int64), self.n - 1)

    @property
    def repeats(self) -> int:
        """How often the nearest pixels repeat each pixel; 0 where they do not so evenly.

        With sizes, where a power of two says so: then ratios are exact.
        """
        times = self.out // self.n
        if self.is_open:
            return times if not is_open(times) and times.bit_count() == 1 else 0
        return times if np.array_equal(self.nearest(), np.arange(self.out) // max(times, 1)) else 0

    def _places(self) -> NDArray[np.float64]:
        """Where each place looks, in pixels."""
        at = np.arange(self.out, dtype=np.float64)
        if self.align_corner:
            step = (self.n - 1) / (self.out - 1) if self.out > 1 else 0.0
            return at * step
        return (at + 0.5) * float(self.ratio) - 0.5

    def linear(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The two pixels (taps, places) that each place lies between, and their weights."""
        places = np.clip(self._places(), 0.0, self.n - 1.0)
        first = np.minimum(np.floor(places).astype(np.int64), max(self.n - 2, 0))
        share = (places - first).astype(np.float32)
        elements = np.stack([first, np.minimum(first + 1, self.n - 1)])
        return elements, np.stack([1 - share, share])

    def cubic(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The four pixels (taps, places) around each place, and their weights.

        Cells outside are the one at the edge.
        """
        places = self._places()
        whole = np.floor(places)
        weights = np.stack([cubic_kernel(places - whole - k) for k in (-1, 0, 1, 2)])
        elements = whole.astype(np.int64) + np.arange(-1, 3)[:, None]
        return np.clip(elements, 0, self.n - 1), weights.astype(np.float32)

    def taps(self, resize_type: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Cells and weights, one row a tap, of `resize_type`."""
        if resize_type == NEAREST:
            return self.nearest()[None], np.ones((1, self.out), np.float32)
        return self.linear() if resize_type == BILINEAR else self.cubic()

    def tensors(self, b: Builder, resize_type: int) -> list[Tap]:
        """The same as tensors: constants, or vectors that the run computes."""
        if not self.is_open:
            elements, weights = self.taps(resize_type)
            return [(b.table(c), b.table(w)) for c, w in zip(elements, weights, strict=True)]
        taps = self._of_run(b)
        return taps.linear() if resize_type == BILINEAR else taps.cubic()

    def nearest_tensor(self, b: Builder) -> Tensor:
        """What `nearest` is, as a tensor."""
        return self._of_run(b).nearest() if self.is_open else b.table(self.nearest())

    def _of_run(self, b: Builder) -> TapsOfRun:
        if self.scale is None:
            ratio = number_of_size(self.n) / number_of_size(self.out)
        else:
            ratio = scalar(float(self.ratio))
        return TapsOfRun(b, self.n, self.out, ratio, self.align_corner)


def resample_array(x: Array, axis: int, sweep: ResampledAxis, resize_type: int) -> Array:
    """x with one axis at another size."""
    elements, weights = sweep.taps(resize_type)
    shape = tuple(sweep.out if k == axis else 1 for k in range(x.ndim))
    taken = [np.take(x, c, axis) * w.reshape(shape) for c, w in zip(elements, weights, strict=True)]
    return np.asarray(sum(taken[1:], taken[0]))


LARGEST_SCALE = 2.0**31
"""An extent is an int32, and times this still a finite float32."""


@layer("Interp", inputs=(1, None))
class InterpOp(Layer):
    """An image at another size: nearest pixel, bilinear or bicubic.

    The size is, by the first that is there: that of `size_expr` (w, h), that of the second input
    (dynamic_target_size), output_width and output_height, or the scales times the input's, rounded
    down. Rank 1 spreads each value over an image of its own; of rank 2 only w is resized; of rank 4
    the first slice of depth is, the others are lost. What has the size already stays as it is,
    which is all that resize_type 0 can do.
    """

    resize_type = integer(0)
    height_scale = real(1, 1.0)
    width_scale = real(2, 1.0)
    output_height = integer(3)
    output_width = integer(4)
    dynamic_target_size = integer(5)
    align_corner = integer(6)
    size_expr = string(9)

    @property
    def by_scale(self) -> bool:
        """Whether the scales decide the size."""
        stated = self.output_width and self.output_height
        return not (self.size_expr or self.dynamic_target_size or stated)

    def check(self) -> None:
        check_choice(self, "resize_type", (NONE, NEAREST, BILINEAR, BICUBIC))
        for name in ("output_width", "output_height"):
            if getattr(self, name) < 0:
                raise LayerError(f"{name} is {getattr(self, name)}", name)
        if self.size_expr:
            check_expression(self.size_expr, len(self.operands), "size_expr")
            return
        for name in ("width_scale", "height_scale"):
            if self.by_scale and not 0 < getattr(self, name) <= LARGEST_SCALE:
                raise LayerError(
                    f"{name} is {getattr(self, name)}, not positive and at most 2^31", name
                )
        wanted = 2 if self.dynamic_target_size else 1
        if len(self.operands) != wanted:
            raise LayerError(f"this form of Interp has {wanted} inputs, not {len(self.operands)}")

    def _size(self, *xs: Shape) -> tuple[int, int]:
        """Height and width of the result."""
        own = extents(xs[0]) if len(xs[0]) > 1 else {"h": 1, "w": 1}
        if self.size_expr:
            size = evaluate_expression(self.size_expr, xs, "size_expr")
            if len(size) < 2 and len(xs[0]) != 2:
                raise LayerError("size_expr makes a width only, no height", "size_expr")
            return (size[1] if len(size) > 1 else own["h"]), size[0]
        if self.dynamic_target_size:
            other = extents(xs[1])
            return other["h"], other["w"]
        if not self.by_scale:
            return self.output_height, self.output_width
        return scaled_extent(own["h"], self.height_scale), scaled_extent(own["w"], self.width_scale)

    def stays(self, *xs: Shape) -> bool:
        """Whether the first input has the size already, and no bicubic scale of its own."""
        x, (height, width) = xs[0], self._size(*xs)
        scaled = self.by_scale and (self.width_scale, self.height_scale) != (1.0, 1.0)
        if len(x) == 1 or (scaled and self.resize_type == BICUBIC):
            return False
        # An open size is resized, though it may be the one asked for: weights of 1 give its pixels.
        # But for rank 4 that would be another shape, and kind 0 cannot.
        same = is_equal if len(x) == 4 or self.resize_type == NONE else operator.eq
        return same(x[-1], width) and (len(x) == 2 or same(x[-2], height))

    def sweeps(self, *xs: Shape) -> dict[int, ResampledAxis]:
        """How each axis of a row or an image is resized that is."""
        x, (height, width) = _image(xs[0]), self._size(*xs)
        sizes = {1: (width, self.width_scale)}
        if len(x) == 3:
            sizes = {1: (height, self.height_scale), 2: (width, self.width_scale)}
        sweeps = {}
        for axis, (out, scale) in sizes.items():
            by = scale if self.by_scale else None
            sweeps[axis] = ResampledAxis(x[axis], out, by, bool(self.align_corner))
        return sweeps

    def infer(self, *xs: Shape) -> Shape:
        x, (height, width) = xs[0], self._size(*xs)
        if self.stays(*xs):
            return x
        if width < 1 or (len(x) > 2 and height < 1):
            raise LayerError(f"{x} would be resized to a height of {height}, a width of {width}")
        if self.resize_type == NONE and len(x) > 1:
            raise LayerError(f"resize_type 0 cannot resize {x}", "resize_type")
        return (x[0], width) if len(x) == 2 else (x[0], height, width)

    def tables(self, *xs: Shape) -> int:
        """An element and a weight for each tap of each place of a known size."""
        if len(xs[0]) == 1 or self.stays(*xs):
            return 0
        known = [sweep.out for sweep in self.sweeps(*xs).values() if not sweep.is_open]
        return 2 * TAPS[self.resize_type] * sum(known)

    def reference(self, *xs: Array) -> Array:
        x, shapes = xs[0], [x.shape for x in xs]
        shape = self.infer(*shapes)
        if x.ndim == 1:
            return np.broadcast_to(x[:, None, None], shape)
        if self.stays(*shapes):
            return x
        x = x[:, 0] if x.ndim == 4 else x
        for axis, sweep in self.sweeps(*shapes).items():
            x = resample_array(x, axis, sweep, self.resize_type)
        return x

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        x, shapes = xs[0], [x.shape for x in xs]
        shape = self.infer(*shapes)
        if x.rank == 1:
            at = b.loops_of(shape)
            return b.map(at, x[at[0]])
        if self.stays(*shapes):
            return x
        if x.rank == 4:
            first = b.slice(x, (0,) * 4, (x.shape[0], 1, *x.shape[2:]))
            x = b.collapse(first, [[0, 1], [2], [3]])
        sweeps = self.sweeps(*shapes)
        if self.resize_type == NEAREST:
            return _expand_nearest(b, x, shape, sweeps)
        return _expand_taps(b, x, shape, sweeps, self.resize_type)


def _image(x: Shape) -> Shape:
    """The shape that is resized: of rank 4, a slice of depth."""
    return (x[0], *x[2:]) if len(x) == 4 else x


def _expand_nearest(
    b: Builder, x: Tensor, shape: Shape, sweeps: dict[int, ResampledAxis]
) -> Tensor:
    """Each pixel repeated where all ratios are whole, else a look-up of the pixel."""
    if not all(sweep.repeats for sweep in sweeps.values()):
        nearest = {axis: sweep.nearest_tensor(b) for axis, sweep in sweeps.items()}
        at = b.loops_of(shape)
        places = [to_index(nearest[k][i]) if k in nearest else b.index(i) for k, i in enumerate(at)]
        return b.map(at, x.at(*places))
    extents = [x.shape[0]]
    for sweep in sweeps.values():
        extents += [sweep.n, sweep.repeats]
    groups = [[0], *([axis * 2 - 1, axis * 2] for axis in sweeps)]
    at = b.loops_of(extents)
    return b.collapse(b.map(at, x[[at[group[0]] for group in groups]]), groups)


def _expand_taps(
    b: Builder, x: Tensor, shape: Shape, sweeps: dict[int, ResampledAxis], resize_type: int
) -> Tensor:
    """The weighted sum of the pixels around each place, axis by axis, innermost axis first.

    Where rows are read by several of the result, they are made once for all of these.
    """
    rows, columns = next(iter(sweeps)), x.rank - 1
    if rows == columns or not _reads_again(sweeps[rows], resize_type):
        return _weighted(b, x, shape, sweeps, resize_type)
    wide = (*x.shape[:columns], shape[columns])
    x = _weighted(b, x, wide, {columns: sweeps[columns]}, resize_type)
    return _weighted(b, x, shape, {rows: sweeps[rows]}, resize_type)


def _reads_again(sweep: ResampledAxis, resize_type: int) -> bool:
    """Whether all places together read more rows than there are, for all inputs."""
    return is_never_below(TAPS[resize_type] * sweep.out, sweep.n + 1)


def _weighted(
    b: Builder, x: Tensor, shape: Shape, sweeps: dict[int, ResampledAxis], resize_type: int
) -> Tensor:
    """The same along some axes, all in one; along others nothing changes."""
    taps = {axis: sweep.tensors(b, resize_type) for axis, sweep in sweeps.items()}
    at = b.loops_of(shape)

    def weighted(places: list[Scalar]) -> Scalar:
        axis = len(places)
        if axis == x.rank:
            return x.at(*places)
        if axis not in taps:
            return weighted([*places, b.index(at[axis])])
        terms = [
            weighted([*places, to_index(element[at[axis]])]) * weight[at[axis]]
            for element, weight in taps[axis]
        ]
        return sum(terms[1:], terms[0])

    return b.map(at, weighted([]))
