"""Lays out the arena of a run: an offset for every buffer, by its bytes and its lifetime.

A lifetime is a range of *epochs*, the stretches of a run between barriers. Buffers whose lifetimes
meet lie apart; others may share memory. Lifetimes hold for all sizes, bytes are those of one size.

Buffers are placed one by one, the largest first, each into the lowest gap among those that live at
the same time. Where that takes more than what is alive at once, the buffer that ended highest comes
first in another try: a few tries find what the compiler would.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate
from operator import itemgetter

ALIGNMENT = 64
"""Of every offset."""

TRIES = 4
"""Orders of buffers that are tried."""


@dataclass(frozen=True)
class Lifetimes:
    """From which epoch to which each buffer is alive."""

    epochs: tuple[tuple[int, int], ...]

    @cached_property
    def _meeting(self) -> tuple[tuple[int, ...], ...]:
        """For each buffer, those that are alive in one of its epochs."""
        order = sorted(range(len(self.epochs)), key=lambda n: self.epochs[n])
        found: list[list[int]] = [[] for _ in self.epochs]
        alive: list[int] = []
        for new in order:
            first, _ = self.epochs[new]
            alive = [old for old in alive if self.epochs[old][1] >= first]
            for old in alive:
                found[old].append(new)
                found[new].append(old)
            alive.append(new)
        return tuple(map(tuple, found))

    def least(self, sizes: Sequence[int]) -> int:
        """The most bytes that are alive at once: no arena is smaller."""
        last = max((last for _, last in self.epochs), default=-1)
        changes = [0] * (last + 2)
        for (first, end), size in zip(self.epochs, sizes, strict=True):
            changes[first] += size
            changes[end + 1] -= size
        return max(accumulate(changes), default=0)

    def laid_out(self, sizes: Iterable[int]) -> tuple[list[int], int]:
        """The offset of each buffer of so many bytes, and the bytes of the whole."""
        rounded = [-(-size // ALIGNMENT) * ALIGNMENT for size in sizes]
        least = self.least(rounded)
        order = sorted(range(len(rounded)), key=rounded.__getitem__, reverse=True)
        tries = [self._placed(order, rounded)]
        while tries[-1][1] > least and len(tries) < TRIES:
            offsets, _ = tries[-1]
            highest = max(order, key=lambda n: offsets[n] + rounded[n])
            order.remove(highest)
            order.insert(0, highest)
            tries.append(self._placed(order, rounded))
        return min(tries, key=itemgetter(1))

    def _placed(self, order: Sequence[int], sizes: Sequence[int]) -> tuple[list[int], int]:
        """Each buffer in the lowest gap that takes it, in this order."""
        meeting = self._meeting
        offsets = [-1] * len(sizes)
        bytes = 0
        for buffer in order:
            size, position = sizes[buffer], 0
            placed = [
                (offsets[other], sizes[other]) for other in meeting[buffer] if offsets[other] >= 0
            ]
            placed.sort()
            for begin, taken in placed:
                if position + size <= begin:
                    break
                position = max(position, begin + taken)
            offsets[buffer] = position
            bytes = max(bytes, position + size)
        return offsets, bytes
