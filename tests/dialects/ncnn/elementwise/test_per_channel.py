"""Numbers of each channel: which axis they lie along, and where they come from."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError, Shape
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]
NAN, INF = float("nan"), float("inf")


@pytest.mark.layer("PReLU", "Scale", "Bias", "BatchNorm")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize("shape", [(2,), (2, 3), (2, 3, 4), (2, 2, 3, 4)])
def test_channels_are_the_outermost_axis(shape: Shape, check_layer: Check) -> None:
    """Scale, PReLU and BatchNorm have one number for each index of axis 0, in every rank."""
    x = ramp(*shape) - 3
    column = np.array([2, 5], np.float32).reshape(-1, *[1] * (len(shape) - 1))
    numbers = [np.array([2, 5])]
    check_layer("Scale", {"scale_data_size": 2}, [x], numbers, expected=[x * column])
    scaled = [x * column + column]
    check_layer("Scale", {"scale_data_size": 2, "bias_term": 1}, [x], numbers * 2, expected=scaled)
    check_layer("PReLU", {"num_slope": 2}, [x], numbers, expected=[np.where(x < 0, x * column, x)])
    normed = [column * (x - 1) / 2 + 3]
    weights = [np.array([2, 5]), np.ones(2), np.full(2, 3.0), np.full(2, 3.0)]
    check_layer("BatchNorm", {"channels": 2, "eps": 1.0}, [x], weights, expected=normed)


def test_scale_by_a_second_input(check_layer: Check) -> None:
    """scale_data_size -233 reads the scales from a blob; a second output is that blob."""
    x, scale = ramp(2, 3), np.array([2, 5], np.float32)
    expected = [x * scale[:, None], scale]
    check_layer("Scale", {"scale_data_size": -233}, [x, scale], expected=expected[:1])
    check_layer("Scale", {"scale_data_size": -233}, [x, scale], expected=expected)


def test_one_slope_for_all(check_layer: Check) -> None:
    """A PReLU of one slope is a leaky ReLU."""
    x = ramp(3, 2) - 2
    expected = [np.where(x < 0, x / 4, x)]
    check_layer("PReLU", {"num_slope": 1}, [x], [np.array([0.25])], expected=expected)


def test_bias_knows_c_only(check_layer: Check) -> None:
    """Ranks 1 and 2 have one c, so the first bias is theirs."""
    image, row = ramp(2, 2, 2), ramp(4)
    bias = [np.array([10, 20])]
    expected = image + np.array([10, 20], np.float32)[:, None, None]
    check_layer("Bias", {"bias_data_size": 2}, [image], bias, expected=[expected])
    check_layer("Bias", {"bias_data_size": 2}, [row], bias, expected=[row + 10])


def test_batch_norm_of_no_variance(check_layer: Check) -> None:
    """A deviation of 0 counts as 1e-4."""
    weights = [np.ones(1), np.ones(1), np.zeros(1), np.zeros(1)]
    expected = np.array([[10000]], np.float32)
    check_layer("BatchNorm", {"channels": 1}, [np.full((1, 1), 2.0)], weights, expected=[expected])


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type, params, shapes, weights, message",
    [
        ("PReLU", {}, [(2,)], [], "num_slope is 0"),
        ("PReLU", {"num_slope": 3}, [(2,)], [3], "3 slopes do not fit the 2 channels"),
        ("Scale", {}, [(2,)], [], "scale_data_size is 0"),
        ("Scale", {"scale_data_size": 2}, [(2,), (2,)], [2], "there must be 1 inputs, not 2"),
        ("Scale", {"scale_data_size": -233}, [(2,)], [], "there must be 2 inputs, not 1"),
        ("Scale", {"scale_data_size": -233, "bias_term": 1}, [(2,), (2,)], [], "has no bias"),
        ("Scale", {"scale_data_size": -233}, [(2, 3), (3,)], [], r"scales of shape \(3,\)"),
        ("Scale", {"scale_data_size": 3}, [(2, 3)], [3], r"3 scales .* 2 channels of \(2, 3\)"),
        ("Bias", {"bias_data_size": -1}, [(2,)], [], "bias_data_size is -1"),
        ("Bias", {"bias_data_size": 3}, [(2, 3, 4)], [3], "3 biases do not fit the 2 channels"),
        ("BatchNorm", {}, [(2,)], [], "channels is 0"),
        ("BatchNorm", {"channels": 3}, [(2,)], [3, 3, 3, 3], "3 sets of weights do not fit"),
    ],
)
def test_refused(
    type: str,
    params: Any,
    shapes: Sequence[Shape],
    weights: Sequence[int],
    message: str,
    check_layer: Check,
) -> None:
    """What a file may not say, and shapes that do not go together."""
    inputs = [np.ones(shape, np.float32) for shape in shapes]
    with pytest.raises(LayerError, match=message):
        check_layer(type, params, inputs, [np.ones(n) for n in weights])
