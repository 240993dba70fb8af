"""Widths of vectors, sizes of tiles, and parts of lanes."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.chunks import chunk_count
from ncc.compiler.loops.schedule.schedule import (
    parts_of_lane,
    tile_of,
    vector_of,
    with_lane_parted,
)
from ncc.compiler.target import AVX512, BASELINE
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.shapes import Shape


def test_vectors_fill() -> None:
    """The widest vector of the target that an extent fills."""
    assert [vector_of(n, AVX512) for n in (1, 3, 8, 15, 16, 100)] == [1, 2, 8, 8, 16, 16]
    assert [vector_of(n, BASELINE) for n in (0, 2, 100)] == [1, 2, 4]


def test_tiles_divide_where_they_can() -> None:
    """A tile that divides, unless it would be less than half of what fits."""
    assert [tile_of(n, 7) for n in (14, 12, 13, 5, 1)] == [7, 6, 7, 5, 1]
    draw = random.Random(0)
    for _ in range(100):
        extent, most = draw.randint(1, 60), draw.randint(1, 8)
        assert 1 <= tile_of(extent, most) <= min(extent, most)


def doubled(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] + x[at])


def of_a_row(b: Builder, x: Tensor) -> Tensor:
    """One more factor for each row, so that rows are a loop."""
    c, z = b.loops_of(x.shape)
    return b.map((c, z), x[c, z] * x[c, 0])


def summed_over_rows(b: Builder, x: Tensor) -> Tensor:
    k, z = b.loops_of(x.shape)
    return b.sum((z,), over=(k,), of=x[k, z])


def transposed(b: Builder, x: Tensor) -> Tensor:
    y, z = b.loops_of(x.shape[::-1])
    return b.map((y, z), x[z, y])


@pytest.mark.parametrize(
    ("write", "shape", "parts"),
    [
        (doubled, (100003,), 16),
        (doubled, (20011,), 4),  # a part has so many iterations at the least
        (doubled, (8191,), 1),
        (of_a_row, (3, 331 * 331), 6),  # times three rows
        (of_a_row, (8, 331 * 331), 1),  # enough rows
        (summed_over_rows, (768, 600), 4),  # of whole tiles
        (transposed, (25600, 16), 16),
        (transposed, (50000, 3), 1),  # in turn, taken apart in registers
    ],
)
def test_threads_share_a_lane(
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[[ModuleOp], list[Kernel]],
    write: Any,
    shape: Shape,
    parts: int,
) -> None:
    """Where the loops around it are few, in parts of whole tiles, and of enough iterations each."""
    (kernel,) = kernels_of(make_network([shape], write))
    schedule = choose(kernel, AVX512)
    parted = with_lane_parted(kernel, schedule, AVX512.costs.threads)
    assert parts_of_lane(kernel, schedule) == 1
    assert parts_of_lane(kernel, parted) == parts
    assert chunk_count(kernel, parted) == parts * chunk_count(kernel, schedule)
    if parts == 1:
        assert parted == schedule
    else:
        assert schedule.lane is not None
        assert parted.span % (schedule.vector * schedule.points(schedule.lane)) == 0
