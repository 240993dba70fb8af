"""Of a block that channels fill in part, vectors that hold none are not computed; a core that gains
by it computes half of one, or two in one.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.target import (
    AVX2,
    AVX512,
    BASELINE,
    ONE_UNIT,
    TWO_UNITS,
    TWO_UNITS_OF_AMD,
    Target,
)
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp, maximum
from ncc.dialects.weights.derived import Blocked
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime import cpu
from tests.crossed import some
from tests.structured.evaluate import evaluate

BLOCK, INPUTS, POINTS = 16, 5, 29
HALVES, JOINED, WHOLE = (
    replace(AVX512, core=core) for core in (ONE_UNIT, TWO_UNITS_OF_AMD, TWO_UNITS)
)
NARROW = AVX2, BASELINE


def weights(b: Builder, *shape: int) -> Tensor:
    """Random numbers in blocks along the first axis."""
    draw = np.random.default_rng(0)
    plain = WeightAttr.of(draw.normal(0, 1, shape).astype(np.float32))
    return b.weight(WeightAttr(Blocked(plain.data, (0,), BLOCK).weights))


def contraction(channels: int, is_long: bool) -> Callable[..., Tensor]:
    """y[o, p, o'] = f(bias[o, o'] + the sum of x[i, p] * w[o, i, o'])."""

    def write(b: Builder, x: Tensor) -> Tensor:
        bias, w = weights(b, channels), weights(b, channels, INPUTS)
        o, p, i, n = b.loops(f"o:{w.shape[0]} p:{POINTS} i:{INPUTS} n:{BLOCK}")
        start = b.map((o, p, n), bias[o, n])
        made = b.sum((o, p, n), (i,), x[i, p] * w[o, i, n], start)
        return b.map((o, p, n), exp(made[o, p, n]) if is_long else maximum(made[o, p, n], 0.0))

    return write


def window(channels: int) -> Callable[..., Tensor]:
    """y[o, p, o'] = the sum of x[o, p + k, o'] * w[o, k, o']."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = weights(b, channels, 3)
        o, p, k, n = b.loops(f"o:{w.shape[0]} p:{POINTS - 2} k:3 n:{BLOCK}")
        return b.sum((o, p, n), (k,), x[o, p + k, n] * w[o, k, n])

    return write


@pytest.mark.parametrize("channels", some([3, 20, 104, 8, 24, 40, 56], usual=2))
@pytest.mark.parametrize(
    ("kind", "target"),
    [
        *(
            (kind, target)
            for kind in ("contraction", "long", "window")
            for target in (HALVES, *NARROW, replace(AVX2, core=TWO_UNITS_OF_AMD))
        ),
        *((kind, JOINED) for kind in ("contraction", "long")),
    ],
)
def test_short_vectors(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    channels: int,
    kind: str,
    target: Target,
) -> None:
    """The last block is computed in a short vector, alone or beside another point's, or in some
    whole ones, and zeros stand behind it.
    """
    if not target.features <= cpu.features():
        pytest.skip(f"this CPU has no {target.name}")
    blocks = -(-channels // BLOCK)
    shape = (blocks, POINTS, BLOCK) if kind == "window" else (INPUTS, POINTS)
    write = window(channels) if kind == "window" else contraction(channels, kind == "long")
    module = make_network([shape], write)
    x = np.random.default_rng(1).normal(0, 1, shape).astype(np.float32)
    (want,) = evaluate(network_of(module), [x], dtype=np.float64)
    [[got]], [program] = run_networks([(module, [x])], lambda k: choose(k, target), target)
    schedules: list[Schedule] = program.schedules
    assert all(schedule.short is not None for schedule in schedules)
    shared = {schedule.strategy is Strategy.SHARED_VECTORS for schedule in schedules}
    assert shared == {target is JOINED}
    counting = channels % BLOCK
    computed = -(-counting // target.lanes) * target.lanes if target.lanes < BLOCK else BLOCK // 2
    assert np.allclose(got[:-1], want[:-1], atol=1e-5)
    assert np.allclose(got[-1, ..., :counting], want[-1, ..., :counting], atol=1e-5)
    assert not got[-1, ..., computed:].any()


@pytest.mark.parametrize("channels", [12, 28, 44])
@pytest.mark.parametrize("kind", ["contraction", "long", "window"])
def test_three_vectors_of_four(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    channels: int,
    kind: str,
) -> None:
    """Zeros stand behind the last of several vectors that count, and there alone."""
    test_short_vectors(make_network, run_networks, channels, kind, BASELINE)


@pytest.mark.parametrize(
    ("channels", "target"),
    [
        *((channels, target) for channels in (25, 264) for target in (HALVES, JOINED, AVX2)),
        *((32, target) for target in (HALVES, *NARROW)),
        (24, WHOLE),
        (30, BASELINE),
    ],
)
def test_whole_vectors(
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[..., list[Kernel]],
    channels: int,
    target: Target,
) -> None:
    """Where more than half of a block counts, or half of one is no gain, nothing changes."""
    module = make_network([(INPUTS, POINTS)], contraction(channels, False))
    for kernel in kernels_of(module, target):
        assert not kernel.valid_extents and choose(kernel, target).short is None


def test_windows_are_not_joined(
    make_network: Callable[..., ModuleOp], kernels_of: Callable[..., list[Kernel]]
) -> None:
    """No vector of a window is read into all lanes: half of one takes as long as a whole one."""
    module = make_network([(2, POINTS, BLOCK)], window(24))
    for kernel in kernels_of(module, JOINED):
        assert not kernel.valid_extents and choose(kernel, JOINED).short is None


@pytest.mark.parametrize(("channels", "vector"), [(24, 8), (20, 8), (40, 16)])
def test_three_short_vectors(
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[..., list[Kernel]],
    channels: int,
    vector: int,
) -> None:
    """One block and a half are three vectors of one length; more are whole ones, then a short."""
    module = make_network([(INPUTS, POINTS)], contraction(channels, False))
    (kernel,) = kernels_of(module, HALVES)
    assert choose(kernel, HALVES).vector == vector
