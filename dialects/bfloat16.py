"""The bits of bfloat16 in arrays of uint16, for numpy has no such type."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray


def to_bfloat16(x: NDArray[Any]) -> NDArray[np.uint16]:
    """The bits of the nearest bfloat16, halves to the even one; NaN stays NaN."""
    bits = np.asarray(x, np.float32, order="C").view(np.uint32)
    nearest = bits >> 16
    nearest &= 1
    nearest += 0x7FFF
    nearest += bits
    nearest >>= 16
    nan = np.isnan(x)
    if nan.any():
        nearest = np.where(nan, (bits >> 16) | 0x40, nearest)
    return nearest.astype(np.uint16)


def from_bfloat16(bits: NDArray[np.uint16]) -> NDArray[np.float32]:
    """The float32 of the bits of a bfloat16."""
    return (np.asarray(bits, order="C").astype(np.uint32) << 16).view(np.float32)


def bf16_pairs(x: NDArray[Any]) -> tuple[NDArray[np.uint16], NDArray[np.uint16]]:
    """The bits of the nearest bfloat16, and of the one nearest to what that leaves.

    It leaves nothing of what is not finite, or is rounded to what is not.
    """
    x = np.ascontiguousarray(x, np.float32)
    high = to_bfloat16(x)
    nearest = from_bfloat16(high)
    with np.errstate(invalid="ignore"):
        rest = np.subtract(x, nearest)
    finite = np.isfinite(nearest)
    if not finite.all():
        rest[~finite] = 0
    return high, to_bfloat16(rest)
