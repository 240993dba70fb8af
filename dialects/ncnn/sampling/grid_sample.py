"""GridSample: an image read at the places that a grid says.

A coordinate of the grid runs from -1 to 1 over an axis: with align_corner from the first pixel to
the last, else from the outer edge of the first to that of the last.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.checks import check_choice
from ncc.dialects.ncnn.layer import Array, Builder, Layer, LayerError, Shape, Tensor, integer, layer
from ncc.dialects.ncnn.sampling.sampling import (
    Tap,
    TapArrays,
    clamp_array,
    cubic_kernel,
    cubic_weights,
    frame,
    interpolate,
    interpolate_arrays,
    linear_tap_arrays,
    linear_taps,
)
from ncc.dialects.scalar import Scalar, absolute, clamp, constant, floor
from ncc.dialects.size import are_equal

BILINEAR, NEAREST, BICUBIC = 1, 2, 3
ZEROS, BORDER, REFLECTION = 1, 2, 3


@layer("GridSample", inputs=2)
class GridSampleOp(Layer):
    """x (c, h, w) or (c, d, h, w) at the places of a grid: bilinear, nearest or bicubic.

    The grid (h', w', 2) or (d', h', w', 3) holds coordinates, that along w first; with
    permute_fusion they are the outermost axis. A place outside sees zeros, the pixel at the edge,
    or the image mirrored once: about its edge, with align_corner about the last pixel. Where a
    mirrored place is outside again, the former takes the pixel at the edge and the latter sees
    zeros (but ncnn's x86 code not at all points).
    """

    sample_type = integer(0, BILINEAR)
    padding_mode = integer(1, ZEROS)
    align_corner = integer(2)
    permute_fusion = integer(3)

    def check(self) -> None:
        check_choice(self, "sample_type", (BILINEAR, NEAREST, BICUBIC))
        check_choice(self, "padding_mode", (ZEROS, BORDER, REFLECTION))

    def infer(self, x: Shape, grid: Shape) -> Shape:
        space = len(x) - 1
        if space not in (2, 3):
            raise LayerError(f"GridSample takes (c, h, w) or (c, d, h, w), not {x}")
        if self.sample_type == BICUBIC and space == 3:
            raise LayerError("GridSample has no bicubic sampling of volumes", "sample_type")
        coordinates, points = (
            (grid[:1], grid[1:]) if self.permute_fusion else (grid[-1:], grid[:-1])
        )
        if not are_equal(coordinates, (space,)) or len(points) != space:
            raise LayerError(f"grid {grid} has no {space} coordinates for each point of {space}")
        return (x[0], *points)

    # --- in numpy ---------------------------------------------------------------------------

    def reference(self, x: Array, grid: Array) -> Array:
        self.infer(x.shape, grid.shape)
        coordinates = grid if self.permute_fusion else np.moveaxis(grid, -1, 0)
        with np.errstate(all="ignore"):
            taps = [
                self._tap_arrays(coordinate, n)
                for coordinate, n in zip(coordinates[::-1], x.shape[1:], strict=True)
            ]
            return interpolate_arrays(x, taps)

    def _tap_arrays(self, coordinate: Array, n: int) -> list[TapArrays]:
        """The pixels along an axis of n, and their weights."""
        one, half = np.float32(1), np.float32(0.5)
        if self.align_corner:
            place = (coordinate + one) / np.float32(2) * np.float32(n - 1)
        else:
            place = ((coordinate + one) * np.float32(n) - one) / np.float32(2)
        if self.sample_type == BILINEAR:
            return linear_tap_arrays(self._resolved_array(place, n))
        if self.sample_type == NEAREST:
            place = np.floor(self._resolved_array(place, n) + half)
            return [(place, np.ones_like(place))]
        low = np.floor(place)
        steps = [np.float32(k) for k in (-1, 0, 1, 2)]
        weights = [cubic_kernel(place - low - k) for k in steps]
        places = [self._resolved_array(low + k, n) for k in steps]
        return list(zip(places, weights, strict=True))

    def _resolved_array(self, place: Array, n: int) -> Array:
        """Places by the padding mode."""
        last, half = np.float32(n - 1), np.float32(0.5)
        if self.padding_mode == ZEROS:
            return place
        if self.padding_mode == BORDER:
            return clamp_array(place, 0, n - 1)
        if self.align_corner:
            return np.asarray(last - np.abs(np.abs(place) - last))
        mirrored = np.float32(n) - np.abs(np.abs(place + half) - np.float32(n)) - half
        return clamp_array(mirrored, 0, n - 1)

    # --- in index notation ------------------------------------------------------------------

    def lower(self, b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        shape = self.infer(x.shape, grid.shape)
        image = frame(b, x)
        c, *points = b.loops_of(shape)
        sizes = x.shape[:0:-1]
        taps = [self._taps(self._coordinate(grid, points, k), n) for k, n in enumerate(sizes)]
        return b.map((c, *points), interpolate(image, b.index(c), taps[::-1]))

    def _coordinate(self, grid: Tensor, points: Sequence[AffineExpr], k: int) -> Scalar:
        return grid[(k, *points)] if self.permute_fusion else grid[(*points, k)]

    def _taps(self, coordinate: Scalar, n: int) -> list[Tap]:
        """The pixels along an axis of n, and their weights."""
        if self.align_corner:
            place = (coordinate + 1.0) / 2.0 * (n - 1)
        else:
            place = ((coordinate + 1.0) * n - 1.0) / 2.0
        if self.sample_type == BILINEAR:
            return linear_taps(self._resolved(place, n))
        if self.sample_type == NEAREST:
            return [(floor(self._resolved(place, n) + 0.5), constant(1.0))]
        low = floor(place)
        weights = cubic_weights(place - low)
        places = [self._resolved(low + k, n) for k in (-1.0, 0.0, 1.0, 2.0)]
        return list(zip(places, weights, strict=True))

    def _resolved(self, place: Scalar, n: int) -> Scalar:
        """A place by the padding mode."""
        if self.padding_mode == ZEROS:
            return place
        if self.padding_mode == BORDER:
            return clamp(place, 0.0, n - 1)
        if self.align_corner:
            return (n - 1) - absolute(absolute(place) - (n - 1))
        return clamp(n - absolute(absolute(place + 0.5) - n) - 0.5, 0.0, n - 1)
