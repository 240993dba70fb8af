"""What an open extent can be, and how it is shown."""

from __future__ import annotations

import pytest

from ncc.runtime.extents import ANY, Range, is_within, shown_range


@pytest.mark.parametrize(
    ("range", "inside", "outside", "shown"),
    [
        (ANY, [1, 10**6], [0, -1], "?"),
        ((64, 1024), [64, 100, 1024], [63, 1025], "64..1024"),
        ((64, None), [64, 10**6], [63], "64.."),
    ],
)
def test_a_range_has_both_its_ends(
    range: Range, inside: list[int], outside: list[int], shown: str
) -> None:
    """Without a most, there is no limit."""
    assert all(is_within(extent, range) for extent in inside)
    assert not any(is_within(extent, range) for extent in outside)
    assert shown_range(range) == shown
