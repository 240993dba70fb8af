"""Axes and extents as params name them."""

from __future__ import annotations

import pytest

from ncc.dialects.ncnn.axes import along_axis, extents, only_axis, resolve_axes, resolve_axis
from ncc.dialects.ncnn.layer import LayerError


def test_negative_axes_count_from_the_end() -> None:
    """-1 is the innermost axis."""
    assert [resolve_axis(axis, 3) for axis in (-3, -1, 0, 2)] == [0, 2, 0, 2]
    assert resolve_axes((-1, 0), 3) == (2, 0)


@pytest.mark.parametrize("axis", [3, -4])
def test_axis_out_of_range(axis: int) -> None:
    """An axis beyond the rank is refused, and the param that says it is named."""
    with pytest.raises(LayerError, match=f"axis {axis} is out of range for a blob of rank 3") as e:
        resolve_axis(axis, 3, "dim")
    assert e.value.param == "dim"


def test_the_only_axis() -> None:
    """A vector has one, whatever is said; a blob of more axes is asked for the one that is."""
    assert [only_axis(axis, 1) for axis in (0, 1, -7)] == [0, 0, 0]
    assert only_axis(-1, 3) == 2
    with pytest.raises(LayerError, match="out of range"):
        only_axis(3, 3)


def test_an_axis_twice() -> None:
    """0 and -3 are the same axis of rank 3."""
    with pytest.raises(LayerError, match="twice"):
        resolve_axes((0, -3), 3)


def test_extents_by_name() -> None:
    """ncnn's names, w innermost; what the rank does not have is 1."""
    assert extents((5,)) == {"w": 5, "h": 1, "d": 1, "c": 1}
    assert extents((4, 5)) == {"w": 5, "h": 4, "d": 1, "c": 1}
    assert extents((3, 4, 5)) == {"w": 5, "h": 4, "d": 1, "c": 3}
    assert extents((3, 2, 4, 5)) == {"w": 5, "h": 4, "d": 2, "c": 3}


def test_along_axis() -> None:
    """The shape of a vector that broadcasts along one axis."""
    assert along_axis(0, 3) == (-1, 1, 1)
