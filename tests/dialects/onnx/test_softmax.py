"""Softmax of older op sets."""

from __future__ import annotations

import numpy as np

from tests.onnx.models import check_operator


def test_logarithms_of_older_op_sets() -> None:
    """All axes from one on are a whole."""
    x = np.linspace(-3, 40, 24, dtype=np.float32).reshape(2, 3, 4)
    flat = x.reshape(2, 12).astype(np.float64)
    wanted = flat - np.log(np.exp(flat).sum(1, keepdims=True))
    expected = [wanted.reshape(x.shape).astype(np.float32)]
    check_operator("LogSoftmax", {"axis": -2}, [x], expected=expected, opset=11)
