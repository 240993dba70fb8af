"""Axes as params name them: numpy order over the rank, negative ones counted from the end."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.size import NeedsNumbers, is_open

EXACT = 1 << 24
"""Up to here, all whole numbers are float32."""

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
    """The extent times the scale in float32, rounded down."""
    if not is_open(extent):
        return int(np.float32(extent) * np.float32(scale))
    share = Fraction(float(np.float32(scale)))
    if extent * share.numerator > EXACT:
        raise NeedsNumbers(f"a scale of {scale} rounds, so that it needs a number to scale")
    return extent * share.numerator // share.denominator
