"""Copies that ask for what follows, and cells at computed places."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product

import pytest

from ncc.compiler.loops.schedule import CHUNKS_WANTED, LINE
from ncc.compiler.loops.strategies.choose import choose
from ncc.compiler.loops.strategies.writer import chunk_count
from ncc.compiler.target import Target
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import clamp, to_index
from tests.compiler.loops.strategies.layers import KernelOf, line_of, targets


def copy_of_rows(rows: int) -> Callable[[Builder, Tensor], Tensor]:
    """The first rows of an image as they are, in a frame."""

    def write(b: Builder, x: Tensor) -> Tensor:
        strip = b.cut(x, 1, 0, rows)
        return b.pad(b.map(at := b.loops_of(strip.shape), strip[at]), [0, 1, 1], [0, 0, 1])

    return write


@targets
def test_a_strip_that_is_copied_asks_for_the_next(kernel: KernelOf, target: Target) -> None:
    """Each line of the rows behind it; nothing where the planes end with the strip."""
    planes, rows, width = 3, 10, 224
    found = kernel(copy_of_rows(rows), (planes, 224, width), packed=False)
    schedule = choose(found, target)
    (read,) = found.anchor.inputs
    assert read is not None and schedule.lane is not None
    together = schedule.vector * schedule.points(schedule.lane)
    places = [
        {plane: p, row: r, column: c}
        for (plane, row, column) in [schedule.order]
        for p, r, c in product(range(planes), range(rows), range(0, width, together))
    ]
    asked = {line_of(hint, place) for hint in schedule.prefetch_l2 for place in places}
    behind = [(p * 224 + r) * width for p in range(planes) for r in range(rows, 2 * rows)]
    assert asked == {(row + c) // LINE for row in behind for c in range(width)}
    whole = kernel(copy_of_rows(224), (planes, 224, width), packed=False)
    assert not choose(whole, target).prefetch_l2


@targets
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_places_are_computed_in_vectors(kernel: KernelOf, target: Target, channels: int) -> None:
    """Along the points, once for several channels; threads share the points."""

    def sampled(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        c, p, q = b.loops_of((channels, 64, 96))
        return b.map((c, p, q), x.at(b.index(c), to_index(clamp(grid[p, q], 0.0, 8.0))))

    found = kernel(sampled, (channels, 9), (64, 96), packed=False)
    schedule = choose(found, target)
    assert schedule.vector == target.lanes
    assert [n for _, n in schedule.tile] == ([] if channels == 1 else [min(channels, 4)])
    assert chunk_count(found, schedule) >= CHUNKS_WANTED
