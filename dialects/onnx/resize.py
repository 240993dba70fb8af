"""Images at another size: each axis by itself, from a few elements around a place."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.axes import scaled_extent
from ncc.dialects.onnx.attribute import integer, integers, real, reals, required, string
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, axes_of, operator
from ncc.dialects.onnx.resize_of_run import SamplingOfRun, cubic_kernel, linear_kernel
from ncc.dialects.scalar import Scalar, convert, to_index
from ncc.dialects.size import NeedsNumbers, hint, is_open


@dataclass(frozen=True)
class Sampling:
    """How an axis is sampled: the elements for each place of the result, and their weights."""

    places: NDArray[np.int64]
    weights: NDArray[np.float64]

    @property
    def is_plain(self) -> bool:
        """Whether each place shows one element."""
        return bool(self.places.shape[1] == 1)

    def keeps(self, extent: int) -> bool:
        """Whether these many elements stay where they are."""
        plain = np.arange(extent)
        return self.is_plain and bool(np.array_equal(self.places[:, 0], plain))


NEAREST: dict[str, Callable[[Any], Any]] = {
    "round_prefer_floor": lambda source: np.ceil(source - 0.5),
    "round_prefer_ceil": lambda source: np.floor(source + 0.5),
    "floor": np.floor,
    "ceil": np.ceil,
}
"""The element next to a place, by the name of the rule."""


class _Resize(Operator):
    coordinate_transformation_mode = string("half_pixel")
    cubic_coeff_a = real(-0.75)
    exclude_outside = integer(0)
    extrapolation_value = real(0.0)
    mode = string("nearest")
    nearest_mode = string("round_prefer_floor")
    antialias = integer(0)
    keep_aspect_ratio_policy = string("stretch")

    def check(self) -> None:
        if self.mode not in ("nearest", "linear", "cubic"):
            raise LayerError(f"mode is {self.mode!r}", "mode")
        if self.nearest_mode not in NEAREST:
            raise LayerError(f"nearest_mode is {self.nearest_mode!r}", "nearest_mode")
        if self.coordinate_transformation_mode == "tf_crop_and_resize":
            raise NotYet("Resize that crops (tf_crop_and_resize)")
        if self.keep_aspect_ratio_policy not in ("stretch", "not_larger", "not_smaller"):
            raise LayerError(f"keep_aspect_ratio_policy is {self.keep_aspect_ratio_policy!r}")

    def asked(self, x: Shape) -> tuple[list[int], list[float]]:
        """The extent of each axis of the result, and its scale."""
        raise NotImplementedError

    def infer(self, x: Shape, *others: Shape) -> Shape:
        return tuple(self.asked(x)[0])

    def tables(self, *shapes: Shape) -> int:
        """A place and a weight for each tap, unless elements are repeated."""
        x, (sizes, scales) = shapes[0], self.asked(shapes[0])
        taps = {"nearest": 1, "linear": 2}.get(self.mode, 4)
        axes = zip(x, sizes, scales, strict=True)
        return sum(
            2 * taps * out
            for n, out, scale in axes
            if not is_open(n, out) and (n != out or scale != 1)
        )

    @property
    def by_sizes(self) -> bool:
        """Whether sizes are given, and scales are quotients of these and of what is there."""
        return False

    def samplings(self, x: Shape) -> list[Sampling]:
        """The sampling of each axis."""
        sizes, scales = self.asked(x)
        axes = zip(x, sizes, scales, strict=True)
        return [self._sampling(n, out, scale) for n, out, scale in axes]

    def _sampling(self, n: int, out: int, scale: float) -> Sampling:
        at = np.arange(out, dtype=np.float64)
        if n == out and scale == 1:
            return Sampling(np.arange(n)[:, None], np.ones((n, 1)))
        source = self._source(at, n, out, scale)
        if self.mode == "nearest":
            places = np.clip(self._nearest(source), 0, n - 1).astype(np.int64)
            return Sampling(places[:, None], np.ones((out, 1)))
        wide, reach = self._reach(scale)
        places = np.floor(source)[:, None].astype(np.int64) + np.arange(1 - reach, reach + 1)
        distance = np.abs(source[:, None] - places) * wide
        kernel = self._cubic(distance) if self.mode == "cubic" else np.maximum(1 - distance, 0)
        weights = (
            np.where((places < 0) | (places >= n), 0, kernel) if self.exclude_outside else kernel
        )
        if self.exclude_outside or self.antialias:
            weights = weights / weights.sum(1, keepdims=True)
        return Sampling(np.clip(places, 0, n - 1), weights)

    def _source(self, at: NDArray[np.float64], n: int, out: int, scale: float) -> Any:
        """Where in x each place of the result is."""
        match self.coordinate_transformation_mode:
            case "half_pixel":
                return (at + 0.5) / scale - 0.5
            case "half_pixel_symmetric":
                adjustment = out / (scale * n)
                return n / 2 * (1 - adjustment) + (at + 0.5) / scale - 0.5
            case "pytorch_half_pixel":
                return (at + 0.5) / scale - 0.5 if out > 1 else np.zeros_like(at)
            case "align_corners":
                last = n * scale - 1
                return at * (n - 1) / last if out > 1 else np.zeros_like(at)
            case "asymmetric":
                return at / scale
            case "tf_half_pixel_for_nn":
                return (at + 0.5) / scale
        raise LayerError(f"the transformation {self.coordinate_transformation_mode!r}")

    def _nearest(self, source: Any) -> Any:
        return NEAREST[self.nearest_mode](source)

    def _cubic(self, distance: Any) -> Any:
        a, d = self.cubic_coeff_a, distance
        near = ((a + 2) * d - (a + 3)) * d * d + 1
        far = ((a * d - 5 * a) * d + 8 * a) * d - 4 * a
        return np.where(d <= 1, near, np.where(d < 2, far, 0))

    def reference(self, x: Array, *others: Array) -> Array:
        kind = x.dtype
        for axis, one in enumerate(self.samplings(x.shape)):
            if one.is_plain:
                x = np.take(x, one.places[:, 0], axis)
                continue
            shape = [-1 if k == axis else 1 for k in range(x.ndim)]
            taken = [
                np.take(x, place, axis) * weight.reshape(shape)
                for place, weight in zip(one.places.T, one.weights.T, strict=True)
            ]
            x = np.asarray(sum(taken[1:], taken[0]))
        return x.astype(kind)

    def repeats(self, x: Shape) -> list[int] | None:
        """How often each element is shown along each axis, where that is so for all sizes; only
        powers of two have exact places.
        """
        sizes, scales = self.asked(x)
        found = []
        for n, out, scale in zip(x, sizes, scales, strict=True):
            times = int(scale)
            if times.bit_count() != 1 or out != n * times or scale != times:
                return None
            here = self._sampling(hint(n), hint(out), scale)
            if not here.is_plain or (here.places[:, 0] != np.arange(hint(out)) // times).any():
                return None
            found.append(times)
        return None if self.coordinate_transformation_mode == "align_corners" else found

    def lower(self, b: Builder, x: Tensor, *others: Tensor | None) -> Tensor:
        sizes, scales = self.asked(x.shape)
        if is_open(*x.shape, *sizes):
            times = self.repeats(x.shape)
            if times is not None:
                return self._repeated(b, x, times)
        for axis, (n, out, scale) in enumerate(zip(x.shape, sizes, scales, strict=True)):
            if is_open(n, out):
                if n != out or scale != 1:
                    x = self._resampled(b, x, axis, *self._of_run(b, n, out, scale))
                continue
            one = self._sampling(n, out, scale)
            if not one.keeps(n):
                weights = None if one.is_plain else b.constant(one.weights, x.element_type)
                x = self._resampled(b, x, axis, b.table(one.places), weights)
        return x

    def _of_run(self, b: Builder, n: int, out: int, scale: float) -> tuple[Tensor, Tensor | None]:
        """The places and weights of an axis of which only the run knows the size."""
        by = None if self.by_sizes else scale
        of = SamplingOfRun(b, n, out, by, self.coordinate_transformation_mode)
        if self.mode == "nearest":
            return of.nearest(self.nearest_mode), None
        if self.antialias and by is None:
            raise NeedsNumbers("Resize of an open image to a size, with antialiasing")
        wide, reach = self._reach(scale)

        def kernel(distance: Scalar) -> Scalar:
            if self.mode == "linear":
                return linear_kernel(distance * wide)
            return cubic_kernel(distance * wide, self.cubic_coeff_a)

        return of.weighted(reach, kernel, bool(self.exclude_outside), bool(self.antialias))

    def _reach(self, scale: float) -> tuple[float, int]:
        """The width of the kernel, as a factor of distances, and its elements on either side.

        Where an image becomes smaller, antialiasing makes the kernel wider.
        """
        wide = min(scale, 1.0) if self.antialias else 1.0
        return wide, math.ceil((1 if self.mode == "linear" else 2) / wide)

    def _repeated(self, b: Builder, x: Tensor, times: Sequence[int]) -> Tensor:
        shape = [n for pair in zip(x.shape, times, strict=True) for n in pair]
        loops = b.loops_of(shape)
        return b.reshape(b.map(loops, x[loops[::2]]), self.asked(x.shape)[0])

    def _resampled(
        self, b: Builder, x: Tensor, axis: int, places: Tensor, weights: Tensor | None
    ) -> Tensor:
        """x with an axis sampled at places (places of the result, taps)."""
        out, taps = places.shape
        shape = (*x.shape[:axis], out, *x.shape[axis + 1 :])
        loops = b.loops_of([*shape, taps])
        to, tap = loops[:-1], loops[-1]
        at = [b.index(loop) for loop in to]
        if weights is None:
            to = b.loops_of(shape)
            at = [b.index(loop) for loop in to]
            at[axis] = to_index(places[to[axis], 0])
            return b.map(to, x.at(*at))
        at[axis] = to_index(places[to[axis], tap])
        return b.sum(to, over=[tap], of=x.at(*at) * convert(weights[to[axis], tap], x.element_type))


@operator("Resize", since=11, inputs=(1, 4))
class ResizeOp(_Resize):
    """Scales or sizes are operands; of some axes, or of all."""

    SETTLES = (2, 3)

    axes = integers()

    @property
    def by_sizes(self) -> bool:
        return bool(self.optional_numbers(3))

    def asked(self, x: Shape) -> tuple[list[int], list[float]]:
        axes = range(len(x)) if self.axes is None else axes_of(self.axes, len(x))
        sizes, scales = list(x), [1.0] * len(x)
        said = self.optional(2)
        given = self.optional_numbers(3)
        for k, axis in enumerate(axes):
            if given:
                sizes[axis] = self._of(given, k, len(axes))
                scales[axis] = hint(sizes[axis]) / hint(x[axis])
            elif said is not None and said.size:
                scales[axis] = float(self._of(said.reshape(-1).tolist(), k, len(axes)))
                sizes[axis] = scaled_extent(x[axis], scales[axis])
            else:
                raise LayerError("neither scales nor sizes are given")
        if min(scales) <= 0:
            raise LayerError(f"the scales {tuple(scales)}")
        if given and self.keep_aspect_ratio_policy != "stretch":
            if is_open(*x, *given):
                raise NeedsNumbers("Resize of an open image that keeps its aspect ratio")
            choose = min if self.keep_aspect_ratio_policy == "not_larger" else max
            scale = choose(scales[axis] for axis in axes)
            for axis in axes:
                sizes[axis], scales[axis] = math.floor(x[axis] * scale + 0.5), scale
        return sizes, scales

    def _of(self, values: Sequence[Any], k: int, count: int) -> Any:
        if len(values) != count:
            raise LayerError(f"{len(values)} scales or sizes for {count} axes")
        return values[k]


class _Upsample(_Resize):
    coordinate_transformation_mode: Any = "asymmetric"
    nearest_mode: Any = "floor"
    cubic_coeff_a: Any = -0.75
    exclude_outside: Any = 0
    extrapolation_value: Any = 0.0
    antialias: Any = 0
    keep_aspect_ratio_policy: Any = "stretch"

    def scales_of(self) -> Sequence[float]:
        """The scale of each axis."""
        raise NotImplementedError

    def asked(self, x: Shape) -> tuple[list[int], list[float]]:
        scales = [float(scale) for scale in self.scales_of()]
        if len(scales) != len(x) or min(scales) <= 0:
            raise LayerError(f"the scales {tuple(scales)} of {len(x)} axes")
        return [scaled_extent(n, scale) for n, scale in zip(x, scales, strict=True)], scales


@operator("Resize", since=10, until=10, inputs=2)
class ResizeV10Op(_Upsample):
    """Scales are an operand."""

    SETTLES = (1,)

    def scales_of(self) -> Sequence[float]:
        return list(self.constant(1).reshape(-1))


@operator("Upsample", since=9, inputs=2)
class UpsampleOp(ResizeV10Op):
    """Scales are an operand."""


@operator("Upsample", since=7, until=8)
class UpsampleV7Op(_Upsample):
    """Scales are an attribute."""

    scales = reals()

    def scales_of(self) -> Sequence[float]:
        return required(self.scales, "scales")
