"""Sizes read back as they were written."""

from __future__ import annotations

import pytest
from hypothesis import given

from ncc.dialects.size import Size, hint, largest, tile_size
from ncc.dialects.size_text import size_of_text, text_of_size
from tests.dialects.sizes import EXTENTS, H, W, expressions


def test_the_text_has_hints_and_ranges() -> None:
    """As much of them as there is."""
    assert text_of_size(2 * H + (W + 1) // 2) == "(w@256 + 1) // 2 + 2 * h@224"
    assert text_of_size(-(H // 2) * W - 3) == "-(h@224 // 2) * w@256 - 3"
    assert text_of_size(W - H // 2) == "-(h@224 // 2) + w@256"
    assert text_of_size(Size.symbol("h", 8, 4)) == "h@8:4"
    assert text_of_size(Size.symbol("h", 8, 1, 16)) == "h@8:1:16"
    assert text_of_size(7) == "7"


def test_the_text_has_what_decisions_are_taken_for() -> None:
    """Where that is not the value for the hint."""
    single = largest(0, 2 - H, hint=1)
    assert text_of_size(single) == "max(0, -h@224 + 2, hint=1)"
    read = size_of_text(text_of_size(single))
    assert (read, hint(read)) == (single, 1)


def test_the_text_has_both_sizes_of_a_tile() -> None:
    """Also of one whose numbers are known."""
    for rows in (tile_size(8, H - 8 * (H // 8)), 3 * tile_size(H, 2) + 1, tile_size(4, 2)):
        assert size_of_text(text_of_size(rows)) == rows
    assert text_of_size(tile_size(8, H % 8)) == "tile(8, -8 * (h@224 // 8) + h@224)"


def test_a_negative_dividend_is_no_subtraction() -> None:
    """-7 // w is -1 where w is 8, and -(7 // w) is 0."""
    size = H + -7 // W
    assert text_of_size(size) == "(-7) // w@256 + h@224"
    assert size_of_text(text_of_size(size + W // 12)) == size + W // 12


@given(expressions())
def test_a_size_reads_back(expression: str) -> None:
    """With its hint."""
    size = eval(expression, dict(EXTENTS))
    read = size_of_text(text_of_size(size))
    assert (read, hint(read)) == (size, hint(size))


@pytest.mark.parametrize(
    "text", ["h", "h@4 +", "f(h@4)", "h@4 ** 2", "'h'", "h@4[0]", "1.5", "max(0, h@4, to=1)"]
)
def test_other_text_is_no_size(text: str) -> None:
    """It says which."""
    with pytest.raises(ValueError, match="is no size"):
        size_of_text(text)
