"""QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError, Unsupported
from tests.onnx.models import check_operator

X = np.array([[-1000, -0.75, 0], [0.25, 0.75, 1000]], np.float32)
HALF = np.array(0.5, np.float32)


def test_there() -> None:
    """Halves go to the even number, and what does not fit to the last one."""
    zero = np.array(128, np.uint8)
    wanted = np.array([[0, 126, 128], [128, 130, 255]], np.uint8)
    check_operator("QuantizeLinear", {}, [X, HALF, zero], expected=[wanted])
    scales, zeros = np.array([0.5, 0.25], np.float32), np.array([0, 1], np.int8)
    by_row = np.array([[-128, -2, 0], [2, 4, 127]], np.int8)
    check_operator("QuantizeLinear", {"axis": 0}, [X, scales, zeros], expected=[by_row])


def test_back() -> None:
    """Less the zero point, times the scale."""
    x, zero = np.array([0, 128, 255], np.uint8), np.array(128, np.uint8)
    wanted = np.array([-64, 0, 63.5], np.float32)
    check_operator("DequantizeLinear", {}, [x, HALF, zero], expected=[wanted])


def test_by_blocks() -> None:
    """Each block of an axis has a scale and a zero point."""
    x = np.arange(12, dtype=np.uint8).reshape(2, 6)
    scales = np.array([[0.5, 1], [2, 0.25]], np.float32)
    zeros = np.array([[0, 3], [1, 6]], np.uint8)
    wanted = (x - np.repeat(zeros, 3, 1).astype(np.float32)) * np.repeat(scales, 3, 1)
    attributes = {"axis": 1, "block_size": 3}
    check_operator("DequantizeLinear", attributes, [x, scales, zeros], expected=[wanted])


def test_one_scale_of_an_axis_and_a_zero_point_of_none() -> None:
    """As onnxruntime writes them for a bias."""
    x, scale, zero = np.array([4, -8], np.int32), np.array([0.5], np.float32), np.array(0, np.int32)
    check_operator(
        "DequantizeLinear", {}, [x, scale, zero], expected=[np.array([2, -4], np.float32)]
    )


def test_what_does_not_fit() -> None:
    """Scales for another axis, and types that ncc does not make."""
    with pytest.raises(ModelError, match="scales 2 of 2x3"):
        check_operator("QuantizeLinear", {}, [X, np.ones(2, np.float32)])
    with pytest.raises(Unsupported, match="QuantizeLinear to other integers"):
        check_operator("QuantizeLinear", {}, [X, HALF, np.array(0, np.int64)])
