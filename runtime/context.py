"""The private data of calls in flight: state and threads, arena, the array of buffers, results."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from dataclasses import dataclass

from ncc.runtime.artifact import (
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


@dataclass(frozen=True)
class Places:
    """Where a run finds its buffers. weights: their address. given: how many inputs there are, with
    what counts rows among them. numbers: how many depend on shapes.
    """

    weights: int
    given: int
    outputs: int
    numbers: int = 0

    @property
    def count(self) -> int:
        """How many buffers there are."""
        return FIRST_BUFFER + self.given + self.outputs


class Context:
    """What calls need, one at a time. The arena is as large as the largest of them needs.

    buffers: the addresses of all of them.
    """

    def __init__(
        self, code: MachineCode, threads: int, places: Places, outputs: Sequence[Binding]
    ) -> None:
        state = Memory(state_bytes(threads))
        self._arena = Memory(0)
        self.buffers = (ctypes.c_void_p * places.count)()
        self.buffers[STATE_BUFFER] = state.address
        self.buffers[ARENA_BUFFER] = self._arena.address
        self.buffers[WEIGHTS_BUFFER] = places.weights
        self.results = [
            (slot, binding.name, Results(binding))
            for slot, binding in enumerate(outputs, FIRST_BUFFER + places.given)
        ]
        self.team = Team(code, threads, state, places.count, places.numbers)
        self._state = state

    @property
    def is_lost(self) -> bool:
        """Whether its threads are gone."""
        return self.team.lost

    def prepare(self, sized: Sized) -> None:
        """Set the buffers of a run, but those of inputs and outputs."""
        if self._arena.size < sized.arena_bytes:
            self._arena.grow(sized.arena_bytes)
            self.buffers[ARENA_BUFFER] = self._arena.address
        if sized.numbers is not None:
            self.buffers[NUMBERS_BUFFER], _ = sized.numbers.buffer_info()

    def run(self) -> None:
        """One run with these buffers."""
        self.team.run(ctypes.addressof(self.buffers))
