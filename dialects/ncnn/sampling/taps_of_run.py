"""The taps of Interp where the run knows the size: it computes what are tables of a known size.

Each table is a vector along one axis, in the arithmetic of `resample.py`: places in float64,
elements as integers, weights rounded to float32.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects.builtin import f32, f64, i32

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.sampling.sampling import cubic_weights
from ncc.dialects.scalar import (
    Scalar,
    clamp,
    convert,
    floor,
    minimum,
    number_of_index,
    number_of_size,
)
from ncc.dialects.size import largest

Place = Callable[[Scalar], Scalar]
"""From a place of the result, a float64, to the place in the input."""


class TapsOfRun:
    """The taps along an axis of `n` pixels that becomes one of `out`.

    ratio: the step in the input, in float32.
    """

    def __init__(self, b: Builder, n: int, out: int, ratio: Scalar, align_corner: bool) -> None:
        self.b, self.n, self.out = b, n, out
        self.ratio, self.align_corner = ratio, align_corner

    def nearest(self) -> Tensor:
        """The pixel that each place shows."""
        (i,) = self.b.loops_of((self.out,))
        place = number_of_index(self.b.index(i)) * self.ratio
        return self.b.map((i,), minimum(convert(place, i32), number_of_size(self.n - 1, i32)))

    def linear(self) -> list[tuple[Tensor, Tensor]]:
        """The two pixels that each place lies between, and their weights."""
        last = number_of_size(self.n - 1, f64)

        def inside(place: Scalar) -> tuple[Scalar, Scalar]:
            limited = clamp(place, 0.0, last)
            return limited, minimum(floor(limited), number_of_size(largest(self.n - 2, 0), f64))

        def share(place: Scalar) -> Scalar:
            limited, first = inside(place)
            return convert(limited - first, f32)

        first = self._along(lambda place: convert(inside(place)[1], i32))
        second = self._along(lambda place: convert(minimum(inside(place)[1] + 1.0, last), i32))
        return [(first, self._along(lambda p: 1.0 - share(p))), (second, self._along(share))]

    def cubic(self) -> list[tuple[Tensor, Tensor]]:
        """The four pixels around each place, and their weights."""
        return [self._cubic(k) for k in range(4)]

    def _cubic(self, k: int) -> tuple[Tensor, Tensor]:
        last = number_of_size(self.n - 1, f64)
        elements = self._along(lambda at: convert(clamp(floor(at) + (k - 1), 0.0, last), i32))
        weights = self._along(lambda at: convert(cubic_weights(at - floor(at))[k], f32))
        return elements, weights

    def _along(self, of: Place) -> Tensor:
        """One number of each place."""
        (i,) = self.b.loops_of((self.out,))
        at = number_of_index(self.b.index(i), f64)
        if self.align_corner:
            steps = number_of_size(largest(self.out - 1, 1), f64)
            place = at * (number_of_size(self.n - 1, f64) / steps)
        else:
            place = (at + 0.5) * convert(self.ratio, f64) - 0.5
        return self.b.map((i,), of(place))
