"""How many bytes are alive at each step."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import accumulate


def alive_at(lives: Iterable[tuple[int, int, int]], steps: int) -> list[int]:
    """The bytes at each of so many steps; a life is its first step, its last one, and its bytes."""
    changes = [0] * (steps + 1)
    for first, last, size in lives:
        changes[first] += size
        changes[last + 1] -= size
    return list(accumulate(changes[:-1]))
