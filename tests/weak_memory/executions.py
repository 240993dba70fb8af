"""All that small programs of several threads may do on a processor of ARM's memory model.

A thread is a generator that yields accesses and gets what they read:

    def reader() -> Thread:
        flag = yield Load("flag", ACQUIRE)
        if flag:
            return (yield Load("data"))

`outcomes` tries every value that a load could read, then every write that it could read from, and
every order of the writes to each place. It keeps what the model allows: the axioms of the Arm
Architecture Reference Manual (B2.3), of which these programs need internal visibility, external
visibility and atomicity. Dependencies through addresses and data are left out, which allows more.

LLVM makes LDAPR of an acquire, LDAR of a seq_cst load, STLR of a release, a pair of exclusive
accesses of a read-modify-write, DMB ISHLD of an acquire fence and DMB ISH of a release fence.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations, permutations, product
from typing import Any, TypeAlias

RELAXED, ACQUIRE, RELEASE, BOTH, SEQ_CST = "monotonic", "acquire", "release", "acq_rel", "seq_cst"
NONE = "none"
"""In place of a fence."""

_ACQUIRES, _RELEASES = {ACQUIRE, BOTH, SEQ_CST}, {RELEASE, BOTH, SEQ_CST}


@dataclass(frozen=True)
class Load:
    """A load of a value with which the thread goes on. Others are not of interest."""

    place: str
    order: str = RELAXED
    goes_on: Callable[[int], bool] = lambda _: True


@dataclass(frozen=True)
class Store:
    """A store."""

    place: str
    value: int
    order: str = RELAXED


@dataclass(frozen=True)
class Change:
    """A read-modify-write. change: the new value; None for one that stays (a swap that fails)."""

    place: str
    change: Callable[[int], int | None]
    order: str


@dataclass(frozen=True)
class Fence:
    """A fence, or none."""

    order: str


@dataclass(frozen=True)
class Branch:
    """Stores behind it depend on all loads before it."""


Access: TypeAlias = "Load | Store | Change | Fence | Branch"
Thread: TypeAlias = Generator[Access, int, Any]
Program: TypeAlias = Sequence[Callable[[], Thread]]


@dataclass(frozen=True)
class Event:
    """A read or a write, or a fence (neither)."""

    thread: int
    place: str = ""
    value: int = 0
    reads: bool = False
    writes: bool = False
    acquires: bool = False
    is_acquire_pc: bool = False
    releases: bool = False
    fence: str = ""
    is_branched: bool = False
    of_pair: int = -1
    """For the write of a read-modify-write: how many events before it its read is."""


@dataclass(frozen=True)
class Trace:
    """What one thread did, and what it returned."""

    events: tuple[Event, ...]
    result: Any


@dataclass
class Explored:
    """The traces of all threads. values: those that each place may have."""

    program: Program
    growing: frozenset[str]
    most: int
    values: dict[str, set[int]] = field(default_factory=dict)

    def traces(self) -> list[list[Trace]]:
        """Of each thread, with every value that any thread writes."""
        while True:
            known = {place: set(values) for place, values in self.values.items()}
            found = [list(self._of(n, thread, [])) for n, thread in enumerate(self.program)]
            if known == self.values:
                return found

    def _of(self, number: int, thread: Callable[[], Thread], read: list[int]) -> Iterator[Trace]:
        """The traces that begin with these values read."""
        events, running, left, branched = list[Event](), thread(), list(read), False
        try:
            access = next(running)
            while True:
                answer = 0
                if isinstance(access, Branch):
                    branched = True
                elif isinstance(access, Fence):
                    events += [Event(number, fence=access.order)] if access.order != NONE else []
                elif isinstance(access, Store):
                    self._know(access.place, access.value)
                    events.append(
                        Event(
                            number, access.place, access.value, writes=True,
                            releases=access.order in _RELEASES, is_branched=branched,
                        )
                    )  # fmt: skip
                elif not left:
                    yield from self._choices(number, thread, read, access, events)
                    return
                else:
                    answer = left.pop(0)
                    events += self._events(number, access, answer, branched)
                access = running.send(answer)
        except StopIteration as ended:
            yield Trace(tuple(events), ended.value)

    def _choices(
        self,
        number: int,
        thread: Callable[[], Thread],
        read: list[int],
        access: Load | Change,
        events: Sequence[Event],
    ) -> Iterator[Trace]:
        """Go on with every value that the next access may read."""
        self._know(access.place, 0)
        before = [event.value for event in events if event.place == access.place]
        for value in sorted(self.values[access.place]):
            if access.place in self.growing and before and value < before[-1]:
                continue
            if isinstance(access, Load) and not access.goes_on(value):
                continue
            yield from self._of(number, thread, [*read, value])

    def _events(
        self, number: int, access: Load | Change, value: int, branched: bool
    ) -> Iterator[Event]:
        order = access.order
        if isinstance(access, Load):
            yield Event(
                number, access.place, value, reads=True,
                acquires=order == SEQ_CST, is_acquire_pc=order == ACQUIRE,
            )  # fmt: skip
            return
        yield Event(number, access.place, value, reads=True, acquires=order in _ACQUIRES)
        new = access.change(value)
        if new is not None:
            self._know(access.place, new)
            yield Event(
                number, access.place, new, writes=True, releases=order in _RELEASES,
                is_branched=branched, of_pair=1,
            )  # fmt: skip

    def _know(self, place: str, value: int) -> None:
        known = self.values.setdefault(place, {0})
        if value <= self.most:
            known.add(value)


def outcomes(
    program: Program, growing: Sequence[str] = (), most: int = 4
) -> Iterator[tuple[Any, ...]]:
    """What the threads return, in every execution that ARM allows.

    growing: places whose values only grow, by read-modify-writes. most: a number that no value of
    an execution is above.
    """
    traces = Explored(program, frozenset(growing), most).traces()
    for chosen in product(*traces):
        if any(True for _ in _executions([trace.events for trace in chosen])):
            yield tuple(trace.result for trace in chosen)


def _executions(threads: Sequence[Sequence[Event]]) -> Iterator[None]:
    """One for each way in which the events are an execution."""
    places = {event.place for thread in threads for event in thread if event.place}
    events = [Event(-1, place, 0, writes=True) for place in sorted(places)]
    events += [event for thread in threads for event in thread]
    writes = [n for n, event in enumerate(events) if event.writes]
    sources = []
    for n, event in enumerate(events):
        if event.reads:
            from_here = [
                w
                for w in writes
                if events[w].place == event.place
                and events[w].value == event.value
                and not (events[w].thread == event.thread and w > n)
            ]
            if not from_here:
                return
            sources.append([(n, w) for w in from_here])
    fixed = _fixed_order(events)
    for reads_from in product(*sources):
        taken = [w for n, w in reads_from if n + 1 < len(events) and events[n + 1].of_pair == 1]
        if len(set(taken)) < len(taken):
            continue  # two read-modify-writes of one value
        yield from _coherent(events, writes, dict(reads_from), fixed)


def _coherent(
    events: Sequence[Event],
    writes: Sequence[int],
    reads_from: Mapping[int, int],
    fixed: Sequence[tuple[int, int]],
) -> Iterator[None]:
    by_place: dict[str, list[int]] = {}
    for w in writes:
        by_place.setdefault(events[w].place, []).append(w)
    pairs = combinations(range(len(events)), 2)
    one_place = [
        (a, b)
        for a, b in pairs
        if _same_thread(events, a, b) and events[a].place == events[b].place != ""
    ]
    orders = [list(_orders(events, found, reads_from)) for found in by_place.values()]
    for chosen in product(*orders):
        rank = {w: n for order in chosen for n, w in enumerate(order)}
        follows = _coherence(events, chosen, rank, reads_from)
        if not _has_no_cycle(len(events), [*one_place, *follows]):
            continue
        outside = [(a, b) for a, b in follows if not _same_thread(events, a, b)]
        if _has_no_cycle(len(events), [*fixed, *outside, *_by_exclusives(events, reads_from)]):
            yield None


def _orders(
    events: Sequence[Event], writes: Sequence[int], reads_from: Mapping[int, int]
) -> Iterator[Sequence[int]]:
    """The orders of the writes to one place: a read-modify-write follows what it has read."""
    initial, *others = writes
    for order in permutations(others):
        whole = [initial, *order]
        if all(
            events[w].of_pair < 0 or whole[n - 1] == reads_from[w - 1] for n, w in enumerate(whole)
        ) and all(a < b for a, b in combinations(order, 2) if _same_thread(events, a, b)):
            yield whole


def _coherence(
    events: Sequence[Event],
    orders: Sequence[Sequence[int]],
    rank: Mapping[int, int],
    reads_from: Mapping[int, int],
) -> list[tuple[int, int]]:
    """Reads-from, from-reads and the order of writes."""
    found = [pair for order in orders for pair in combinations(order, 2)]
    by_place = {events[order[0]].place: order for order in orders}
    for read, write in reads_from.items():
        found.append((write, read))
        found += [(read, later) for later in by_place[events[read].place][rank[write] + 1 :]]
    return found


def _same_thread(events: Sequence[Event], a: int, b: int) -> bool:
    return events[a].thread == events[b].thread >= 0


def _fixed_order(events: Sequence[Event]) -> list[tuple[int, int]]:
    """What one thread keeps in order: barriers, and writes that depend on reads."""
    found = []
    for a, b in combinations(range(len(events)), 2):
        if not _same_thread(events, a, b):
            continue
        one, other = events[a], events[b]
        between = {event.fence for event in events[a:b]}
        if (
            one.acquires
            or one.is_acquire_pc
            or other.releases
            or (one.releases and other.acquires)
            or (one.reads and other.writes and other.is_branched)
            or (other.of_pair == 1 and a == b - 1)
            or RELEASE in between
            or (ACQUIRE in between and one.reads)
        ):
            found.append((a, b))
    return found


def _by_exclusives(
    events: Sequence[Event], reads_from: Mapping[int, int]
) -> Iterator[tuple[int, int]]:
    """A load that acquires is behind the read-modify-write of its thread whose value it reads."""
    for read, write in reads_from.items():
        acquires = events[read].acquires or events[read].is_acquire_pc
        if events[write].of_pair == 1 and acquires and _same_thread(events, write, read):
            yield write, read


def _has_no_cycle(count: int, pairs: Sequence[tuple[int, int]]) -> bool:
    after: list[list[int]] = [[] for _ in range(count)]
    waits = [0] * count
    for a, b in pairs:
        after[a].append(b)
        waits[b] += 1
    free = [n for n in range(count) if not waits[n]]
    done = 0
    while free:
        done += 1
        for b in after[free.pop()]:
            waits[b] -= 1
            if not waits[b]:
                free.append(b)
    return done == count
