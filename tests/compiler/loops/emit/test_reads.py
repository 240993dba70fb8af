"""Prefetches of unrolled iterations."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.kernel.kernel import LINE
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import NEON
from ncc.dialects import rt
from tests.compiler.loops.emit.layers import KernelOf, pointwise_convolution


@pytest.mark.parametrize(("further", "lines"), [(0, 1), (1, 1), (4, 4), (LINE, 16)])
def test_unrolled_iterations_prefetch_a_line_once(
    kernel: KernelOf, further: int, lines: int
) -> None:
    """Iterations over a block, each so many elements further: those on the line of the one before
    add none.
    """
    layer = pointwise_convolution(64)
    found = kernel(lambda b, x: layer(b, layer(b, x)), (64, 14, 14))
    schedule = choose(found, NEON)
    assert schedule.at_once is not None
    loop, count = schedule.at_once
    weights = max(filter(None, found.anchor.inputs), key=lambda access: access.argument)
    coefficients = [further if d == loop else 0 for d in range(len(found.extents))]
    access = replace(weights, coefficients=tuple(coefficients))
    written = write(found, replace(schedule, prefetch_l2=(access,)), "kernel")
    prefetches = [op for op in written.walk() if isinstance(op, rt.PrefetchOp)]
    products = [op for op in written.walk() if op.name == "vector.fma"]
    tiles = {op.parent for op in products}
    assert count == BLOCK and len(prefetches) == lines * len(tiles)
