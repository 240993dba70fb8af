"""CumSum and CumProd."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.models import check_operator

X = np.arange(1, 13).reshape(3, 4)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float32, np.float64, np.int32, np.int64])
@pytest.mark.parametrize("axis", [0, 1])
def test_running_sums(kind: Any, axis: int) -> None:
    """Along both axes, in every way."""
    x, at = X.astype(kind), {1: np.array(axis)}
    whole = np.cumsum(x, axis, dtype=kind)
    check_operator("CumSum", {}, [x], constants=at, expected=[whole])
    check_operator("CumSum", {"exclusive": 1}, [x], constants=at, expected=[whole - x])
    back = np.flip(np.cumsum(np.flip(x, axis), axis, dtype=kind), axis)
    check_operator("CumSum", {"reverse": 1}, [x], constants=at, expected=[back])


def test_running_products() -> None:
    """The empty product is 1."""
    x = X[:, :3].astype(np.float32)
    before = np.cumprod(x, 1) / x
    at = {1: np.array(-1)}
    check_operator("CumProd", {"exclusive": 1}, [x], constants=at, expected=[before], opset=26)
