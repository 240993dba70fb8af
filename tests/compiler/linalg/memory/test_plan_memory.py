"""Values that are alive together never share memory, and the arena is no larger than it must be."""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.ir import Block

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.memory import plan_memory
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Plan, touched
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from ncc.dialects.shapes import Shape
from ncc.dialects.statements import Code
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime.artifact import ALIGNMENT
from tests.crossed import some
from tests.executed_lines import lines_of

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
MakePlan: TypeAlias = Callable[..., Plan]

KILOBYTE = 1024
COSTS = CostModel()


def work(b: Builder, x: Tensor, rows: int | None = None) -> Tensor:
    """A kernel of its own, since it reads elsewhere than it writes: the last row, repeated."""
    y, z = b.loops_of((rows or x.shape[0], x.shape[1]))
    return b.map((y, z), exp(x[x.shape[0] - 1, z]))


def join(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """A kernel that reads both, elsewhere than it writes."""
    r, c = b.loops_of(x.shape)
    return b.map((r, c), x[r, c] + y[0, c] * 2.0)


# --- random networks ------------------------------------------------------------------------


def random_network(seed: int) -> tuple[list[Shape], Callable[..., list[Tensor]]]:
    """Operations, pads, concats, slices and reshapes over ever more values."""
    draw = random.Random(seed)
    shapes: list[Shape] = [(draw.randint(1, 40), 16) for _ in range(draw.randint(1, 2))]

    def write(b: Builder, *inputs: Tensor) -> list[Tensor]:
        values = list(inputs)
        for _ in range(draw.randint(3, 25)):
            x = draw.choice(values[-4:])
            match draw.randrange(7):
                case 0:
                    low, high = draw.randint(0, 2), draw.randint(0, 2)
                    values.append(b.pad(x, (low, 0), (high, 0)))
                case 1:
                    values.append(b.concat([x, draw.choice(values)], 0))
                case 2 if x.shape[0] > 1:
                    begin = draw.randrange(x.shape[0] - 1)
                    values.append(b.slice(x, (begin, 0), (x.shape[0] - begin, 16)))
                case 3:
                    values.append(b.expand(b.collapse(x, [[0, 1]]), [[0, 1]], x.shape))
                case _:
                    values.append(work(b, x, rows=draw.randint(1, 40)))
        return [draw.choice(values) for _ in range(draw.randint(1, 2))]

    return shapes, write


def lifetimes(plan: Plan) -> dict[Buffer, tuple[int, int]]:
    """First and last step of everything in the arena."""
    found: dict[Buffer, tuple[int, int]] = {}
    for time, step in enumerate(plan.steps):
        for buffers in touched(step):
            for buffer in buffers:
                if buffer.kind is Kind.ARENA:
                    found[buffer] = (found.get(buffer, (time, time))[0], time)
    return found


@pytest.mark.parametrize("first", some([0, 50], usual=1))
def test_random_networks(make_network: MakeNetwork, make_plan: MakePlan, first: int) -> None:
    """Buffers alive together lie apart, aligned, inside the arena."""
    for seed in range(first, first + 50):
        plan = make_plan(make_network(*random_network(seed)))
        alive = lifetimes(plan)
        for buffer in alive:
            assert buffer.byte_offset % ALIGNMENT == 0
            assert 0 <= buffer.byte_offset <= plan.arena_bytes - buffer.bytes
        for a, b in combinations(alive, 2):
            together = alive[a][0] <= alive[b][1] and alive[b][0] <= alive[a][1]
            ends = a.byte_offset + a.bytes, b.byte_offset + b.bytes
            apart = ends[0] <= b.byte_offset or ends[1] <= a.byte_offset
            assert apart or not together, f"seed {seed}: {a.value} and {b.value}"


@pytest.mark.parametrize("first", some([0, 50], usual=1))
def test_places_stay_inside_their_roots(
    make_network: MakeNetwork, make_plan: MakePlan, first: int
) -> None:
    """No value reaches beyond the memory it is a window of."""
    for seed in range(first, first + 50):
        plan = make_plan(make_network(*random_network(seed)))
        for value, subview in plan.subviews.items():
            shape = value.type.get_shape()  # type: ignore[attr-defined]
            reach = sum((n - 1) * s for n, s in zip(shape, subview.strides, strict=True))
            assert 0 <= subview.offset and subview.offset + reach < subview.buffer.elements


@pytest.mark.parametrize("first", some([0, 50], usual=1))
def test_everything_is_written_before_it_is_read(
    make_network: MakeNetwork, make_plan: MakePlan, first: int
) -> None:
    """In the order of the steps; inputs and constants are there from the start."""
    for seed in range(first, first + 50):
        plan = make_plan(make_network(*random_network(seed)))
        written: set[Buffer] = set()
        for step in plan.steps:
            reads, writes = touched(step)
            for buffer in reads:
                assert buffer in written or buffer.kind in (Kind.INPUT, Kind.CONSTANT), (
                    f"seed {seed}"
                )
            written.update(writes)
        assert set(plan.outputs) <= written


def test_halos_are_filled_before_their_values(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """Filling a halo overwrites nothing: it precedes the first kernel that writes its buffer."""
    for seed in range(40):
        plan = make_plan(make_network(*random_network(seed)))
        written: set[Buffer] = set()
        for step in plan.steps:
            if isinstance(step, Halo):
                assert step.subview.buffer not in written, f"seed {seed}"
            else:
                written.update(touched(step)[1])


# --- sizes ----------------------------------------------------------------------------------


def chain(b: Builder, x: Tensor, length: int) -> Tensor:
    for _ in range(length):
        x = work(b, x)
    return x


ROW = (16, 16)  # one kilobyte


@pytest.mark.parametrize(("length", "kilobytes"), [(1, 0), (2, 1), (3, 2), (10, 2)])
def test_a_chain_needs_two_values(
    make_network: MakeNetwork, make_plan: MakePlan, length: int, kilobytes: int
) -> None:
    """What is read and what is written; the result is in the caller's memory."""
    plan = make_plan(make_network([ROW], lambda b, x: chain(b, x, length)))
    assert plan.arena_bytes == kilobytes * KILOBYTE


def test_a_residual_needs_three(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """The value that waits, and two of the chain beside it."""

    def write(b: Builder, x: Tensor) -> Tensor:
        first = work(b, x)
        return work(b, join(b, first, chain(b, first, 4)))

    assert make_plan(make_network([ROW], write)).arena_bytes == 3 * KILOBYTE


def test_the_largest_moment_is_all_it_takes(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """An hourglass: the arena is what its widest step reads and writes."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for rows in (16, 32, 64, 128, 64, 32, 16):
            x = work(b, x, rows)
        return work(b, x)

    plan = make_plan(make_network([ROW], write))
    assert plan.arena_bytes == (128 + 64) * 16 * 4


def test_a_concat_is_as_large_as_its_parts(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Three parts and their join are one buffer of three kilobytes."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return work(b, b.concat([work(b, x) for _ in range(3)], 0))

    assert make_plan(make_network([ROW], write)).arena_bytes == 3 * KILOBYTE


def long_chain(b: Builder, x: Tensor, *others: Tensor) -> Tensor:
    for other in others:
        x = join(b, work(b, x), other)
    return x


def concat_of_inputs(b: Builder, *inputs: Tensor) -> Tensor:
    return b.concat(inputs, 0)


def concat_of_results(b: Builder, *inputs: Tensor) -> Tensor:
    return work(b, b.concat([work(b, x) for x in inputs], 0))


@pytest.mark.parametrize("write", [long_chain, concat_of_inputs, concat_of_results])
def test_twice_as_many_values_take_twice_as_long(
    make_network: MakeNetwork, make_plan: MakePlan, write: Callable[..., Tensor]
) -> None:
    """However long a network is, and however many values a concat has."""
    networks = [make_network([ROW] * count, write) for count in (25, 50)]
    lines = [lines_of(partial(make_plan, module)) for module in networks]
    assert lines[1] < 2.5 * lines[0]  # of steps squared: 4


@pytest.mark.parametrize("stretch", [1, 3, 1000])
def test_stretches_of_steps_change_no_offset(
    make_network: MakeNetwork,
    make_plan: MakePlan,
    stretch: int,
) -> None:
    """Values are held against all that are alive with them, however steps are divided."""
    for seed in range(10):
        plan = make_plan(make_network(*random_network(seed)))
        costs = COSTS._replace(memory=COSTS.memory._replace(steps_together=stretch))
        other = make_plan(make_network(*random_network(seed)), costs=costs)
        offsets = [[buffer.byte_offset for buffer in lifetimes(found)] for found in (plan, other)]
        assert offsets[0] == offsets[1]
        assert plan.arena_bytes == other.arena_bytes


# --- constants and steps --------------------------------------------------------------------


# --- shared offsets --------------------------------------------------------------------------


def with_halo(b: Builder, x: Tensor, rows: int = 4, value: float = 0.0) -> Tensor:
    """Rows of an operation between two rows of a constant."""
    return b.pad(work(b, x, rows), (1, 0), (1, 0), value)


def halos(plan: Plan) -> list[Halo]:
    return [step for step in plan.steps if isinstance(step, Halo)]


@pytest.mark.parametrize(
    ("rows", "value", "between", "count"),
    [(4, 0.0, [3], 1), (4, 0.0, [3, 2, 3], 1), (5, 0.0, [3], 2), (4, 1.0, [3], 2)]
    + [(4, 0.0, [40, 40], 2), (4, 0.0, [3] * (COSTS.memory.near_steps + 1), 2)],
)
def test_values_of_one_size_share_an_offset_and_a_halo(
    make_network: MakeNetwork,
    make_plan: MakePlan,
    rows: int,
    value: float,
    between: list[int],
    count: int,
) -> None:
    """The second halo is not filled where the first is intact; an arena does not grow for it,
    so that what takes all of it in between writes over it.
    """

    def write(b: Builder, x: Tensor) -> Tensor:
        x = with_halo(b, work(b, x, 20))
        for height in between:
            x = work(b, x, height)
        return work(b, with_halo(b, x, rows, value), 2)

    plan = make_plan(make_network([(2, 16)], write))
    assert len(halos(plan)) == count
    padded = [r for r in lifetimes(plan) if r.elements == 6 * 16]
    if count == 1:
        assert len(padded) == 2 and padded[0].byte_offset == padded[1].byte_offset


@pytest.mark.parametrize(
    ("between", "threads", "stays"),
    [
        (COSTS.memory.near_steps + 1, 1, False),
        (COSTS.memory.near_steps + 1, 2, True),
        (COSTS.memory.near_steps_of_threads + 1, 2, False),
    ],
)
def test_threads_share_an_offset_for_longer(
    make_network: MakeNetwork, make_plan: MakePlan, between: int, threads: int, stays: bool
) -> None:
    """Nothing is written over the first of two values of one size: its halo is intact."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = with_halo(b, work(b, x, 20))
        for _ in range(between):
            x = work(b, x, 3)
        return work(b, with_halo(b, x), 2)

    plan = make_plan(make_network([(2, 16)], write), threads=threads)
    assert len(halos(plan)) == (1 if stays else 2)


def test_constants_lie_one_behind_the_other(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Each 64-byte aligned, in one blob."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for rows in (3, 5):
            weight = b.weight(WeightAttr.of(np.ones((rows, 9), np.float32)))
            r, c = b.loops_of(weight.shape)
            x = b.map((r, c), x[0, c] * weight[r, c])
        return work(b, x)

    plan = make_plan(make_network([(4, 9)], write))
    assert [buffer.bytes for buffer in plan.constants] == [108, 180]
    assert [buffer.byte_offset for buffer in plan.constants] == [0, 128]
    assert plan.constant_bytes == 128 + 192


def test_equal_constants_are_in_memory_once(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Others of the same shape are not taken for equal."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for value in (1, 2, 1, 1):
            weight = b.weight(WeightAttr.of(np.full((3, 9), value, np.float32)))
            r, c = b.loops_of(weight.shape)
            x = work(b, b.map((r, c), x[r, c] * weight[r, c]))
        flat = b.weight(WeightAttr.of(np.ones((9,), np.float32)))
        r, c = b.loops_of(x.shape)
        return work(b, b.map((r, c), x[r, c] * flat[c]))

    plan = make_plan(make_network([(3, 9)], write))
    assert [buffer.bytes for buffer in plan.constants] == [108, 108, 36]


def test_values_begin_at_whole_lines(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Each 64-byte aligned in the arena, however many elements the one below it has."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return work(b, join(b, work(b, x), join(b, x, x)))

    plan = make_plan(make_network([(5, 9)], write))
    begins = [p.buffer.byte_offset for p in plan.subviews.values() if p.buffer.kind is Kind.ARENA]
    assert set(begins) == {0, 192}


def test_steps_say_their_layers(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Reports name the layers of a kernel."""
    plan = make_plan(make_network([ROW], lambda b, x: chain(b, x, 2)))
    assert [step.layers for step in plan.steps if isinstance(step, Call)] == [("layer",)] * 2


# --- orders -----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("size", "iterations", "in_arena"),
    [
        (COSTS.memory.most_on_stack, None, False),
        (COSTS.memory.most_on_stack + 4, None, True),
        (COSTS.memory.most_on_stack + 4, 2, False),
    ],
)
def test_large_scratch_memory_lies_in_the_arena(
    make_network: MakeNetwork,
    make_plan: MakePlan,
    size: int,
    iterations: int | None,
    in_arena: bool,
) -> None:
    """Except for iterations, which may run at the same time: each has its own."""

    def write(b: Builder, x: Tensor) -> Sequence[Tensor]:
        code = Code([x], [(x.shape, f32)], iterations=iterations)
        held = code.scratch((size // 4,))
        held[0] = code.inputs[0][0]
        code.results[0][0] = held[0]
        return b.code(code.operation())

    plan = make_plan(make_network([(4,)], write))
    (call,) = plan.steps
    assert isinstance(call, Call)
    (subview,) = call.scratch
    assert (subview is not None) == in_arena
    assert (plan.arena_bytes >= size) == in_arena


def crossing(seed: int) -> Callable[[Builder, Tensor], Tensor]:
    """Values of many sizes and lifetimes: each is made of the last one and of an earlier one."""
    draw = random.Random(seed)

    def write(b: Builder, x: Tensor) -> Tensor:
        values = [x]
        for _ in range(12):
            last, earlier = values[-1], draw.choice(values[-5:])
            r, c = b.loops_of((draw.choice((8, 16, 24, 40, 64)), 16))
            values.append(b.map((r, c), last[0, c] * earlier[0, c]))
        return values[-1]

    return write


@pytest.mark.parametrize("seed", [8, 11, 13, 51, 56])
def test_another_order_where_the_largest_first_leaves_gaps(
    make_network: MakeNetwork, make_plan: MakePlan, seed: int
) -> None:
    """Such networks need a tenth more in the first order, and no more than is alive at once."""
    plan = make_plan(make_network([(16, 16)], crossing(seed)))
    alive = lifetimes(plan)
    assert plan.arena_bytes == max(
        sum(buffer.bytes for buffer, (first, last) in alive.items() if first <= at <= last)
        for at in range(len(plan.steps))
    )
    first = COSTS._replace(memory=COSTS.memory._replace(arena_tries=0))
    once = make_plan(make_network([(16, 16)], crossing(seed)), costs=first)
    assert once.arena_bytes > 1.1 * plan.arena_bytes


def test_those_that_live_to_the_last_come_first_where_no_order_of_sizes_helps() -> None:
    """Six buffers: lines of 64 bytes, and the first and the last step of each."""
    spans = [(5, 0, 1), (2, 4, 5), (2, 1, 3), (3, 3, 5), (3, 2, 3), (4, 1, 3)]
    (value,) = Block(arg_types=[f32]).args
    alive = {
        Buffer(Kind.ARENA, 16 * lines, 4, number, value): (first, last)
        for number, (lines, first, last) in enumerate(spans)
    }
    offsets, size = plan_memory._least_offsets(alive, 64 * 12, COSTS)
    assert size == 64 * 12
    for (one, (first, last)), (other, (begin, end)) in combinations(alive.items(), 2):
        apart = offsets[one] + one.bytes, offsets[other] + other.bytes
        assert apart[0] <= offsets[other] or apart[1] <= offsets[one] or last < begin or end < first
    ends = [size for _, size in plan_memory._tries(alive, COSTS)]
    assert min(ends[: len(ends) // 2]) > 64 * 12


def test_a_plan_of_numbers_has_no_parts(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Its arena is laid out."""
    plan = make_plan(make_network(*random_network(3)))
    assert plan.arena == () and plan.arena_bytes
    assert all(subview.buffer.part is None for subview in plan.subviews.values())
