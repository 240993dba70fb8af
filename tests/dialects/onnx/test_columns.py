"""Col2Im."""

from __future__ import annotations

import numpy as np

from tests.onnx.models import check_operator


def test_patches_are_added() -> None:
    """Where they overlap; what falls on the padding is lost."""
    x = np.arange(1, 13, dtype=np.float32).reshape(1, 2, 6)
    constants = {1: np.array([1, 5]), 2: np.array([1, 2])}
    wanted = np.array([[[[2 + 7, 3 + 8, 4 + 9, 5 + 10, 6 + 11]]]], np.float32)
    check_operator("Col2Im", {"pads": [0, 1, 0, 1]}, [x], constants=constants, expected=[wanted])
