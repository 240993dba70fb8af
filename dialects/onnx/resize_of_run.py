"""How Resize samples an axis whose size only the run knows: it computes what are tables of a known
size.

Both tensors are (places of the result, taps), in the arithmetic of `resize.py`: float64.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from xdsl.dialects.builtin import f64, i32
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import (
    Scalar,
    absolute,
    ceil,
    clamp,
    convert,
    floor,
    maximum,
    number_of_index,
    number_of_size,
    scalar,
    select,
)
from ncc.dialects.size import NeedsNumbers

NEAREST: dict[str, Callable[[Scalar], Scalar]] = {
    "round_prefer_floor": lambda source: ceil(source - 0.5),
    "round_prefer_ceil": lambda source: floor(source + 0.5),
    "floor": floor,
    "ceil": ceil,
}
"""The element next to a place, by the name of the rule."""


def linear_kernel(distance: Scalar) -> Scalar:
    """The weight of an element at a distance."""
    return maximum(1.0 - distance, 0.0)


def cubic_kernel(distance: Scalar, a: float) -> Scalar:
    """The same with a cubic polynomial for each of the first two elements."""
    near = ((a + 2) * distance - (a + 3)) * distance * distance + 1.0
    far = ((a * distance - 5 * a) * distance + 8 * a) * distance - 4 * a
    return select(distance <= 1.0, near, select(distance < 2.0, far, 0.0))


@dataclass(frozen=True)
class SamplingOfRun:
    """An axis of `n` elements that becomes one of `out`.

    scale: a number, or None for the quotient of both extents. transformation: which place of the
    axis each place of the result shows.
    """

    b: Builder
    n: int
    out: int
    scale: float | None
    transformation: str

    def nearest(self, rule: str) -> Tensor:
        """The element that each place shows."""
        i, k = self.b.loops_of((self.out, 1))
        return self.b.map((i, k), self._inside(NEAREST[rule](self._source(self._at(i)))))

    def weighted(
        self,
        reach: int,
        kernel: Callable[[Scalar], Scalar],
        exclude_outside: bool,
        is_shared: bool,
    ) -> tuple[Tensor, Tensor]:
        """The elements around each place, so many on either side, and their weights.

        kernel: the weight of an element at a distance. exclude_outside: whether elements that are
        not there have none. is_shared: whether weights are divided by their sum.
        """
        b, shape = self.b, (self.out, 2 * reach)

        def element(source: Scalar) -> Scalar:
            return floor(source) + number_of_index(b.index(k), f64) + float(1 - reach)

        i, k = at = b.loops_of(shape)
        places = b.map(at, self._inside(element(self._source(self._at(i)))))
        i, k = at = b.loops_of(shape)
        source = self._source(self._at(i))
        place = element(source)
        weight = kernel(absolute(source - place))
        if exclude_outside:
            weight = select(place < number_of_size(self.n, f64), weight, 0.0)
            weight = select(place >= 0.0, weight, 0.0)
        weights = b.map(at, weight)
        return places, self._shares(weights) if exclude_outside or is_shared else weights

    def _shares(self, weights: Tensor) -> Tensor:
        """The weights over the sum of those of a place."""
        i, k = self.b.loops_of(weights.shape)
        totals = self.b.sum((i,), over=(k,), of=weights[i, k])
        i, k = at = self.b.loops_of(weights.shape)
        return self.b.map(at, weights[i, k] / totals[i])

    def _at(self, loop: AffineExpr) -> Scalar:
        return number_of_index(self.b.index(loop), f64)

    def _inside(self, place: Scalar) -> Scalar:
        return convert(clamp(place, 0.0, number_of_size(self.n - 1, f64)), i32)

    def _source(self, at: Scalar) -> Scalar:
        """Where in the axis a place of the result is."""
        n, out = number_of_size(self.n, f64), number_of_size(self.out, f64)
        scale = out / n if self.scale is None else scalar(self.scale, f64)
        match self.transformation:
            case "half_pixel":
                return (at + 0.5) / scale - 0.5
            case "half_pixel_symmetric":
                adjustment = out / (scale * n)
                return n / 2.0 * (1.0 - adjustment) + (at + 0.5) / scale - 0.5
            case "pytorch_half_pixel":
                return select(out > 1.0, (at + 0.5) / scale - 0.5, 0.0)
            case "align_corners":
                last = maximum(n * scale - 1.0, 1.0)
                return select(out > 1.0, at * (n - 1.0) / last, 0.0)
            case "asymmetric":
                return at / scale
            case "tf_half_pixel_for_nn":
                return (at + 0.5) / scale
        raise NeedsNumbers(f"Resize with the transformation {self.transformation}")
