"""Which convolutions take tiles: by weights, sizes and cores."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ncc.compiler.cost_model import CostModel, GivenTiles, Winograd
from ncc.compiler.linalg.convolutions.choose_tiles import costs_of, cycles_of, plain_cycles
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
    forms_of,
    lengthened,
)
from ncc.compiler.linalg.convolutions.tiling import Tiling
from ncc.compiler.linalg.convolutions.winograd import IMAGE, Depth
from ncc.compiler.target import AMX, AVX512, Target
from ncc.dialects.tile import TILE_K
from tests.compiler.linalg.convolutions.cores import ON_ALL, TARGETS
from tests.compiler.tile_cores import SHARED, SLOW


def tiling_of(*sizes: Any, **choices: Any) -> Tiling | None:
    """The tiles of a convolution; None if the direct one is cheaper."""
    return costs_of(*sizes, **choices).chosen


def form_of(outputs: int, inputs: int, height: int, width: int, target: Target) -> Form | None:
    tiling = tiling_of(outputs, inputs, height, width, target)
    return tiling.form if tiling is not None else None


@ON_ALL
def test_the_form_by_the_weights(target: Target) -> None:
    """F(2) saves large weights if results are few, F(4) arithmetic if they are many."""
    assert form_of(64, 64, 56, 56, target) is F4
    assert form_of(128, 128, 28, 28, target) is F4
    assert form_of(500, 500, 7, 7, target) is F2


@ON_ALL
def test_weights_that_the_run_transforms(target: Target) -> None:
    """Large ones, for few tiles: they come from memory as they are, so that F(4) pays for them.
    So they do where the run tells how large the image is.
    """
    for outputs, inputs, size, formed in (
        (512, 512, 7, True),
        (512, 512, 14, True),
        (512, 512, 40, False),  # V and M of a row of places leave L1
        (256, 64, 14, False),  # transformed ones are few
        (512, 500, 7, False),  # in blocks that channels do not fill
    ):
        tiling = tiling_of(outputs, inputs, size, size, target)
        assert tiling is not None and tiling.formed is formed
        known = tiling_of(outputs, inputs, size, size, target, opened=True)
        assert (known is not None and known.formed) is formed
        assert tiling.form is F4 or not formed
    narrow = tiling_of(512, 512, 7, 7, replace(target, lanes=8))
    assert narrow is not None and not narrow.formed


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
    """Where arithmetic is cheap compared with memory, weights count more."""
    one, *two = (form_of(250, 250, 14, 14, target) for target in TARGETS)
    assert (one, two) == (F4, [F2, F2])


def test_the_form_in_bf16x3() -> None:
    """By products on matrix tiles, the form that rounds finest, where many channels and points
    leave most of them to be saved.
    """
    for channels, size, form in ((512, 28, F2), (256, 56, F2), (64, 56, None), (512, 7, None)):
        tiling = tiling_of(channels, channels, size, size, AMX, bf16x3=True)
        assert (tiling and tiling.form) is form
        assert tiling is None or (tiling.bf16x3 and not tiling.formed)
    assert tiling_of(256, 256, 56, 56, AMX, taps=5, bf16x3=True) is None


def taken(channels: int, size: int, target: Target) -> str:
    """How a convolution of 3x3 is computed where there are matrix tiles."""
    tiling = tiling_of(channels, channels, size, size, target, bf16x3=channels >= TILE_K)
    if tiling is None:
        return "direct"
    return f"F({tiling.form.tile}) in bf16x3" if tiling.bf16x3 else f"F({tiling.form.tile})"


@pytest.mark.parametrize("size", [100, 128, 256])
def test_float32_competes_with_bf16x3(size: int) -> None:
    """Where channels leave much of the k-tiles empty; where they fill them, bf16x3 are
    faster. Half of the tiles are slower than F(4) in float32.
    """
    ways = {24: "F(4)", 32: "direct", 40: "F(4)", 48: "F(4)", 56: "direct", 64: "direct"}
    for channels, way in ways.items():
        assert taken(channels, size, AMX) == way
        assert taken(channels, size, SHARED) == "F(4)"


def test_bf16x3_is_left_to_many_channels() -> None:
    """Of half of the tiles, too: F(2) in bf16x3 has fewer products than F(4) has time for."""
    assert taken(256, 56, AMX) == taken(256, 56, SHARED) == "F(2) in bf16x3"
    assert taken(128, 28, AMX) == "direct" and taken(128, 28, SHARED) == "F(2) in bf16x3"
    assert taken(512, 7, AMX) == taken(512, 7, SHARED) == "direct"


def test_other_windows_compete_in_float32() -> None:
    """F(4) for 5x5, in groups of 48 channels, and windows of one row or column."""
    tiling = tiling_of(256, 48, 27, 27, AMX, 2, taps=5, bf16x3=True)
    assert tiling is not None and (tiling.form, tiling.bf16x3) == (F4_5, False)
    sizes = 192, 192, 17, 17
    assert tiling_of(*sizes, AMX, axes=(False, True), taps=7, bf16x3=True) is None
    row = tiling_of(*sizes, SLOW, axes=(False, True), taps=7, bf16x3=True)
    assert row == tiling_of(*sizes, SLOW, axes=(False, True), taps=7)


def test_slow_tiles_change_nothing() -> None:
    """What tiles have no time for is done as without them."""
    for channels, size in ((32, 28), (48, 56), (64, 7), (512, 7), (512, 14), (128, 112)):
        found = tiling_of(channels, channels, size, size, SLOW, bf16x3=True)
        assert found == tiling_of(channels, channels, size, size, SLOW)


@ON_ALL
def test_direct(target: Target) -> None:
    """With few channels or few results there is nothing to gain."""
    assert form_of(16, 16, 14, 14, target) is None
    assert form_of(64, 64, 4, 4, target) is None


def test_the_cheaper_way_is_counted() -> None:
    """Tiles where they are cheaper, and where they can compute the window; whole blocks else."""
    large = (64, 64, (32, 32), (2, 2), AVX512)
    assert cycles_of(*large) < plain_cycles(*large)
    for sizes in ((64, 64, (2, 2), (2, 2)), (64, 8, (32, 32), (2, 2)), (64, 64, (32, 32), (2, 3))):
        assert cycles_of(*sizes, AVX512) == plain_cycles(*sizes, AVX512)
    assert plain_cycles(3, 8, (9, 9), (2, 2), AVX512) == plain_cycles(16, 8, (9, 9), (2, 2), AVX512)


@pytest.mark.parametrize(("tile", "formed"), [(2, False), (4, True)])
def test_given_tiles(tile: int, formed: bool) -> None:
    """They are taken whatever they cost, where the window has a form."""
    target = replace(
        AVX512, costs=CostModel(winograd=Winograd(given_tiles=GivenTiles(tile, formed=formed)))
    )
    for taps in (3, 5):
        tiling = tiling_of(3, 4, 5, 6, target, taps=taps)
        assert tiling is not None and (tiling.form.tile, tiling.formed) == (tile, formed)
    assert tiling_of(3, 4, 5, 6, target, taps=7) is None
    row = tiling_of(3, 4, 5, 6, target, axes=(False, True), taps=11)
    assert row is not None and row.form == forms_of(11, 1, (False, True))[0]


@ON_ALL
def test_tiles_that_hardly_pay_for_open_images(target: Target) -> None:
    """They are weights beside those of the direct convolution, which small images need."""
    known, opened = (costs_of(64, 64, 8, 8, target, opened=it) for it in (False, True))
    assert opened.direct == known.direct and opened.worth < known.worth == 1
    least = min(cycles for _, cycles in opened.tilings)
    assert (opened.chosen is not None) == (least < target.costs.winograd.open_worth * opened.direct)
