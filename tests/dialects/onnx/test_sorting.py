"""TopK."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.models import check_operator

X = np.array([[3, 1, 4, 1, 5, 9, 2], [7, 7, 0, 7, 2, 1, 7]])


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float32, np.float16, np.float64, np.int8, np.int64])
@pytest.mark.parametrize("largest", [1, 0])
def test_the_best(kind: Any, largest: int) -> None:
    """By value, equal ones in their order."""
    places = np.argsort(-X if largest else X, 1, "stable")[:, :4]
    wanted = [np.take_along_axis(X, places, 1).astype(kind), places]
    given, count = [X.astype(kind)], {1: np.array([4])}
    attributes = {"largest": largest}
    check_operator("TopK", attributes, given, constants=count, expected=wanted, outputs=2)


def test_along_another_axis() -> None:
    """The axis stays where it is."""
    x = np.random.default_rng(2).standard_normal((2, 5, 3), np.float32)
    places = np.argsort(-x, 1)[:, :2]
    wanted: list[Any] = [np.take_along_axis(x, places, 1), places]
    count = {1: np.array([2])}
    check_operator("TopK", {"axis": 1}, [x], constants=count, expected=wanted, outputs=2)
    check_operator("TopK", {"axis": -2, "k": 2}, [x], expected=wanted, outputs=2, opset=9)


def test_no_number() -> None:
    """NaN is larger than all numbers."""
    x = np.array([1, np.nan, 3, np.nan], np.float32)
    for largest, places in ((1, [1, 3, 2]), (0, [0, 2, 1])):
        wanted: list[Any] = [x[places], np.array(places)]
        constants = {1: np.array([3])}
        attributes = {"largest": largest}
        check_operator("TopK", attributes, [x], constants=constants, expected=wanted, outputs=2)
