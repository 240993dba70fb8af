"""How many tiles are computed together: by caches, weights, threads and memory."""

from __future__ import annotations

import pytest

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.convolutions.forms import F2, F2_5, F4, F4_5
from ncc.compiler.linalg.convolutions.strips import _sizes, rows_for, strip_of_any_image, strip_size
from ncc.compiler.linalg.convolutions.tiling import ACROSS, Tiling
from ncc.compiler.linalg.memory.loops import share_of
from ncc.compiler.linalg.memory.room import Room
from ncc.compiler.target import Target
from ncc.dialects.size import Size, assuming, form_of, hint
from tests.compiler.linalg.convolutions.cores import ON_ALL, TARGETS

COSTS = CostModel()


@ON_ALL
def test_transformed_in_each_strip(target: Target) -> None:
    """What the run transforms for a strip it transforms again for the next."""
    formed = Tiling(F4, 512, 512, 14, 14, target, formed=True)
    assert strip_size(formed) == formed.rows
    assert formed.cycles(1) > 1.1 * formed.cycles(formed.rows)


@ON_ALL
def test_strips_of_any_image_for_which_weights_are_transformed(target: Target) -> None:
    """They are alike, and as few as the first level of cache allows; at least a row of tiles."""
    tiling = Tiling(F4, 512, 512, H, W, target, formed=True)
    rows = strip_of_any_image(tiling, 1, beside(1e9))
    for height, width in ((1, 1), (7, 7), (28, 28), (200, 12), (9, 4000)):
        size, across, length = rows_at(rows, height, width), -(-width // 4), -(-height // 4)
        assert size == 1 or size * across <= tiling.most_formed
        assert size == length or size + 1 > tiling.most_formed // (2 * across)


@ON_ALL
def test_one_row_is_cut_along_it(target: Target) -> None:
    """V and M of a sequence of 16000 cells are 8 MB; a strip of columns fits L2."""
    tiling = Tiling(F4_5, 32, 32, 1, 16000, target, axes=(False, True))
    size = strip_size(tiling)
    assert (tiling.rows, tiling.along, tiling.length) == (1, ACROSS, 4000)
    assert size * 4 * 8 * 64 <= target.core.l2_bytes


@ON_ALL
def test_large_convolutions_are_cut(target: Target) -> None:
    """V and M of 64 channels at 224x224 are 58 MB; a strip of them fits L2."""
    tiling = Tiling(F4, 64, 64, 224, 224, target)
    bytes_of_a_row = 4 * 36 * tiling.columns * 128
    assert strip_size(tiling) * bytes_of_a_row <= 2 * target.core.l2_bytes
    assert tiling.rows % strip_size(tiling) == 0


@ON_ALL
def test_large_weights_are_read_once(target: Target) -> None:
    """38 MB of weights cost more than what lies between the steps."""
    tiling = Tiling(F4, 512, 512, 28, 28, target)
    assert strip_size(tiling) == tiling.rows


def test_lengths_that_no_memory_holds() -> None:
    """There are no more strips to choose from than for a long image."""
    assert len(_sizes(10**11, COSTS.strips.longest)) < 1000
    assert strip_size(Tiling(F4, 32, 32, 10**11, 8, TARGETS[1])) < 10**5


def test_uneven_strips() -> None:
    """19 rows of tiles fall into 19 equal strips or one; 14 fall into some that cost no more."""
    assert 1 < strip_size(Tiling(F4, 64, 16, 74, 74, TARGETS[1])) < 19
    assert 14 % strip_size(Tiling(F4, 64, 64, 56, 56, TARGETS[1])) == 0


def test_uneven_strips_that_stay_near() -> None:
    """13 rows leave the cache that 5, 5 and 3 rows stay in, for hardly more cycles."""
    tiling = Tiling(F4, 64, 160, 52, 52, TARGETS[1])
    uneven = tiling.target.costs.strips.uneven_worth
    assert tiling.cycles(5, threads=2) > uneven * tiling.cycles(13, threads=2)
    assert strip_size(tiling, threads=2) == 5


def beside(free: float) -> Room:
    """So many bytes beside an image and a result that stay."""
    return Room(int(free), read=0, made=0)


def test_strips_that_memory_has_room_for() -> None:
    """The cheapest of those that fit, equal ones if they cost as much; without room the smallest
    that runs hardly notice.
    """
    tiling = Tiling(F4, 128, 96, 56, 56, TARGETS[0])
    sizes = [strip_size(tiling, threads=2, room=beside(room)) for room in (5e6, 2e6, 5e5, 0)]
    assert sizes == [strip_size(tiling, threads=2), 2, 1, 1]
    uneven = Tiling(F4_5, 128, 48, 27, 27, TARGETS[2])
    assert [strip_size(uneven, threads=2, room=beside(room)) for room in (3e6, 2e6, 0)] == [7, 4, 2]
    dear = uneven.cycles(1, threads=2, calls=COSTS.strips.launches)
    assert dear * COSTS.strips.hardly_noticed > uneven.cycles(
        7, threads=2, calls=COSTS.strips.launches
    )


def test_one_strip_takes_the_place_of_what_it_reads() -> None:
    """V and M of 8 rows are 1.2 MB, where the image is free behind V, and the result behind M."""
    tiling = Tiling(F4, 64, 64, 32, 32, TARGETS[2])
    image = 4 * 64 * 32 * 32
    stays, goes = beside(8e5), Room(800_000, read=image, made=image)
    assert strip_size(tiling, room=goes) == strip_size(tiling) == 8
    assert strip_size(tiling, room=stays) == 4


@ON_ALL
def test_threads_share_strips(target: Target) -> None:
    """Two caches hold more than one, and a barrier is dearer where there is less to do."""
    tiling = Tiling(F4, 128, 96, 56, 56, target)
    assert strip_size(tiling, threads=1) < strip_size(tiling, threads=2)
    large = Tiling(F4, 64, 64, 224, 224, target)
    assert strip_size(large, threads=64) < large.rows


@ON_ALL
def test_threads_share_rounds(target: Target) -> None:
    """Where one row of tiles stays in a cache beside the weights, and there are rows enough."""
    tiling = Tiling(F4, 32, 32, 104, 104, target)
    assert tiling.weights + sum(tiling.between(1)) < COSTS.threads.stays * target.core.l2_bytes
    for threads in (2, 3, 4, 13):
        strips = tiling.rows // strip_size(tiling, threads)
        assert share_of(strips, threads, COSTS.threads) is not None
    assert share_of(tiling.rows // strip_size(tiling, 16), 16, COSTS.threads) is None


def test_strips_of_threads_that_memory_has_room_for() -> None:
    """Each thread has V and M of its own."""
    tiling = Tiling(F4, 16, 16, 112, 112, TARGETS[1])
    each = 2 * sum(tiling.between(1))
    sizes = [strip_size(tiling, 2, beside(room)) for room in (3 * each, 2 * each, each, 0)]
    assert sizes == [2, 2, 1, 1]


@ON_ALL
def test_threads_do_no_strips_of_few_tiles(target: Target) -> None:
    """A tile of registers would have seven points."""
    tiling = Tiling(F4, 32, 32, 28, 28, target)
    assert tiling.columns < COSTS.strips.fewest_tiles
    assert share_of(tiling.rows // strip_size(tiling, 2), 2, COSTS.threads) is None


def test_alike_costs() -> None:
    """Of strips that cost the same as far as is known the smallest: it takes less memory."""
    tiling = Tiling(F2_5, 256, 48, 27, 27, TARGETS[1], groups=2)
    few, many = tiling.cycles(2, threads=2), tiling.cycles(7, threads=2)
    assert few == pytest.approx(many, rel=0.002)
    assert strip_size(tiling, threads=2) == 2


@pytest.mark.parametrize("length", [1, 2, 24, 25, 99, 100, 101, 997])
def test_sizes_of_strips(length: int) -> None:
    """Each number of strips makes them so large; found without a look at all numbers."""
    wanted = {-(-length // strips) for strips in range(1, length + 1)}
    assert _sizes(length, COSTS.strips.longest) == sorted(wanted)


H, W = Size.symbol("h", 224), Size.symbol("w", 256)


def rows_at(rows: int, height: int, width: int) -> int:
    return form_of(rows).value({"h": height, "w": width})


@ON_ALL
def test_rows_for_any_width(target: Target) -> None:
    """About as many tiles as for the hint: of narrow images more rows, if they have them, of wide
    ones fewer. No last strip is much smaller than the others.
    """
    tiling = Tiling(F4, 64, 64, H, W, target)
    rows = rows_for(tiling, tiling.by_hint(), 2, 1)
    assert hint(rows) == 2
    widths = (1, 13, 256, 512, 4000)
    assert [rows_at(rows, 600, width) for width in widths] == [150, 30, 2, 1, 1]
    assert [rows_at(rows, 9, width) for width in widths] == [3, 3, 2, 1, 1]
    assert [rows_at(rows, 4 * down, 128) for down in (4, 5, 6, 7)] == [4, 5, 3, 4]


@ON_ALL
def test_strips_that_the_hint_does_not_fill(target: Target) -> None:
    """A hint of a few tiles leaves strips large: weights of 16 MB do not come again for each 16
    tiles of a larger image. Strips of which the hint has several stay as they are.
    """
    h, w = Size.symbol("h", 7), Size.symbol("w", 7)
    few, plenty = beside(1e9), Tiling(F4, 64, 64, H, W, target)
    rows = strip_of_any_image(Tiling(F2, 512, 512, h, w, target), 1, few)
    assert [rows_at(rows, side, side) for side in (1, 7, 14)] == [1, 4, 7]
    size = strip_size(plenty.by_hint())
    assert size < plenty.by_hint().rows
    assert hint(strip_of_any_image(plenty, 1, few)) == size


def test_rows_where_the_width_is_known() -> None:
    """A height alone does not change them, nor the columns of a single row, if it has so many."""
    target = TARGETS[0]
    for tiling in (
        Tiling(F4, 64, 64, H, 256, target),
        Tiling(F4, 64, 64, 1, W, target, axes=(False, True)),
    ):
        rows = rows_for(tiling, tiling.by_hint(), 2, 1)
        assert [rows_at(rows, extent, extent) for extent in (1, 4, 5, 600)] == [1, 1, 2, 2]


def test_rows_where_threads_share_strips() -> None:
    """Each thread has strips of its own, of narrow images, too. Whether it has is asked of the hint
    alone: no size is left out.
    """
    target = TARGETS[0]
    tiling = Tiling(F4, 16, 16, H, W, target)
    image = tiling.by_hint()
    size = strip_size(image, 2)
    assert share_of(image.rows // size, 2, COSTS.threads) is not None
    with assuming() as assumed:
        rows = rows_for(tiling, image, size, 2)
    assert not assumed and hint(rows) == size
    assert [rows_at(rows, height, 4) for height in (4, 40, 224)] == [1, 5, 28]
    assert rows_at(rows_for(tiling, image, size, 1), 2304, 4) == 64 * size
