"""QuantizeLinear, DequantizeLinear and MatMulInteger."""

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


def test_products() -> None:
    """In int32, without the zero points."""
    x, y = np.array([[250, 3], [7, 0]], np.uint8), np.array([[-128, 1], [2, 127]], np.int8)
    zero = np.array(5, np.uint8)
    wanted = (x.astype(np.int32) - 5) @ y.astype(np.int32)
    check_operator("MatMulInteger", {}, [x, y, zero], expected=[wanted])


def test_what_does_not_fit() -> None:
    """Scales for another axis, and types that ncc does not make."""
    with pytest.raises(ModelError, match="scales 2 of 2x3"):
        check_operator("QuantizeLinear", {}, [X, np.ones(2, np.float32)])
    with pytest.raises(Unsupported, match="QuantizeLinear to other integers"):
        check_operator("QuantizeLinear", {}, [X, HALF, np.array(0, np.int64)])
