"""The private data of calls in flight: arena, tables of buffers, results, and threads.

A table of buffers is for one set of shapes, and so are the state of the threads and the numbers
that it names. A thread that comes late, when its run is over, finds by its table the state and the
numbers of one set of shapes. With these it walks through to the end and writes nothing
(`compiler/llvm/threads.py`). So tables live as long as the threads.
"""

from __future__ import annotations

import ctypes
from array import array
from collections.abc import Sequence
from dataclasses import dataclass

from ncc.runtime.artifact import (
    ALIGNMENT,
    ARENA_BUFFER,
    FIRST_BUFFER,
    NUMBERS_BUFFER,
    STATE_BUFFER,
    WEIGHTS_BUFFER,
    Binding,
)
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.memory import Memory
from ncc.runtime.results import Results
from ncc.runtime.sizes import Sized
from ncc.runtime.threads import Team, state_bytes

MOST_TABLES = 256
"""Sets of shapes that one context has tables for: of some KB each."""

_NO_RUN = -1
"""The word in front of the numbers, which belongs to the code."""


@dataclass(frozen=True)
class Places:
    """Where a run finds its buffers. weights: their address. given: how many inputs there are, with
    what counts rows among them.
    """

    weights: int
    given: int
    outputs: int


class Table:
    """The addresses of all buffers of a run, the state of its threads, and its numbers."""

    def __init__(self, places: Places, threads: int, sized: Sized) -> None:
        begin = -(-state_bytes(threads) // ALIGNMENT) * ALIGNMENT
        numbers = b"" if sized.numbers is None else array("q", [_NO_RUN, *sized.numbers]).tobytes()
        self._memory = Memory(begin + len(numbers))
        self._memory.bytes[begin : begin + len(numbers)] = numbers
        self.buffers = (ctypes.c_void_p * (FIRST_BUFFER + places.given + places.outputs))()
        self.buffers[STATE_BUFFER] = self._memory.address
        self.buffers[WEIGHTS_BUFFER] = places.weights
        if numbers:
            self.buffers[NUMBERS_BUFFER] = self._memory.address + begin
        self.address = ctypes.addressof(self.buffers)


class Context:
    """What calls need, one at a time. The arena is as large as the largest of them needs."""

    def __init__(
        self, code: MachineCode, threads: int, places: Places, outputs: Sequence[Binding]
    ) -> None:
        self._threads, self._places = threads, places
        self._arena: Memory | None = None
        self._tables: dict[Sized, Table] = {}
        self.results = [
            (slot, binding.name, Results(binding))
            for slot, binding in enumerate(outputs, FIRST_BUFFER + places.given)
        ]
        self.team = Team(code, threads, self._tables)

    def has_room(self, sized: Sized) -> bool:
        """Whether it can run for these sizes; another context must take its place where not."""
        is_full = len(self._tables) >= MOST_TABLES and sized not in self._tables
        return not self.team.lost and not is_full

    def table(self, sized: Sized) -> Table:
        """The buffers of a run, but for those of inputs and outputs."""
        found = self._tables.get(sized)
        if found is None:
            found = self._tables[sized] = Table(self._places, self._threads, sized)
        if self._arena is None or self._arena.size < sized.arena_bytes:
            self._arena = None  # before the larger one is there
            self._arena = Memory(sized.arena_bytes)
        found.buffers[ARENA_BUFFER] = self._arena.address
        return found

    def run(self, table: Table) -> None:
        """One run with the buffers that a table names."""
        self.team.run(table.address)
