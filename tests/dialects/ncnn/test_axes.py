"""Axes and extents as params name them."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.dialects.ncnn.axes import (
    MOST_SCALED,
    along_axis,
    extents,
    only_axis,
    resolve_axes,
    resolve_axis,
    scaled_extent,
    scaling_by,
)
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.size import NeedsNumbers, Size, assuming, form_of


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


@pytest.mark.parametrize(
    ("scale", "most_steps"),
    [
        *((scale, 0) for scale in (0.7, 2.2, 1 / 3, 4.1, 1.49, 1e-6)),
        *((scale, 20) for scale in (1.3, 1.05, 0.3333, 1.414213562, 3.14159, 0.0123)),
    ],
)
def test_a_scaling_is_that_of_float32(scale: float, most_steps: int) -> None:
    """For all extents; most scales need no steps."""
    scaling = scaling_by(scale)
    assert scaling.last == MOST_SCALED and len(scaling.steps) <= most_steps
    extents = np.arange(1, MOST_SCALED + 1)
    whole = extents * scaling.share.numerator + scaling.offset
    for begin, more in scaling.steps:
        whole += more * np.minimum(1, extents // begin)
    wanted = (extents.astype(np.float32) * np.float32(scale)).astype(np.int64)
    np.testing.assert_array_equal(whole // scaling.share.denominator, wanted)


def test_a_scale_beyond_those_of_images_is_for_fewer_extents() -> None:
    """Beyond 2^24, each second product rounds."""
    last = scaling_by(300.0).last
    assert 2**24 // 300 < last < MOST_SCALED
    for extent in (1, 2**24 // 300, last):
        assert scaling_by(300.0).of(extent) == int(np.float32(extent) * np.float32(300))


@pytest.mark.parametrize(
    ("scale", "hint", "others"),
    [
        (2.0, 64, (1, 2, 999)),
        (0.7, 64, (1, 2, 9, 999)),
        (1.3, 64, (1, 9, 10, 70, 80, 90, 99, 100, 160, 170, 5000, MOST_SCALED)),
    ],
)
def test_an_open_extent_is_scaled(scale: float, hint: int, others: tuple[int, ...]) -> None:
    """Its expression has the value of each extent for which all that is assumed holds."""
    with assuming() as assumed:
        scaled = scaled_extent(Size.symbol("h", hint), scale)
    for extent in (hint, *others):
        assert all(one.holds(one.form.value({"h": extent})) for one in assumed)
        assert form_of(scaled).value({"h": extent}) == scaled_extent(extent, scale)
    beyond = 10 * MOST_SCALED * 1000
    assert not all(one.holds(one.form.value({"h": beyond})) for one in assumed)


def test_an_extent_that_no_image_has_needs_a_number() -> None:
    """No image is as large."""
    with pytest.raises(NeedsNumbers, match="a scale of 1.3 rounds"):
        scaled_extent(Size.symbol("h", MOST_SCALED + 1), 1.3)
