"""GridSample and RoiAlign."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from tests.onnx.models import check_operator

ROW = np.array([[[[0, 10, 20, 30]]]], np.float32)


def _places(*xs: float) -> np.ndarray:
    """A grid of one row."""
    return np.array([[[[x, 0] for x in xs]]], np.float32)


@pytest.mark.parametrize(
    ("padding", "aligned", "places", "wanted"),
    [
        ("zeros", 0, [-1, -0.5, 0, 3], [0, 5, 15, 0]),
        ("border", 0, [-1, 0, 9], [0, 15, 30]),
        ("border", 1, [-1, 0, 1], [0, 15, 30]),
        # The pixels are at -0.75 ... 0.75; a mirror stands at each edge, and behind each mirror.
        ("reflection", 0, [1.25, 1.75, 3.25, 5.25], [30, 20, 0, 30]),
        ("reflection", 1, [5 / 3, 3, 5], [20, 0, 30]),
    ],
)
def test_places_in_a_row(
    padding: str, aligned: int, places: list[float], wanted: list[float]
) -> None:
    """Between pixels and beside the image."""
    attributes = {"padding_mode": padding, "align_corners": aligned}
    expected = [np.array([[[wanted]]], np.float32)]
    given = [ROW, _places(*places)]
    check_operator("GridSample", attributes, given, expected=expected, atol=1e-5)


def test_the_nearest_pixel() -> None:
    """Halves go to the even pixel."""
    attributes = {"mode": "nearest", "align_corners": 1}
    given = [ROW, _places(-1 / 3 * 2, 0, 1 / 3 * 2)]
    check_operator("GridSample", attributes, given, expected=[np.array([[[[0, 20, 20]]]], "f4")])


def test_cubic_sampling_and_volumes() -> None:
    """The lowering does as the reference; of volumes there is no cubic sampling."""
    rng = np.random.default_rng(1)
    x, grid = rng.standard_normal((2, 3, 4, 5), np.float32), rng.uniform(-1.2, 1.2, (2, 2, 3, 2))
    check_operator("GridSample", {"mode": "cubic"}, [x, grid.astype(np.float32)], atol=1e-5)
    volume, points = np.zeros((1, 1, 2, 2, 2), np.float32), np.zeros((1, 1, 1, 1, 3), np.float32)
    check_operator("GridSample", {}, [volume, points], expected=[np.zeros((1, 1, 1, 1, 1), "f4")])
    with pytest.raises(Unsupported, match="cubic GridSample of 3 axes"):
        check_operator("GridSample", {"mode": "cubic"}, [volume, points])


def test_regions() -> None:
    """A plane has its own value in the middle of each cell."""
    y, x = np.mgrid[:6, :8].astype(np.float32)
    image = np.stack([np.zeros((6, 8), "f4"), 10 * y + x])[:, None]
    rois, images = np.array([[1, 1, 5, 3]], np.float32), np.array([1])
    attributes = {"output_height": 1, "output_width": 2, "sampling_ratio": 2}
    given = [image, rois, images]
    # Pixel k is at k + 0.5: the cells' centres are (2, 2) and (4, 2), less 0.5.
    wanted = np.array([[[[16.5, 18.5]]]], np.float32)
    check_operator("RoiAlign", attributes, given, expected=[wanted])
    check_operator("RoiAlign", {**attributes, "mode": "max"}, given, opset=16)
    with pytest.raises(Unsupported, match="sampling_ratio=0"):
        check_operator("RoiAlign", {}, given)
