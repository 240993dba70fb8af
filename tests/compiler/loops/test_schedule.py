"""Widths of vectors and sizes of tiles."""

from __future__ import annotations

import random

from ncc.compiler.loops.schedule import tile_of, vector_of
from ncc.compiler.target import AVX512, BASELINE


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
