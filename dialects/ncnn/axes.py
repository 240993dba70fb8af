"""Axes as params name them: numpy order over the rank, negative ones counted from the end."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction
from functools import cache

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.size import NeedsNumbers, is_open

EXACT = 1 << 24
"""Up to here, all whole numbers are float32."""

FEW = 1 << 8
"""A fraction with fewer parts times an extent of an image is such a number."""

MOST_SCALED = 1 << 14
"""The largest open extent that is scaled by a number whose products round."""

EXTENT_NAMES = {1: ("w",), 2: ("h", "w"), 3: ("c", "h", "w"), 4: ("c", "d", "h", "w")}
"""ncnn's name of each axis, in numpy order, by rank."""


def resolve_axis(axis: int, rank: int, param: str | None = "axis") -> int:
    """The axis, 0 to rank - 1, that a param means; `LayerError` names the param otherwise."""
    if not -rank <= axis < rank:
        raise LayerError(f"axis {axis} is out of range for a blob of rank {rank}", param)
    return axis % rank


def only_axis(axis: int, rank: int) -> int:
    """The axis that a param means where a vector has only one, whatever is said of it."""
    return 0 if rank == 1 else resolve_axis(axis, rank)


def resolve_axes(axes: Sequence[int], rank: int) -> tuple[int, ...]:
    """Each of a layer's `axes` resolved, in their order; an axis may not stand there twice."""
    resolved = tuple(resolve_axis(axis, rank, "axes") for axis in axes)
    if len(set(resolved)) != len(resolved):
        raise LayerError(f"axes {tuple(axes)} name an axis of rank {rank} twice", "axes")
    return resolved


def along_axis(axis: int, rank: int) -> tuple[int, ...]:
    """The shape that makes a numpy vector broadcast along `axis` of a blob of that rank."""
    return tuple(-1 if k == axis else 1 for k in range(rank))


def extents(shape: Shape) -> dict[str, int]:
    """A blob's extents under ncnn's names w, h, d, c; those its rank does not use are 1."""
    named = {"w": 1, "h": 1, "d": 1, "c": 1}
    named.update(zip(EXTENT_NAMES[len(shape)], shape, strict=True))
    return named


def scaled_extent(extent: int, scale: float) -> int:
    """The extent times the scale in float32, rounded down.

    An open extent takes one of the fractions that say so, and is assumed to be in its part.
    """
    if not is_open(extent):
        return int(np.float32(extent) * np.float32(scale))
    share = Fraction(float(np.float32(scale)))
    if share.numerator < FEW:  # no product rounds
        parts = [(EXACT // share.numerator, share)]
    else:
        parts = fractions_of(scale)
    for last, fraction in parts:
        if extent <= last:
            return extent * fraction.numerator // fraction.denominator
    raise NeedsNumbers(f"a scale of {scale} rounds, so that it needs a number to scale")


@cache
def fractions_of(scale: float) -> list[tuple[int, Fraction]]:
    """Fractions whose products, rounded down, are those with the scale in float32, and the last
    extent that each of them is for; each begins behind the one before.

    In float32, 1.3 is a little less than 13/10. Products of some hundred extents round up to those
    of 13/10, and those of the next ones do not.
    """
    extents = np.arange(1, MOST_SCALED + 1)
    wanted = (extents.astype(np.float32) * np.float32(scale)).astype(np.int64)
    share = Fraction(float(np.float32(scale)))
    near = [share.limit_denominator(1 << bits) for bits in range(14)]
    right = {
        fraction: extents * fraction.numerator // fraction.denominator == wanted
        for fraction in (*near, share)
    }
    found, begin = list[tuple[int, Fraction]](), 0
    while begin < MOST_SCALED:
        ends = {one: begin + _first_false(held[begin:]) for one, held in right.items()}
        best = max(ends, key=lambda one: ends[one])
        if ends[best] == begin:
            break
        found.append((ends[best], best))
        begin = ends[best]
    return found


def _first_false(values: NDArray[np.bool_]) -> int:
    return len(values) if values.all() else int(np.argmin(values))
