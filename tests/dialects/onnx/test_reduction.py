"""Folds over axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.models import check_operator

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4) / 7 - 1


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize(
    ("kind", "function"),
    [("ReduceSum", np.sum), ("ReduceMean", np.mean), ("ReduceMax", np.max), ("ReduceMin", np.min)],
)
def test_axes_by_operand_and_by_attribute(kind: str, function: Any, keepdims: int) -> None:
    """Op set 18 made an operand of the attribute."""
    wanted = [function(X, (0, 2), keepdims=bool(keepdims))]
    attributes = {"keepdims": keepdims}
    check_operator(kind, attributes, [X], constants={1: np.array([0, -1])}, expected=wanted)
    check_operator(kind, {**attributes, "axes": [0, 2]}, [X], expected=wanted, opset=11)


def test_all_axes_make_a_scalar() -> None:
    """Where nobody says which."""
    check_operator("ReduceSum", {"keepdims": 0}, [X], expected=[X.sum()])


def test_logarithm_of_a_sum_does_not_overflow() -> None:
    """The largest element is taken out."""
    large = X + 200
    wanted = np.log(np.exp(X.astype(np.float64)).sum(1, keepdims=True)) + 200
    check_operator(
        "ReduceLogSumExp", {"axes": [1]}, [large], expected=[wanted.astype(np.float32)], opset=11
    )


def test_places_of_extreme_elements() -> None:
    """The first of several, or the last."""
    x = np.array([[1, 3, 3], [2, 0, 0]], np.float32)
    check_operator("ArgMax", {"axis": 1, "keepdims": 0}, [x], expected=[np.array([1, 0])])
    last = {"axis": 1, "select_last_index": 1}
    check_operator("ArgMin", last, [x], expected=[np.array([[0], [2]])])
