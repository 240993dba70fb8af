"""Layers that compute in int8: sums are exact, and scaled by what their numbers stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f32, i8, i32
from xdsl.dialects.test import TestOp

from ncc.dialects.ncnn.convolution.convolution import ConvolutionOp
from ncc.dialects.ncnn.layer import LayerError, WeightAttr
from ncc.dialects.ncnn.quantization.int8 import quantize_array

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]

CONV = {"num_output": 2, "kernel_w": 1, "weight_data_size": 2, "int8_scale_term": 1}
X = np.array([[[0.5, -1.0, 0.26]]], np.float32)
W = np.array([1.0, -0.5], np.float32)


def floats(*numbers: float) -> Array:
    return np.array(numbers, np.float32)


def test_a_convolution_of_quantized_numbers(check_layer: Check) -> None:
    """x is 5, -10, 3 tenths and w 10, -8 in units of its output; the bias is added unscaled."""
    weights = [W, floats(0, 1), floats(10, 16), floats(10)]
    expected = np.array([[[0.5, -1.0, 0.3]], [[0.75, 1.5, 0.85]]], np.float32)
    check_layer("Convolution", {**CONV, "bias_term": 1}, [X], weights, expected=[expected])


def test_stored_int8_weights_are_taken_as_they_are(check_layer: Check) -> None:
    """So is an int8 input: nothing is quantized twice."""
    weights = [np.array([10, -8], np.int8), floats(10, 16), floats(10)]
    x = np.array([[[5, -10, 3]]], np.int8)
    expected = np.array([[[0.5, -1.0, 0.3]], [[-0.25, 0.5, -0.15]]], np.float32)
    check_layer("Convolution", CONV, [x], weights, expected=[expected])


def test_a_result_of_int8(check_layer: Check) -> None:
    """Above 100 the activated result is quantized with one scale more, and saturates."""
    params = {**CONV, "int8_scale_term": 101, "activation_type": 1}
    weights = [W, floats(10, 16), floats(10), floats(300)]
    expected = np.array([[[127, 0, 90]], [[0, 127, 0]]], np.int8)
    check_layer("Convolution", params, [X], weights, expected=[expected], eps=0)


def test_a_weight_scale_of_zero_makes_zero(check_layer: Check) -> None:
    """An output whose weights are all zero has no scale."""
    expected = np.array([[[0, 0, 0]], [[-0.25, 0.5, -0.15]]], np.float32)
    check_layer("Convolution", CONV, [X], [W, floats(0, 16), floats(10)], expected=[expected])


def test_padding_is_in_quantized_numbers(check_layer: Check) -> None:
    """pad_value stands for itself as int8: 3 is 0.3 where the input's scale is 10."""
    params = {
        **CONV,
        "num_output": 1,
        "kernel_w": 2,
        "kernel_h": 1,
        "pad_right": 1,
        "pad_value": 3.0,
    }
    weights = [floats(0, 1), floats(10), floats(10)]
    expected = np.array([[[-1.0, 0.3, 0.3]]], np.float32)
    check_layer("Convolution", params, [X], weights, expected=[expected])
    with pytest.raises(LayerError, match="pad_value is 200, which no int8 is"):
        check_layer("Convolution", {**params, "pad_value": 200.0}, [X], weights)


@pytest.mark.parametrize(("term", "scales"), [(1, floats(10, 16)), (2, floats(10))])
def test_a_scale_for_each_group_or_for_all(term: int, scales: Array, check_layer: Check) -> None:
    """Term 1 has a weight scale a group, term 2 one for all."""
    params = {"num_output": 4, "group": 2, "kernel_w": 1, "weight_data_size": 4}
    x = np.ones((2, 1, 1), np.float32)
    w = floats(0.1, 0.2, 0.3, 1)
    s = np.repeat(scales, 4 // len(scales))
    expected = (quantize_array(w, s) / s).reshape(4, 1, 1)
    params["int8_scale_term"] = term
    check_layer("ConvolutionDepthWise", params, [x], [w, scales, floats(10)], expected=[expected])


def test_products_of_vectors_and_of_rows(check_layer: Check) -> None:
    """InnerProduct quantizes its input, whether one vector or rows; a vector convolves likewise."""
    params = {"num_output": 2, "weight_data_size": 4, "bias_term": 1, "int8_scale_term": 2}
    weights = [floats(1, 0, 0.5, -1), floats(0, 1), floats(100, 50), floats(100)]
    rows = np.array([[0.5, 0.25], [1, -1]], np.float32)
    expected = np.array([[0.5, 1.0], [1, 2.5]], np.float32)
    check_layer("InnerProduct", params, [rows], weights, expected=[expected])
    check_layer("InnerProduct", params, [rows[0]], weights, expected=[expected[0]])
    check_layer(
        "Convolution", {**params, "kernel_w": 1}, [rows[0]], weights, expected=[expected[0]]
    )


def test_sums_are_exact(check_layer: Check) -> None:
    """A sum beyond what float32 can count is right to the last unit before it is scaled."""
    size = 4099
    params = {"num_output": 1, "weight_data_size": size, "int8_scale_term": 2}
    x = np.where(np.arange(size) % 2, -127, 127).astype(np.int8)
    w = np.where(np.arange(size) % 2, -127, 127).astype(np.int8)
    w[0] = 126
    total = np.float32(127 * 127 * size - 127)
    weights = [w, floats(1), floats(1)]
    check_layer("InnerProduct", params, [x], weights, expected=[np.array([total])], eps=0)


def convolution(params: dict[str, Any], weight: Array) -> ConvolutionOp:
    source = TestOp(result_types=[TensorType(f32, [1, 1, 3])]).results
    op = ConvolutionOp.make(source, params)
    op.properties["weight"] = WeightAttr.of(weight)
    return op


def test_element_types() -> None:
    """The input is float32 or int8, the result what the term says."""
    op = convolution(CONV, W)
    for name in ("weight_data_int8_scales", "bottom_blob_int8_scales"):
        op.properties[name] = WeightAttr.of(np.ones(1, np.float32))
    assert op.element_types_all([f32]) == op.element_types_all([i8]) == [f32]
    op.properties["top_blob_int8_scales"] = WeightAttr.of(np.ones(1, np.float32))
    assert op.element_types_all([i8]) == [i8]
    with pytest.raises(LayerError, match="input 0 is int32; it takes float32 or int8"):
        op.element_types_all([i32])


def test_int8_weights_without_scales_are_refused() -> None:
    """ncnn does not load them either."""
    op = convolution({**CONV, "int8_scale_term": 0}, np.array([1, 2], np.int8))
    with pytest.raises(LayerError, match="there are no scales"):
        op.element_types_all([f32])


@pytest.mark.parametrize(("group", "unit"), [(7, 1 / 8), (8, (1 - 2.0**-12) / 8)])
def test_depthwise_sums_in_eights_are_scaled_by_estimates(
    group: int, unit: float, check_layer: Check
) -> None:
    """The unit of a sum is 1 / (2 * 4), or what ncnn's release takes for it."""
    params = {"num_output": group, "group": group, "kernel_w": 1, "weight_data_size": group}
    params["int8_scale_term"] = 1
    x = np.full((group, 1, 1), 100, np.int8)
    weights = [np.full(group, 100, np.int8), np.full(group, 2, np.float32), floats(4)]
    expected = np.full((group, 1, 1), 10000 * np.float32(unit), np.float32)
    check_layer("ConvolutionDepthWise", params, [x], weights, expected=[expected], eps=1e-7)
