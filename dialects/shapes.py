"""Shapes of values, as far as they are known when a network is compiled."""

from __future__ import annotations

import re
from typing import TypeAlias

from ncc.dialects.size import hint
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
    return "x".join("?" if n is None or hint(n) < 0 else str(n) for n in shape) or "a scalar"


_LONG_EXPRESSION = re.compile(r"\[([\w ()*+/,=-]{20,})\]")
_NAME = re.compile(r"[A-Za-z_]\w*(?![\w(=])")


def with_short_extents(text: str) -> str:
    """A message that names, of each long expression of an extent, the extents of inputs in it.

    [max(0, data_h + 1) // 2 + data_w]    ->    [of data_h, data_w]
    """
    return _LONG_EXPRESSION.sub(_of_names, text)


def _of_names(expression: re.Match[str]) -> str:
    names = sorted(set(_NAME.findall(expression[1])))
    return f"[of {', '.join(names)}]" if names else expression[0]
