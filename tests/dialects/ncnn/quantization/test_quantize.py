"""Layers between element types."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType, f16, f32, i8, i32
from xdsl.dialects.test import TestOp

from ncc.dialects.ncnn.layer import LAYERS, LayerError, WeightAttr
from ncc.dialects.ncnn.quantization.quantize import CastOp

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]


@pytest.mark.layer("Quantize", "Dequantize", "Requantize", "Cast")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def test_quantize_rounds_halves_away_from_zero(check_layer: Check) -> None:
    """0.5 is 1, the float below is 0, and nothing is beyond 127, NaN included."""
    x = np.array([0.5, -0.5, 1.5, 2.5, 0.49999997, 126.49999, 1e9, -1e9, np.nan], np.float32)
    expected = np.array([1, -1, 2, 3, 0, 126, 127, -127, -127], np.int8)
    check_layer("Quantize", {}, [x], [np.ones(1)], expected=[expected], eps=0)


def test_quantize_by_channel(check_layer: Check) -> None:
    """Each channel has a scale; a vector has one channel."""
    params, scales = {"scale_data_size": 2}, np.array([1, 10], np.float32)
    x = np.array([[1, 2], [1, 2]], np.float32)
    check_layer("Quantize", params, [x], [scales], expected=[np.array([[1, 2], [10, 20]], np.int8)])
    check_layer("Quantize", params, [x[0]], [scales], expected=[np.array([1, 2], np.int8)])


def test_dequantize(check_layer: Check) -> None:
    """y = x * scale + bias, each one number or one a channel."""
    x = np.array([[1, -2], [1 << 20, 4]], np.int32)
    check_layer("Dequantize", {}, [x], [np.full(1, 0.5)], expected=[x.astype(np.float32) / 2])
    params = {"scale_data_size": 2, "bias_data_size": 2}
    expected = np.array([[1.5, -1.5], [2**21 + 1, 9]], np.float32)
    weights = [np.array([1, 2]), np.array([0.5, 1])]
    check_layer("Dequantize", params, [x], weights, expected=[expected])


def test_requantize_activates_between_the_scales(check_layer: Check) -> None:
    """y = q(act(x * scale_in + bias) * scale_out): here relu of x / 4 - 1, times 10."""
    params = {"bias_data_size": 1, "activation_type": 1}
    weights = [np.full(1, 0.25), np.full(1, 10.0), np.full(1, -1.0)]
    x = np.array([0, 4, 5, 1000], np.int32)
    expected = [np.array([0, 0, 3, 127], np.int8)]
    check_layer("Requantize", params, [x], weights, expected=expected, eps=0)


def test_cast_to_half_precision(check_layer: Check) -> None:
    """The nearest float16, the even one of two; too large is infinite."""
    x = np.array([1, 1 / 3, 2049, 2051, 65520, 2.0**-25, 6e-8, -0.0, np.nan], np.float32)
    with np.errstate(over="ignore"):
        expected = x.astype(np.float16)
    check_layer("Cast", {"type_from": 1, "type_to": 2}, [x], expected=[expected], eps=0)
    check_layer("Cast", {"type_from": 2, "type_to": 1}, [expected], expected=[expected * 1.0])


def test_cast_to_bfloat16(check_layer: Check) -> None:
    """The upper half of the float32, rounded to the nearest, to the even one of two."""
    x = np.array([0x3F800000, 0x3F808000, 0x3F818000, 0x3F808001, 0x7F7FFFFF], np.uint32).view(
        np.float32
    )
    bits = np.array([0x3F80, 0x3F80, 0x3F82, 0x3F81, 0x7F80], np.uint16)
    check_layer("Cast", {"type_from": 1, "type_to": 4}, [x], expected=[bits], eps=0)
    back = (bits.astype(np.uint32) << 16).view(np.float32)
    check_layer("Cast", {"type_from": 4, "type_to": 1}, [bits], expected=[back], eps=0)


def test_a_cast_that_ncnn_has_not_is_refused() -> None:
    """float32 to int8 is Quantize's; a type is never guessed."""
    for pair in [(1, 3), (0, 1), (2, 4)]:
        with pytest.raises(LayerError, match="no conversion"):
            check(*pair)


def check(type_from: int, type_to: int) -> None:
    source = TestOp(result_types=[TensorType(f32, [1])]).results
    CastOp.make(source, {"type_from": type_from, "type_to": type_to}).check()


@pytest.mark.parametrize(
    ("type", "takes", "makes"),
    [("Quantize", f32, i8), ("Dequantize", i32, f32), ("Requantize", i32, i8)],
)
def test_element_types(type: str, takes: Any, makes: Any) -> None:
    """Each layer takes one element type and makes one; others are refused by name."""
    op = LAYERS[type].make(TestOp(result_types=[TensorType(takes, [1])]).results)
    assert op.element_types_all([takes]) == [makes]
    with pytest.raises(LayerError, match="input 0 is float16"):
        op.element_types_all([f16])


def test_too_few_numbers_for_the_channels() -> None:
    """ncnn would read behind them."""
    source = TestOp(result_types=[TensorType(f32, [3, 1])]).results
    op = LAYERS["Quantize"].make(source, {"scale_data_size": 2})
    op.properties["scale_data"] = WeightAttr.of(np.ones(2, np.float32))
    with pytest.raises(LayerError, match="2 numbers for 3 channels"):
        op.infer_all([(3, 1)])
