"""Shapes, and extents that each call decides."""

from __future__ import annotations

from typing import TypeAlias

Shape: TypeAlias = tuple[int, ...]

OPEN = -1
"""In place of an extent that each call decides."""

LARGEST = (1 << 31) - 1
"""The largest extent: as in ncnn, it has 32 bits, and so offsets have 64."""

Range: TypeAlias = tuple[int, int | None]
"""The least and the most that an open extent can be; None: there is no limit."""

ANY: Range = (1, None)
"""The range of an extent of which nothing is said."""


def is_within(extent: int, range: Range) -> bool:
    """Whether an extent is in a range."""
    least, most = range
    return least <= extent and (most is None or extent <= most)


def shown_range(range: Range) -> str:
    """An open extent as it is shown: ?, 64..1024 or 64.. if there is no limit."""
    least, most = range
    return "?" if range == ANY else f"{least}..{'' if most is None else most}"
