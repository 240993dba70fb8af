"""Which convolutions are cut into tiles: by weights, sizes and what a core's cycles buy."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ncc.compiler.linalg.convolutions.forms import (
    F2,
    F2_5,
    F4,
    F4_4,
    F4_5,
    F6,
    S2,
    S4,
    Form,
    lengthened,
)
from ncc.compiler.linalg.convolutions.tiling import (
    ACROSS,
    CALLS,
    DOWN,
    HARDLY_NOTICED,
    LARGER,
    LAUNCHES,
    MOST_CHUNKS,
    MOST_OF_A_ROW,
    Tiling,
    cycles_of,
    least_held,
    plain_cycles,
    tiling_of,
)
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.linalg.memory.room import Room
from ncc.compiler.target import AVX512, ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD, Target

TARGETS = [replace(AVX512, core=core) for core in (ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD)]
ON_ALL = pytest.mark.parametrize("target", TARGETS, ids=["one unit", "two units", "of AMD"])


def form_of(outputs: int, inputs: int, height: int, width: int, target: Target) -> Form | None:
    tiling = tiling_of(outputs, inputs, height, width, target)
    return tiling.form if tiling is not None else None


@ON_ALL
def test_the_form_by_the_weights(target: Target) -> None:
    """Large weights for few points are what F(2) saves, arithmetic for many is what F(4) does."""
    assert form_of(64, 64, 56, 56, target) is F4
    assert form_of(128, 128, 28, 28, target) is F4
    assert form_of(500, 500, 7, 7, target) is F2


@ON_ALL
def test_weights_that_the_run_transforms(target: Target) -> None:
    """Large ones, for few tiles: they come from memory as they are, so that F(4) pays for them."""
    for outputs, inputs, size, formed in (
        (512, 512, 7, True),
        (512, 512, 14, True),
        (512, 512, 28, False),  # V and M of a row of places leave L1
        (256, 64, 14, False),  # transformed ones are few
        (512, 500, 7, False),  # in blocks that channels do not fill
    ):
        tiling = tiling_of(outputs, inputs, size, size, target)
        assert tiling is not None and tiling.formed is formed
        assert tiling.form is F4 or not formed
    narrow = tiling_of(512, 512, 7, 7, replace(target, lanes=8))
    assert narrow is not None and not narrow.formed


@pytest.mark.parametrize(
    "other",
    [{"groups": 2}, {"depth": Depth(2, 3)}, {"axes": (False, True)}, {"form": S2}],
    ids=["groups", "volume", "one axis", "stride"],
)
def test_weights_that_come_transformed(other: dict[str, Any]) -> None:
    """The run knows how to transform those of one image, of all its channels."""
    tiling = Tiling(F4, 512, 512, 7, 7, AVX512)
    assert tiling.can_form() and not replace(tiling, **other).can_form()


@ON_ALL
def test_transformed_in_each_chunk(target: Target) -> None:
    """What the run transforms for a chunk it transforms again for the next."""
    formed = Tiling(F4, 512, 512, 14, 14, target, formed=True)
    assert formed.chunk() == formed.rows
    assert formed.cycles(1) > 1.1 * formed.cycles(formed.rows)


@ON_ALL
def test_the_form_by_the_window(target: Target) -> None:
    """Windows of 5x5 have tiles as well, also in groups; those of 7x7 have none."""
    for groups in (1, 2):
        tiling = tiling_of(256, 48, 27, 27, target, groups, taps=5)
        assert tiling is not None and tiling.form is F4_5
    assert tiling_of(256, 256, 56, 56, target, taps=7) is None


@ON_ALL
def test_windows_of_one_row(target: Target) -> None:
    """Along one axis forms of more points round finely enough for any number of channels; of a long
    window, as few parts as there can be have the fewest products.
    """
    row, column = (False, True), (True, False)
    for outputs, inputs, height, width, axes, taps, form in (
        (256, 256, 1, 3000, row, 3, F6),
        (512, 512, 1, 400, row, 5, F4_5),
        (64, 64, 1, 1000, row, 7, lengthened(F4_4, 7)),
        (192, 192, 17, 17, column, 7, lengthened(F4_4, 7)),
        (256, 256, 1, 1000, row, 9, lengthened(F4_5, 9)),
        (256, 256, 1, 1000, row, 11, lengthened(F4_4, 11)),
    ):
        tiling = tiling_of(outputs, inputs, height, width, target, axes=axes, taps=taps)
        assert tiling is not None and tiling.form == form and not tiling.formed


@ON_ALL
def test_tiles_of_one_row(target: Target) -> None:
    """A window of one row has tiles of one row: as many rows of tiles as there are rows."""
    tiling = Tiling(lengthened(F4_4, 7), 64, 64, 17, 18, target, axes=(False, True))
    assert (tiling.rows, tiling.columns, tiling.components) == (17, 5, 7)
    assert (tiling.plane.parts, tiling.plane.read((17, 5))) == (2, (17, 6))
    dilated = Tiling(F4, 64, 64, 9, 30, target, dilation=3, axes=(True, False))
    assert (dilated.rows, dilated.columns, dilated.plane.dilations) == (1, 30, (3, 1))


@ON_ALL
def test_one_row_is_cut_along_it(target: Target) -> None:
    """V and M of a sequence of 16000 cells are 8 MB; a chunk of columns fits L2."""
    tiling = Tiling(F4_5, 32, 32, 1, 16000, target, axes=(False, True))
    size = tiling.chunk()
    assert (tiling.rows, tiling.along, tiling.length) == (1, ACROSS, 4000)
    assert size * 4 * 8 * 64 <= target.core.l2_bytes
    first, *_, last = tiling.chunks(size)
    assert (first.first, first.tiles) == ((0, 0), (1, size))
    assert (last.first[1] + last.tiles[1], last.tiles[0]) == (4000, 1)


@ON_ALL
@pytest.mark.parametrize("threads", [1, 2])
def test_a_row_of_any_length_has_few_chunks(target: Target, threads: int) -> None:
    """Half a minute of audio has 300 times what L2 holds; rows of an image may be many chunks."""
    sequence = Tiling(F4_5, 64, 64, 1, 1_440_000, target, axes=(False, True))
    assert sequence.length / sequence.chunk(threads) <= MOST_OF_A_ROW
    image = Tiling(F4, 64, 64, 1024, 1024, target)
    assert image.length / image.chunk(threads) > MOST_OF_A_ROW


@ON_ALL
@pytest.mark.parametrize("threads", [1, 2])
def test_chunks_of_a_network(target: Target, threads: int) -> None:
    """Where there would be too many, they are as large as it takes, or as runs hardly notice."""
    tiling = Tiling(F4, 64, 64, 224, 224, target)

    def chunks(least: int) -> int:
        return len(tiling.chunks(tiling.chunk(threads, least=least)))

    fit, larger = [MOST_CHUNKS // chunks(least) for least in (0, LARGER[-1])]
    assert fit < larger
    assert least_held([tiling] * fit, threads) == 0
    least = least_held([tiling] * larger, threads)
    assert least in LARGER and larger * chunks(least) <= MOST_CHUNKS
    assert least_held([tiling] * (larger + 1), threads) == LARGER[-1]
    rows = tiling.chunk(threads, least=LARGER[-1])
    assert 4 * tiling.places * 128 * (rows + 1) > LARGER[-1]


@ON_ALL
def test_chunks_of_a_large_image(target: Target) -> None:
    """V and M of one row of tiles are more than others have to be."""
    tiling = Tiling(F4, 64, 64, 1080, 1920, target)
    assert 4 * tiling.places * 128 > LARGER[-1]
    assert tiling.chunk(least=LARGER[-1]) == tiling.chunk()


@ON_ALL
def test_several_rows_are_cut_between_them(target: Target) -> None:
    """The last chunk of 19 rows by 8 has 3; all columns are in each."""
    tiling = Tiling(F4, 64, 16, 74, 74, target)
    assert (tiling.along, tiling.length) == (DOWN, 19)
    chunks = [(chunk.first, chunk.tiles) for chunk in tiling.chunks(8)]
    assert chunks == [((0, 0), (8, 19)), ((8, 0), (8, 19)), ((16, 0), (3, 19))]


@ON_ALL
def test_parts_are_made_again_in_each_chunk(target: Target) -> None:
    """A window of two parts reads one column of V more in each chunk."""
    sizes = 64, 64, 1, 400, target

    def more(form: Form) -> float:
        """What chunks of one column cost more than chunks of two, beside being more."""
        row = Tiling(form, *sizes, axes=(False, True))
        return row.cycles(1) - row.cycles(2) - CALLS * row.length / 2

    assert more(F4_4) <= 0 < more(lengthened(F4_4, 7))


@ON_ALL
def test_the_form_by_what_is_summed(target: Target) -> None:
    """Many channels, or slices, are left to the form that rounds more finely."""
    for inputs, depth, form in (
        (64, IMAGE, F4_5),
        (80, IMAGE, F2_5),
        (32, Depth(8, 2), F4_5),
        (32, Depth(8, 3), F2_5),
    ):
        tiling = tiling_of(128, inputs, 28, 28, target, depth=depth, taps=5)
        assert tiling is not None and tiling.form is form


@ON_ALL
def test_the_form_at_stride_2(target: Target) -> None:
    """Two thirds of the arithmetic pay for fewer weights only; no tile has a stride of 3."""
    forms = []
    for outputs, inputs, size in ((256, 128, 80), (256, 128, 14), (512, 256, 7)):
        tiling = tiling_of(outputs, inputs, size, size, target, stride=2)
        forms.append(None if tiling is None else tiling.form)
    assert forms == [S4, S2, None]
    assert tiling_of(256, 128, 56, 56, target, stride=3) is None


@ON_ALL
def test_groups(target: Target) -> None:
    """Two groups have half the products of one, and the same channels between the steps."""
    one = Tiling(F4, 256, 256, 56, 56, target)
    two = Tiling(F4, 256, 128, 56, 56, target, groups=2)
    assert one.cycles(1) / 2 < two.cycles(1) < one.cycles(1)


@ON_ALL
def test_volumes(target: Target) -> None:
    """Weights of three taps a slice are worth what three times the channels are; more slices share
    them.
    """
    flat = tiling_of(250, 3 * 256, 7, 7, target)
    few, many = (tiling_of(250, 256, 7, 7, target, depth=Depth(n, 3)) for n in (1, 16))
    assert flat is not None and few is not None and many is not None
    assert (flat.form, few.form, many.form) == (F2, F2, F4)
    one, two = (Tiling(F4, 64, 64, 28, 28, target, depth=Depth(8, taps)) for taps in (1, 2))
    assert one.cycles(7) < two.cycles(7) < 2 * one.cycles(7)


def test_the_form_by_the_core() -> None:
    """Where arithmetic is cheap beside memory, weights count the more."""
    one, *two = (form_of(250, 250, 14, 14, target) for target in TARGETS)
    assert (one, two) == (F4, [F2, F2])


@ON_ALL
def test_direct(target: Target) -> None:
    """Few channels or few points leave nothing to gain."""
    assert form_of(16, 16, 14, 14, target) is None
    assert form_of(64, 64, 4, 4, target) is None


@ON_ALL
def test_large_convolutions_are_cut(target: Target) -> None:
    """V and M of 64 channels at 224x224 are 58 MB; a chunk of them fits L2."""
    tiling = Tiling(F4, 64, 64, 224, 224, target)
    bytes_of_a_row = 4 * 36 * tiling.columns * 128
    assert tiling.chunk() * bytes_of_a_row <= 2 * target.core.l2_bytes
    assert tiling.rows % tiling.chunk() == 0


@ON_ALL
def test_large_weights_are_read_once(target: Target) -> None:
    """38 MB of weights cost more than what lies between the steps."""
    tiling = Tiling(F4, 512, 512, 28, 28, target)
    assert tiling.chunk() == tiling.rows


def test_uneven_chunks() -> None:
    """19 rows of tiles fall into 19 equal chunks or one; 14 fall into some that cost no more."""
    assert 1 < Tiling(F4, 64, 16, 74, 74, TARGETS[1]).chunk() < 19
    assert 14 % Tiling(F4, 64, 64, 56, 56, TARGETS[1]).chunk() == 0


def test_uneven_chunks_that_stay_near() -> None:
    """Two of 7 rows leave the cache that 5, 5 and 4 rows stay in, for as many cycles."""
    tiling = Tiling(F4, 128, 32, 56, 56, TARGETS[1])
    assert tiling.cycles(5, threads=2) == pytest.approx(tiling.cycles(7, threads=2), rel=0.01)
    assert tiling.chunk(threads=2) == 5


def beside(free: float) -> Room:
    """So many bytes beside an image and a result that stay."""
    return Room(int(free), read=0, made=0)


def test_chunks_that_memory_has_room_for() -> None:
    """The cheapest of those that fit, equal ones if they cost as much; without room the smallest
    that runs hardly notice.
    """
    tiling = Tiling(F4, 128, 32, 56, 56, TARGETS[0])
    sizes = [tiling.chunk(threads=2, room=beside(room)) for room in (3e6, 2e6, 5e5, 0)]
    assert sizes == [tiling.chunk(threads=2), 2, 1, 1]
    uneven = Tiling(F4_5, 128, 48, 27, 27, TARGETS[2])
    assert [uneven.chunk(threads=2, room=beside(room)) for room in (3e6, 2e6, 0)] == [7, 4, 3]
    dear = uneven.cycles(2, threads=2, calls=LAUNCHES)
    assert dear * HARDLY_NOTICED > uneven.cycles(7, threads=2, calls=LAUNCHES)


def test_one_chunk_takes_the_place_of_what_it_reads() -> None:
    """V and M of 8 rows are 1.2 MB, where the image is free behind V, and the result behind M."""
    tiling = Tiling(F4, 64, 64, 32, 32, TARGETS[2])
    image = 4 * 64 * 32 * 32
    stays, goes = beside(8e5), Room(800_000, read=image, made=image)
    assert tiling.chunk(room=goes) == tiling.chunk() == 8
    assert tiling.chunk(room=stays) == 4


@ON_ALL
def test_threads_share_chunks(target: Target) -> None:
    """Two caches hold more than one, and a barrier is dearer where there is less to do."""
    tiling = Tiling(F4, 64, 64, 56, 56, target)
    assert tiling.chunk(threads=1) < tiling.chunk(threads=2)
    large = Tiling(F4, 64, 64, 224, 224, target)
    assert large.chunk(threads=64) < large.rows


def test_alike_costs() -> None:
    """Of chunks that cost the same as far as is known the smallest: it takes less memory."""
    tiling = Tiling(F2_5, 256, 48, 27, 27, TARGETS[1], groups=2)
    few, many = tiling.cycles(2, threads=2), tiling.cycles(7, threads=2)
    assert few == pytest.approx(many, rel=0.002)
    assert tiling.chunk(threads=2) == 2


def test_the_cheaper_way_is_counted() -> None:
    """Tiles where they are cheaper, and where they can compute the window; whole blocks else."""
    large = (64, 64, (32, 32), (2, 2), AVX512)
    assert cycles_of(*large) < plain_cycles(*large)
    for sizes in ((64, 64, (2, 2), (2, 2)), (64, 8, (32, 32), (2, 2)), (64, 64, (32, 32), (2, 3))):
        assert cycles_of(*sizes, AVX512) == plain_cycles(*sizes, AVX512)
    assert plain_cycles(3, 8, (9, 9), (2, 2), AVX512) == plain_cycles(16, 8, (9, 9), (2, 2), AVX512)
