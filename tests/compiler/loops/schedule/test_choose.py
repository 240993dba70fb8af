"""The choices of strategies for important layers, on each target."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from math import prod
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp, f32

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.chunks import chunk_count
from ncc.compiler.loops.schedule.pointwise import scalar
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import AVX2, AVX512, BASELINE, Target
from ncc.dialects.casts import cast
from ncc.dialects.element import ELEMENTS
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp, select
from ncc.dialects.shapes import Shape
from tests.compiler.linalg.operations import depthwise, ones, row_sums
from tests.compiler.loops.emit.layers import (
    KernelOf,
    convolution,
    depthwise_of_blocks,
    inner_product,
    pointwise,
    pooling,
    targets,
)
from tests.typed import network


def accumulators(kernel: Kernel, schedule: Schedule, target: Target) -> int:
    """Vector registers that hold results of one tile."""
    points = prod(n for _, n in schedule.tile)
    return points * -(-schedule.vector // target.lanes)


LAYERS: list[tuple[Any, Shape]] = [
    (convolution, (64, 16, 16)), (convolution, (3, 40, 40)), (convolution, (20, 9, 9)),
    (depthwise, (64, 18, 18)), (depthwise, (40, 9, 9)), (pooling, (64, 16, 16)),
    (inner_product, (512,)), (row_sums, (197, 768)), (pointwise, (64, 16, 16)),
]  # fmt: skip


@targets
@pytest.mark.parametrize(("write", "shape"), LAYERS)
def test_tiles_fit_the_registers(
    kernel: KernelOf, write: Any, shape: Shape, target: Target
) -> None:
    """Accumulators, and the operands of an iteration, are not spilled."""
    found = kernel(write, shape)
    schedule = choose(found, target)
    assert accumulators(found, schedule, target) < target.registers


@targets
@pytest.mark.parametrize(("write", "shape"), LAYERS)
def test_schedules_are_whole(kernel: KernelOf, write: Any, shape: Shape, target: Target) -> None:
    """Every loop occurs once; tiles have known loops; threads get loops outside of the lane."""
    found = kernel(write, shape)
    for schedule in (choose(found, target), scalar(found, target)):
        assert sorted(schedule.order) == found.parallel
        assert set(schedule.reduced) == found.reduced
        assert {loop for loop, _ in schedule.tile} <= set(found.parallel)
        assert schedule.lane not in schedule.order[: schedule.chunks]
        assert all(1 < n <= found.extents[loop] for loop, n in schedule.tile)


@targets
@pytest.mark.parametrize("write", [convolution, depthwise_of_blocks, pooling])
def test_channels_are_the_lane(kernel: KernelOf, write: Any, target: Target) -> None:
    """In blocks, on every target; vectors are as wide as the target's."""
    found = kernel(write, (64, 18, 18))
    schedule = choose(found, target)
    assert schedule.lane is not None and schedule.lane in found.parallel
    assert found.store.coefficients[schedule.lane] == 1
    assert found.extents[schedule.lane] % 16 == 0
    assert schedule.vector == target.lanes


def test_a_convolution_fills_the_registers(kernel: KernelOf) -> None:
    """At least half of the registers accumulate: fewer would wait for the adder."""
    found = kernel(convolution, (64, 30, 30))
    for target in (AVX512, AVX2, BASELINE):
        schedule = choose(found, target)
        assert accumulators(found, schedule, target) >= target.registers // 2


@targets
def test_a_window_is_unrolled(kernel: KernelOf, target: Target) -> None:
    """Depthwise 3x3 and pooling 2x2 have no loop over the window: neighbours share loads."""
    for write in (depthwise_of_blocks, pooling):
        found = kernel(write, (64, 18, 18))
        assert choose(found, target).unroll == found.reduced


def apart(b: Builder, x: Tensor) -> Tensor:
    """Every second row and column of a depthwise convolution."""
    w = b.weight(ones(x.shape[0], 3, 3))
    c, y, z, k, m = b.loops(f"c y:{(x.shape[1] - 1) // 2} z:{(x.shape[2] - 1) // 2} k m")
    return b.sum((c, y, z), over=(k, m), of=x[c, y * 2 + k, z * 2 + m] * w[c, k, m])


