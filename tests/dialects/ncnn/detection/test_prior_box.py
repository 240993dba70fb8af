"""PriorBox."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Check = Callable[..., Any]


@pytest.mark.layer("PriorBox")
def test_recorded(case: Any, check_layer: Check) -> None:
    """PriorBox is what ncnn recorded."""
    check_layer(case)


MAP, IMAGE = np.zeros((1, 1, 2)), np.zeros((3, 10, 20))


def test_one_box_a_cell(check_layer: Check) -> None:
    """Squares of 4 around centres 10 apart, as parts of a 20x10 image; then variances."""
    params = {
        "min_sizes": (4.0,), "image_width": -233, "image_height": -233, "offset": 0.5,
    }  # fmt: skip
    boxes = [0.15, 0.3, 0.35, 0.7, 0.65, 0.3, 0.85, 0.7]
    expected = np.array([boxes, [0.1, 0.1, 0.2, 0.2] * 2], np.float32)
    check_layer("PriorBox", params, [MAP, IMAGE], expected=[expected])


def test_the_order_of_boxes(check_layer: Check) -> None:
    """Min size, mean of min and max size, each ratio and the ratio turned."""
    params = {
        "min_sizes": (4.0,), "max_sizes": (9.0,), "aspect_ratios": (4.0,),
        "image_width": 1, "image_height": 1, "step_width": 1.0, "step_height": 1.0,
    }  # fmt: skip
    halves = [(2, 2), (3, 3), (4, 1), (1, 4)]
    expected = [(-x, -y, x, y) for x, y in halves]
    cell = np.zeros((1, 1, 1))
    boxes = np.array([expected, [(0.1, 0.1, 0.2, 0.2)] * 4], np.float32).reshape(2, 16)
    check_layer("PriorBox", params, [cell, IMAGE], expected=[boxes])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({}, "min_sizes is empty"),
        ({"min_sizes": (1.0,)}, "image_width is 0"),
        ({"min_sizes": (1.0, 2.0), "max_sizes": (3.0,)}, "1 max_sizes for 2 min_sizes"),
        ({"min_sizes": (1.0,), "aspect_ratios": (0.0,)}, "must be positive"),
    ],
)
def test_refuses(params: dict[str, Any], message: str, check_layer: Check) -> None:
    """No sizes, no image, and forms that are none."""
    with pytest.raises(LayerError, match=message):
        check_layer("PriorBox", params, [MAP, IMAGE])


def test_needs_an_image(check_layer: Check) -> None:
    """With max sizes, an image of unknown size must be an input."""
    params = {
        "min_sizes": (1.0,), "max_sizes": (2.0,), "image_width": -233, "image_height": -233,
    }  # fmt: skip
    with pytest.raises(LayerError, match="neither a param nor a second input"):
        check_layer("PriorBox", params, [MAP])


def test_roots_of_negative_sizes_are_nan(check_layer: Check) -> None:
    """As they are for ncnn, like places of infinite steps; nobody is warned of them."""
    params = {"min_sizes": (-4.0,), "max_sizes": (9.0,), "image_width": 8, "image_height": 8}
    params |= {"step_width": float("inf")}
    with warnings.catch_warnings(action="error"):
        [boxes] = check_layer("PriorBox", params, [np.zeros((1, 1, 1), np.float32)])
    assert np.isnan(boxes[0]).tolist() == [True, False, True, False] + [True] * 4
