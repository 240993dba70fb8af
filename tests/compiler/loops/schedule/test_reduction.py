"""Reductions that are no contractions: which loop is the lane, and which points share a tile."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from ncc.compiler.cost_model import CostModel
from ncc.compiler.loops.kernel.kernel import NO_SUM
from ncc.compiler.loops.schedule.reduction import rows, scattered, window
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import AVX2, AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import ones, relu, row_sums
from tests.compiler.loops.conftest import Kernels
from tests.compiler.loops.emit.layers import targets

COSTS = CostModel().schedules


Write = Callable[[Builder, Tensor], Tensor]
BLOCK = 16


def windows(taps: tuple[int, int], stride: int = 1) -> Write:
    """A depthwise convolution of an image in blocks of channels."""

    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(x.shape[0], *taps, BLOCK))
        high, wide = ((n - k) // stride + 1 for n, k in zip(x.shape[1:3], taps, strict=True))
        o, y, z, c, k, m = b.loops(f"o y:{high} z:{wide} c k m")
        return b.sum((o, y, z, c), (k, m), x[o, y * stride + k, z * stride + m, c] * w[o, k, m, c])

    return write


def column_sums(b: Builder, x: Tensor) -> Tensor:
    r, c = b.loops_of(x.shape)
    return b.sum((c,), over=(r,), of=x[r, c])


def into_every_other(b: Builder, x: Tensor) -> Tensor:
    """A phase of a transposed convolution: sums of windows go to every other element."""
    into = b.full((x.shape[0], 2 * x.shape[1]), 0.0)
    y, z, k = b.loops(f"y z:{x.shape[1] - 2} k:3")
    return b.sum((y, z * 2), over=(k,), of=x[y, z + k], init=into)


@targets
def test_windows_of_blocks(kernels: Kernels, target: Target) -> None:
    """The lane is the channel; points of a row share a tile, and two rows whose windows overlap."""
    (kernel,) = kernels(windows((3, 3)), (2, 30, 30, BLOCK))
    found = window(kernel, target)
    assert isinstance(found, Schedule) and found.lane is not None
    assert kernel.store.coefficients[found.lane] == 1 and found.vector == target.lanes
    assert found.unroll == kernel.reduced
    (outer, two), (inner, points) = found.tile
    assert (two, points) == (2, COSTS.most_points if target.registers >= 32 else COSTS.few_points)
    assert kernel.store.coefficients[outer] > kernel.store.coefficients[inner] > 1
    assert found.chunks == 2


def test_rows_whose_windows_lie_apart(kernels: Kernels) -> None:
    """At a stride as large as the window rows share no loads; points of one row still do not wait
    for one another.
    """
    (kernel,) = kernels(windows((2, 2), stride=2), (2, 28, 28, BLOCK))
    found = window(kernel, AVX512)
    assert isinstance(found, Schedule) and [points for _, points in found.tile] == [
        COSTS.most_points
    ]


@pytest.mark.parametrize(("taps", "unrolled"), [((3, 3), 2), ((5, 5), 1), ((1, 9), 1), ((9, 9), 0)])
def test_what_is_unrolled(kernels: Kernels, taps: tuple[int, int], unrolled: int) -> None:
    """A window of few taps, a short row of a larger one, no longer row."""
    assert 3 * 3 <= COSTS.most_unrolled_taps < 5 * 5
    (kernel,) = kernels(windows(taps), (1, 30, 30, BLOCK))
    found = window(kernel, AVX512)
    assert isinstance(found, Schedule) and len(found.unroll) == unrolled
    assert not unrolled or max(found.reduced) in found.unroll


def test_one_row_of_points_where_registers_are_few(kernels: Kernels) -> None:
    """If only a row of the window is unrolled, a second row of points would wait."""
    (kernel,) = kernels(windows((5, 5)), (1, 30, 30, BLOCK))
    few, many = window(kernel, AVX2), window(kernel, AVX512)
    assert isinstance(few, Schedule) and isinstance(many, Schedule)
    assert [points for _, points in few.tile] == [COSTS.most_points]
    assert [points for _, points in many.tile] == [2, COSTS.most_points]


@targets
def test_sums_of_columns(kernels: Kernels, target: Target) -> None:
    """Several neighbouring vectors: each is a sum, and they do not wait for each other."""
    (kernel,) = kernels(column_sums, (100, 16 * COSTS.most_vectors * BLOCK))
    found = window(kernel, target)
    assert isinstance(found, Schedule) and found.tile == ((found.lane, COSTS.most_vectors),)


@targets
def test_sums_of_rows(kernels: Kernels, target: Target) -> None:
    """The lane is summed: each of a few rows has a vector of partial results."""
    (kernel,) = kernels(row_sums, (12, 64))
    found = rows(kernel, target)
    assert isinstance(found, Schedule) and found.reduced[-1] == found.lane
    assert found.lane in kernel.reduced
    assert found.vector == target.lanes and found.tile == ((0, COSTS.few_points),)


def test_what_is_no_sum_of_rows(kernels: Kernels) -> None:
    """Rows shorter than a vector, columns, and kernels without a sum."""
    for write, shape in ((row_sums, (12, 8)), (column_sums, (64, 12)), (relu, (12, 64))):
        (kernel,) = kernels(write, shape)
        assert isinstance(rows(kernel, AVX512), str)
    assert window(kernel, AVX512) == scattered(kernel, AVX512) == NO_SUM


def test_what_a_sum_of_rows_cannot_say(kernels: Kernels) -> None:
    """A vector cannot end elsewhere in each row, and its lanes have no index."""
    (kernel,) = kernels(row_sums, (12, 64))
    assert isinstance(rows(kernel, AVX512), Schedule)
    for other in (replace(kernel, valid_extents=((0, 1, 700),)), replace(kernel, index_of={1: 1})):
        assert isinstance(rows(other, AVX512), str)


def test_a_window_without_a_lane(kernels: Kernels) -> None:
    """If all is summed to one number, no loop moves the store."""
    (kernel,) = kernels(lambda b, x: b.sum((), over=(i := b.loops("i")), of=x[i]), (64,))
    assert isinstance(window(kernel, AVX512), str)


@targets
def test_results_that_lie_apart(kernels: Kernels, target: Target) -> None:
    """The lane runs along what is read side by side, where it is long enough: its results are
    stored one by one.
    """
    *_, kernel = kernels(into_every_other, (3, 34))
    found = scattered(kernel, target)
    assert isinstance(found, Schedule) and found.lane is not None and not found.tile
    assert kernel.store.coefficients[found.lane] == 2 and found.order[-1] == found.lane
    assert found.vector == target.lanes and found.unroll == kernel.reduced
    *_, short = kernels(into_every_other, (3, 2 + COSTS.fewest_scattered - 1))
    assert isinstance(scattered(short, target), str)
