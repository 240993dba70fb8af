"""The cores of this machine as Linux lists them: makers and parts of ARM cores, and caches.

A phone has cores of several kinds. Each function looks at all CPUs that this process may use.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path

CPUS = Path("/sys/devices/system/cpu")

_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def arm_parts(folder: Path = CPUS, cpus: Iterable[int] | None = None) -> list[int]:
    """The makers and models of the cores, each once, by MIDR_EL1: bits 31 to 24 name the maker,
    bits 15 to 4 the part, and the result is both. Empty on other machines.
    """
    found: set[int] = set()
    for cpu in os.sched_getaffinity(0) if cpus is None else cpus:
        try:
            register = (folder / f"cpu{cpu}/regs/identification/midr_el1").read_text()
        except OSError:
            continue
        number = int(register, 16)
        found.add((number >> 24 & 0xFF) << 12 | number >> 4 & 0xFFF)
    return sorted(found)


def largest_cache(level: int, folder: Path = CPUS, cpus: Iterable[int] | None = None) -> int | None:
    """The bytes of the largest cache for data of a level; None if the system lists none."""
    sizes: list[int] = []
    for cpu in os.sched_getaffinity(0) if cpus is None else cpus:
        for cache in (folder / f"cpu{cpu}/cache").glob("index*"):
            try:
                at, kind, size = (
                    (cache / name).read_text().strip() for name in ("level", "type", "size")
                )
            except OSError:
                continue
            if at == str(level) and kind != "Instruction" and size[:-1].isdigit():
                sizes.append(int(size[:-1]) * _UNITS.get(size[-1], 0))
    return max(sizes, default=0) or None
