"""What sums take: by what tiles compute, which is more than what is asked for."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncc.compiler.linalg.data_types.product_cycles import (
    cycles_in_blocks,
    cycles_on_tiles,
    on_tiles,
    points_on_tiles,
)
from ncc.compiler.target import AMX
from tests.compiler.tile_cores import SHARED

IMAGE = 64, 64, 2
POINTS = 64 * 64


@pytest.mark.parametrize(
    ("channels", "computed"),
    [
        ((32, 32), (32, 32)),
        ((48, 48), (64, 64)),
        ((24, 33), (32, 64)),
        ((16, 96), (16, 96)),  # a block alone has no other beside it
        ((3, 64), (16, 64)),
        ((80, 65), (96, 96)),
    ],
)
def test_channels(channels: tuple[int, int], computed: tuple[int, int]) -> None:
    """K-tiles of 32 inputs, and blocks of 16 outputs, two by two."""
    assert on_tiles(*channels) == computed


@pytest.mark.parametrize(
    ("points", "least", "most"),
    [
        ((64, 64, 0), 4096, 4096),
        ((64, 64, 2), 4096, 4096),
        ((100, 100, 2), 1.06e4, 1.08e4),  # seven tiles of 15 a row, which take longer than 15 / 16
        ((7, 7, 2), 64, 64),  # 61 with the borders between rows
        ((7, 7, 9), 70, 80),  # these are too many
        ((14, 14, 0), 200, 210),
        ((1, 16, 0), 16, 16),
    ],
)
def test_points(points: tuple[int, int, int], least: float, most: float) -> None:
    """As many as full tiles have in the time of what rows are cut into."""
    assert least <= points_on_tiles(*points, AMX.costs.tiles.flat) <= most


def test_channels_between_cost_as_the_next() -> None:
    """But for what is split, and for sums that nobody stores."""
    few, all = (cycles_on_tiles(n, n, 9, IMAGE, AMX) for n in (48, 64))
    assert few == all


def test_short_sums() -> None:
    """Of one k-tile, to halve numbers and to hand on sums takes as long as products, or longer."""
    products, whole = (
        cycles_on_tiles(32, 32, taps, IMAGE, AMX, numbers=numbers)
        for taps, numbers in ((1, 0), (1, 32 * POINTS))
    )
    bare = 32 * 32 * POINTS / AMX.core.tile_multiply_adds
    assert whole - bare >= bare
    long = cycles_on_tiles(32, 32, 25, IMAGE, AMX, numbers=32 * POINTS)
    assert products < whole < 0.2 * long


def test_groups_are_as_many_sums() -> None:
    """Each with k-tiles and blocks of its own."""
    two = cycles_on_tiles(48, 48, 9, IMAGE, AMX, 2, 96 * POINTS)
    one = cycles_on_tiles(48, 48, 9, IMAGE, AMX, 1, 48 * POINTS)
    assert two == pytest.approx(2 * one)


def test_half_of_the_tiles() -> None:
    """Products take twice as long, what is around them does not."""
    whole, half = (cycles_on_tiles(64, 64, 9, IMAGE, target) for target in (AMX, SHARED))
    around = cycles_on_tiles(
        64, 64, 9, IMAGE, replace(AMX, core=replace(AMX.core, tile_multiply_adds=1 << 30))
    )
    assert half - around == pytest.approx(2 * (whole - around), rel=0.02)


def test_folded_blocks() -> None:
    """A few outputs share a vector with other inputs, where vectors fold."""
    three, four, half, all = (cycles_in_blocks(n, 64, 9, POINTS, AMX) for n in (3, 4, 8, 16))
    assert three == four and half == pytest.approx(2 * four) and all == pytest.approx(4 * four)
    whole = replace(AMX, core=replace(AMX.core, joins=True))
    assert not whole.folds
    assert cycles_in_blocks(3, 64, 9, POINTS, whole) == cycles_in_blocks(16, 64, 9, POINTS, whole)
