"""Which calls of a plan threads share as whole rounds, and in what memory."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.driver.assemble import artifact_of
from ncc.compiler.linalg.memory.rounds import FEWEST_ROUNDS, MOST_UNEVEN, share_of, stays
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.plan import Call, Halo, Kind, Loop, Plan
from ncc.compiler.target import AVX512
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime.artifact import ALIGNMENT
from ncc.runtime.session import Model
from tests.compiler.linalg.computations import relu
from tests.runnable import skipped_on_a_lesser_cpu

MakeNetwork = Callable[..., ModuleOp]
MakePlan = Callable[..., Plan]

ROWS, COLUMNS = 4, 9

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


def chunk(b: Builder, x: Tensor, number: int, rows: int = ROWS) -> Tensor:
    """Two sums in a row for so many rows of the result."""
    return box(b, box(b, b.slice(x, [0, ROWS * number, 0], [3, rows + 4, COLUMNS])))


def chunks(count: int, last: int = ROWS) -> tuple[list[tuple[int, ...]], Callable[..., Tensor]]:
    """So many chunks, the last of which has other rows."""
    rows = ROWS * (count - 1) + last

    def write(b: Builder, x: Tensor) -> Tensor:
        sizes = [*[ROWS] * (count - 1), last]
        parts = [chunk(b, x, number, size) for number, size in enumerate(sizes)]
        return b.concat(parts, axis=1)

    return [(3, rows + 4, COLUMNS)], write


def rounds_of(plan: Plan) -> list[Loop]:
    return [step for step in plan.steps if isinstance(step, Loop)]


def calls_of(plan: Plan) -> list[Call]:
    return [step for step in plan.steps if isinstance(step, Call)]


@pytest.mark.parametrize("threads", [2, 3])
def test_chunks_are_rounds(make_network: MakeNetwork, make_plan: MakePlan, threads: int) -> None:
    """Each thread has memory for what a round hands on, in whole lines; the rest moves along."""
    (rounds,) = (plan := make_plan(make_network(*chunks(6)), threads=threads)).steps
    assert isinstance(rounds, Loop)
    first, second = rounds.calls
    assert (rounds.count, rounds.threads) == (6, threads)
    assert rounds.further == ((ROWS * COLUMNS, 0), (0, ROWS * (COLUMNS - 4)))
    (own,) = rounds.own
    assert first.results[0].buffer is own is second.operands[0].buffer
    each, rest = divmod(own.bytes, threads)
    assert (rest, each % ALIGNMENT) == (0, 0)
    assert 0 <= each - 4 * 3 * (ROWS + 2) * (COLUMNS - 2) < ALIGNMENT
    assert plan.arena_bytes == own.bytes


def test_one_thread_has_no_rounds(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Nobody waits for it."""
    plan = make_plan(make_network(*chunks(6)))
    assert len(calls_of(plan)) == 12 and not rounds_of(plan)


