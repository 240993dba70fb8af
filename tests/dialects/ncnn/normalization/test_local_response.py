"""Local response normalization."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Check = Callable[..., Any]


@pytest.mark.layer("LRN")
def test_recorded(case: Any, check_layer: Check) -> None:
    """It is what ncnn recorded."""
    check_layer(case)


def test_lrn_across_channels_reaches_both_ways(check_layer: Check) -> None:
    """Squares of local_size channels, as the release counts them: of two, itself and the one
    before. alpha is divided by local_size.
    """
    x = np.array([1, 2, 3], np.float32).reshape(3, 1, 1)
    sums = np.array([5, 14, 13]).reshape(3, 1, 1)
    params = {"local_size": 3, "alpha": 3.0, "beta": 1.0, "bias": 2.0}
    check_layer("LRN", params, [x], expected=[x / (2 + sums)])
    even = {**params, "local_size": 2, "alpha": 2.0}
    sums = np.array([1, 5, 13]).reshape(3, 1, 1)
    check_layer("LRN", even, [x], expected=[x / (2 + sums)])


def test_lrn_within_a_channel_has_local_size_cells(check_layer: Check) -> None:
    """A square around each cell; alpha is divided by its area."""
    x = np.ones((1, 2, 2), np.float32)
    params = {"region_type": 1, "alpha": 9.0, "beta": 1.0, "bias": 0.0}
    check_layer("LRN", {**params, "local_size": 3}, [x], expected=[np.full((1, 2, 2), 0.25)])
    sums = np.array([[[1, 2], [2, 4]]], np.float32)
    even = {**params, "local_size": 2, "alpha": 4.0}
    check_layer("LRN", even, [x], expected=[1 / sums])


def test_lrn_of_the_usual_exponent(check_layer: Check) -> None:
    """x^-0.75 is taken by square roots, and meets 0, infinity and NaN as a power does."""
    x = np.array([0, 1e-15, -3, 1e20, np.inf, -np.inf, np.nan], np.float32).reshape(1, 1, 7)
    params = {"local_size": 1, "alpha": 1.0, "beta": 0.75, "bias": 0.0}
    with np.errstate(all="ignore"):
        check_layer("LRN", params, [x], expected=[x * np.float32(x * x) ** np.float32(-0.75)])
    below = {**params, "alpha": -1.0, "bias": 2.0}  # 2 - 9: no power has this base
    check_layer("LRN", below, [x[..., 2:3]], expected=[np.full((1, 1, 1), np.nan, np.float32)])


@pytest.mark.parametrize(
    ("params", "message"),
    [({"local_size": 0}, "local_size is 0"), ({"region_type": 2}, "region_type is 2")],
)
def test_refuses(params: dict[str, int], message: str, check_layer: Check) -> None:
    """Params out of ncnn's domain."""
    with pytest.raises(LayerError, match=message):
        check_layer("LRN", params, [np.ones((2, 3, 4), np.float32)])
