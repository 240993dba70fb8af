"""Loops over tiles as steps of a plan: which of them threads share, and in what memory."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import CostModel
from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.linalg.memory.loops import share_of, stays
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Loop, Plan
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from ncc.dialects.size import Size, tile_size
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime.artifact import ALIGNMENT
from ncc.runtime.session import Model
from tests.compiler.linalg.operations import relu, work
from tests.compiler.linalg.tiles import Seen, loop
from tests.runnable import skipped_on_a_lesser_cpu

THREADS = CostModel().threads


MakeNetwork = Callable[..., ModuleOp]
MakePlan = Callable[..., Plan]

ROWS, COLUMNS = 4, 9
HEIGHT = Size.symbol("h", 38)
WHOLE = (HEIGHT - 1) // ROWS
FEW = tile_size(ROWS, HEIGHT - ROWS * WHOLE)
"""Rows of a tile, of which the last one may be smaller."""

NETWORK = """7767517
7 8
Input data 0 1 data 0=56 1=50 2=16
Convolution a 1 1 data a 0=32 1=3 4=1 5=1 6=4608 9=1
Split s 1 2 a a0 a1
Convolution b 1 1 a0 b 0=32 1=3 4=1 5=1 6=9216 9=1
Convolution c 1 1 b c 0=32 1=3 4=1 5=1 6=9216
BinaryOp sum 2 1 c a1 d 0=0
Convolution e 1 1 d out 0=16 1=3 4=1 5=1 6=4608
"""


def box(b: Builder, x: Tensor) -> Tensor:
    """Sums of 3x3 windows."""
    c, p, q, k, m = b.loops(f"c p:{x.shape[1] - 2} q:{x.shape[2] - 2} k:3 m:3")
    return b.sum((c, p, q), (k, m), x[c, p + k, q + m])


def across(b: Builder, x: Tensor) -> Tensor:
    """Sums of three neighbours of a row."""
    c, p, q, m = b.loops(f"c p q:{x.shape[2] - 2} m:3")
    return b.sum((c, p, q), (m,), x[c, p, q + m])


def two_boxes(b: Builder, x: Tensor) -> Tensor:
    return box(b, box(b, x))


def with_other(b: Builder, x: Tensor, other: Tensor) -> Tensor:
    """The same, and the sum with another value, which may be in place."""
    made, at = two_boxes(b, x), b.loops_of(other.shape)
    return b.map(at, made[at] + other[at])


def strips(b: Builder, x: Tensor, count: int) -> Tensor:
    """Two sums in a row for so many strips of rows."""
    (made,) = loop(b, count, [Seen(x, ROWS, ROWS + 4)], two_boxes)
    return made


def image(count: int) -> list[tuple[int, ...]]:
    """The shape that so many strips read."""
    return [(3, ROWS * count + 4, COLUMNS)]


def loops_of(plan: Plan) -> list[Loop]:
    return [step for step in plan.steps if isinstance(step, Loop)]


def shared_with(buffers: Sequence[Buffer], other: Buffer) -> list[Buffer]:
    """Those of some buffers of the arena that lie where another one does."""
    return [
        one
        for one in buffers
        if one.kind is Kind.ARENA
        and one.byte_offset < other.byte_offset + other.bytes
        and other.byte_offset < one.byte_offset + one.bytes
    ]


@pytest.mark.parametrize("threads", [2, 3])
def test_threads_share_iterations(
    make_network: MakeNetwork, make_plan: MakePlan, threads: int
) -> None:
    """Each has memory for what an iteration hands on, in whole lines; the rest moves along."""
    module = make_network(image(6), lambda b, x: strips(b, x, 6))
    (step,) = (plan := make_plan(module, threads=threads)).steps
    assert isinstance(step, Loop) and step.is_private
    first, second = step.calls
    assert (step.count, step.threads) == (6, threads)
    further = [[subview.further for subview in call.subviews] for call in step.calls]
    assert further == [[ROWS * COLUMNS, 0], [0, ROWS * (COLUMNS - 4)]]
    (own,) = step.own
    assert first.results[0].buffer is own is second.operands[0].buffer
    each, rest = divmod(own.bytes, threads)
    assert (rest, each % ALIGNMENT) == (0, 0)
    assert 0 <= each - 4 * 3 * (ROWS + 2) * (COLUMNS - 2) < ALIGNMENT
    assert plan.arena_bytes == own.bytes


def test_one_thread_does_all_iterations(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """In the same memory, which is as large as what one of them hands on."""
    (step,) = make_plan(make_network(image(6), lambda b, x: strips(b, x, 6))).steps
    assert isinstance(step, Loop) and not step.is_private
    (own,) = step.own
    assert own.elements == 3 * (ROWS + 2) * (COLUMNS - 2)


def test_few_iterations_are_shared_call_by_call(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """Three of two threads take as long as four."""
    (step,) = make_plan(make_network(image(3), lambda b, x: strips(b, x, 3)), threads=2).steps
    assert isinstance(step, Loop) and not step.is_private and step.count == 3


def test_what_is_left_stands_behind(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """In the memory that the loop had for its own."""

    def write(b: Builder, x: Tensor) -> Tensor:
        last = b.slice(x, [0, 4 * ROWS, 0], [3, 3 + 4, COLUMNS])
        return b.concat([strips(b, x, 4), two_boxes(b, last)], axis=1)

    plan = make_plan(make_network([(3, 4 * ROWS + 7, COLUMNS)], write), threads=2)
    first, *others = plan.steps
    assert isinstance(first, Loop) and first.count == 4
    assert [type(step) for step in others] == [Call, Call]
    (own,) = first.own
    assert plan.arena_bytes == own.bytes


def test_a_value_that_is_returned_is_not_handed_on(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """It is alive behind the loop, with a part for each iteration."""

    def both(b: Builder, x: Tensor) -> list[Tensor]:
        first = box(b, x)
        return [box(b, first), first]

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        return loop(b, 6, [Seen(x, ROWS, ROWS + 4)], both)

    (step,) = loops_of(make_plan(make_network(image(6), write), threads=2))
    assert not step.own
    assert step.calls[0].subviews[1].further == (ROWS + 2) * (COLUMNS - 2)


def test_a_sum_in_place(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """What each iteration reads where it writes is no other iteration's."""

    def write(b: Builder, x: Tensor) -> Tensor:
        whole = relu(b, b.slice(x, [0, 2, 2], [3, 24, COLUMNS - 4]))
        held = box(b, b.pad(whole, [0, 1, 1], [0, 1, 1], 0.0))

        seen = [Seen(x, ROWS, ROWS + 4), Seen(held, ROWS, ROWS)]
        (made,) = loop(b, 6, seen, with_other)
        return box(b, made)

    plan = make_plan(make_network([(3, 28, COLUMNS)], write), threads=2)
    (step,) = loops_of(plan)
    given = [s.buffer for call in step.calls for s in call.operands if s.buffer not in step.own]
    (made,) = {subview.buffer for call in step.calls for subview in call.results} - step.own
    (taken,) = shared_with(given, made)
    assert taken.bytes == made.bytes