def test_another_chunk_stands_behind(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """A last one of fewer rows is of other kernels."""
    first, *others = make_plan(make_network(*chunks(5, last=3)), threads=2).steps
    assert isinstance(first, Loop) and first.count == 4
    assert [type(step) for step in others] == [Call, Call]


def test_few_rounds_are_shared_call_by_call(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Three rounds of two threads take as long as four."""
    assert not rounds_of(make_plan(make_network(*chunks(3)), threads=2))


def test_a_value_that_others_read_is_handed_on_by_nobody(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """It is alive behind the round."""
    shapes, _ = chunks(6)

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        first = [box(b, b.slice(x, [0, ROWS * n, 0], [3, ROWS + 4, COLUMNS])) for n in range(6)]
        parts = [box(b, value) for value in first]
        return [b.concat(parts, axis=1), b.concat(first, axis=1)]

    assert not rounds_of(make_plan(make_network(shapes, write), threads=2))


def test_what_the_round_before_made_is_not_read(
    make_network: MakeNetwork, make_plan: MakePlan
) -> None:
    """A round that needs another one cannot be done beside it."""

    def write(b: Builder, x: Tensor) -> Tensor:
        parts = [relu(b, x)]
        for _ in range(6):
            before = b.pad(parts[-1], [0, 2, 2], [0, 2, 2], 0.0)
            parts.append(box(b, box(b, before)))
        return b.concat(parts, axis=1)

    assert not rounds_of(make_plan(make_network([(3, 4, 5)], write), threads=2))


def test_a_sum_in_place(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """What each round reads where it writes is no other round's."""

    def write(b: Builder, x: Tensor) -> Tensor:
        whole = relu(b, b.slice(x, [0, 2, 2], [3, 24, COLUMNS - 4]))
        held = box(b, b.pad(whole, [0, 1, 1], [0, 1, 1], 0.0))
        parts = []
        for n in range(6):
            made = chunk(b, x, n)
            loops = b.loops_of(made.shape)
            other = b.slice(held, [0, ROWS * n, 0], [3, ROWS, COLUMNS - 4])
            parts.append(b.map(loops, made[loops] + other[loops]))
        return box(b, b.concat(parts, axis=1))

    plan = make_plan(make_network([(3, 28, COLUMNS)], write), threads=2)
    (rounds,) = rounds_of(plan)
    given = {subview.buffer for call in rounds.calls for subview in call.operands}
    (made,) = {subview.buffer for call in rounds.calls for subview in call.results} - rounds.own
    (taken,) = [
        buffer
        for buffer in given
        if buffer.kind is Kind.ARENA
        and buffer not in rounds.own
        and buffer.byte_offset < made.byte_offset + made.bytes
        and made.byte_offset < buffer.byte_offset + buffer.bytes
    ]
    assert taken.bytes <= made.bytes


def test_borders_stand_before_rounds(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """That of what they write, and nothing is between them."""
    shapes, write = chunks(6)

    def framed(b: Builder, x: Tensor) -> Tensor:
        return box(b, b.pad(write(b, x), [0, 1, 1], [0, 1, 1], 0.0))

    steps = make_plan(make_network(shapes, framed), threads=2).steps
    assert [type(step) for step in steps] == [Halo, Loop, Call]


def test_weights_have_to_stay(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Each thread reads all of them in each round."""

    def of(channels: int) -> Plan:
        def write(b: Builder, x: Tensor) -> Tensor:
            w = b.weight(WeightAttr.of(np.ones((channels, x.shape[0]), np.float32)))
            u = b.weight(WeightAttr.of(np.ones((8, channels), np.float32)))
            parts = []
            for n in range(6):
                part = b.slice(x, [0, n, 0], [x.shape[0], 1, COLUMNS])
                o, p, q, i = b.loops(f"o p:1 q:{COLUMNS} i")
                held = b.sum((o, p, q), (i,), part[i, p, q] * w[o, i])
                o, p, q, i = b.loops(f"o p:1 q:{COLUMNS} i")
                parts.append(b.sum((o, p, q), (i,), held[i, p, q] * u[o, i]))
            return b.concat(parts, axis=1)

        return make_plan(make_network([(512, 6, COLUMNS)], write), threads=2)

    few, many = of(64), of(1024)
    assert len(rounds_of(few)) == 1 and not rounds_of(many)
    assert 4 * 512 * 1024 > AVX512.core.l2_bytes * 0.9


def test_shares() -> None:
    """Whole rounds are dealt out: 5 of them to two threads are 3 at most, where 2.5 would do."""
    assert share_of(8, 2) == share_of(6, 3) == 1
    assert share_of(5, 2) == MOST_UNEVEN
    assert share_of(FEWEST_ROUNDS * 4 - 1, 4) is share_of(0, 2) is share_of(9, 4) is None
    assert stays(500, 400, 1000) and not stays(500, 401, 1000)


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
            kernels = [kernel for kernel, _ in model.artifact.info["steps"]]
            assert any(kernel.startswith("loop") for kernel in kernels) == (threads > 1)
            found += [model(x) for _ in range(5)]
    for result in found[1:]:
        np.testing.assert_array_equal(result, found[0])
