"""Elements at computed coordinates."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.chunks import chunk_count
from ncc.compiler.target import AVX512, NEON, Target
from ncc.dialects.casts import saturated_int8
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import Scalar, clamp, select, to_index
from tests.compiler.loops.emit.layers import KernelOf, targets
from tests.runnable import RUNNABLE
from tests.structured.evaluate import evaluate


@targets
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_coordinates_are_computed_in_vectors(
    kernel: KernelOf, target: Target, channels: int
) -> None:
    """Along the points, once for several channels; threads share the points."""

    def sampled(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        c, p, q = b.loops_of((channels, 64, 96))
        return b.map((c, p, q), x.at(b.index(c), to_index(clamp(grid[p, q], 0.0, 8.0))))

    def sampled_by_pairs(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        """Both coordinates of a point are contiguous."""
        c, p, q = b.loops_of((channels, 64, 96))
        row, column = (to_index(clamp(grid[p, q, k], 0.0, 8.0)) for k in range(2))
        return b.map((c, p, q), x.at(b.index(c), row, column))

    by_one = kernel(sampled, (channels, 9), (64, 96), packed=False)
    by_pairs = kernel(sampled_by_pairs, (channels, 9, 9), (64, 96, 2), packed=False)
    for found in (by_one, by_pairs):
        schedule = choose(found, target)
        assert schedule.vector == target.lanes
        assert [n for _, n in schedule.tile] == ([] if channels == 1 else [min(channels, 4)])
        assert chunk_count(found, schedule) >= target.costs.threads.chunks


@pytest.mark.parametrize("target", [NEON, AVX512], ids=lambda t: t.name)
def test_vectors_of_bytes_may_be_longer(kernel: KernelOf, target: Target) -> None:
    """Twice as long on Arm, where halves of them are narrowed together."""

    def quantized(b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, saturated_int8(x[at]))

    def doubled(b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, x[at] * 2.0)

    found = [choose(kernel(made, (64, 96), packed=False), target) for made in (quantized, doubled)]
    assert [one.vector for one in found] == [8 if target is NEON else 16, target.lanes]
    assert [dict(one.tile)[one.lane] for one in found if one.lane is not None] == [2, 2]


@targets
@pytest.mark.parametrize(("blocks", "together"), [(1, []), (2, [2]), (5, [4]), (12, [4])])
def test_blocks_share_coordinates(
    kernel: KernelOf, target: Target, blocks: int, together: list[int]
) -> None:
    """Coordinates are computed once for several blocks; threads share points and blocks. Not if it
    is computed of the block.
    """

    def sampled(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        c, p, q, lane = b.loops_of((blocks, 64, 96, 16))
        at = to_index(clamp(grid[p, q], 0.0, 8.0))
        return b.map((c, p, q, lane), x.at(b.index(c), at, b.index(lane)))

    def of_its_own(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        c, p, q, lane = b.loops_of((blocks, 96, 16, 16))
        at = to_index(clamp(grid[c, p], 0.0, 8.0))
        return b.map((c, p, q, lane), x.at(b.index(c), at, b.index(lane)))

    image = (blocks, 9, 16)
    found = kernel(sampled, image, (64, 96), packed=False)
    schedule = choose(found, target)
    assert [n for loop, n in schedule.tile if loop != schedule.lane] == together
    assert chunk_count(found, schedule) >= target.costs.threads.chunks
    apart = choose(kernel(of_its_own, image, (blocks, 96), packed=False), target)
    assert all(loop == apart.lane for loop, _ in apart.tile)


def subview(grid: Tensor, p: AffineExpr, q: AffineExpr) -> Scalar:
    """A number from 0 to 8 for each point."""
    return to_index(clamp(grid[p, q], 0.0, 8.0))


def of_blocks(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Four blocks of five share the coordinates."""
    blocks = b.reshape(y, (5, 12, 8))
    c, p, q, lane = b.loops_of((5, *grid.shape, 8))
    return b.map((c, p, q, lane), blocks.at(b.index(c), subview(grid, p, q), b.index(lane)))