def test_a_value_that_another_call_of_the_loop_reads(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """An iteration may read rows that one before it has written over: they keep their memory."""

    def write(b: Builder, x: Tensor) -> Tensor:
        held = relu(b, x)

        rows = b.slice(held, [0, 2, 2], [3, 24, COLUMNS - 4])
        seen = [Seen(held, ROWS, ROWS + 4), Seen(rows, ROWS, ROWS)]
        (made,) = loop(b, 6, seen, with_other)
        return box(b, b.pad(made, [0, 2, 2], [0, 2, 2], 0.0))

    (step,) = loops_of(make_plan(make_network([(3, 28, COLUMNS)], write), threads=2))
    given = [s.buffer for call in step.calls for s in call.operands if s.buffer not in step.own]
    (made,) = {subview.buffer for call in step.calls for subview in call.results} - step.own
    assert not shared_with(given, made)


def test_halos_stand_in_front(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """That of what a loop writes, and nothing is between them."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return box(b, b.pad(strips(b, x, 6), [0, 1, 1], [0, 1, 1], 0.0))

    steps = make_plan(make_network(image(6), write), threads=2).steps
    assert [type(step) for step in steps] == [Halo, Loop, Call]


def test_halos_stand_behind_where_memory_is_taken_over(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """Where a result takes the memory of a value with another halo, its own is written later."""

    def write(b: Builder, x: Tensor) -> Tensor:
        held = relu(b, b.slice(x, [0, 2, 2], [3, 24, COLUMNS - 4]))
        beside = box(b, b.pad(held, [0, 2, 2], [0, 0, 0], 0.0))

        seen = [Seen(x, ROWS, ROWS + 4), Seen(held, ROWS, ROWS)]
        (made,) = loop(b, 6, seen, with_other)
        last = box(b, b.pad(made, [0, 0, 0], [0, 2, 2], 0.0))
        return b.concat([beside, last], axis=1)

    plan = make_plan(make_network([(3, 28, COLUMNS)], write), threads=2)
    (at,) = (k for k, step in enumerate(plan.steps) if isinstance(step, Loop))
    taken = [step for step in plan.steps if isinstance(step, Halo)]
    assert len(taken) == 2
    step = plan.steps[at]
    assert isinstance(step, Loop)
    given = [s.buffer for call in step.calls for s in call.operands if s.buffer not in step.own]
    (made,) = {subview.buffer for call in step.calls for subview in call.results} - step.own
    if shared_with(given, made):
        assert isinstance(plan.steps[at + 1], Halo)
    else:
        assert isinstance(plan.steps[at - 1], Halo)


@pytest.mark.parametrize("threads", [1, 2])
def test_halos_in_a_body(make_network: MakeNetwork, make_plan: MakePlan, threads: int) -> None:
    """The borders of what iterations hand on are written once, in the memory of each thread."""

    def write(b: Builder, x: Tensor) -> Tensor:
        def one(b: Builder, rows: Tensor) -> Tensor:
            return box(b, b.pad(relu(b, rows), [0, 1, 1], [0, 1, 1], 2.0))

        (made,) = loop(b, 4, [Seen(x, ROWS, ROWS)], one)
        return made

    shape = (3, 4 * ROWS, COLUMNS)
    halo, step = make_plan(make_network([shape], write), threads=threads).steps
    assert isinstance(halo, Halo) and isinstance(step, Loop)
    (own,) = step.own
    assert halo.subview.buffer is own and halo.value == 2.0
    assert (halo.shape, halo.low, halo.high) == (
        (threads, 3, ROWS + 2, COLUMNS + 2),
        (0, 0, 1, 1),
        (0, 0, 1, 1),
    )
    assert halo.subview.strides[0] * threads == own.elements


@pytest.mark.parametrize("threads", [1, 2])
def test_memory_of_a_smaller_tile(
    make_network: MakeNetwork, make_plan: MakePlan, threads: int
) -> None:
    """It is a part of that of a full tile, whose borders are the same in all iterations."""

    def write(b: Builder, x: Tensor) -> Tensor:
        def one(b: Builder, rows: Tensor) -> Tensor:
            return across(b, b.pad(relu(b, rows), [0, 0, 1], [0, 0, 1], 2.0))

        (made,) = loop(b, WHOLE + 1, [Seen(x, ROWS, FEW)], one)
        return made

    halo, step = make_plan(make_network([(3, HEIGHT, COLUMNS)], write), threads=threads).steps
    assert isinstance(halo, Halo) and isinstance(step, Loop)
    (own,) = step.own
    assert halo.subview.buffer is own and step.threads == threads
    assert halo.shape == (threads, 3, ROWS, COLUMNS + 2)
    assert halo.subview.strides == (own.elements // threads, ROWS * 11, 11, 1)
    assert step.calls[0].results[0].strides == (ROWS * 11, 11, 1)
    assert step.calls[-1].results[0].further == ROWS * COLUMNS


def test_halos_of_smaller_parts(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """They are those of the whole result: the last part has fewer rows."""

    def write(b: Builder, x: Tensor) -> Tensor:
        def one(b: Builder, rows: Tensor) -> Tensor:
            return b.pad(relu(b, rows), [0, 0, 1], [0, 0, 1], 2.0)

        (made,) = loop(b, WHOLE + 1, [Seen(x, ROWS, FEW)], one)
        return across(b, made)

    halo, step, _ = make_plan(make_network([(3, HEIGHT, COLUMNS)], write)).steps
    assert isinstance(halo, Halo) and isinstance(step, Loop)
    assert (halo.shape, halo.low, halo.high) == ((3, HEIGHT, COLUMNS + 2), (0, 0, 1), (0, 0, 1))
    assert halo.subview.strides == (HEIGHT * 11, 11, 1)
    assert step.calls[0].results[0].further == ROWS * 11


def test_halos_of_parts(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Those of what iterations yield are written for all parts."""

    def write(b: Builder, x: Tensor) -> Tensor:
        def one(b: Builder, rows: Tensor) -> Tensor:
            return b.pad(relu(b, rows), [0, 0, 1], [0, 0, 1], 2.0)

        (made,) = loop(b, 4, [Seen(x, ROWS, ROWS)], one)
        return box(b, made)

    halo, step, _ = make_plan(make_network([(3, 4 * ROWS, COLUMNS)], write)).steps
    assert isinstance(halo, Halo) and isinstance(step, Loop)
    assert halo.shape == (4, 3, ROWS, COLUMNS + 2)
    assert halo.subview.strides == (ROWS * 11, 4 * ROWS * 11, 11, 1)
    assert step.calls[0].results[0].further == ROWS * 11


def test_weights_have_to_stay(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Each thread reads all of them in each iteration."""

    def of(channels: int) -> Loop:
        def write(b: Builder, x: Tensor) -> Tensor:
            w = b.weight(WeightAttr.of(np.ones((channels, x.shape[0]), np.float32)))
            u = b.weight(WeightAttr.of(np.ones((8, channels), np.float32)))

            def one(b: Builder, part: Tensor) -> Tensor:
                o, p, q, i = b.loops(f"o p:1 q:{COLUMNS} i")
                held = b.sum((o, p, q), (i,), part[i, p, q] * w[o, i])
                o, p, q, i = b.loops(f"o p:1 q:{COLUMNS} i")
                return b.sum((o, p, q), (i,), held[i, p, q] * u[o, i])

            (made,) = loop(b, 6, [Seen(x, 1, 1)], one)
            return made

        (step,) = loops_of(make_plan(make_network([(512, 6, COLUMNS)], write), threads=2))
        return step

    assert of(64).is_private and not of(1024).is_private
    assert 4 * 512 * 1024 > AVX512.core.l2_bytes * 0.9


def test_weights_of_an_iteration_move(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """A constant of which each iteration reads a window is there once."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(np.ones((3, 6, COLUMNS), np.float32)))

        def one(b: Builder, part: Tensor, own: Tensor) -> Tensor:
            at = b.loops_of(part.shape)
            return b.map(at, part[at] * own[at])

        (made,) = loop(b, 6, [Seen(x, 1, 1), Seen(w, 1, 1)], one)
        return made

    plan = make_plan(make_network([(3, 6, COLUMNS)], write))
    (step,) = loops_of(plan)
    (constant,) = plan.constants
    (call,) = step.calls
    assert constant.elements == 3 * 6 * COLUMNS
    (further,) = (s.further for s in call.operands if s.buffer is constant)
    assert further == COLUMNS


# --- Windows, parts and copies --------------------------------------------------------------


def only_loop(plan: Plan) -> Loop:
    (step,) = loops_of(plan)
    return step


def copies_outside(plan: Plan) -> list[Call]:
    calls = (step for step in plan.steps if isinstance(step, Call))
    return [call for call in calls if call.function.sym_name.data.startswith("copy")]


def test_windows_and_parts_of_a_loop(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """An iteration reads and writes further on, by the strides of the whole tensors."""

    def write(b: Builder, x: Tensor) -> Tensor:
        held = b.pad(work(b, x), [0, 1, 1], [0, 1, 1])
        (made,) = loop(b, 3, [Seen(held, 2, 4)], lambda b, rows: halved_rows(b, rows))
        return work(b, b.pad(made, [0, 2, 0], [0, 0, 3]))

    plan = make_plan(make_network([(2, 6, 5)], write))
    step = only_loop(plan)
    (call,) = step.calls
    given, result = call.operands[0], call.results[0]
    assert (given.offset, given.strides, given.further) == (0, (56, 7, 1), 14)
    assert (result.offset, result.strides, result.further) == (20, (80, 10, 1), 20)
    assert not copies_outside(plan) and not step.own


def halved_rows(b: Builder, x: Tensor) -> Tensor:
    """Sums of three rows each."""
    c, p, q, k = b.loops(f"c:{x.shape[0]} p:{x.shape[1] - 2} q:{x.shape[2]} k:3")
    return b.sum((c, p, q), (k,), x[c, p + k, q])


def test_a_loop_in_a_concat(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Its parts lie in front of what stands behind it."""

    def write(b: Builder, x: Tensor) -> Tensor:
        (made,) = loop(b, 3, [Seen(x, 2, 2)], work)
        last = work(b, b.slice(x, [0, 6, 0], [2, 1, 5]))
        return work(b, b.concat([made, last], axis=1))

    plan = make_plan(make_network([(2, 7, 5)], write))
    (result,), own = only_loop(plan).calls[0].results, only_loop(plan).own
    assert (result.strides, result.further) == ((35, 5, 1), 10)
    assert not own and not copies_outside(plan)


def test_a_loop_that_makes_a_result(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """It is written into the caller's array, part by part."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        return loop(b, 3, [Seen(x, 2, 2)], lambda b, rows: [work(b, rows), flip_rows(b, rows)])

    plan = make_plan(make_network([(2, 6, 5)], write))
    results = [call.results[0] for call in only_loop(plan).calls]
    assert [r.buffer.kind for r in results] == [Kind.OUTPUT, Kind.OUTPUT]
    assert [r.further for r in results] == [10, 10] and not copies_outside(plan)


def flip_rows(b: Builder, x: Tensor) -> Tensor:
    c, p, q = b.loops_of(x.shape)
    return b.map((c, p, q), exp(x[c, p, q] * 2.0))


@pytest.mark.parametrize(
    "what", ["an argument", "a value twice", "a slice", "a value from outside"]
)
def test_copies_in_a_body(make_network: MakeNetwork, make_plan: MakePlan, what: str) -> None:
    """A part that is elsewhere already is copied in each iteration."""

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        outside = work(b, b.slice(x, [0, 0, 0], [2, 2, 5]))

        def one(b: Builder, rows: Tensor) -> list[Tensor]:
            made = work(b, rows)
            match what:
                case "an argument":
                    return [made, rows]
                case "a value twice":
                    return [made, made]
                case "a slice":
                    return [b.slice(made, [0, 0, 0], [2, 1, 5])]
            return [made, outside]

        return [work(b, y) for y in loop(b, 3, [Seen(x, 2, 2)], one)]

    plan = make_plan(make_network([(2, 6, 5)], write))
    calls = only_loop(plan).calls
    copy = calls[-1]
    assert copy.function.sym_name.data.startswith("copy")
    assert copy.results[0].further == (5 if what == "a slice" else 10)
    assert not copies_outside(plan)


def test_a_concat_in_a_body(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """It is put together in each iteration; a value from outside is copied into it."""

    def write(b: Builder, x: Tensor) -> Tensor:
        outside = work(b, b.slice(x, [0, 0, 0], [2, 1, 5]))

        def one(b: Builder, rows: Tensor) -> Tensor:
            return halved_rows(b, b.concat([outside, work(b, rows)], axis=1))

        (made,) = loop(b, 3, [Seen(x, 2, 2)], one)
        return work(b, b.concat([made, outside], axis=1))

    plan = make_plan(make_network([(2, 6, 5)], write))
    names = [call.function.sym_name.data for call in only_loop(plan).calls]
    assert sum(name.startswith("copy") for name in names) == 1
    (own,) = only_loop(plan).own
    assert own.elements == 2 * 3 * 5


def test_values_from_outside_in_a_concat_of_a_body(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """Each is copied in the body, and so is the window of another one: they are no parts."""

    def write(b: Builder, x: Tensor) -> Tensor:
        outside = [work(b, b.slice(x, [0, n, 0], [2, 1, 5])) for n in range(2)]

        def one(b: Builder, rows: Tensor) -> Tensor:
            return halved_rows(b, b.concat([rows, *outside], axis=1))

        (made,) = loop(b, 3, [Seen(x, 2, 2)], one)
        return work(b, b.concat([made, *outside], axis=1))

    plan = make_plan(make_network([(2, 6, 5)], write))
    names = [call.function.sym_name.data for call in only_loop(plan).calls]
    assert [name.startswith("copy") for name in names] == [True, True, True, False]
    assert not copies_outside(plan)


def test_a_chain_in_a_body_spares_what_is_outside(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """The next iteration begins with it again: a kernel that goes on writing gets a copy."""

    def write(b: Builder, x: Tensor) -> Tensor:
        start = work(b, b.slice(x, [0, 0, 0], [2, 2, 5]))

        def one(b: Builder, rows: Tensor) -> Tensor:
            c, p, q = b.loops_of(rows.shape)
            return b.map((c, p, q), exp(rows[c, p, q]), into=start)

        (made,) = loop(b, 3, [Seen(x, 2, 2)], one)
        return work(b, made)

    plan = make_plan(make_network([(2, 6, 5)], write))
    names = [call.function.sym_name.data for call in only_loop(plan).calls]
    assert names[0].startswith("copy") and len(names) == 2


# --- Shares ---------------------------------------------------------------------------------


def test_shares() -> None:
    """Whole iterations are dealt out: 5 to two threads are 3 at most, where 2.5 would do."""
    share = partial(share_of, costs=THREADS)
    assert share(8, 2) == share(6, 3) == 1
    assert share(5, 2) == share(Size.symbol("h", 5), 2) == THREADS.most_uneven
    assert share(THREADS.fewest_iterations * 4 - 1, 4) is share(0, 2) is share(9, 4) is None
    assert stays(500, 400, 1000, THREADS) and not stays(500, 401, 1000, THREADS)


@pytest.mark.parametrize(
    "target", ["host", *(pytest.param(t, marks=pytest.mark.slow) for t in ("avx2", "baseline"))]
)
def test_the_same_bits(tmp_path: Path, target: str) -> None:
    """Of convolutions in tiles with a residual between them, on any number of threads."""
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    x = np.random.default_rng(1).standard_normal((16, 50, 56)).astype(np.float32)
    found = []
    for threads in (1, 2, 3):
        options = Options.of(random_weights=1, num_threads=threads, target=target)
        with (
            skipped_on_a_lesser_cpu(),
            Model(artifact_of(Compilation(path, None, options))) as model,
        ):
            found += [model(x) for _ in range(5)]
    for result in found[1:]:
        np.testing.assert_array_equal(result, found[0])
