"""Normalize: by the norm."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]


@pytest.mark.layer("Normalize")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(("mode", "norm"), [(0, np.sqrt(25.5)), (1, 5.0), (2, 5.0)])
def test_a_blob_is_divided_by_its_norm(mode: int, norm: float, check_layer: Check) -> None:
    """Of the channels at each place, by each way to keep it from zero; then scaled."""
    x = np.array([3, 4], np.float32).reshape(2, 1, 1)
    params = {"scale_data_size": 2, "eps": 0.5, "eps_mode": mode}
    expected = x / norm * np.array([1, 2]).reshape(2, 1, 1)
    check_layer("Normalize", params, [x], [np.array([1, 2])], expected=[expected])


def test_a_norm_of_nothing_leaves_the_input(check_layer: Check) -> None:
    """Neither across space nor across channels: not even scaled."""
    x = ramp(2, 3, 4)
    params = {"scale_data_size": 1, "channel_shared": 1, "across_channel": 0}
    check_layer("Normalize", params, [x], [np.array([7.0])], expected=[x])


@pytest.mark.parametrize("mode", [0, 1, 2])
def test_a_norm_that_is_no_number_makes_none(mode: int, check_layer: Check) -> None:
    """The least norm is no stand-in for it: NaN spreads over the channels of its place."""
    x = np.array([[3, np.nan, 1], [4, 1, np.inf]], np.float32).reshape(2, 1, 3)
    params = {"scale_data_size": 1, "channel_shared": 1, "eps": 0.5, "eps_mode": mode}
    with np.errstate(invalid="ignore"):
        [found] = check_layer("Normalize", params, [x], [np.array([1.0])])
    assert np.isnan(found).reshape(2, 3).tolist() == [[False, True, False], [False, True, True]]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "scale_data_size is 0"),
        ({"scale_data_size": 2, "eps_mode": 3}, "none of 0, 1, 2"),
        ({"scale_data_size": 3}, "has 2 channels"),
    ],
)
def test_refuses(params: dict[str, int], message: str, check_layer: Check) -> None:
    """Params out of ncnn's domain, and a scale for other channels."""
    with pytest.raises(LayerError, match=message):
        check_layer("Normalize", params, [ramp(2, 3, 4)], [ramp(3)])
