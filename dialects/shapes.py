"""Shapes of values, as far as they are known when a network is compiled."""

from __future__ import annotations

import re
from typing import TypeAlias

from ncc.runtime.extents import OPEN, Range

Shape: TypeAlias = tuple[int, ...]
OpenShape: TypeAlias = tuple[int | None, ...]
"""A shape of which None stands for an extent that is not settled yet."""

AskedShape: TypeAlias = tuple[int | None | Range, ...]
"""A shape as a caller asks for it: an open extent may have a range."""

DYNAMIC = OPEN
"""An extent that only the run knows: the rows of a detection."""


def shown(shape: OpenShape) -> str:
    """A shape for messages: `3x224x224`, or `?x6` if an extent is not known."""
    # int: a size is the number for its hint, so that nothing is assumed of it.
    return "x".join("?" if n is None or int(n) < 0 else str(n) for n in shape) or "a scalar"


_EXPRESSION = re.compile(r"\[[^\[\]]*\]")


def with_open_extents(text: str) -> str:
    """A message with ? for extents that only a call tells: their expressions may be long."""
    return _EXPRESSION.sub("?", text)
