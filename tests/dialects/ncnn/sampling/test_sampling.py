"""Places between cells: their taps and weights, and the zeros around an image."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.dialects.ncnn.sampling.sampling import cubic_kernel, interpolate_arrays, linear_tap_arrays


@pytest.mark.parametrize("share", [0.0, 0.25, 0.5, 0.9])
def test_cubic_weights_add_up_to_one(share: float) -> None:
    """Of the four cells around any place; on a cell, that cell has all the weight."""
    weights = cubic_kernel(share - np.arange(-1.0, 3.0))
    assert weights.sum() == pytest.approx(1)
    if share == 0:
        assert weights.tolist() == [0, 1, 0, 0]


def test_linear_taps_stand_around_a_place() -> None:
    """The share of the cell behind is the distance from the one before."""
    (low, a), (high, b) = linear_tap_arrays(np.array([1.25, -0.5], np.float32))
    assert (low.tolist(), high.tolist()) == ([1, -1], [2, 0])
    assert (a.tolist(), b.tolist()) == ([0.75, 0.5], [0.25, 0.5])


def test_outside_of_an_image_are_zeros() -> None:
    """A place at its edge sees half of what is inside; far outside nothing is."""
    x = np.array([[4.0, 8.0]], np.float32)
    places = np.array([-1, -0.5, 0, 0.5, 1.5, 2, 1e9], np.float32)
    found = interpolate_arrays(x, [linear_tap_arrays(places)])
    assert found.tolist() == [[0, 2, 4, 6, 4, 0, 0]]
