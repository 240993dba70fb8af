"""Reads images between their pixels: for GridSample, regions and deformable convolutions.

A place is a float along one axis, pixel k being at k. Outside of the image there are zeros: an
lowering reads an image in a `frame` of zeros, where each pixel is one further on.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any, TypeAlias

import numpy as np

from ncc.dialects.ncnn.layer import Array, Builder, Shape, Tensor
from ncc.dialects.scalar import Scalar, clamp, floor, to_index

Tap: TypeAlias = tuple[Scalar, Scalar]
"""A whole place along one axis, and its weight."""

TapArrays: TypeAlias = tuple[Array, Array]
"""The whole places of all points of a grid along one axis, and their weights."""

CUBIC_A = -0.75
"""The slope of the cubic kernel at distance 1."""


def linear_taps(place: Scalar) -> list[Tap]:
    """The two pixels that a place lies between."""
    low = floor(place)
    share = place - low
    return [(low, 1.0 - share), (low + 1.0, share)]


def clamp_array(x: Array, low: float, high: float) -> Array:
    """x limited to [low, high]; `low` where it is NaN."""
    return np.asarray(np.fmin(np.fmax(x, np.float32(low)), np.float32(high)))


def linear_tap_arrays(place: Array) -> list[TapArrays]:
    """The two pixels that each place lies between."""
    low = np.floor(place)
    return [(low, 1 - (place - low)), (low + 1, place - low)]


def cubic_kernel(distance: Array) -> Array:
    """Keys' cubic convolution kernel with slope a, https://doi.org/10.1109/TASSP.1981.1163711."""
    t = np.abs(distance)
    near = ((CUBIC_A + 2) * t - (CUBIC_A + 3)) * t * t + 1
    far = CUBIC_A * (((t - 5) * t + 8) * t - 4)
    return np.where(t <= 1, near, far)


def cubic_weights(share: Scalar) -> list[Scalar]:
    """The weights of the four pixels around a place, by its distance from the second of them."""
    rest = 1.0 - share
    return [_far(share + 1.0), _near(share), _near(rest), _far(rest + 1.0)]


def _near(distance: Scalar) -> Scalar:
    return (distance * (CUBIC_A + 2) - (CUBIC_A + 3)) * distance * distance + 1.0


def _far(distance: Scalar) -> Scalar:
    return ((distance * CUBIC_A - 5 * CUBIC_A) * distance + 8 * CUBIC_A) * distance - 4 * CUBIC_A


def frame(b: Builder, x: Tensor) -> Tensor:
    """(c, *space) with a pixel of zeros before and behind each axis of space."""
    around = [0, *[1] * (x.rank - 1)]
    return b.pad(x, around, around)


def framed(place: Scalar, size: int) -> Scalar:
    """The index in a frame of a whole place along an axis of `size` pixels; zeros where outside."""
    return to_index(clamp(place, -1.0, size) + 1.0)


def interpolate(framed_x: Tensor, lead: Scalar, taps: Sequence[Sequence[Tap]]) -> Scalar:
    """The weighted sum of the pixels of channel `lead` around a point, innermost axis first."""
    sizes = [n - 2 for n in framed_x.shape[1:]]
    indices = [
        [(framed(place, n), weight) for place, weight in axis]
        for axis, n in zip(taps, sizes, strict=True)
    ]

    def along(places: list[Scalar]) -> Scalar:
        if len(places) == framed_x.rank:
            return framed_x.at(*places)
        terms = [along([*places, at]) * weight for at, weight in indices[len(places) - 1]]
        return sum(terms[1:], terms[0])

    return along([lead])


def interpolate_arrays(x: Array, taps: Sequence[Sequence[TapArrays]]) -> Array:
    """The weighted sums around the points of a grid: (c, *grid) of x (c, *space)."""
    shape: Shape = x.shape[1:]
    total = np.zeros((x.shape[0], *taps[0][0][0].shape), np.result_type(x, taps[0][0][1]))
    for chosen in product(*taps):
        inside = np.ones(total.shape[1:], bool)
        indices: list[Any] = [slice(None)]
        weight: Array = np.ones(total.shape[1:], total.dtype)
        for (place, share), n in zip(chosen, shape, strict=True):
            within = (place >= 0) & (place < n)
            inside &= within
            indices.append(np.where(within, place, 0).astype(np.int64))
            weight = weight * share
        total += np.where(inside, x[tuple(indices)], np.float32(0)) * weight
    return total
