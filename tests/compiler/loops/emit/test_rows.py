"""Reductions along rows: the remainder of a row after its vectors counts once."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.reduction import rows
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from tests.runnable import RUNNABLE, each_target


def over_rows(make_network: Callable[..., ModuleOp], width: int, kind: str) -> ModuleOp:
    """Six rows, each of which becomes one number."""

    def write(b: Builder, x: Tensor) -> Tensor:
        r, k = b.loops(f"r:6 k:{width}")
        combine = getattr(b, kind)
        result: Tensor = combine((r,), over=(k,), of=x[r, k], init=0.25)
        return result

    return make_network([(6, width)], write)


@each_target
@pytest.mark.parametrize("rest", [0, 1, 3, 5, 15])
@pytest.mark.parametrize("kind", ["sum", "max", "min"])
def test_every_cell_counts_once(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    rest: int,
    kind: str,
) -> None:
    """Powers of two show which elements were added; extrema are in the remainder, or before it."""
    width = 16 + rest
    x = np.full((6, width), 0.5, np.float32)
    x[:, -1], x[1, 0], x[2, -3] = 2.0**18, -4.0, 2.0**20
    chosen: list[Schedule] = []

    def schedule_of(kernel: Kernel) -> Schedule:
        schedule = rows(kernel, target)
        assert isinstance(schedule, Schedule)
        chosen.append(schedule)
        return schedule

    networks = [(over_rows(make_network, width, kind), [x])]
    ((found,),), _ = run_networks(networks, schedule_of, target)
    combine = {"sum": np.add, "max": np.maximum, "min": np.minimum}[kind]
    np.testing.assert_array_equal(found, combine.reduce(x, axis=1, initial=np.float32(0.25)))
    assert chosen[0].lane == 1


@each_target
@pytest.mark.parametrize("rows_beside", [1, 2, 3, 4])
@pytest.mark.parametrize("kind", ["sum", "max"])
def test_long_rows_have_several_partial_results(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    target: Target,
    rows_beside: int,
    kind: str,
) -> None:
    """All of them count, and so do the vectors after the last iteration, and the rest."""
    widths = [count * target.lanes + rest for count, rest in ((15, 1), (16, 0), (17, 0), (23, 3))]
    networks = []
    for width in widths:

        def write(b: Builder, x: Tensor) -> Tensor:
            r, k = b.loops_of(x.shape)
            combine = getattr(b, kind)
            result: Tensor = combine((r,), over=(k,), of=x[r, k], init=0.25)
            return result

        shape = (rows_beside, width)
        x = np.arange(rows_beside * width, dtype=np.float32).reshape(shape) % 251
        networks.append((make_network([shape], write), [x]))
    found, _ = run_networks(networks, lambda kernel: rows(kernel, target), target)
    combine = {"sum": np.add, "max": np.maximum}[kind]
    for (_, [x]), (result,) in zip(networks, found, strict=True):
        expected = combine.reduce(x, axis=1, initial=np.float32(0.25))
        np.testing.assert_array_equal(result, expected)


def test_a_row_is_no_shorter_than_a_vector(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any]
) -> None:
    """There may be no elements in front of a row."""
    networks = [(over_rows(make_network, 5, "sum"), [np.zeros((6, 5), np.float32)])]
    with pytest.raises(CompilerBug, match="a row of 5 elements in vectors of 8"):
        run_networks(networks, lambda _: Schedule(Strategy.ROWS, 1, 8, (), (0,), (1,)), RUNNABLE[0])
