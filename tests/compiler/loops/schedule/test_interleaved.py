"""Which kernels have interleaved vectors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import AVX2, AVX512, BASELINE, Target
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.loops.emit.layers import KernelOf, targets


def transposition(b: Builder, x: Tensor) -> Tensor:
    p, q = b.loops_of(x.shape[::-1])
    return b.map((p, q), x[q, p])


def largest(b: Builder, x: Tensor) -> Tensor:
    r, c = b.loops_of(x.shape)
    return b.max((r,), over=(c,), of=x[r, c])


def by_rows(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    r, c = b.loops_of(x.shape)
    return b.map((r, c), x[r, c] * y[r])


@targets
@pytest.mark.parametrize("shape", [(3, 50176), (50176, 3), (2, 16800), (16800, 2)])
def test_channels_of_an_image(kernel: KernelOf, shape: tuple[int, int], target: Target) -> None:
    """The long loop is the lane, and threads share it."""
    found = kernel(transposition, shape, packed=False)
    schedule = choose(found, target)
    assert schedule.interleave is not None and schedule.lane is not None
    assert found.extents[schedule.interleave] == min(shape)
    assert schedule.vector == target.lanes
    assert [found.extents[d] >= 5 for d in schedule.order[: schedule.chunks]] == [True]


@targets
@pytest.mark.parametrize("write, shapes", [(largest, [(99, 3)]), (by_rows, [(99, 3), (99,)])])
def test_short_rows(
    kernel: KernelOf, write: Callable[..., Any], shapes: Any, target: Target
) -> None:
    """The rows are the lane, whether they are summed or stored."""
    found = kernel(write, *shapes, packed=False)
    schedule = choose(found, target)
    assert schedule.lane is not None and schedule.interleave is not None
    assert found.extents[schedule.lane] == 99 and found.extents[schedule.interleave] == 3


@pytest.mark.parametrize(
    "columns, target, is_interleaved",
    [
        (4, BASELINE, False),
        (7, AVX2, True),
        (8, AVX2, False),
        (8, AVX512, True),
        (9, AVX512, False),
    ],
)
def test_rows_of_whole_vectors_are_not(
    kernel: KernelOf, columns: int, target: Target, is_interleaved: bool
) -> None:
    """Vectors along such rows need no shuffles."""
    found = kernel(by_rows, (99, columns), (99,), packed=False)
    assert (choose(found, target).interleave is not None) is is_interleaved


def test_part_of_each_row_is_not(kernel: KernelOf) -> None:
    """Vectors of whole rows would read beyond the last one."""

    def largest_of_three(b: Builder, x: Tensor) -> Tensor:
        x = b.slice(x, (0, 0), (99, 3))
        r, c = b.loops_of(x.shape)
        return b.max((r,), over=(c,), of=x[r, c])

    found = kernel(largest_of_three, (99, 4), packed=False)
    assert choose(found, AVX512).interleave is None
