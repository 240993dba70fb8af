"""Places barriers: in front of a step that depends on a step since the last barrier.

Between two barriers, threads may be at any step. So no step there may touch memory that another
step writes. The exception is one buffer that several steps write: they write different elements of
it, as the parts of a concat do.

In a loop whose calls all threads share, barriers stand in front of the same calls in each
iteration. A call may also depend on calls of the iteration before, and on itself if it writes the
same elements again.

Where sizes depend on the inputs, barriers are right for all of them: memory counts as common if it
is not certain to be apart, and a loop that may have no iteration, or one, stands for no barrier.

Epochs are the stretches between barriers (`in_epochs`). Memory that is in use in different epochs
may be the same, without one barrier more.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain
from typing import NamedTuple, TypeAlias

from ncc.compiler.plan import AnyStep, Buffer, Call, Halo, Kind, Loop, touched
from ncc.dialects.size import is_never_below

Interval: TypeAlias = tuple[Buffer, int, int]
"""The bytes of a buffer, from the first to behind the last, among those of its kind and part."""


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


@dataclass
class Barriers:
    """Follows the steps of a run. since: the memory that they touch since the last barrier."""

    since: Touched = field(default_factory=Touched)

    def must_stand(self, step: AnyStep, inside: Collection[int] = ()) -> bool:
        """Whether a step, up to the first barrier inside, depends on those since the last one."""
        touched = _touched(step)
        begin = min((place for place in inside if place), default=len(touched))
        return any(one.depends_on(self.since) for one in touched[:begin])

    def note(self, step: AnyStep, inside: Collection[int], waits: bool) -> None:
        """Go on behind a step."""
        certain = certain_within(step, inside) if isinstance(step, Loop) else ()
        if waits or certain:
            self.since = Touched()
        for one in _touched(step)[max(certain, default=0) :]:
            self.since.add(one)


def _touched(step: AnyStep) -> list[Touched]:
    """By a step, or by each call of a loop between whose calls barriers may stand."""
    calls = step.calls if isinstance(step, Loop) and not step.is_private else (step,)
    return [Touched.by(call) for call in calls]


class Timed(NamedTuple):
    """A step, whether a barrier stands in front of it, the calls of a loop that have one in front,
    and the epochs that it begins and ends in.
    """

    step: AnyStep
    waits: bool
    inside: frozenset[int]
    first: int
    last: int


def in_epochs(steps: Iterable[AnyStep], threads: int = 2) -> Iterator[Timed]:
    """The steps of a run in order. A loop of one iteration is what that one does.

    Where the run lays out the arena, halos share the epoch of the step behind them, if it does not
    read them: so their memory is in use no earlier. A barrier stands in front of them, then.

    threads: where there is one alone, each step is an epoch.
    """
    barriers, epoch = Barriers(), -1 if threads == 1 else 0
    for halos, step in _with_halos(chain(*map(_without_single_iterations, steps))):
        inside = barriers_within(step) if isinstance(step, Loop) else frozenset[int]()
        filled, waits = Barriers(), False
        for halo in halos:
            filled.note(halo, (), False)
            waits |= barriers.must_stand(halo)
        together = not filled.must_stand(step, inside)
        waits |= together and barriers.must_stand(step, inside)
        for halo in halos:
            barriers.note(halo, (), waits)
            epoch += waits or threads == 1
            yield Timed(halo, waits, frozenset(), epoch, epoch)
            waits = False
        waits |= barriers.must_stand(step, inside)
        barriers.note(step, inside, waits)
        first = epoch = epoch + (waits or threads == 1)
        if isinstance(step, Loop) and certain_within(step, inside):
            epoch += 1
        yield Timed(step, waits, inside, first, epoch)


def _with_halos(steps: Iterable[AnyStep]) -> Iterator[tuple[list[Halo], AnyStep]]:
    """Each step, with the halos in front of it that the run gives their place."""
    halos: list[Halo] = []
    for step in steps:
        if isinstance(step, Halo) and step.subview.buffer.part is not None:
            halos.append(step)
        else:
            yield halos, step
            halos = []
    for halo in halos:
        yield [], halo


def _without_single_iterations(step: AnyStep) -> Iterable[AnyStep]:
    return step.iteration(0) if isinstance(step, Loop) and step.count == 1 else [step]


def certain_within(loop: Loop, places: Collection[int]) -> Collection[int]:
    """Those of the barriers in front of calls of a loop that each run comes by."""
    if is_never_below(loop.count, 2):
        return places
    return [place for place in places if place] if is_never_below(loop.count, 1) else ()


def barriers_within(loop: Loop) -> frozenset[int]:
    """The calls of an iteration that have a barrier in front; the first call has it from the second
    iteration on. There are as few as possible, and none if the loop is private.

    A barrier stands between two calls that depend on each other, in one iteration or in successive
    ones. The place of one barrier decides all others.
    """
    if loop.is_private:
        return frozenset()
    touched = [Touched.by(call) for call in loop.calls]
    found = [_beginning_at(first, touched) for first in range(len(touched))]
    repeats = any(one.depends_on(one) for one in touched)
    repeats |= any(map(_writes_again, loop.calls))
    if len(found[0]) == 1 and not repeats:
        return frozenset()
    return min(found, key=lambda places: (len(places), 0 not in places))


def _beginning_at(first: int, touched: Sequence[Touched]) -> frozenset[int]:
    """The calls with a barrier in front, if this call has one, from it once around to itself."""
    places, since = {first}, Touched()
    for place in [*range(first, len(touched)), *range(first)]:
        if touched[place].depends_on(since):
            places.add(place)
            since = Touched()
        since.add(touched[place])
    return frozenset(places)


def _writes_again(call: Call) -> bool:
    """Whether a call writes the same elements in each iteration."""
    return any(not subview.further for subview in call.subviews[len(call.operands) :])


def _intervals(buffers: Iterable[Buffer]) -> list[Interval]:
    kept = [buffer for buffer in buffers if buffer.kind in (Kind.ARENA, Kind.OUTPUT)]
    return [(buffer, buffer.byte_offset, buffer.byte_offset + buffer.bytes) for buffer in kept]


def _overlap(a: Interval, b: Interval) -> bool:
    if a[0].kind is not b[0].kind or a[0].part != b[0].part:
        return False
    if a[0].kind is Kind.OUTPUT and a[0].number != b[0].number:
        return False
    return not (is_never_below(a[1], b[2]) or is_never_below(b[1], a[2]))
