"""Prefetches of unrolled iterations, and of tiles of few points."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.kernel.kernel import LINE
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import AVX512, NEON
from ncc.dialects import rt
from ncc.dialects.size import Size
from tests.compiler.loops.emit.layers import KernelOf, convolution, pointwise_convolution


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


@pytest.mark.parametrize("few", [0, 3, 6, 9])
def test_tiles_of_few_points_prefetch_nothing(kernel: KernelOf, few: int) -> None:
    """A tile of each size has code of its own; those of more points prefetch."""
    closed = kernel(convolution, (64, 9, 9))
    row, column = (d for d, n in enumerate(closed.extents) if n == 7)
    told = {row: Size.symbol("n0", 7), column: Size.symbol("n1", 7)}
    found = replace(closed, extents=tuple(told.get(d, n) for d, n in enumerate(closed.extents)))
    weights = max(filter(None, found.anchor.inputs), key=lambda access: access.argument)
    chosen = replace(choose(closed, AVX512), tile=((column, 9),), prefetch_l1=())
    small = replace(chosen, coalesced=(column, row), small=True, unprefetched=few)
    written = write(found, replace(small, prefetch_l2=(weights,)), "kernel")
    prefetches = [op for op in written.walk() if isinstance(op, rt.PrefetchOp)]
    assert len(prefetches) == sum(points > few for points in (9, 6, 3))
