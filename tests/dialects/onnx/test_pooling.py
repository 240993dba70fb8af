"""MaxPool with places, and MaxUnpool."""

from __future__ import annotations

import numpy as np
import pytest

from tests.onnx.models import check_operator

X = np.array([[[[1, 5, 2, 2], [3, 4, 2, 9]], [[7, 0, 0, 0], [0, 0, 0, 0]]]], np.float32)


@pytest.mark.parametrize(("order", "places"), [(0, [1, 7, 8, 10]), (1, [2, 7, 8, 12])])
def test_places_of_maxima(order: int, places: list[int]) -> None:
    """Among all elements, by rows or by columns; of equal ones the first."""
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2], "storage_order": order}
    largest = np.array([5, 9, 7, 0], np.float32).reshape(1, 2, 1, 2)
    wanted = [largest, np.array(places).reshape(1, 2, 1, 2)]
    check_operator("MaxPool", attributes, [X], expected=wanted, outputs=2)


def test_padding_is_no_place() -> None:
    """Windows that reach beyond the image."""
    attributes = {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}
    check_operator("MaxPool", attributes, [X], outputs=2)


def test_back_to_their_places() -> None:
    """Zeros elsewhere; a larger image has them at its end."""
    x, places = np.array([[[[5, 9]]]], np.float32), np.array([[[[1, 7]]]])
    attributes = {"kernel_shape": [2, 2], "strides": [2, 2]}
    wanted = np.array([[[[0, 5, 0, 0], [0, 0, 0, 9]]]], np.float32)
    check_operator("MaxUnpool", attributes, [x, places], expected=[wanted])
    larger = {2: np.array([1, 1, 3, 4])}
    padded = np.pad(wanted, [(0, 0), (0, 0), (0, 1), (0, 0)])
    check_operator("MaxUnpool", attributes, [x, places], constants=larger, expected=[padded])
