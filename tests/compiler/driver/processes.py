"""Processes as the system tells of them."""

from __future__ import annotations

import os
import time
from pathlib import Path

PATIENCE = 600
"""Seconds that nothing here takes, however busy the machine is."""


def children() -> set[str]:
    """Processes that this one has begun, and not seen end."""
    return {
        process
        for process in filter(str.isdigit, os.listdir("/proc"))
        if (told := _told(process)) and told[1] == str(os.getpid())
    }


def is_at_work(process: str) -> bool:
    """Whether a process is there and not just waited for."""
    told = _told(process)
    return told is not None and told[0] != "Z"


def has_ended(process: str) -> bool:
    """Whether a process ends, for which there is time."""
    deadline = time.monotonic() + PATIENCE
    while is_at_work(process) and time.monotonic() < deadline:
        time.sleep(0.001)
    return not is_at_work(process)


def _told(process: str) -> list[str] | None:
    """The state of a process and its parent; None where there is no such process."""
    try:
        status = Path("/proc", process, "stat").read_text()
    except OSError:
        return None
    return status.rpartition(")")[2].split()[:2]
