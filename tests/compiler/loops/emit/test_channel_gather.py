"""Gathers of channels as machine code, on every target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.layout.gather_channels import GatherChannels
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from tests.compiler.linalg.operations import pointwise_convolution
from tests.runnable import RUNNABLE
from tests.structured.evaluate import evaluate

FLOATS = [target for target in RUNNABLE if not target.dot]
"""Those that differ in moves of floats."""


@pytest.mark.parametrize("target", FLOATS, ids=lambda target: target.name)
@pytest.mark.parametrize("half, groups", [(16, 2), (29, 2), (48, 3), (160, 2)])
def test_every_lane_comes_from_its_block(
    make_network: Callable[..., ModuleOp],
    run_networks: Callable[..., Any],
    half: int,
    groups: int,
    target: Target,
) -> None:
    """One source, two or many; a few results at a time; the epilogue comes before the store."""

    def write(b: Builder, x: Tensor) -> Tensor:
        concat_op = b.concat(
            [pointwise_convolution(b, x, half), pointwise_convolution(b, x, half)], 0
        )
        size = 2 * half // groups
        n, g, y, z = b.loops_of((size, groups, *x.shape[1:]))
        moved = b.map((n, g, y, z), concat_op[g * size + n, y, z])
        moved = b.collapse(moved, [[0, 1], [2], [3]])
        part = b.slice(moved, (half, 0, 0), (half, *x.shape[1:]))
        at = b.loops_of(part.shape)
        return pointwise_convolution(b, b.map(at, maximum(part[at], 0.0)), 16)

    module = make_network([(16, 3, 5)], write)
    x = np.random.default_rng(0).integers(-9, 9, (16, 3, 5)).astype(np.float32)
    wanted = evaluate(network_of(module), [x])
    GatherChannels().apply(Context(), module)
    PackChannels().apply(Context(), module)
    schedule_of = lambda kernel: choose(kernel, target)  # noqa: E731
    (results,), (program,) = run_networks([(module, [x])], schedule_of, target)
    assert sum(kernel.lanes is not None for kernel in program.kernels) == 1
    for result, expected in zip(results, wanted, strict=True):
        np.testing.assert_array_equal(result.ravel()[: expected.size], expected.ravel())
