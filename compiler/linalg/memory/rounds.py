"""Turns calls that repeat for each part of a result into rounds.

    %v0 = k1(%x0)    %m0 = k2(%v0)    %y0 = k3(%m0)            %v = k1(%x)
    %v1 = k4(%x1)    %m1 = k5(%v1)    %y1 = k6(%m1)     ->     %m = k2(%v)     twice, further on
    %y = concat %y0, %y1                                       %y = k3(%m)

Chunks of a Winograd convolution are such calls; k1 and k4 are the same kernel. If threads share
each call, they wait for one another after it, and read results from the caches of other cores. So
threads share rounds: one thread runs a whole round, with private memory for the values between its
calls, which stay in a cache. Each thread reads all weights, so there must be few of them.

Four convolutions of 16 channels at 112 x 112 took 0.94 ms on one thread, and 1.3 ms on two that
shared each of the three kernels. Two threads that share rounds take 0.55 ms. Where the weights
leave no room for V and M in the second-level cache of a core, threads share kernels.

Needs: all steps in order, and the buffers that take over the memory of another one.
Breaks: nothing. Results do not depend on the thread that runs a round.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects.builtin import FunctionType

from ncc.compiler.linalg.memory.add_in_place import added_in_place
from ncc.compiler.linalg.memory.alive import touches
from ncc.compiler.linalg.memory.move_up import Shared
from ncc.compiler.plan import (
    AnyStep,
    Buffer,
    Call,
    Halo,
    Kind,
    Loop,
    Step,
    Subview,
    halos_of,
    touched,
)
from ncc.dialects.code import CodeOp
from ncc.dialects.operation import ops_of
from ncc.runtime.artifact import ALIGNMENT

MOST_CALLS = 8
"""Calls of a round. A convolution in tiles has three, and two for each more that reads its V."""

FEWEST_ROUNDS = 2
"""Rounds for each thread."""

MOST_UNEVEN = 1.2
"""How many times its share a thread may have to do, since rounds are whole."""

STAYS = 0.9
"""Of the second level of a thread's caches: what rounds read again, the weights, and hand on."""


