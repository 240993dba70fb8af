"""Images read at the places that a grid says."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

node = helper.make_node


@pytest.mark.parametrize("corners", [0, 1])
@pytest.mark.parametrize("padding", ["zeros", "border"])
@pytest.mark.parametrize("mode", ["linear", "cubic"])
def test_images(converts: Any, numbers: Any, mode: str, padding: str, corners: int) -> None:
    """Inside and outside of the image."""
    way: dict[str, Any] = {"mode": mode, "padding_mode": padding, "align_corners": corners}
    one = node("GridSample", ["x", "grid"], ["y"], **way)
    converts([one], {"x": numbers(1, 3, 5, 6), "grid": numbers(1, 4, 7, 2)})


@pytest.mark.parametrize("way", [{"mode": "nearest"}, {"padding_mode": "reflection"}])
def test_places_that_ncnn_finds_in_another_way(
    refuses: Any, numbers: Any, way: dict[str, Any]
) -> None:
    """Halves that are rounded, and places behind the second mirror."""
    one = node("GridSample", ["x", "grid"], ["y"], "warp", **way)
    refuses([one], {"x": numbers(1, 3, 5, 6), "grid": numbers(1, 4, 7, 2)}, {}, "'warp'")


@pytest.mark.parametrize("way", ["half_pixel", "align_corners"])
def test_a_cubic_resize(converts: Any, numbers: Any, way: str) -> None:
    """Larger and smaller: weights are the same ones."""
    one = node(
        "Resize", ["x", "", "", "s"], ["y"], mode="cubic", coordinate_transformation_mode=way
    )
    converts([one], {"x": numbers(1, 3, 5, 6)}, {"s": np.array([1, 3, 12, 4])})
