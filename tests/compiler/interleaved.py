"""Runs the steps of a plan in any order that barriers leave, on memory laid out by epochs.

Memory holds marks in place of numbers: who wrote a cell last, in which iteration. A run is right if
each read finds the marks that it finds when all steps run one after another, each buffer in memory
of its own.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np

from ncc.compiler.barriers import Timed
from ncc.compiler.loops.kernel.own_sizes import changed
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Loop, Part
from ncc.runtime.artifact import ALIGNMENT

Extents: TypeAlias = Mapping[str, int]


def at(value: int, extents: Extents) -> int:
    """What a size is for these extents."""
    return changed(value, lambda size: size.form.value(extents))


@dataclass(frozen=True)
class Access:
    """Some elements of a buffer that are read, or written."""

    buffer: Buffer
    begin: int
    end: int
    mark: int | None
    """What is written; None for a read."""


@dataclass
class Item:
    """What one thread does in order, in one stretch between barriers."""

    section: int
    accesses: list[Access]


@dataclass
class Run:
    """A run for some extents. Subviews are rows, of as many elements as their stride says."""

    extents: Extents
    section: int = 0
    marks: int = 0

    def items(self, steps: Sequence[Timed], threads: random.Random) -> Iterator[Item]:
        """All of them, in the order of the plan. threads: which one takes an iteration."""
        for timed in steps:
            self.section += timed.waits
            step = timed.step
            if isinstance(step, Loop) and step.is_private:
                done: list[list[Access]] = [[] for _ in range(step.threads)]
                for number in range(at(step.count, self.extents)):
                    thread = threads.randrange(step.threads)
                    for call in step.calls:
                        done[thread] += self._call(call, number, step, thread)
                yield from (Item(self.section, accesses) for accesses in done if accesses)
            elif isinstance(step, Loop):
                for number in range(at(step.count, self.extents)):
                    for place, call in enumerate(step.calls):
                        self.section += place in timed.inside and (place, number) != (0, 0)
                        yield Item(self.section, list(self._call(call, number)))
            elif isinstance(step, Call):
                yield Item(self.section, list(self._call(step, 0)))
            else:
                assert not isinstance(step, Halo)

    def _call(
        self, call: Call, number: int, loop: Loop | None = None, thread: int = 0
    ) -> Iterator[Access]:
        self.marks += 1
        for position, subview in enumerate(call.subviews):
            begin = at(subview.offset + number * subview.further, self.extents)
            if loop is not None and subview.buffer in loop.own:
                begin += thread * at(subview.buffer.elements // loop.threads, self.extents)
            end = begin + at(subview.strides[0], self.extents)
            mark = self.marks if position >= len(call.operands) else None
            yield Access(subview.buffer, begin, end, mark)


def laid_out(arena: Sequence[Part], extents: Extents, draw: random.Random) -> tuple[list[int], int]:
    """Where each part begins, and the end: in any order, each in the lowest gap."""
    begins, placed = [0] * len(arena), list[tuple[int, int, Part]]()
    for number in draw.sample(range(len(arena)), len(arena)):
        part = arena[number]
        size, begin = -(-at(part.bytes, extents) // ALIGNMENT) * ALIGNMENT, 0
        for low, high, other in sorted(placed, key=lambda one: one[:2]):
            if other.first <= part.last and part.first <= other.last:
                if begin + size <= low:
                    break
                begin = max(begin, high)
        begins[number] = begin
        placed.append((begin, begin + size, part))
    return begins, max((high for _, high, _ in placed), default=0)


def found_in_order(items: Sequence[Item]) -> list[list[int]]:
    """What reads find, one item after the other, each buffer in memory of its own."""
    memory: dict[Buffer, dict[int, int]] = {}
    found = []
    for item in items:
        for access in item.accesses:
            cells = memory.setdefault(access.buffer, {})
            places = range(access.begin, access.end)
            if access.mark is None:
                found.append([cells.get(place, 0) for place in places])
            else:
                cells.update(dict.fromkeys(places, access.mark))
    return found


def found_in_any_order(
    items: Sequence[Item], arena: Sequence[Part], extents: Extents, draw: random.Random
) -> list[list[int]]:
    """The same if items of one stretch run at the same time, in one arena."""
    begins, size = laid_out(arena, extents, draw)
    memory = {Kind.ARENA: np.zeros(size // 4, np.int64), Kind.OUTPUT: np.zeros(1 << 14, np.int64)}
    found: dict[tuple[int, int], list[int]] = {}
    for section in sorted({item.section for item in items}):
        waiting = [
            (number, list(enumerate(item.accesses)))
            for number, item in enumerate(items)
            if item.section == section
        ]
        while waiting:
            chosen = draw.randrange(len(waiting))
            number, accesses = waiting[chosen]
            place, access = accesses.pop(0)
            if not accesses:
                waiting.pop(chosen)
            buffer = access.buffer
            begin = at(buffer.byte_offset, extents) // 4
            begin += 0 if buffer.part is None else begins[buffer.part] // 4
            cells = memory[buffer.kind][begin + access.begin : begin + access.end]
            assert len(cells) == access.end - access.begin
            if access.mark is None:
                found[number, place] = cells.tolist()
            else:
                cells[:] = access.mark
    return [found[key] for key in sorted(found)]
