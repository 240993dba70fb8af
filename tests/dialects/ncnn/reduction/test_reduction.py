"""Reduction and Softmax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Check = Callable[..., Any]


@pytest.mark.layer("Reduction", "Softmax")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


X = np.array([[1, -2, 3], [4, 5, -6]], np.float32)
ROWS = {"reduce_all": 0, "axes": (1,), "fixbug0": 1}


@pytest.mark.parametrize(
    ("operation", "expected"),
    [
        (0, [2, 3]),
        (1, [6, 15]),
        (2, [14, 77]),
        (3, [2 / 3, 1]),
        (4, [3, 5]),
        (5, [-2, -6]),
        (6, [-6, -120]),
        (7, [6, 15]),
        (8, [np.sqrt(14), np.sqrt(77)]),
        (9, [np.log(2), np.log(3)]),
        (10, [np.log(np.exp([1, -2, 3]).sum()), np.log(np.exp([4, 5, -6]).sum())]),
    ],
)
def test_operations(operation: int, expected: list[float], check_layer: Check) -> None:
    """Each operation on the rows of a matrix, with and without coefficient and kept axes."""
    folded = np.array(expected, np.float32)
    params = {**ROWS, "operation": operation}
    check_layer("Reduction", params, [X], expected=[folded])
    params = {**params, "coeff": 2.0, "keepdims": 1}
    check_layer("Reduction", params, [X], expected=[2 * folded[:, None]])


@pytest.mark.parametrize("keepdims", [0, 1])
@pytest.mark.parametrize("axes", [(0,), (1,), (-1,), (0, 2), (1, 2), (-3, 1), (0, 1, 2)])
def test_any_axes(axes: tuple[int, ...], keepdims: int, check_layer: Check) -> None:
    """What is kept stays in order; of everything, [1] remains."""
    x = np.arange(24, dtype=np.float32).reshape(2, 3, 4)
    expected = x.sum(axes, keepdims=True)
    if not keepdims:
        expected = expected.squeeze(axes)
    params = {"reduce_all": 0, "axes": axes, "keepdims": keepdims, "fixbug0": 1}
    check_layer("Reduction", params, [x], expected=[expected.reshape(expected.shape or (1,))])


def test_a_vector_is_always_reduced(check_layer: Check) -> None:
    """Whatever the axes say."""
    check_layer("Reduction", {**ROWS, "axes": (3,)}, [np.ones(5)], expected=[np.array([5.0])])


@pytest.mark.parametrize("axes", [(), (2,), (-3,), (3, 2)])
@pytest.mark.parametrize("keepdims", [0, 1])
def test_no_axis_is_left(axes: tuple[int, ...], keepdims: int, check_layer: Check) -> None:
    """Axes of a higher rank do not count; ncnn 1.0.20261020 folds each cell by itself."""
    x = np.array([[1, -2, 3]], np.float32)
    params = {"reduce_all": 0, "axes": axes, "keepdims": keepdims, "fixbug0": 1, "coeff": 0.5}
    cells = {0: x, 1: abs(x), 2: x * x, 3: x, 4: x, 5: x, 6: x, 7: abs(x), 8: abs(x), 10: x}
    for operation, cell in cells.items():
        given = {**params, "operation": operation}
        check_layer("Reduction", given, [x], expected=[cell / 2], eps=1e-5)


def test_some_axes_are_left(check_layer: Check) -> None:
    """Of several axes those that are there are reduced."""
    params = {**ROWS, "axes": (3, 1)}
    check_layer("Reduction", params, [np.ones((2, 5))], expected=[np.array([5.0, 5.0])])


def test_the_norm_of_next_to_nothing_is_zero(check_layer: Check) -> None:
    """A sum of squares that is not a normal number has no root."""
    x = np.full(2, 1e-20, np.float32)
    expected = np.zeros(1)
    check_layer("Reduction", {"operation": 8}, [x], expected=[expected], eps=0.0)


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"operation": 11}, "none of 0 to 10"),
        ({"axes": (1,)}, "too old"),
        ({"axes": (4,), "fixbug0": 1}, "out of range for any rank"),
    ],
)
def test_refuses(params: dict[str, Any], message: str, check_layer: Check) -> None:
    """Unknown operations, axes without the marker of new files, axes that are not there."""
    with pytest.raises(LayerError, match=message):
        check_layer("Reduction", params, [X])


def test_softmax_sums_to_one_and_does_not_overflow(check_layer: Check) -> None:
    """The largest is subtracted first."""
    x = np.array([1000, 1000, -1000], np.float32)
    check_layer("Softmax", {}, [x], expected=[np.array([0.5, 0.5, 0])])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_softmax_along_any_axis(axis: int, check_layer: Check) -> None:
    """Negative axes count from the end; a vector has only one."""
    x = np.random.default_rng(1).standard_normal((2, 3, 4)).astype(np.float32)
    expected = np.exp(x) / np.exp(x).sum(axis, keepdims=True)
    check_layer("Softmax", {"axis": axis, "fixbug0": 1}, [x], expected=[expected])
    check_layer("Softmax", {"axis": axis, "fixbug0": 1}, [np.zeros(2)], expected=[np.full(2, 0.5)])


def test_softmax_refuses(check_layer: Check) -> None:
    """An axis without the marker of new files, and one that is not there."""
    with pytest.raises(LayerError, match="too old"):
        check_layer("Softmax", {"axis": 1}, [X])
    with pytest.raises(LayerError, match="out of range"):
        check_layer("Softmax", {"axis": 2, "fixbug0": 1}, [X])
