"""How much memory this process may have."""

from __future__ import annotations

import os
import resource
from pathlib import Path

GROUPS = Path("/sys/fs/cgroup")
"""Where the system keeps the limits of groups of processes, such as those of a container."""

OWN_GROUPS = Path("/proc/self/cgroup")
"""Which groups this process is in."""


def at_hand() -> int:
    """The bytes of the machine's memory, as far as its limits let this process have them."""
    whole = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return max(0, min([whole, *_of_process(), *_of_groups()]))


def _of_process() -> list[int]:
    """What is left of the address space where that is limited (`ulimit -v`)."""
    limit, _ = resource.getrlimit(resource.RLIMIT_AS)
    if limit == resource.RLIM_INFINITY:
        return []
    pages = int(Path("/proc/self/statm").read_text().split()[0])
    return [limit - pages * os.sysconf("SC_PAGE_SIZE")]


def _of_groups() -> list[int]:
    """The limits of the groups that the process is in, of either version of them."""
    found: list[int] = []
    try:
        groups = OWN_GROUPS.read_text().splitlines()
    except OSError:
        return found
    for line in groups:
        _, controllers, path = line.split(":", 2)
        if controllers == "":
            root, name = GROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        inner = root / path.lstrip("/")
        for folder in (inner, *inner.parents):
            if folder == root.parent:
                break
            found += _number_in(folder / name)
    return found


def _number_in(path: Path) -> list[int]:
    """The number that a file holds; none where it says `max`, or cannot be read."""
    try:
        text = path.read_text().strip()
    except OSError:
        return []
    return [int(text)] if text.isdecimal() else []
