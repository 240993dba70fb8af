"""What work costs on any machine: how many lines run."""

from __future__ import annotations

import sys
from collections.abc import Callable
from types import FrameType
from typing import Any


def lines_of(work: Callable[..., Any], *arguments: object) -> int:
    """How many lines of Python run during a call, those of a loop in each iteration."""
    lines = 0

    def traced(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        return traced

    before = sys.gettrace()
    sys.settrace(traced)
    try:
        work(*arguments)
    finally:
        sys.settrace(before)
    return lines
