"""Where barriers stand: in front of a step that depends on one since the last barrier.

Threads may be at any step between two barriers. So none there touches memory that another writes.
Only one root may be written by several: they write other cells of it, as parts of a concat do.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias

from ncc.compiler.plan import AnyStep, Buffer, Kind, touched

Interval: TypeAlias = tuple[Buffer, int, int]
"""The bytes of a root, from the first to behind the last, among those of its kind."""


@dataclass
class Touched:
    """The memory that some steps read, and that they write."""

    reads: list[Interval] = field(default_factory=list)
    writes: list[Interval] = field(default_factory=list)

    @staticmethod
    def by(step: AnyStep) -> Touched:
        """What one step touches."""
        reads, writes = touched(step)
        return Touched(_intervals(reads), _intervals(writes))

    def depends_on(self, before: Touched) -> bool:
        """Whether the steps must wait for those before."""
        return (
            any(_overlap(r, w) for r in self.reads for w in before.writes)
            or any(_overlap(w, r) for w in self.writes for r in before.reads)
            or any(_overlap(w, v) and w[0] is not v[0] for w in self.writes for v in before.writes)
        )

    def add(self, other: Touched) -> None:
        """What other steps touch as well."""
        self.reads += other.reads
        self.writes += other.writes


def _intervals(buffers: Iterable[Buffer]) -> list[Interval]:
    kept = [buffer for buffer in buffers if buffer.kind in (Kind.ARENA, Kind.OUTPUT)]
    return [(buffer, buffer.byte_offset, buffer.byte_offset + buffer.bytes) for buffer in kept]


def _overlap(a: Interval, b: Interval) -> bool:
    if a[0].kind is not b[0].kind:
        return False
    if a[0].kind is Kind.OUTPUT and a[0].number != b[0].number:
        return False
    return a[1] < b[2] and b[1] < a[2]
