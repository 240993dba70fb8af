"""DeformableConv2D: taps moved by an input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]
Array = np.ndarray[Any, Any]


@pytest.mark.layer("DeformableConv2D")
def test_recorded(case: Any, check_layer: Check) -> None:
    """DeformableConv2D is what ncnn recorded."""
    check_layer(case)


PARAMS = {"num_output": 1, "kernel_w": 2, "weight_data_size": 4}


def offsets(*moves: tuple[float, float]) -> Array:
    """The same move (down, right) of a tap at four places, for each tap."""
    return np.repeat(np.array(moves, np.float32).reshape(-1, 1), 4, axis=1).reshape(-1, 2, 2)


def test_unmoved_taps_are_a_convolution(check_layer: Check) -> None:
    """A 2x2 window of ones sums four neighbours."""
    expected = np.array([[[8, 12], [20, 24]]], np.float32)
    inputs = [ramp(1, 3, 3), offsets(*[(0, 0)] * 4)]
    check_layer("DeformableConv2D", PARAMS, inputs, [np.ones(4)], expected=[expected])


def test_a_tap_is_moved_down_then_right(check_layer: Check) -> None:
    """Of each tap two channels of offsets: along h, along w; between cells it is bilinear."""
    moved = offsets((0, 1), (0, 0), (0, 0), (-0.5, -1))
    x = ramp(1, 3, 3)
    first = x[0, :2, 1:].copy()
    last = (x[0, :2, :2] + x[0, 1:, :2]) / 2
    expected = (first + 10 * last)[None]
    weights = np.array([1, 0, 0, 10])
    check_layer("DeformableConv2D", PARAMS, [x, moved], [weights], expected=[expected])


def test_a_mask_weighs_each_tap(check_layer: Check) -> None:
    """The third input; a bias is not masked, and the activation comes last."""
    params = {**PARAMS, "bias_term": 1, "activation_type": 3, "activation_params": (-5.0, 5.0)}
    mask = np.zeros((4, 2, 2), np.float32)
    mask[3] = np.array([[1, 0], [0.5, -1]])
    inputs = [ramp(1, 3, 3), offsets(*[(0, 0)] * 4), mask]
    expected = np.array([[[4.5, 0.5], [4, -5]]], np.float32)
    weights = [np.ones(4), np.array([0.5])]
    check_layer("DeformableConv2D", params, inputs, weights, expected=[expected])


def test_outside_are_zeros(check_layer: Check) -> None:
    """Pads are only places before the image; offsets go anywhere, and nowhere."""
    params = {"num_output": 1, "kernel_w": 1, "weight_data_size": 1, "pad_left": 1, "stride_w": 3}
    down = np.array([[0, 0.5], [1e9, 0]])
    right = np.array([[0.75, 0], [np.nan, -np.inf]])
    expected = np.array([[[0, 1], [0, 0]]], np.float32)
    inputs = [ramp(1, 3, 3), np.stack([down, right]).astype(np.float32)]
    check_layer("DeformableConv2D", params, inputs, [np.ones(1)], expected=[expected])


@pytest.mark.parametrize("place", [-1.0, -1.5, 2.0, np.nan, np.inf, -np.inf, 3e38])
def test_a_tap_that_sees_nothing_is_nothing(check_layer: Check, place: float) -> None:
    """No cell and no mask counts where a tap lies outside, not even NaN times nothing."""
    params = {"num_output": 1, "kernel_w": 1, "weight_data_size": 1}
    x = np.full((1, 2, 2), np.nan, np.float32)
    x[0, 1, 1] = 3
    moves = np.zeros((2, 2, 2), np.float32)
    moves[0, 0], moves[1, 1, 0] = place, place
    mask = np.array([[[np.nan, np.inf], [np.nan, 1]]], np.float32)
    expected = np.array([[[0, 0], [0, 3]]], np.float32)
    check_layer("DeformableConv2D", params, [x, moves, mask], [np.ones(1)], expected=[expected])


@pytest.mark.parametrize(
    ("params", "shapes", "message"),
    [
        ({}, [(1, 3, 3), (8, 3, 2)], "the offsets"),
        ({}, [(1, 3, 3), (8, 2, 2), (8, 2, 2)], "the mask"),
        ({}, [(2, 3, 3), (8, 2, 2)], "takes 1 channel"),
        ({"pad_left": -233}, [(1, 3, 3), (8, 3, 3)], "no codes"),
        ({"weight_data_size": 5}, [(1, 3, 3), (8, 2, 2)], "weight_data_size is 5"),
    ],
)
def test_refuses(
    params: dict[str, int], shapes: list[tuple[int, ...]], message: str, check_layer: Check
) -> None:
    """Inputs that do not fit, and params that make no filters."""
    with pytest.raises(LayerError, match=message):
        inputs = [ramp(*shape) for shape in shapes]
        check_layer("DeformableConv2D", {**PARAMS, **params}, inputs, [np.ones(4)])
