"""GridSample: images at the places of a grid."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError

Check = Callable[..., Any]
Array = np.ndarray[Any, Any]


@pytest.mark.layer("GridSample")
def test_recorded(case: Any, check_layer: Check) -> None:
    """GridSample is what ncnn recorded."""
    check_layer(case)


LINE = np.array([[[10, 20, 40]]], np.float32)


def along(*coordinates: float) -> Array:
    """A grid of one row; at 0, the middle of the only row of an image."""
    return np.array([[[x, 0] for x in coordinates]], np.float32)


@pytest.mark.parametrize(
    ("params", "coordinates", "expected"),
    [
        # The centres of three cells are at -2/3, 0 and 2/3.
        ({}, (-2 / 3, 0, 1 / 3, 2 / 3), (10, 20, 30, 40)),
        ({"align_corner": 1}, (-1, 0, 0.5, 1), (10, 20, 30, 40)),
        # Outside are zeros, the edge, or the mirrored image.
        ({}, (-1, 1, 5), (5, 20, 0)),
        ({"padding_mode": 2}, (-1, 1, 5), (10, 40, 40)),
        ({"padding_mode": 3}, (-4 / 3, 4 / 3, 2), (10, 40, 20)),
        ({"padding_mode": 3, "align_corner": 1}, (-1.5, 1.5, 2), (15, 30, 20)),
        # The nearest cell, of two the one behind.
        ({"sample_type": 2}, (-0.4, 0.3, 0.5), (10, 20, 40)),
        ({"sample_type": 2, "align_corner": 1}, (-0.5, 0.5, 1.5), (20, 40, 0)),
        ({"sample_type": 2}, (-2, 2), (0, 0)),
        ({"sample_type": 2, "padding_mode": 2}, (-2, 2), (10, 40)),
    ],
)
def test_places_along_a_line(
    params: dict[str, int], coordinates: tuple[float, ...], expected: tuple[float, ...],
    check_layer: Check,
) -> None:  # fmt: skip
    """Between cells, at the edge, and outside."""
    result = np.array([[expected]], np.float32)
    check_layer("GridSample", params, [LINE, along(*coordinates)], expected=[result])


def test_bicubic_goes_through_the_cells(check_layer: Check) -> None:
    """Between them it looks at four in each direction, by the padding mode."""
    params = {"sample_type": 3, "padding_mode": 2, "align_corner": 1}
    # At a half: (-3, 19, 19, -3) / 32 of the four cells.
    middle = (-3 * 10 + 19 * 10 + 19 * 20 - 3 * 40) / 32
    expected = np.array([[[10, 20, middle]]], np.float32)
    check_layer("GridSample", params, [LINE, along(-1, 0, -0.5)], expected=[expected])


def test_the_coordinates_may_be_outermost(check_layer: Check) -> None:
    """With permute_fusion the grid is (2, h, w)."""
    x = np.arange(12, dtype=np.float32).reshape(2, 2, 3)
    grid = np.random.default_rng(0).uniform(-1.5, 1.5, (4, 5, 2)).astype(np.float32)
    [expected] = check_layer("GridSample", {}, [x, grid])
    turned = np.ascontiguousarray(np.moveaxis(grid, -1, 0))
    check_layer("GridSample", {"permute_fusion": 1}, [x, turned], expected=[expected])


def test_a_volume_has_three_coordinates(check_layer: Check) -> None:
    """w first, depth last: here the cells are read backwards along w and along depth."""
    x = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2)
    near = (-1, 1)
    grid = np.array([[[(-w, h, -d) for w in near] for h in near] for d in near], np.float32)
    expected = x[:, ::-1, :, ::-1]
    for sample_type in (1, 2):
        params = {"sample_type": sample_type, "align_corner": 1}
        check_layer("GridSample", params, [x, grid], expected=[expected])


@pytest.mark.parametrize("sample_type", [1, 2, 3])
@pytest.mark.parametrize("padding_mode", [1, 2, 3])
@pytest.mark.parametrize("align_corner", [0, 1])
def test_expansion_is_the_reference_far_outside(
    sample_type: int, padding_mode: int, align_corner: int, check_layer: Check
) -> None:
    """Also where a mirrored place is outside again, and where a coordinate is no number."""
    grid = np.random.default_rng(0).uniform(-7, 7, (5, 6, 2)).astype(np.float32)
    grid[0, 0], grid[0, 1], grid[0, 2, 0], grid[0, 3, 1] = 1e9, -1e9, np.nan, np.nan
    params = {
        "sample_type": sample_type, "padding_mode": padding_mode, "align_corner": align_corner,
    }  # fmt: skip
    check_layer("GridSample", params, [np.ones((2, 3, 4), np.float32), grid])


@pytest.mark.parametrize(
    ("params", "shapes", "message"),
    [
        ({"sample_type": 4}, [(1, 3, 3), (2, 2, 2)], "sample_type is 4"),
        ({"padding_mode": 0}, [(1, 3, 3), (2, 2, 2)], "padding_mode is 0"),
        ({}, [(3, 3), (2, 2, 2)], "GridSample takes"),
        ({}, [(1, 3, 3), (2, 2, 3)], "has no 2 coordinates"),
        ({}, [(1, 3, 3), (2, 2)], "has no 2 coordinates"),
        ({"permute_fusion": 1}, [(1, 3, 3), (4, 5, 2)], "has no 2 coordinates"),
        ({"sample_type": 3}, [(1, 3, 3, 3), (2, 2, 2, 3)], "no bicubic sampling of volumes"),
    ],
)
def test_refuses(
    params: dict[str, int], shapes: list[tuple[int, ...]], message: str, check_layer: Check
) -> None:
    """Modes that there are not, and a grid that does not fit the image."""
    with pytest.raises(LayerError, match=message):
        check_layer("GridSample", params, [np.zeros(shape, np.float32) for shape in shapes])
