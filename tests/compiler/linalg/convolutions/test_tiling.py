"""The tiles of a convolution: how they lie, and what they cost."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from ncc.compiler.linalg.convolutions.forms import F4, F4_4, S2, Form, lengthened
from ncc.compiler.linalg.convolutions.tiling import DOWN, Tiling, compared_extent
from ncc.compiler.linalg.convolutions.winograd import Depth
from ncc.compiler.target import AVX512, Target
from ncc.dialects.size import Size
from tests.compiler.linalg.convolutions.cores import ON_ALL


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
def test_tiles_of_one_row(target: Target) -> None:
    """A window of one row has tiles of one row: as many rows of tiles as there are rows."""
    tiling = Tiling(lengthened(F4_4, 7), 64, 64, 17, 18, target, axes=(False, True))
    assert (tiling.rows, tiling.columns, tiling.components) == (17, 5, 7)
    assert (tiling.plane.parts, tiling.plane.read((17, 5))) == (2, (17, 6))
    dilated = Tiling(F4, 64, 64, 9, 30, target, dilation=3, axes=(True, False))
    assert (dilated.rows, dilated.columns, dilated.plane.dilations) == (1, 30, (3, 1))


@ON_ALL
def test_several_rows_are_cut_between_them(target: Target) -> None:
    """Strips are rows of tiles; all columns are in each."""
    tiling = Tiling(F4, 64, 16, 74, 74, target)
    assert (tiling.along, tiling.length) == (DOWN, 19)


@ON_ALL
def test_parts_are_made_again_in_each_strip(target: Target) -> None:
    """A window of two parts reads one column of V more in each strip."""
    sizes = 64, 64, 1, 400, target

    def more(form: Form) -> float:
        """What strips of one column cost more than strips of two, beside being more."""
        row = Tiling(form, *sizes, axes=(False, True))
        return row.cycles(1) - row.cycles(2) - row.target.costs.strips.calls * row.length / 2

    assert more(F4_4) <= 0 < more(lengthened(F4_4, 7))


@ON_ALL
def test_groups(target: Target) -> None:
    """Two groups have half the products of one, and the same channels between the steps."""
    one = Tiling(F4, 256, 256, 56, 56, target)
    two = Tiling(F4, 256, 128, 56, 56, target, groups=2)
    assert one.cycles(1) / 2 < two.cycles(1) < one.cycles(1)


def test_costs_are_compared_for_larger_images() -> None:
    """Than that of the hint, as far as the run may find them."""
    least = AVX512.costs.winograd.least_extent
    sizes = [Size.symbol("h", n) for n in (100, 14, 1)]
    sizes += [Size.symbol("h", 2, most=n) for n in (4, 100)]
    found = [compared_extent(size, sizes[0], AVX512) for size in (14, *sizes)]
    assert found == [14, 150, 21, least, 4, least]


def test_costs_are_compared_for_longer_images() -> None:
    """If one extent is known: these have as many elements as larger ones."""
    least = AVX512.costs.winograd.least_extent
    sizes = [Size.symbol("w", n) for n in (100, 4)] + [Size.symbol("w", 4, most=9)]
    found = [compared_extent(size, 2, AVX512) for size in (14, *sizes)]
    assert found == [14, 225, least**2 // 2, 9]
