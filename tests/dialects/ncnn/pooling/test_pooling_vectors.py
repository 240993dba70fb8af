"""StatisticsPooling and SPP: results of one size for images of any size."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]


@pytest.mark.layer("StatisticsPooling")
def test_recorded(case: Any, check_layer: Check) -> None:
    """StatisticsPooling is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize("shape", [(2, 4), (2, 2, 2), (2, 1, 2, 2)])
def test_means_then_deviations(shape: tuple[int, ...], check_layer: Check) -> None:
    """Each channel of a matrix, an image or a volume; the squares are divided by their number."""
    x = ramp(*shape)
    if x.ndim == 2:
        x = x[None]
        expected = [3.5, np.std(np.arange(8))]
    else:
        expected = [1.5, 5.5, np.sqrt(1.25), np.sqrt(1.25)]
    params = {"include_stddev": 1}
    check_layer("StatisticsPooling", params, [x], expected=[np.array(expected, np.float32)])
    means = np.array(expected[: len(expected) // 2], np.float32)
    check_layer("StatisticsPooling", {}, [x], expected=[means])


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (0, [[15, 31, 5, 7, 13], [15, 21, 23, 29, 31]]),
        (1, [[7.5, 23.5, 2.5, 4.5, 10.5], [12.5, 18.5, 20.5, 26.5, 28.5]]),
    ],
)
def test_a_pyramid_of_two_levels(
    kind: int, expected: list[list[float]], check_layer: Check
) -> None:
    """All of each channel, then its quarters: two channels fill the result."""
    params = {"pooling_type": kind, "pyramid_height": 2}
    result = np.array(expected, np.float32)[:, None]
    check_layer("SPP", params, [ramp(2, 4, 4)], expected=[result])


def test_zeros_around_a_pyramid_count(check_layer: Check) -> None:
    """Bins that do not divide the image are padded with zeros, more of them in front."""
    x = np.full((2, 3, 3), -4, np.float32)
    low, whole = -1.0, -4.0
    means = [whole, whole, low, -2, -2, whole, low, -2, -2, whole]
    expected = np.array(means, np.float32).reshape(2, 1, 5)
    check_layer("SPP", {"pooling_type": 1, "pyramid_height": 2}, [x], expected=[expected])
    largest = [whole, whole, 0, 0, 0, whole, 0, 0, 0, whole]
    expected = np.array(largest, np.float32).reshape(2, 1, 5)
    check_layer("SPP", {"pyramid_height": 2}, [x], expected=[expected])


def test_more_channels_than_a_pyramid_holds(check_layer: Check) -> None:
    """The result has two rows of bins, whatever the channels are: of three, the last is missing."""
    expected = np.array([3, 7], np.float32).reshape(2, 1, 1)
    check_layer("SPP", {}, [ramp(3, 2, 2)], expected=[expected])


@pytest.mark.parametrize(
    ("params", "shape", "message"),
    [
        ({"pooling_type": 2}, (2, 4, 4), "pooling_type is 2"),
        ({"pyramid_height": 0}, (2, 4, 4), "pyramid_height is 0"),
        ({"pyramid_height": 2**31 - 1}, (2, 4, 4), "pyramid_height is 2147483647, but at most 15"),
        ({}, (1, 4, 4), "two channels or more"),
        ({}, (4, 4), "two channels or more"),
    ],
)
def test_refuses(
    params: dict[str, int], shape: tuple[int, ...], message: str, check_layer: Check
) -> None:
    """What makes no pyramid, or one that does not fill the result."""
    with pytest.raises(LayerError, match=message):
        check_layer("SPP", params, [ramp(*shape)])
