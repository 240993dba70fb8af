"""Axes as params name them: numpy order over the rank, negative ones counted from the end."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import cache
from itertools import pairwise

import numpy as np
from numpy.typing import NDArray

from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.size import NeedsNumbers, is_open, smallest

EXACT = 1 << 24
"""Up to here, all whole numbers are float32."""

FEW = 1 << 8
"""A fraction with fewer parts times an extent of an image is such a number."""

MOST_SCALED = 1 << 18
"""The largest open extent that is scaled by a number whose products round."""

SIMPLE, FINEST = 100, 1 << 40
"""The largest denominators of a fraction that people write, and of one that stands for a scale."""

MOST_STEPS = 32
"""Powers of two, and some more: a scale that needs as many is no scale of an image."""

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

    An open extent is assumed to be one that `Scaling` is for.
    """
    if not is_open(extent):
        return int(np.float32(extent) * np.float32(scale))
    share = Fraction(float(np.float32(scale)))
    if share.numerator < FEW:  # no product rounds
        scaling = Scaling(share, EXACT // share.numerator)
    else:
        scaling = scaling_by(scale)
    if extent > scaling.last:
        raise NeedsNumbers(f"a scale of {scale} rounds, so that it needs a number to scale")
    return scaling.of(extent)


@dataclass(frozen=True)
class Scaling:
    """floor((extent * share + offset) / over), where over is the denominator of the share: that is
    a product with a float32, rounded, and then rounded down; or what else grows with the extent.

    last: the largest extent that this is for. offset: how far a product may be below a whole number
    that it rounds to. The distance of float32 numbers doubles from one power of two to the next, so
    that offsets may grow: `steps` has extents, and what is added from each of them on.
    """

    share: Fraction
    last: int
    offset: int = 0
    steps: tuple[tuple[int, int], ...] = ()

    def of(self, extent: int) -> int:
        """The product, rounded down; with sizes as well."""
        whole = extent * self.share.numerator + self.offset
        for begin, more in self.steps:
            whole += more * smallest(1, extent // begin)
        return whole // self.share.denominator


@cache
def scaling_by(scale: float) -> Scaling:
    """The scaling by a number whose products round.

    In float32, 1.3 is a little less than 13/10: 30 times 1.3 rounds to 39, and 80 times 1.3 is less
    than 104.
    """
    extents = np.arange(1, MOST_SCALED + 1)
    wanted = (extents.astype(np.float32) * np.float32(scale)).astype(np.int64)
    return scaling_to(wanted, Fraction(float(np.float32(scale))))


def scaling_to(wanted: NDArray[np.int64], share: Fraction) -> Scaling:
    """The scaling that gives these numbers for the extents from 1 on, found by trying them all.

    share: how much a number grows with the extent. A simple fraction does where it can.
    """
    simple = _scaling_to(wanted, share.limit_denominator(SIMPLE), 1)
    if simple.last == len(wanted):
        return simple
    return _scaling_to(wanted, share.limit_denominator(FINEST), MOST_STEPS)


def _scaling_to(wanted: NDArray[np.int64], share: Fraction, steps: int) -> Scaling:
    extents = np.arange(1, len(wanted) + 1)
    least = wanted * share.denominator - extents * share.numerator
    begins, offsets = [0], list[int]()
    while begins[-1] < len(wanted) and len(offsets) < steps:
        ahead = least[begins[-1] :]
        lows = np.maximum.accumulate(ahead)
        fits = lows < np.minimum.accumulate(ahead) + share.denominator
        count = len(fits) if fits.all() else int(np.argmin(fits))
        begins.append(begins[-1] + count)
        offsets.append(int(lows[count - 1]))
    changes = zip(begins[1:-1], pairwise(offsets), strict=True)
    return Scaling(
        share, begins[-1], offsets[0], tuple((begin + 1, b - a) for begin, (a, b) in changes)
    )