def share_of(count: int, threads: int) -> float | None:
    """What a thread has to do of so many rounds, as a part of what it would have if rounds could be
    parted; None where they are too few, or it is too much.
    """
    if count < FEWEST_ROUNDS * threads:
        return None
    share = -(-count // threads) * threads / count
    return share if share <= MOST_UNEVEN else None


def stays(weights: int, handed_on: int, cache: int) -> bool:
    """Whether weights, and what calls hand on, stay in a second level of so many bytes."""
    return weights + handed_on <= STAYS * cache


def in_rounds(steps: Sequence[Step], memory: Shared, threads: int, cache: int) -> list[AnyStep]:
    """The steps, with one in place of all calls that so many threads do in rounds.

    memory: buffers that take over that of another one. cache: bytes of a thread's second level.
    """
    if threads == 1:
        return [*steps]
    left: list[AnyStep] = []
    done = 0
    for first, last, rounds in _Search(steps, memory, threads, cache).found():
        _, written = touched(rounds)
        fresh = {buffer for buffer in written if buffer not in memory}
        borders = [step for step in steps[first:last] if isinstance(step, Halo)]
        early = [border for border in borders if border.subview.buffer in fresh]
        late = [border for border in borders if border.subview.buffer not in fresh]
        left += [*steps[done:first], *early, rounds, *late]
        done = last + 1
    return [*left, *steps[done:]]


@dataclass
class _Search:
    """The rounds among the steps of a network."""

    steps: Sequence[Step]
    memory: Shared
    threads: int
    cache: int
    calls: list[Call] = field(init=False)
    touching: dict[Buffer, list[int]] = field(init=False)
    beside: set[Buffer] = field(init=False)
    """Buffers that have halos, or share memory with another one."""

    def __post_init__(self) -> None:
        self.calls = [step for step in self.steps if isinstance(step, Call)]
        self.touching = touches(self.calls)
        firsts = (first for first, _ in self.memory.values())
        self.beside = {*halos_of(self.steps), *self.memory, *firsts}

    def found(self) -> Iterator[tuple[int, int, Loop]]:
        """The loops in order, with the places among the steps of the first and of the last call."""
        subviews = [k for k, step in enumerate(self.steps) if isinstance(step, Call)]
        at = 0
        while at < len(self.calls):
            rounds = self._from(at)
            if rounds is None:
                at += 1
                continue
            end = at + rounds.count * len(rounds.calls)
            yield subviews[at], subviews[end - 1], rounds
            at = end

    def _from(self, at: int) -> Loop | None:
        """A loop that begins with a call, of the fewest calls."""
        call = self.calls[at]
        if not all(self._dies(subview.buffer, at, at + MOST_CALLS) for subview in call.results):
            return None
        for length in range(2, min(MOST_CALLS, (len(self.calls) - at) // 2) + 1):
            if _type(self.calls[at + length]) != _type(call):
                continue
            first, second = self._round(at, length), self._round(at + length, length)
            if first.is_like(second):
                return self._beginning_with(first, second, at)
        return None

    def _dies(self, buffer: Buffer, begin: int, end: int) -> bool:
        """Whether only these calls touch the memory of a buffer."""
        if buffer.kind is not Kind.ARENA or buffer in self.beside:
            return False
        touching = self.touching[buffer]
        return begin <= touching[0] and touching[-1] < end

    def _round(self, at: int, length: int) -> _Round:
        calls = tuple(self.calls[at : at + length])
        buffers = dict.fromkeys(subview.buffer for call in calls for subview in call.subviews)
        own = [buffer for buffer in buffers if self._dies(buffer, at, at + length)]
        return _Round(calls, {buffer: number for number, buffer in enumerate(own)})

    def _beginning_with(self, first: _Round, second: _Round, at: int) -> Loop | None:
        """As many rounds as are alike; None where they are too few, or need too much."""
        calls, length, count = first.calls, len(first.calls), 2
        further = first.distances_to(second)
        if not self._are_apart(first, further):
            return None
        for begin in range(at + 2 * length, len(self.calls) - length + 1, length):
            one = self._round(begin, length)
            if not first.is_like(one) or first.distances_to(one) != _times(count, further):
                break
            count += 1
        constants = {
            p.buffer for call in calls for p in call.operands if p.buffer.kind is Kind.CONSTANT
        }
        weights = sum(buffer.bytes for buffer in constants)
        handed_on = sum(buffer.bytes for buffer in first.own)
        if share_of(count, self.threads) is None or not stays(weights, handed_on, self.cache):
            return None
        for buffer in first.own:
            line = ALIGNMENT // buffer.element_bytes
            buffer.elements = self.threads * -(-buffer.elements // line) * line
        return Loop(calls, count, further, frozenset(first.own), self.threads)

    def _are_apart(self, first: _Round, further: _Distances) -> bool:
        """Whether no round reads what another one writes.

        Memory that is read in place of what is written there is read where it is written.
        """
        written = {subview.buffer for call in first.calls for subview in call.results}
        written -= first.own.keys()
        homes = {self._home(buffer) for buffer in written}
        for call, moves in zip(first.calls, further, strict=True):
            reads = len(call.operands)
            results = list(zip(call.results, moves[reads:], strict=False))
            if any(subview.buffer in written and not move for subview, move in results):
                return False
            in_place = list(added_in_place(call))
            for subview, move in zip(call.operands, moves, strict=False):
                if subview.buffer in written:
                    return False
                if subview.buffer in first.own or self._home(subview.buffer) not in homes:
                    continue
                result, along = results[0]
                is_there = self._home(result.buffer) is self._home(subview.buffer)
                if subview not in in_place or not is_there or move != along:
                    return False
        return True

    def _home(self, buffer: Buffer) -> Buffer:
        """The buffer whose memory this one takes over; itself if there is none."""
        return self.memory.get(buffer, (buffer, 0))[0]


_Distances: TypeAlias = tuple[tuple[int, ...], ...]
"""In elements, for each subview of each call."""


@dataclass(frozen=True)
class _Round:
    """Some calls, and the numbers of the buffers that no other step touches."""

    calls: tuple[Call, ...]
    own: dict[Buffer, int]

    def is_like(self, other: _Round) -> bool:
        """Whether the other does the same, further on in the same memory and in its own."""
        return self._outline == other._outline and all(map(_does_as, self.calls, other.calls))

    @cached_property
    def _outline(self) -> list[list[tuple[object, ...]]]:
        """Where each call finds its memory; what is not the round's own lies anywhere in it."""
        return [[self._whereabouts(subview) for subview in call.subviews] for call in self.calls]

    def _whereabouts(self, subview: Subview) -> tuple[object, ...]:
        number = self.own.get(subview.buffer)
        if number is None:
            return subview.buffer, subview.strides
        return number, subview.buffer.elements, subview.offset, subview.strides

    def distances_to(self, other: _Round) -> _Distances:
        """How much further on the subviews of one that does the same are."""
        return tuple(
            tuple(b.offset - a.offset for a, b in zip(one.subviews, another.subviews, strict=True))
            for one, another in zip(self.calls, other.calls, strict=True)
        )


def _times(count: int, distances: _Distances) -> _Distances:
    return tuple(tuple(count * distance for distance in row) for row in distances)


def _does_as(one: Call, other: Call) -> bool:
    """Whether two calls are of equal kernels, and none that is written as loops."""
    if _type(one) != _type(other):
        return False
    body = one.function.body
    is_code = any(isinstance(op, CodeOp) for op in ops_of(body.block))
    return not is_code and body.is_structurally_equivalent(other.function.body)


def _type(call: Call) -> FunctionType:
    return call.function.function_type
