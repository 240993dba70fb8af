"""Finds which buffers are alive at each step, and how many bytes they have."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate

from ncc.compiler.plan import AnyStep, Buffer, touched


def touches(steps: Iterable[AnyStep]) -> dict[Buffer, list[int]]:
    """The steps that touch each buffer, in order."""
    found: dict[Buffer, list[int]] = {}
    for time, step in enumerate(steps):
        reads, writes = touched(step)
        for buffer in dict.fromkeys((*reads, *writes)):
            found.setdefault(buffer, []).append(time)
    return found


def alive_at(lives: Iterable[tuple[int, int, int]], steps: int) -> list[int]:
    """The bytes that are alive at each step. lives: first step, last step, and bytes of each."""
    changes = [0] * (steps + 1)
    for first, last, size in lives:
        changes[first] += size
        changes[last + 1] -= size
    return list(accumulate(changes[:-1]))