def by_every_other(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    c, p, q = b.loops_of((3, *grid.shape))
    return b.map((c, p, q), x.at(b.index(c), subview(grid, p, q)) * y[p, q * 2])


def of_the_first_columns(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    c, p, q = b.loops_of((3, *grid.shape))
    found = x.at(b.index(c), subview(grid, p, q))
    return b.map((c, p, q), select(b.index(q) < 5, found, 0.0))


def summed(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    c, p, q, k = b.loops_of((3, *grid.shape, 2))
    of = x.at(b.index(c), to_index(clamp(grid[p, q] + z[k, q], 0.0, 8.0)))
    return b.sum((c, p, q), (k,), of)


def stored_apart(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    into = b.full((3, *y.shape), 0.5)
    c, p, q = b.loops_of((3, *grid.shape))
    return b.map((c, p, q * 2), x.at(b.index(c), subview(grid, p, q)), into=into)


def summed_apart(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    into = b.full((3, *y.shape), 0.5)
    c, p, q, k = b.loops_of((3, *grid.shape, 2))
    of = x.at(b.index(c), to_index(clamp(grid[p, q] + z[k, q], 0.0, 8.0)))
    return b.sum((c, p, q * 2), (k,), of, init=into)


def of_another_row(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    p, q = b.loops_of(grid.shape)
    return b.map((p, q), x.at(to_index(clamp(grid[p, q], 0.0, 2.0)), b.index(p)))


def of_the_first_cells(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Without computed coordinates: the columns are those of the vector."""
    p, q = b.loops_of(grid.shape)
    return b.map((p, q), select(b.index(q) < 5, y.at(b.index(p), b.index(q)), grid[p, q]))


def down_a_column(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    p, q = b.loops_of((6, 3))
    return b.map((p, q), y.at(b.index(q), b.index(p)) * grid[p, q * 2])


def down_the_diagonal(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    few = b.cut(z, 1, 0, 6)
    p, q = b.loops_of(few.shape)
    return b.map((p, q), y.at(b.index(q), b.index(q)) + few[p, q])


def along_a_row(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """The sum of all elements that are read for a row."""
    p, q = b.loops_of(grid.shape)
    return b.sum((p,), (q,), y.at(b.index(p), subview(grid, p, q)))


def of_every_other_column(b: Builder, x: Tensor, grid: Tensor, y: Tensor, z: Tensor) -> Tensor:
    """Two elements apart, though its columns are those of the vector."""
    pairs = b.expand(y, [[0], [1, 2]], [6, 40, 2])
    even = b.collapse(b.cut(pairs, 2, 0, 1), [[0], [1, 2]])
    p, q = b.loops_of(grid.shape)
    return b.map((p, q), even.at(b.index(p), b.index(q)) + grid[p, q])


PLACED = [
    by_every_other,
    of_the_first_columns,
    summed,
    stored_apart,
    summed_apart,
    of_another_row,
    of_the_first_cells,
    down_a_column,
    down_the_diagonal,
    of_every_other_column,
    along_a_row,
    of_blocks,
]


@pytest.mark.parametrize(
    "target", [one for one in RUNNABLE if not one.dot], ids=lambda target: target.name
)
def test_each_lane_has_its_own_coordinates(
    make_network: Callable[..., ModuleOp], run_networks: Callable[..., Any], target: Target
) -> None:
    """With any other operands, stores and uses of the coordinates."""
    shapes = [(3, 9), (6, 40), (6, 80), (2, 40)]
    draw = np.random.default_rng(0)
    feeds = [draw.uniform(-1, 9, shape).astype(np.float32) for shape in shapes]
    modules = [make_network(shapes, write) for write in PLACED]
    wanted = [evaluate(network_of(module), feeds) for module in modules]
    results, _ = run_networks(
        [(module, feeds) for module in modules], lambda kernel: choose(kernel, target), target
    )
    for found, want in zip(results, wanted, strict=True):
        np.testing.assert_allclose(found[0], want[0], rtol=1e-5)
