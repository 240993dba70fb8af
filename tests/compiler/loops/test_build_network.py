"""The loops of a network: a kernel for each signature, barriers where threads meet in memory."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp, f32

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.loops.build_network import NetworkLoops, build
from ncc.compiler.loops.launch.script import Barrier, Launch, LoopLaunch, Script
from ncc.compiler.plan import Plan
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp
from ncc.dialects.statements import Code
from ncc.dialects.weights.sources import Array
from ncc.runtime.session import Model
from tests.compiler.loops.rolled import rolled
from tests.crossed import in_turn, some
from tests.structured.evaluate import evaluate

SHAPE = (24, 40)

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
MakePlan: TypeAlias = Callable[..., Plan]


def work(b: Builder, x: Tensor) -> Tensor:
    """A kernel of its own: every column reads a row of another thread's share."""
    y, z = b.loops_of(x.shape)
    return b.map((y, z), x[y, z] * 0.5 + exp(x[x.shape[0] - 1, z] * -0.25))


def join(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """A kernel of its own too."""
    r, c = b.loops_of(x.shape)
    return b.map((r, c), x[x.shape[0] - 1, c] - y[0, c])


@pytest.fixture
def loops(make_network: MakeNetwork, make_plan: MakePlan) -> Callable[..., NetworkLoops]:
    """loops(write, inputs): the loops of a network of inputs of a shape."""

    def written(write: Any, inputs: int = 1, shape: tuple[int, int] = SHAPE) -> NetworkLoops:
        plan = make_plan(make_network([shape] * inputs, write))
        return build(plan, Target.of("host"), inputs)

    return written


LoopsOf: TypeAlias = Callable[..., NetworkLoops]


def script(loops: NetworkLoops) -> list[str]:
    """The entry point in short: kernels by their kind, and barriers."""
    return [
        step.kernel.split("_")[0] if isinstance(step, Launch) else "barrier"
        for step in loops.script
    ]


# --- barriers -------------------------------------------------------------------------------


def test_a_chain_meets_between_its_kernels(loops: LoopsOf) -> None:
    """Each reads all of what the one before wrote."""
    found = script(loops(lambda b, x: work(b, work(b, work(b, x)))))
    assert found == ["pointwise", "barrier", "pointwise", "barrier", "pointwise"]


def test_the_smallest_values_meet_too(loops: LoopsOf) -> None:
    """One line of a cache is all that they share."""
    found = script(loops(lambda b, x: work(b, work(b, x)), shape=(2, 2)))
    assert found == ["pointwise", "barrier", "pointwise"]


def test_branches_run_without_meeting(loops: LoopsOf) -> None:
    """Kernels that share no memory need no barrier; their reader needs one."""
    found = script(loops(lambda b, x: join(b, work(b, x), work(b, x))))
    assert found == ["pointwise", "pointwise", "barrier", "pointwise"]


def test_recycled_memory_needs_a_barrier(loops: LoopsOf) -> None:
    """A value may be overwritten when all threads have read it."""

    def write(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        return [work(b, work(b, work(b, x))), work(b, work(b, work(b, y)))]

    found = loops(write, 2)
    written: dict[tuple[int, int], int] = {}
    since = 0
    for time, step in enumerate(found.script):
        if isinstance(step, Barrier):
            since = time
            continue
        assert isinstance(step, Launch)
        *reads, result = [(argument.buffer, argument.offset) for argument in step.arguments]
        assert all(written.get(subview, -1) < since for subview in reads)
        written[result] = time


def test_frames_need_no_barrier_to_their_value(loops: LoopsOf) -> None:
    """Border and inside are different cells of one root."""
    found = script(loops(lambda b, x: work(b, b.pad(work(b, x), (1, 1), (1, 1)))))
    assert found == ["fill", "pointwise", "barrier", "pointwise"]


def test_equal_kernels_are_written_once(loops: LoopsOf) -> None:
    """A chain of five has three kernels at most: from the input, between, to the output."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(5):
            x = work(b, x)
        return x

    found = loops(write)
    assert len(found.steps) == 5 and len(found.units) == 1


def test_fewer_rows_are_fewer_chunks_of_one_kernel(loops: LoopsOf) -> None:
    """A kernel of which only the outermost loop is shorter is no other kernel."""

    def write(b: Builder, x: Tensor) -> Tensor:
        parts = [b.slice(x, (0, 0), (rows, SHAPE[1])) for rows in (16, 22, 20)]
        sums = []
        for part in parts:
            r, c = b.loops_of(part.shape)
            sums.append(b.map((r, c), part[r, c] + x[SHAPE[0] - 1, c]))
        return b.concat(sums, 0)

    found = loops(write)
    assert len(found.units) == 1
    assert [step.chunks for step in found.steps] == [16, 22, 20]
    reach = [step.arguments[-1].reach for step in found.script if isinstance(step, Launch)]
    assert reach == [4 * SHAPE[1] * rows for rows in (16, 22, 20)]


# --- numbers --------------------------------------------------------------------------------


def random_network(seed: int) -> Callable[..., list[Tensor]]:
    draw = random.Random(seed)

    def write(b: Builder, *inputs: Tensor) -> list[Tensor]:
        values = list(inputs)
        for _ in range(draw.randint(3, 14)):
            x, y = draw.choice(values[-3:]), draw.choice(values)
            match draw.randrange(6):
                case 0:
                    values.append(join(b, x, y))
                case 1:
                    padded = b.pad(x, (1, 2), (2, 1), 0.5)
                    values.append(work(b, b.slice(padded, (2, 1), SHAPE)))
                case 2:
                    both = b.concat([x, y], 0)
                    values.append(work(b, b.slice(both, (SHAPE[0] // 2, 0), SHAPE)))
                case 3:
                    r, c, k = b.loops(f"r:{SHAPE[0]} c:{SHAPE[1]} k:{SHAPE[0]}")
                    values.append(b.sum((r, c), over=(k,), of=x[r, 0] * y[k, c], init=0.1))
                case _:
                    values.append(work(b, x))
        return [values[-1], draw.choice(values)]

    return write


def arguments(count: int) -> list[Array]:
    generator = np.random.default_rng(0)
    return [generator.standard_normal(SHAPE).astype(np.float32) for _ in range(count)]


@pytest.mark.parametrize("seed", some(range(8), usual=4))
def test_threads_give_the_same_bits(
    make_network: MakeNetwork, make_model: Callable[..., Model], seed: int
) -> None:
    """One thread is right; two and three, again and again, give its bits."""
    arrays = arguments(2)
    feeds = {f"input{k}": array for k, array in enumerate(arrays)}
    results = []
    for threads in (1, 2, 3):
        module = make_network([SHAPE] * 2, random_network(seed))
        expected = evaluate(network_of(module), arrays, dtype=np.float64)
        model = make_model(module, threads=threads)
        for _ in range(1 if threads == 1 else 15):
            results.append(model.run(feeds))
        for k, want in enumerate(expected):
            found = results[-1][f"output{k}"]
            np.testing.assert_allclose(found, want, rtol=1e-4, atol=1e-4 * np.abs(want).max())
    for other in results[1:]:
        assert all(np.array_equal(other[name], results[0][name]) for name in results[0])


# --- loops ----------------------------------------------------------------------------------

PARTS = 6
LONG = (25, 40)


def part(b: Builder, x: Tensor, number: int) -> Tensor:
    """Some rows, and one more."""
    rows = (x.shape[0] - 1) // PARTS
    return b.slice(x, (rows * number, 0), (rows + 1, x.shape[1]))


def handed_on(b: Builder, x: Tensor, kernels: int = 2) -> Tensor:
    """Of each part, what so many kernels make of it one after another."""
    parts = []
    for number in range(PARTS):
        made = part(b, x, number)
        for _ in range(kernels):
            made = work(b, made)
        parts.append(made)
    return b.concat(parts, 0)


def carried(b: Builder, x: Tensor) -> Tensor:
    """Of each part the one before is needed."""
    parts = [work(b, part(b, x, 0))]
    for _ in range(PARTS - 1):
        parts.append(work(b, parts[-1]))
    return b.concat(parts, 0)


def followed(b: Builder, x: Tensor) -> Tensor:
    """A second loop needs all of the first one."""
    y = handed_on(b, x, 3)
    return handed_on(b, b.slice(y, (0, 0), x.shape))


def beside(b: Builder, x: Tensor) -> list[Tensor]:
    """A kernel, two loops that do not need what is in front of them, and kernels that need both."""
    y = work(b, x)
    first, second = handed_on(b, x, 1), handed_on(b, x)
    return [join(b, work(b, y), first), join(b, first, second)]


@dataclass(frozen=True)
class Case:
    """A network; from which step on so many calls come so often, the last first; the script."""

    write: Callable[..., Any]
    loops: tuple[tuple[int, int, int], ...]
    script: str

    def roll(self, plan: Plan, threads: int = 1) -> Plan:
        """Its plan with loops. threads: that do whole iterations."""
        for begin, length, count in self.loops:
            plan = rolled(plan, begin, length, count, threads)
        return plan


APART = {
    "one kernel": Case(partial(handed_on, kernels=1), ((0, 1, 6),), "6( k )"),
    "two kernels": Case(handed_on, ((0, 2, 6),), "6( | k | k )"),
    "three kernels": Case(partial(handed_on, kernels=3), ((0, 3, 6),), "6( k | k | k )"),
    "two loops": Case(followed, ((18, 2, 6), (0, 3, 6)), "6( k | k | k ) | 6( | k | k )"),
    "beside": Case(beside, ((7, 2, 6), (1, 1, 6)), "k 6( k ) 6( | k | k ) k | k k"),
    "once": Case(handed_on, ((4, 2, 4), (2, 2, 1)), "k | k k | k 4( | k | k )"),
}
"""Loops whose iterations do not depend on one another."""

CASES = {**APART, "carried": Case(carried, ((1, 1, 5),), "k | 5( | k )")}


def short(script: Script) -> str:
    """Kernels, barriers, and loops in parentheses."""
    found = []
    for step in script:
        if isinstance(step, LoopLaunch):
            found.append(f"{step.count}( {short(step.body)} )")
        else:
            found.append("|" if isinstance(step, Barrier) else "k")
    return " ".join(found)


@pytest.mark.parametrize("name", CASES)
def test_where_threads_wait_in_loops(
    make_network: MakeNetwork, make_plan: MakePlan, name: str
) -> None:
    """A barrier at the beginning is one between iterations. There are no more of them than between
    calls one by one.
    """
    case = CASES[name]
    plan = case.roll(make_plan(make_network([LONG], case.write)))
    found = build(plan, Target.of("host"), 1)
    assert short(found.script) == case.script
    alone = build(plan.unrolled(), Target.of("host"), 1)
    assert {unit.key() for unit in found.units} == {unit.key() for unit in alone.units}
    assert waits(found.script) <= waits(alone.script)


def waits(script: Script) -> int:
    """How many barriers a run comes to."""
    count = 0
    for step in script:
        if isinstance(step, LoopLaunch):
            count += step.count * waits(step.body) - isinstance(step.body[0], Barrier)
        count += isinstance(step, Barrier)
    return count


@pytest.mark.parametrize("name", in_turn(CASES, every=2))
def test_loops_give_the_same_bits(
    make_network: MakeNetwork, make_model: Callable[..., Model], name: str
) -> None:
    """Those of the calls one by one, whichever threads do them."""
    case = CASES[name]
    x = np.random.default_rng(0).standard_normal(LONG).astype(np.float32)
    wanted = make_model(make_network([LONG], case.write)).run({"input0": x})
    for threads in (1, 2, 3):
        for private in {1, threads if name in APART else 1}:
            change = partial(case.roll, threads=private)
            model = make_model(make_network([LONG], case.write), threads=threads, change=change)
            for _ in range(1 if threads == 1 else 15):
                found = model.run({"input0": x})
                assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


def in_steps(b: Builder, x: Tensor) -> Tensor:
    """Code that comes nine times, each time after the one before."""
    code = Code([x], [(x.shape, f32)], 1, 9)
    with code.lanes(x.shape[0]) as k:
        code.results[0][k] = code.inputs[0][k] + code.results[0][k]
    (y,) = b.code(code.operation())
    return y


def test_code_with_steps_is_a_loop(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Who comes from a kernel that it does not need goes on to its first step, and from the last
    one to the next kernel.
    """

    def write(b: Builder, x: Tensor) -> list[Tensor]:
        r = b.loops_of(x.shape)
        doubled = b.map(r, x[r] * 2.0)
        return [doubled, in_steps(b, x), b.map(r, x[r] * 3.0)]

    plan = make_plan(make_network([(8,)], write))
    found = build(plan, Target.of("host"), 1)
    assert short(found.script) == "k 9( | k ) k"
    assert [step.kernel.split("_")[0] for step in found.steps] == ["pointwise", "code", "pointwise"]


def test_code_with_steps_is_in_no_loop(make_network: MakeNetwork, make_plan: MakePlan) -> None:
    """Nothing says what it is told in which iteration."""

    def write(b: Builder, x: Tensor) -> Tensor:
        return b.concat([in_steps(b, b.slice(x, (8 * n,), (8,))) for n in range(3)], 0)

    plan = rolled(make_plan(make_network([(24,)], write)), 0, 1, 3)
    with pytest.raises(CompilerBug, match="steps of its own in a loop"):
        build(plan, Target.of("host"), 1)
