"""How far two blobs are apart: the largest difference, and slice by slice against a noise.

A slice is all that has one index along an axis: a channel, a row, an element of a vector. Its root
mean square tells a wrong channel from rounding, where the largest value of a blob does not.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import inf, sqrt
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

Array: TypeAlias = NDArray[Any]

_FLOAT32 = np.finfo(np.float32)

OF_ALL = 0.25
"""The noise of a slice is at least this part of that of the whole: Winograd's tiles mix rows, and
round zeros by their neighbours.
"""

OFF = 1e-3
"""The part of rounded values that may lie at the edge between two numbers; of a few values, one."""

FEW = 3.0
"""How much farther single elements may lie from zero than their root mean square."""

_AT_ONCE = 1 << 20
"""Elements that are compared at a time."""


@dataclass(frozen=True)
class Apart:
    """A blob against the exact one.

    error, noise: the largest difference of the blob, and of float32 in another order, as parts of
    the largest exact value. times: how many times its noise the farthest slice is off. noise and
    times are None where only the difference tells. ncnn: the error of ncnn, where it was run.
    weight: how far a weight is off by which the layer acts, as a part of the largest one.
    """

    error: float
    noise: float | None = None
    times: float | None = None
    ncnn: float | None = None
    weight: float = 0.0


class Comparison:
    """A blob of floats against its exact values, and samples of what float32 gives.

    Where float32 gives an infinity or no number, the blob must as well.
    """

    def __init__(self, found: Array, exact: Array) -> None:
        self.found, self.exact = found, exact
        self.fits = found.shape == exact.shape
        self.odd: Array | None = None

    def add(self, sample: Array) -> None:
        """Take in a sample of what float32 gives."""
        if not self.fits or not self.found.size:
            return
        if self.odd is None:
            self.odd = odd = ~np.isfinite(sample)
            self.fits = np.array_equal(self.found[odd], sample[odd], equal_nan=True)
            self.off, self.noise = _Squares(self.exact), _Squares(self.exact)
            self.off.add(self.found, odd)
        self.noise.add(sample, self.odd)

    @property
    def result(self) -> Apart:
        """How far the blob is off."""
        if not self.fits:
            return Apart(inf, 0.0, inf)
        if not self.found.size:
            return Apart(0.0, 0.0, 0.0)
        largest = self.off.largest or 1.0
        return Apart(
            self.off.apart / largest, self.noise.apart / largest, self.off.times(self.noise)
        )


class _Squares:
    """Sums of squares of differences to exact values, along each axis, of so many arrays."""

    def __init__(self, exact: Array) -> None:
        self.exact = exact
        self.count = 0
        self.sums = [np.zeros(extent) for extent in exact.shape]
        self.apart = self.largest = 0.0

    def add(self, array: Array, odd: Array) -> None:
        """Take in one more array; what is odd counts as exact."""
        self.count += 1
        rows = max(1, _AT_ONCE * len(array) // array.size)
        for start in range(0, len(array), rows):
            part = slice(start, start + rows)
            exact = flushed(self.exact[part].astype(np.float64, copy=False))
            off = flushed(array[part].astype(np.float64)) - exact
            if odd[part].any():
                off[odd[part]] = exact[odd[part]] = 0
            if not np.isfinite(off).all():
                off = np.full_like(off, inf)
            self.apart = max(self.apart, float(np.abs(off).max()))
            self.largest = max(self.largest, float(np.abs(exact).max()))
            squares = np.square(off)
            self.sums[0][part] += squares.reshape(len(squares), -1).sum(1)
            inner = squares.sum(0)
            for axis in range(1, array.ndim):
                others = tuple(k for k in range(inner.ndim) if k != axis - 1)
                self.sums[axis] += inner.sum(others)

    def times(self, noise: _Squares) -> float:
        """How many times the noise is these differences, of the slice where it is the most."""
        size = self.exact.size
        whole = OF_ALL * sqrt(noise.sums[0].sum() / (noise.count * size))
        most = 0.0
        for off, of_noise in zip(self.sums, noise.sums, strict=True):
            count = size / len(off)
            allowed = (np.sqrt(of_noise / (noise.count * count)) + whole) * (1 + FEW / sqrt(count))
            found = np.sqrt(off / count)
            with np.errstate(divide="ignore", invalid="ignore"):
                times = np.where(found > 0, np.nan_to_num(found / allowed, nan=inf, posinf=inf), 0)
            most = max(most, float(times.max()))
        return most


def difference(found: Array, wanted: Array) -> float:
    """The largest difference, as a part of the largest wanted value. A few of many int8 may be one
    off, and denormal numbers are zeros, as they are where networks run.

    Infinite where the shapes differ, or where one of the two is not finite and the other is not the
    same.
    """
    if found.shape != wanted.shape:
        return inf
    ours, theirs = found.reshape(-1), wanted.reshape(-1)
    apart = largest = 0.0
    differing = 0
    for start in range(0, wanted.size, _AT_ONCE):
        pair = [array[start : start + _AT_ONCE].astype(np.float64) for array in (ours, theirs)]
        odd = ~(np.isfinite(pair[0]) & np.isfinite(pair[1]))
        if not np.array_equal(pair[0][odd], pair[1][odd], equal_nan=True):
            return inf
        one, other = (flushed(array[~odd]) for array in pair)
        distances = np.abs(one - other)
        apart = max(apart, float(distances.max(initial=0.0)))
        largest = max(largest, float(np.abs(other).max(initial=0.0)))
        differing += int(np.count_nonzero(distances))
    if found.dtype == wanted.dtype == np.int8:
        few = differing <= max(1, found.size * OFF)
        apart = max(apart - 1, 0.0) if few else apart
    return apart / largest if largest else apart


def flushed(values: Array) -> Array:
    """The values, those below the least normal float32 as zeros."""
    return np.where(np.abs(values) < _FLOAT32.smallest_normal, 0.0, values)


def difference_to_wheel(found: Array, wheel: Array) -> float:
    """`difference` to what the wheel gave: it takes 16 bits for float16, 32 for float32."""
    bits = found.dtype in (np.uint16, np.int32) and found.itemsize == wheel.itemsize
    return difference(found, wheel.view(found.dtype) if bits else wheel)


def rows_apart(found: Array, wanted: Array) -> float:
    """`difference` of two sets of rows: the order of equal scores is rounding's choice."""
    if found.shape != wanted.shape or not wanted.size:
        return difference(found, wanted)
    rows, others = (array.reshape(len(array), -1) for array in (found, wanted))
    distances = np.abs(rows[:, None, :] - others[None, :, :]).max(axis=2)
    nearest = np.maximum(distances.min(axis=0), distances.min(axis=1))
    largest = float(np.abs(wanted).max())
    return float(nearest.max()) / largest if largest else float(nearest.max())
