"""Steps wait for those whose memory they touch, if one of both writes there; for no others."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import combinations, count

import pytest
from hypothesis import given
from hypothesis import strategies as draw
from xdsl.dialects import func
from xdsl.dialects.builtin import TensorType, f32
from xdsl.ir import Block

from ncc.compiler.barriers import Barriers, Touched, barriers_within, certain_within, in_epochs
from ncc.compiler.linalg.memory.parts import parts_of
from ncc.compiler.plan import Buffer, Call, Kind, Loop, Subview
from ncc.dialects.size import Size
from tests.compiler.interleaved import Run, found_in_any_order, found_in_order
from tests.compiler.loops.rolled import moving
from tests.crossed import some

BYTES = 64
VALUE = Block(arg_types=[TensorType(f32, [16])]).args[0]


def buffer(offset: int = 0, kind: Kind = Kind.ARENA, number: int = 0) -> Buffer:
    return Buffer(kind, 16, 4, number, VALUE, offset)


def call(reads: Sequence[Buffer], writes: Sequence[Buffer]) -> Call:
    operands, results = (tuple(Subview(one, 0, (1,)) for one in of) for of in (reads, writes))
    return Call(func.FuncOp("k", ((), ())), operands, results, ())


def reads(of: Buffer) -> Touched:
    return Touched.by(call([of], []))


def writes(into: Buffer) -> Touched:
    return Touched.by(call([], [into]))


Does = Callable[[Buffer], Touched]


@pytest.mark.parametrize(
    ("before", "step", "same", "other"),
    [
        (writes, reads, True, True),
        (reads, writes, True, True),
        # Parts of a concat write other cells of it.
        (writes, writes, False, True),
        (reads, reads, False, False),
    ],
)
def test_who_waits(before: Does, step: Does, same: bool, other: bool) -> None:
    """In one root, and in two roots that lie in the same memory, whatever their numbers."""
    one = buffer()
    assert step(one).depends_on(before(one)) == same
    assert step(buffer(number=0)).depends_on(before(buffer(number=1))) == other
    assert step(buffer(number=1)).depends_on(before(buffer(number=1))) == other


@pytest.mark.parametrize(
    ("offset", "waits"),
    [(BYTES - 4, True), (4 - BYTES, True), (BYTES, False), (-BYTES, False)],
)
def test_memory_in_common(offset: int, waits: bool) -> None:
    """A byte is enough; memory that only begins where the other one ends is none."""
    assert reads(buffer(128 + offset)).depends_on(writes(buffer(128))) == waits
    assert writes(buffer(128 + offset)).depends_on(reads(buffer(128))) == waits


def test_outputs_are_memory_of_their_own() -> None:
    """Each of them: what lies at the same offset of another one, or of the arena, is elsewhere."""
    written = writes(buffer(kind=Kind.OUTPUT, number=1))
    assert reads(buffer(kind=Kind.OUTPUT, number=1)).depends_on(written)
    assert not reads(buffer(kind=Kind.OUTPUT, number=2)).depends_on(written)
    assert not reads(buffer(number=1)).depends_on(written)


@pytest.mark.parametrize("kind", [Kind.INPUT, Kind.CONSTANT])
def test_what_no_step_writes(kind: Kind) -> None:
    """Nobody waits for who reads an input or a constant, wherever that lies."""
    assert not writes(buffer()).depends_on(reads(buffer(kind=kind)))
    assert not reads(buffer(kind=kind)).depends_on(writes(buffer()))


def test_all_steps_since_the_last_barrier_count() -> None:
    """What each of them reads, and what it writes."""
    read, written = buffer(), buffer(BYTES)
    before = reads(read)
    before.add(writes(written))
    assert writes(read).depends_on(before)
    assert reads(written).depends_on(before)


# --- loops ----------------------------------------------------------------------------------

X, Y, V, M, REST = (buffer(BYTES * place) for place in range(5))


def loop(*calls: Call, own: Sequence[Buffer] = (V, M), count: int = 4, threads: int = 1) -> Loop:
    """What is not handed on moves."""
    further = [[0 if at.buffer in own else 4 for at in one.subviews] for one in calls]
    return Loop(moving(calls, further), count, frozenset(own), threads)


TRANSFORMED = call([X], [V]), call([V], [M]), call([M], [Y])
"""A convolution in tiles, whose first call shares no memory with the last one before it."""


@pytest.mark.parametrize(
    ("calls", "places"),
    [
        (TRANSFORMED, {1, 2}),
        # The second iteration may not write what the first one reads.
        ((call([X], [V]), call([V], [Y])), {0, 1}),
        # Neither reads what the other one writes, in no iteration.
        ((call([X], [Y]), call([X], [REST])), set()),
        # The last row of a part is where the next part begins.
        ((call([Y], [Y]),), {0}),
        ((call([X, Y], [REST]), call([REST], [Y])), {0, 1}),
        # Scratch memory is written again.
        ((call([X], [Y, V]),), {0}),
        ((call([X], [V]), call([X], [V]), call([V], [Y])), {0, 2}),
    ],
)
def test_where_iterations_wait(calls: tuple[Call, ...], places: set[int]) -> None:
    """Between calls of one of them, and between two of them."""
    assert barriers_within(loop(*calls)) == places


def waiting(steps: Sequence[Call | Loop]) -> list[bool]:
    """Whether a barrier stands in front of each step."""
    barriers, found = Barriers(), []
    for step in steps:
        inside = barriers_within(step) if isinstance(step, Loop) else ()
        found.append(barriers.must_stand(step, inside))
        barriers.note(step, inside, found[-1])
    return found


def test_what_stands_in_front_of_a_loop() -> None:
    """The calls in front of the first barrier inside have to wait for it; others wait anyway."""
    whole, free = loop(*TRANSFORMED), loop(call([X], [Y]), call([X], [REST]), own=())
    between = loop(call([X], [V]), call([X], [V]), call([V], [Y]))
    for step, one in (
        (call([REST], [X]), True),
        (call([X], [REST]), False),
        (call([REST], [V]), False),
        (call([V], [REST]), True),
        (call([M], [REST]), False),
    ):
        assert waiting([step, whole]) == [False, one]
    assert waiting([call([REST], [X]), free]) == [False, True]
    assert waiting([call([Y], [V]), free]) == [False, True]
    assert waiting([call([V], [M]), free]) == [False, False]
    assert waiting([call([REST], [X]), between]) == [False, True]


def test_what_stands_behind_a_loop() -> None:
    """It waits for what comes behind the last barrier inside; without one, for what is in front of
    the loop, too.
    """
    whole, free = loop(*TRANSFORMED), loop(call([X], [Y]), call([X], [REST]), own=())
    for step, one in (
        (call([Y], [REST]), True),
        (call([X], [V]), False),
        (call([X], [M]), True),
        (call([V], [REST]), False),
    ):
        assert waiting([whole, step]) == [False, one]
    assert waiting([call([V], [M]), free, call([M], [V])]) == [False, False, True]
    assert waiting([whole, whole]) == waiting([whole, free]) == [False, False]
    assert waiting([whole, loop(call([Y], [V]), call([V], [REST]))]) == [False, True]


def test_a_private_loop_is_one_step() -> None:
    """Of threads that do whole iterations none waits for another one inside."""
    private = loop(*TRANSFORMED, threads=2)
    assert waiting([private, call([X], [V]), private]) == [False, True, True]
    assert waiting([private, call([X], [REST])]) == [False, False]


@given(draw.data())
def test_nobody_ever_waits_in_vain(data: draw.DataObject) -> None:
    """In any loop, what depends on one another has a barrier between; there are no more of them
    than between the same calls one by one.
    """
    offsets = draw.lists(draw.sampled_from(range(0, 256, 32)), min_size=1, max_size=5)
    buffers = [buffer(offset) for offset in data.draw(offsets)]
    some = draw.lists(draw.sampled_from(buffers), max_size=2, unique=True)
    calls = data.draw(draw.lists(draw.builds(call, some, some), min_size=1, max_size=5))
    one = loop(*calls, own=data.draw(some))
    places = barriers_within(one)
    section, seen = 0, list[tuple[int, int, int]]()
    for iteration in range(one.count):
        for place in range(len(calls)):
            section += place in places and (place, iteration) != (0, 0)
            seen.append((section, iteration, place))
    for (before, _, first), (after, _, second) in combinations(seen, 2):
        if before == after:
            assert not Touched.by(calls[second]).depends_on(Touched.by(calls[first]))
            written = {at.buffer for at in calls[first].results}
            assert first != second or not written & one.own
    alone = [step for number in range(one.count) for step in one.iteration(number)]
    assert section <= sum(waiting(alone))


# --- sizes ----------------------------------------------------------------------------------

H, W = Size.symbol("h", 9), Size.symbol("w", 5)


def part(number: int, elements: int = 16, begin: int = 0) -> Buffer:
    return replace(buffer(begin), part=number, elements=elements)


def test_parts_of_the_arena_are_apart() -> None:
    """Wherever they lie: the run lays them out so. In one part, offsets decide."""
    assert not reads(part(0)).depends_on(writes(part(1)))
    assert reads(part(0)).depends_on(writes(part(0)))
    assert not reads(part(0, begin=BYTES)).depends_on(writes(part(0)))


def test_what_may_be_common_is_common() -> None:
    """Memory is apart only if it is for all inputs."""
    assert reads(part(0, begin=4 * H)).depends_on(writes(part(0, elements=W)))
    assert not reads(part(0, begin=4 * H + 4 * W)).depends_on(writes(part(0, elements=W)))
    assert not reads(part(0, elements=H)).depends_on(writes(part(0, begin=4 * H + 4)))


@pytest.mark.parametrize(
    ("count", "between", "behind"),
    [(H + 1, True, True), (H, False, True), (H - 1, False, False), (4, True, True)],
)
def test_loops_that_may_have_no_iteration(count: int, between: bool, behind: bool) -> None:
    """Barriers inside of a loop count for what follows if each run comes by."""
    once = loop(call([X], [V]), call([V], [Y]), own=(V,), count=count)
    assert barriers_within(once) == {0, 1}
    certain = [place for place, is_so in enumerate((between, behind)) if is_so]
    assert sorted(certain_within(once, {0, 1})) == certain
    assert waiting([call([REST], [M]), once, call([Y], [M])]) == [False, False, True]
    assert waiting([call([REST], [M]), once, call([M], [REST])])[2] == (not behind)
    again = loop(call([X], [Y, V]), own=(V,), count=count)
    assert barriers_within(again) == {0}
    assert waiting([call([REST], [M]), again, call([M], [REST])])[2] == (not between)


def epochs(steps: Sequence[Call | Loop], threads: int = 2) -> list[tuple[int, int]]:
    return [(step.first, step.last) for step in in_epochs(steps, threads)]


def test_epochs_end_at_barriers() -> None:
    """Also at those inside of a loop, unless only some runs come by. A single thread does one step
    after the other.
    """
    steps = [call([X], [V]), call([X], [M]), call([V], [Y]), call([M], [REST])]
    assert epochs(steps) == [(0, 0), (0, 0), (1, 1), (1, 1)]
    assert epochs(steps, threads=1) == [(0, 0), (1, 1), (2, 2), (3, 3)]
    for times, last in ((4, 2), (H + 1, 2), (H - 1, 1)):
        inside = loop(*TRANSFORMED, count=times)
        assert epochs([call([REST], [X]), inside]) == [(0, 0), (1, last)]
    assert epochs([loop(*TRANSFORMED, count=1)]) == [(0, 0), (1, 1), (2, 2)]


def open_plan(draw: random.Random) -> list[Call | Loop]:
    """Random steps on memory whose sizes depend on the inputs. The stride of a subview says how
    many elements it has.
    """
    some = 16 * H * W, 16 * H, 16 * (W // 2), 16 * (H + 2 * W), 32
    whole: list[Subview] = []
    steps: list[Call | Loop] = []
    numbers = count()

    def new(elements: int, number: int | None = None) -> Subview:
        made = part(next(numbers) if number is None else number, elements)
        return Subview(made, 0, (elements,))

    def step(operands: Sequence[Subview], results: Sequence[Subview]) -> Call:
        return Call(func.FuncOp("k", ((), ())), tuple(operands), tuple(results), ())

    def loop_of_two(length: int, times: int, threads: int) -> Loop:
        """One makes what the other one reads; both may read a window of another value."""
        v = replace(new(threads * length), strides=(length,))
        made = [new(length * times) for _ in range(draw.randint(1, 2))]
        whole.extend(made)
        result, *given = (replace(one, strides=(length,), further=length) for one in made)
        if given:
            steps.append(step([], made[1:]))
        calls = step(given, [v]), step([v, *given], [result])
        return Loop(calls, times, frozenset([v.buffer]), threads)

    for _ in range(draw.randint(3, 14)):
        given = draw.sample(whole, min(len(whole), draw.randint(0, 2)))
        match draw.randrange(5):
            case 0:  # two parts of one value
                length = draw.choice(some)
                joined = new(2 * length)
                for begin in (0, length):
                    steps.append(step(given, [replace(joined, offset=begin, strides=(length,))]))
                whole.append(joined)
            case 1 if whole:  # in place
                old = whole.pop(draw.randrange(len(whole)))
                taken = new(old.buffer.elements, old.buffer.part)
                steps.append(step([old, *(one for one in given if one is not old)], [taken]))
                whole.append(taken)
            case 2:
                times = draw.choice([1, 3, H, H - 1, W // 2, W + 1])
                length = draw.choice([16, 16 * W])
                steps.append(loop_of_two(length, times, draw.choice([1, 2])))
            case _:
                made = new(draw.choice(some))
                steps.append(step(given, [made]))
                whole.append(made)
    return steps


@pytest.mark.parametrize("first", some(range(0, 120, 30), usual=1))
def test_any_layout_by_epochs_is_right(first: int) -> None:
    """Random plans for random inputs: threads that run on between barriers read what they read one
    step after the other, wherever parts lie that have no epoch in common.
    """
    for seed in range(first, first + 30):
        draw = random.Random(seed)
        steps = open_plan(draw)
        arena = list(parts_of(steps, 2))
        for _ in range(4):
            extents = {"h": draw.randint(1, 5), "w": draw.randint(1, 5)}
            items = list(Run(extents).items(list(in_epochs(steps)), draw))
            found = found_in_any_order(items, arena, extents, draw)
            assert found == found_in_order(items), f"seed {seed} for {extents}"
