"""Scatter, ScatterElements and ScatterND."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError
from tests.onnx.models import check_operator

X = np.arange(12, dtype=np.float32).reshape(3, 4)
PLACES = np.array([[0, -1, 2], [1, 1, 0]])
UPDATES = np.array([[20.0, 21.0, 22.0], [23.0, 24.0, 25.0]], np.float32)


def _written(axis: int) -> Any:
    found = X.copy()
    np.put_along_axis(found[:2] if axis == 1 else found[:, :3], PLACES, UPDATES, axis)
    return found


@pytest.mark.parametrize("axis", [0, 1])
def test_elements(axis: int) -> None:
    """Places that are constants, and places that the run knows; the last of two stays."""
    attributes = {"axis": axis}
    expected = [_written(axis)]
    constants = {1: PLACES}
    given = [X, None, UPDATES]
    check_operator("ScatterElements", attributes, given, constants=constants, expected=expected)
    check_operator("ScatterElements", attributes, [X, PLACES, UPDATES], expected=expected)
    check_operator("Scatter", attributes, [X, PLACES, UPDATES], expected=expected, opset=9)


@pytest.mark.slow
@pytest.mark.parametrize("kind", [np.float16, np.float64, np.int8, np.int64, np.uint32])
@pytest.mark.parametrize(
    ("reduction", "value"), [("add", [12, 3, 5]), ("mul", [20, 3, 6]), ("max", [5, 3, 3])]
)
def test_reductions(kind: Any, reduction: str, value: list[int]) -> None:
    """Of every update at a place, and the element there, in any type."""
    x, updates = np.array([3, 3, 2], kind), np.array([4, 5, 3], kind)
    if reduction == "mul":
        x = np.array([1, 3, 2], kind)
    places = np.array([0, 0, 2])
    attributes = {"reduction": reduction}
    wanted = [np.array(value, kind)]
    check_operator("ScatterElements", attributes, [x, places, updates], expected=wanted)


def test_flags() -> None:
    """bool has no arithmetic, and is overwritten."""
    x, updates = np.zeros(4, np.bool_), np.ones(2, np.bool_)
    wanted = [np.array([False, True, False, True])]
    check_operator("ScatterElements", {}, [x, np.array([1, -1]), updates], expected=wanted)


def test_slices() -> None:
    """Rows of indices are places of slices."""
    rows, updates = np.array([[2], [0]]), UPDATES[:, [0, 1, 2, 0]]
    wanted = X.copy()
    wanted[[2, 0]] = updates
    check_operator("ScatterND", {}, [X, rows, updates], expected=[wanted])
    check_operator("ScatterND", {}, [X, None, updates], constants={1: rows}, expected=[wanted])
    summed = X.copy()
    np.add.at(summed, ([1, 1], [2, 2]), [5, 6])
    single = [X, np.array([[1, 2], [1, -2]]), np.array([5, 6], np.float32)]
    check_operator("ScatterND", {"reduction": "add"}, single, expected=[summed])


def test_places_that_do_not_fit() -> None:
    """Shapes that do not belong together, and places beyond x."""
    with pytest.raises(ModelError, match="indices 2x3 and updates 3 to 3x4"):
        check_operator("ScatterElements", {}, [X, PLACES, UPDATES[0]])
    with pytest.raises(ModelError, match="an index is beyond 3x4"):
        check_operator("ScatterND", {}, [], constants={0: X, 1: np.array([[3]]), 2: X[:1]})
