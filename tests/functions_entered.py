"""What Python does in a call, counted: no other process changes that."""

from __future__ import annotations

import gc
import sys
from collections.abc import Callable
from types import FrameType


def functions_entered(call: Callable[[], object]) -> int:
    """How many functions it enters, Python's own and those written in C."""
    entered = 0

    def count(_frame: FrameType, event: str, _argument: object) -> None:
        nonlocal entered
        entered += event in ("call", "c_call")

    before = sys.getprofile()
    gc.disable()  # what it would clear up is not of this call
    sys.setprofile(count)
    try:
        call()
    finally:
        sys.setprofile(before)
        gc.enable()
    return entered
