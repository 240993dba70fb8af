"""Convolutions and their transposes of sequences and of volumes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]
TYPES = [
    "Convolution1D", "ConvolutionDepthWise1D", "Convolution3D", "ConvolutionDepthWise3D",
    "Deconvolution1D",
    "DeconvolutionDepthWise1D", "Deconvolution3D", "DeconvolutionDepthWise3D",
]  # fmt: skip


@pytest.mark.layer(*TYPES)
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def test_a_line_slides_along_one_axis(check_layer: Check) -> None:
    """Two taps of one: sums of neighbours; in groups, of each channel."""
    params = {"num_output": 1, "kernel_w": 2, "weight_data_size": 2}
    expected = np.array([[1, 3, 5]], np.float32)
    check_layer("Convolution1D", params, [ramp(1, 4)], [np.ones(2)], expected=[expected])
    params = {"num_output": 2, "kernel_w": 2, "weight_data_size": 4, "group": 2}
    expected = np.array([[1, 3], [7, 9]], np.float32)
    check_layer("ConvolutionDepthWise1D", params, [ramp(2, 3)], [np.ones(4)], expected=[expected])


def test_a_volume_has_its_odd_cell_of_depth_behind(check_layer: Check) -> None:
    """SAME_LOWER puts the odd cell before in the plane, but not in depth."""
    x = np.zeros((1, 2, 2, 2), np.float32)
    x[0, 1] = 1
    params = {"num_output": 1, "kernel_w": 2, "weight_data_size": 8, "pad_left": -234}
    plane = np.array([[1, 2], [2, 4]], np.float32)
    check_layer(
        "Convolution3D", params, [x], [np.ones(8)], expected=[np.stack([plane, plane])[None]]
    )


def test_a_transposed_line_is_cropped_to_its_output_size(check_layer: Check) -> None:
    """output_w with a code drops the excess."""
    params = {
        "num_output": 1, "kernel_w": 2, "weight_data_size": 2, "pad_left": -233, "output_w": 2,
    }  # fmt: skip
    expected = np.array([[1, 3]], np.float32)
    check_layer("Deconvolution1D", params, [ramp(1, 2) + 1], [np.ones(2)], expected=[expected])


def test_filters_of_a_line_are_inputs(check_layer: Check) -> None:
    """(outputs, inputs, kernel), and of a transpose (inputs, outputs, kernel)."""
    x, w = ramp(2, 3), np.arange(1, 5, dtype=np.float32).reshape(1, 2, 2)
    expected = np.array([[x[0, k] + 2 * x[0, k + 1] + 3 * x[1, k] + 4 * x[1, k + 1]
                          for k in (0, 1)]], np.float32)  # fmt: skip
    check_layer("Convolution1D", {"dynamic_weight": 1}, [x, w], expected=[expected])
    w = w.reshape(2, 2, 1)
    expected = np.stack([x[0] + 3 * x[1], 2 * x[0] + 4 * x[1]])
    check_layer("Deconvolution1D", {"dynamic_weight": 1}, [x, w], expected=[expected])
    params = {"dynamic_weight": 1, "group": 2}
    expected = np.stack([x[0], 2 * x[0], 3 * x[1], 4 * x[1]])
    check_layer("DeconvolutionDepthWise1D", params, [x, w], expected=[expected])
    w = w.reshape(4, 1, 1)
    check_layer("ConvolutionDepthWise1D", params, [x, w], expected=[expected])


def test_surplus_weights_are_not_read(check_layer: Check) -> None:
    """ncnn's tests of this layer give k times too many: of groups side by side, the first count."""
    params = {"num_output": 2, "kernel_w": 2, "weight_data_size": 8, "group": 2}
    weights = np.array([1, 10, 100, 1000, 7, 7, 7, 7])
    expected = np.array([[10, 21], [4300, 5400]], np.float32)
    check_layer("ConvolutionDepthWise1D", params, [ramp(2, 3)], [weights], expected=[expected])
    with pytest.raises(LayerError, match="takes 4 channels"):
        check_layer("ConvolutionDepthWise1D", params, [ramp(9, 3)], [weights])
