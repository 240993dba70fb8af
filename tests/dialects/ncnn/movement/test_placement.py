"""Blobs put into larger ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError, Shape
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]


@pytest.mark.layer("CopyTo", "Diag")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(
    "params, x, source, box",
    [
        ({"woffset": 2}, (7,), (3,), np.s_[2:5]),
        ({"woffset": 2, "hoffset": 1}, (4, 7), (2, 3), np.s_[1:3, 2:5]),
        ({"coffset": 1, "doffset": 2}, (3, 4, 5, 6), (2, 1, 5, 6), np.s_[1:3, 2:3]),
        ({"starts": (1, -3), "axes": (0, -1)}, (3, 4, 5), (1, 4, 2), np.s_[1:2, :, 2:4]),
        ({"starts": (-233, 2)}, (4, 5), (4, 1), np.s_[:, 2:3]),
        ({"starts": (1,), "axes": (1,), "woffset": 9}, (4, 5), (4, 1), np.s_[:, 1:2]),
        ({"coffset": 2, "woffset": 1}, (3, 4, 5), (2, 3), np.s_[2:3, :2, 1:4]),
        ({"doffset": 1}, (3, 2, 4, 5), (2, 3, 3), np.s_[:2, 1:2, :3, :3]),
        ({"hoffset": 1}, (2, 5), (3,), np.s_[1:2, :3]),
    ],
)
def test_copy_to(params: Any, x: Shape, source: Shape, box: Any, check_layer: Check) -> None:
    """By offsets or by starts; what has a lower rank is a row, a channel or a slice of depth."""
    expected, laid = ramp(*x), -1 - ramp(*source)
    expected[box] = laid.reshape(expected[box].shape)
    check_layer("CopyTo", params, [ramp(*x), laid], expected=[expected])


def test_copy_to_of_equal_shape(check_layer: Check, expand: Callable[..., Any]) -> None:
    """It is the second input, and no offset matters."""
    x = ramp(2, 3)
    check_layer("CopyTo", {"woffset": 5}, [x, -x], expected=[-x])
    assert expand("CopyTo", {"woffset": 5}, [(2, 3), (2, 3)]) == []


def test_diag(check_layer: Check) -> None:
    """Each diagonal of a matrix; each square matrix of a vector."""
    for k in range(-4, 6):
        check_layer("Diag", {"diagonal": k}, [ramp(3, 4)], expected=[np.diag(ramp(3, 4), k)])
    for k in (-2, 0, 3):
        check_layer("Diag", {"diagonal": k}, [ramp(3) + 1], expected=[np.diag(ramp(3) + 1, k)])


@pytest.mark.parametrize(
    "type, params, shapes, message",
    [
        ("CopyTo", {}, [(3,), (4,)], "leaves"),
        ("CopyTo", {"woffset": -1}, [(3,), (2,)], "leaves"),
        ("CopyTo", {"starts": (2,)}, [(3,), (2,)], "leaves"),
        ("CopyTo", {"starts": (1,)}, [(3, 3), (2, 2)], "1 starts for axes"),
        ("CopyTo", {"starts": (1,), "axes": (2,)}, [(3, 3), (2, 2)], "axis 2"),
        ("CopyTo", {}, [(3,), (1, 3)], "higher rank"),
        ("Diag", {}, [(1, 3, 4)], "a vector or a matrix"),
    ],
)
def test_refused(
    type: str, params: Any, shapes: Sequence[Shape], message: str, check_layer: Check
) -> None:
    """What would leave the first input, or be empty."""
    with pytest.raises(LayerError, match=message):
        check_layer(type, params, [ramp(*shape) for shape in shapes])


def test_elements_of_any_type(check_layer: Check) -> None:
    """What is moved may be int8; of two types nothing is made."""
    x, y = np.arange(6, dtype=np.int8).reshape(2, 3), np.full((1, 2), -7, np.int8)
    check_layer("CopyTo", {"woffset": 1}, [x, y], expected=[np.array([[0, -7, -7], [3, 4, 5]])])
    check_layer("Diag", {"diagonal": 1}, [x], expected=[np.array([1, 5])])
    check_layer("Diag", {}, [y[0]], expected=[np.diag(y[0])])
    with pytest.raises(LayerError, match="its inputs are int8, float32, not of one type"):
        check_layer("CopyTo", {}, [x, ramp(1, 2)])