def of_five(b: Builder, x: Tensor) -> Tensor:
    """A depthwise convolution with windows of 5x5 and 14 x 14 results."""
    w = b.weight(ones(x.shape[0], 5, 5))
    c, y, z, k, m = b.loops("c y:14 z:14 k m")
    return b.sum((c, y, z), over=(k, m), of=x[c, y + k, z + m] * w[c, k, m])


@targets
def test_two_rows_of_windows_share_what_they_read(kernel: KernelOf, target: Target) -> None:
    """If all rows of a window but one are those of the next one; a stride leaves too few."""
    for write, rows in ((depthwise_of_blocks, 2), (apart, 1)):
        found = kernel(write, (64, 17, 17))
        schedule = choose(found, target)
        *_, row, _, lane = schedule.order
        assert lane == schedule.lane and schedule.points(row) == rows


@targets
def test_a_long_window_keeps_the_units_busy(kernel: KernelOf, target: Target) -> None:
    """One row of 5x5 taps is unrolled: with few registers, for one row of more points."""
    schedule = choose(kernel(of_five, (64, 18, 18)), target)
    *_, row, column, _ = schedule.order
    few = target.registers < 32
    assert (schedule.points(row), schedule.points(column)) == ((1, 7) if few else (2, 7))


@targets
def test_sums_of_columns_take_several_vectors(kernel: KernelOf, target: Target) -> None:
    """They are contiguous in each row, if there are many rows; few rows are read one by one."""

    def column_sums(b: Builder, x: Tensor) -> Tensor:
        r, c = b.loops_of(x.shape)
        return b.sum((c,), over=(r,), of=x[r, c])

    def tile_of(*shape: int) -> tuple[tuple[int, int], ...]:
        found = kernel(column_sums, shape, packed=False)
        schedule = choose(found, target)
        assert schedule.lane not in found.reduced and schedule.vector == target.lanes
        assert all(loop == schedule.lane for loop, _ in schedule.tile)
        return schedule.tile

    vectors = [[n for _, n in tile_of(197, 16 * n)] for n in (48, 1)]
    assert vectors == [[8], [] if target.lanes == 16 else [16 // target.lanes]]
    assert tile_of(9, 768) == ()


@targets
def test_sums_of_rows_are_vectors(kernel: KernelOf, target: Target) -> None:
    """The lane is the row that is summed."""
    found = kernel(row_sums, (197, 768), packed=False)
    schedule = choose(found, target)
    assert schedule.lane in found.reduced and schedule.vector == target.lanes


def triangle_sums(b: Builder, x: Tensor) -> Tensor:
    """Of each row, as far as it reaches."""
    r, c = b.loops_of(x.shape)
    return b.sum((r,), over=(c,), of=select(b.index(c) < b.index(r), x[r, c], 0.0))


def turned_triangle(b: Builder, x: Tensor) -> Tensor:
    r, c = b.loops_of(x.shape)
    return b.map((c, r), select(b.index(c) < b.index(r), x[r, c], 0.0))


def some_of_a_phase(b: Builder, x: Tensor) -> Tensor:
    """Every second column of sums over three elements each; the first few are valid."""
    to = b.full((x.shape[0], 2 * x.shape[1]), 0.5)
    r, q, k = b.loops(f"r q:{x.shape[1] - 2} k:3")
    of = select(b.index(q) < 5, x[r, q + k], 0.0)
    return b.sum((r, q * 2), over=(k,), of=of, init=to)


@targets
@pytest.mark.parametrize("write", [triangle_sums, turned_triangle, some_of_a_phase])
def test_a_loop_whose_index_is_read_is_no_lane(
    kernel: KernelOf, write: Any, target: Target
) -> None:
    """All lanes of a vector would get the index of the first."""
    found = kernel(write, (64, 64), packed=False)
    assert choose(found, target).lane not in {*found.index_of.values()} - {None}


def sums_of_blocks(b: Builder, x: Tensor) -> Tensor:
    """Of every second block in each row."""
    r, o, i = b.loops("r o i")
    return b.sum((r,), over=(o, i), of=x[r, o, 0, i])


@targets
def test_lanes_beyond_the_last_channel_are_not_summed(kernel: KernelOf, target: Target) -> None:
    """If the last block is not full, lanes are summed one by one."""
    found = kernel(sums_of_blocks, (64, 3, 2, 16), packed=False)
    blocks, lanes = sorted(found.reduced)
    assert choose(found, target).lane == lanes
    clipped = replace(found, valid_extents=((blocks, lanes, 40),))
    assert choose(clipped, target).lane is None


def phase(b: Builder, x: Tensor) -> Tensor:
    """Every second row and column of a depthwise deconvolution."""
    w = b.weight(ones(x.shape[0], 2, 2))
    to = b.full((x.shape[0], 2 * x.shape[1], 2 * x.shape[2]), 0.5)
    height, width = x.shape[1] - 1, x.shape[2] - 1
    c, p, q, k, m = b.loops(f"c p:{height} q:{width} k m")
    return b.sum((c, p * 2, q * 2 + 1), (k, m), of=x[c, p + k, q + m] * w[c, k, m], init=to)


@targets
def test_results_that_lie_apart_are_vectorised(kernel: KernelOf, target: Target) -> None:
    """Neighbours share a vector if their loads are contiguous; they are stored one by one."""
    found = kernel(phase, (5, 9, 14), packed=False)
    schedule = choose(found, target)
    assert schedule.lane is not None
    assert found.extents[schedule.lane] == 13
    assert found.store.coefficients[schedule.lane] == 2
    assert schedule.vector == min(8, target.lanes)


@targets
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_is_vectorised(
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[[ModuleOp], list[Kernel]],
    axis: int,
    target: Target,
) -> None:
    """Largest, powers, sum and quotient, along rows or along columns."""

    def write(b: Builder, x: Tensor) -> Tensor:
        at, rest = (loops := b.loops_of(x.shape)), [loops[1 - axis]]
        most = b.max(rest, over=[at[axis]], of=x[at])
        at = b.loops_of(x.shape)
        powers = b.map(at, exp(x[at] - most[at[1 - axis]]))
        at = b.loops_of(x.shape)
        total = b.sum([at[1 - axis]], over=[at[axis]], of=powers[at])
        at = b.loops_of(x.shape)
        return b.map(at, powers[at] / total[at[1 - axis]])

    kernels = kernels_of(make_network([(64, 96)], write))
    assert len(kernels) == 4
    assert all(choose(kernel, target).vector == target.lanes for kernel in kernels)


@targets
def test_threads_get_enough_to_do(kernel: KernelOf, target: Target) -> None:
    """The outer loops make some 16 chunks or more where there are as many iterations."""
    for write in (convolution, depthwise, pooling):
        found = kernel(write, (64, 34, 34))
        assert chunk_count(found, choose(found, target)) >= target.costs.threads.chunks


@targets
def test_rows_are_shared_out(kernel: KernelOf, target: Target) -> None:
    """Also where they are the only loop: the lane is a reduced one."""
    found = kernel(row_sums, (64, 96))
    schedule = choose(found, target)
    assert schedule.lane in found.reduced and chunk_count(found, schedule) == 16
    assert chunk_count(found, scalar(found, target)) == 64


def test_the_same_kernel_is_scheduled_the_same_way(kernel: KernelOf) -> None:
    """A choice depends on nothing but the kernel and the target."""
    first, second = (kernel(convolution, (64, 16, 16)) for _ in range(2))
    assert choose(first, AVX512) == choose(second, AVX512)


@pytest.mark.parametrize("name", ["float32", "float64", "int64", "uint64", "uint8"])
def test_numbers_of_64_bits_have_half_of_the_lanes(
    name: str, kernels_of: Callable[[ModuleOp], list[Kernel]]
) -> None:
    """Whether they are in memory, or only computed with; other types have all lanes."""
    element = ELEMENTS[name]

    def doubled(b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, x[at] * 2)

    def converted(b: Builder, x: Tensor) -> Tensor:
        at = b.loops_of(x.shape)
        return b.map(at, cast(cast(x[at], element), f32))

    lanes = AVX512.lanes // 2 if "64" in name else AVX512.lanes
    for kind, write in ((element, doubled), (f32, converted)):
        (kernel,) = kernels_of(network([((4, 64), kind)], write))
        assert choose(kernel, AVX512).vector == lanes
