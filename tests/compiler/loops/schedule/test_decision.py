"""Why a kernel has its schedule."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import STRATEGIES, cheapest_of, choose
from ncc.compiler.loops.schedule.decision import Decision
from ncc.compiler.loops.schedule.schedule import Strategy
from ncc.compiler.target import Target
from ncc.dialects.shapes import Shape
from tests.compiler.linalg.operations import row_sums
from tests.compiler.loops.emit.layers import (
    KernelOf,
    convolution,
    depthwise_of_blocks,
    pointwise,
    pooling,
)

AVX2 = Target.of("avx2")


@pytest.fixture(name="contraction")
def kernel_of_a_convolution(kernel: KernelOf) -> Kernel:
    return kernel(convolution, (64, 16, 16))


def test_what_was_tried_before_is_refused(contraction: Kernel) -> None:
    """All strategies before the chosen one, in order."""
    decision = Decision.of(contraction, choose(contraction, AVX2), AVX2)
    tried = [strategy for strategy, _, _ in STRATEGIES]
    assert decision.strategy is Strategy.CONTRACTION
    before = tried[: tried.index(Strategy.CONTRACTION)]
    assert [strategy for strategy, _ in decision.refused] == before


@pytest.mark.parametrize(
    ("write", "shape", "strategy", "reason"),
    [
        (convolution, (64, 16, 16), "matrix_tiles", "the target has no matrix tiles"),
        (convolution, (64, 16, 16), "dot", "its operands are not bytes"),
        (pointwise, (64, 16, 16), "dot", "it sums nothing"),
        (pointwise, (64, 16, 16), "contraction", "it sums nothing"),
        (pooling, (64, 16, 16), "contraction", "it sums no products"),
        (
            depthwise_of_blocks,
            (64, 18, 18),
            "contraction",
            "neither of its operands alone is contiguous along a loop of the result",
        ),
        (
            row_sums,
            (12, 64),
            "window",
            "none of the loops that its operands move along is contiguous in all of them",
        ),
    ],
)
def test_the_condition_that_does_not_hold_is_told(
    kernel: KernelOf, write: Any, shape: Shape, strategy: str, reason: str
) -> None:
    """A line names the condition, not what a strategy wants in general."""
    found = kernel(write, shape)
    lines = Decision.of(found, choose(found, AVX2), AVX2).lines()
    assert f"not {strategy}: {reason}" in list(lines)


def test_cycles_are_told_by_part(contraction: Kernel) -> None:
    """The parts add up to the cycles that were compared, of the best and of the runner-up."""
    decision = Decision.of(contraction, choose(contraction, AVX2), AVX2)
    best, second = cheapest_of(contraction, AVX2)[:2]
    assert (decision.candidate, decision.runner_up) == (best, second)
    for one in (best, second):
        assert sum(one.parts.values()) == pytest.approx(one.cost)
    assert not decision.is_tuned


def test_a_tuned_schedule_is_told(contraction: Kernel) -> None:
    """Then the runner-up is the choice of the cost model."""
    best, second = cheapest_of(contraction, AVX2)[:2]
    decision = Decision.of(contraction, second.schedule, AVX2)
    assert decision.is_tuned and decision.candidate == second and decision.runner_up == best
    assert any(line.endswith("(tuned)") for line in decision.lines())


def test_threads_may_need_another_order(contraction: Kernel) -> None:
    """Cycles depend on the tile."""
    schedule = choose(contraction, AVX2)
    order = (*reversed(schedule.order[:-1]), schedule.order[-1])
    decision = Decision.of(contraction, replace(schedule, order=order, chunks=1), AVX2)
    assert decision.candidate is not None and not decision.is_tuned


def test_cycles_of_other_strategies_are_not_counted(kernel: KernelOf) -> None:
    """Nor are cycles of another strategy told instead."""
    found = kernel(pointwise, (64, 16, 16))
    decision = Decision.of(found, choose(found, AVX2), AVX2)
    assert decision.candidate is None and decision.runner_up is None
    assert "not counted" in list(decision.lines())[-1]
