"""Short vectors of two points in one vector: each has the sums that it would have alone."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.target import AVX512, TWO_UNITS, TWO_UNITS_OF_AMD
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.derived import Blocked
from ncc.dialects.weights.weight import WeightAttr
from tests.runnable import RUNNABLE

BLOCK, INPUTS = 16, 37
JOINED, ALONE = (replace(AVX512, core=core) for core in (TWO_UNITS_OF_AMD, TWO_UNITS))


def contraction(channels: int) -> Callable[..., Tensor]:
    """y[o, p, o'] = b[o, o'] + the sum of x[i, p] * w[o, i, o']."""

    def write(b: Builder, x: Tensor) -> Tensor:
        draw = np.random.default_rng(0)

        def weights(*shape: int) -> Tensor:
            plain = WeightAttr.of(draw.normal(0, 1, shape).astype(np.float32))
            return b.weight(WeightAttr(Blocked(plain.data, (0,), BLOCK).weights))

        w, bias = weights(channels, INPUTS), weights(channels)
        o, p, i, n = b.loops(f"o:{w.shape[0]} p:{x.shape[1]} i:{INPUTS} n:{BLOCK}")
        return b.sum((o, p, n), (i,), x[i, p] * w[o, i, n], b.map((o, p, n), bias[o, n]))

    return write


def products(channels: int, columns: int) -> Callable[..., Tensor]:
    """y[o, p, q, o'] = the sum of x[i, p] * w[o, i, q, o']: each column has vectors of its own."""

    def write(b: Builder, x: Tensor) -> Tensor:
        shape = (channels, INPUTS, columns)
        plain = WeightAttr.of(np.random.default_rng(0).normal(0, 1, shape).astype(np.float32))
        w = b.weight(WeightAttr(Blocked(plain.data, (0,), BLOCK).weights))
        ends = f"o:{w.shape[0]} p:{x.shape[1]} q:{columns} i:{INPUTS} n:{BLOCK}"
        o, p, q, i, n = b.loops(ends)
        return b.sum((o, p, q, n), (i,), x[i, p] * w[o, i, q, n])

    return write


def require_same_bits(
    write: Callable[..., Tensor],
    points: int,
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
) -> None:
    """On a core that shares vectors and on one that does not."""
    if AVX512 not in RUNNABLE:
        pytest.skip("this CPU has no AVX-512")
    x = np.random.default_rng(1).normal(0, 1, (INPUTS, points)).astype(np.float32)
    results = []
    for target in (JOINED, ALONE):
        module = make_network([(INPUTS, points)], write)
        [[got]], [program] = run_networks([(module, [x])], lambda k, t=target: choose(k, t), target)
        schedules: list[Schedule] = program.schedules
        shared = {schedule.strategy is Strategy.SHARED_VECTORS for schedule in schedules}
        assert shared == {target.core.joins}
        results.append(got)
    assert np.array_equal(*results)


@pytest.mark.parametrize("points", [1, 2, 3, 28, 31])
@pytest.mark.parametrize("channels", [8, 24, 40, 72])
def test_sums_are_those_of_whole_vectors(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    channels: int,
    points: int,
) -> None:
    """Bit by bit, whether points come in pairs or one is left over."""
    require_same_bits(contraction(channels), points, make_network, run_networks)


@pytest.mark.parametrize(("points", "columns"), [(1, 5), (2, 3), (3, 4), (4, 16)])
@pytest.mark.parametrize("channels", [5, 24])
def test_points_share_vectors_of_their_column(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    channels: int,
    points: int,
    columns: int,
) -> None:
    """A product of a matrix with many constant ones: neighbours in a tile have other vectors."""
    require_same_bits(products(channels, columns), points, make_network, run_networks)
