"""Shapes of values, as far as they are known when a network is compiled."""

from __future__ import annotations

from typing import TypeAlias

Shape: TypeAlias = tuple[int, ...]
OpenShape: TypeAlias = tuple[int | None, ...]
"""A shape of which None stands for an extent that is not settled yet."""

DYNAMIC = -1
"""An extent that only the run knows: the rows of a detection."""
