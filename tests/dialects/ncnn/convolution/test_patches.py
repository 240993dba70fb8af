"""Unfold and Fold: images as matrices of patches, and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError
from tests.dialects.ncnn.arrays import array, ramp

Check = Callable[..., Any]


@pytest.mark.layer("Unfold", "Fold")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def test_a_patch_is_a_column(check_layer: Check) -> None:
    """Its cells from the left, then down; a matrix is one channel."""
    expected = array([0, 1, 3, 4], [1, 2, 4, 5], [3, 4, 6, 7], [4, 5, 7, 8])
    check_layer("Unfold", {"kernel_w": 2}, [ramp(1, 3, 3)], expected=expected)
    check_layer("Unfold", {"kernel_w": 2}, [ramp(3, 3)], expected=expected)


def test_channels_are_one_below_another(check_layer: Check) -> None:
    """All cells of the first, then those of the second."""
    params = {"kernel_w": 2, "kernel_h": 1}
    expected = array([0, 2], [1, 3], [4, 6], [5, 7])
    check_layer("Unfold", params, [ramp(2, 2, 2)], expected=expected)


def test_what_stands_outside_has_a_value(check_layer: Check) -> None:
    """Explicit pads, and those of a code."""
    params = {"kernel_w": 2, "kernel_h": 1, "pad_value": 7.0}
    expected = array([7, 0, 1], [0, 1, 7])
    check_layer("Unfold", {**params, "pad_left": 1, "pad_top": 0}, [ramp(1, 2)], expected=expected)
    expected = array([0, 1], [1, 7])
    check_layer("Unfold", {**params, "pad_left": -233}, [ramp(1, 2)], expected=expected)
    expected = array([7, 0], [0, 1])
    check_layer("Unfold", {**params, "pad_left": -234}, [ramp(1, 2)], expected=expected)


def test_a_vector_is_padded_at_its_ends(check_layer: Check) -> None:
    """It is one row, above and below which nothing is added."""
    params = {"kernel_w": 2, "kernel_h": 1, "pad_left": 1, "pad_right": 0, "pad_top": 2}
    check_layer("Unfold", params, [np.arange(3.0)], expected=array([0, 0, 1], [0, 1, 2]))


def test_overlapping_patches_are_added(check_layer: Check) -> None:
    """Of patches of ones: how many windows see each cell."""
    params = {"kernel_w": 2, "output_w": 3}
    expected = array([[1, 2, 1], [2, 4, 2], [1, 2, 1]])
    check_layer("Fold", params, [np.ones((4, 4), np.float32)], expected=expected)


def test_what_falls_on_the_pads_is_dropped(check_layer: Check) -> None:
    """Pads make more windows, not a larger result."""
    params = {"kernel_w": 2, "kernel_h": 1, "output_w": 2, "output_h": 1, "pad_left": 1}
    x = np.array([[1, 2, 3], [4, 5, 6]], np.float32)
    check_layer("Fold", {**params, "pad_top": 0}, [x], expected=array([[4 + 2, 5 + 3]]))


def test_cells_that_no_patch_meets_are_zero(check_layer: Check) -> None:
    """A stride beyond the kernel leaves gaps, and a rest leaves a margin."""
    params = {"kernel_w": 1, "kernel_h": 1, "stride_w": 2, "output_w": 4, "output_h": 1}
    check_layer("Fold", params, [ramp(1, 2) + 1], expected=array([[1, 0, 2, 0]]))


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2])
def test_folding_unfolded_counts(stride: int, dilation: int, check_layer: Check) -> None:
    """Fold(Unfold(x)) is x times how many patches see each cell."""
    params = {
        "kernel_w": 3, "kernel_h": 2, "stride_w": stride, "dilation_w": dilation, "pad_left": 1,
    }  # fmt: skip
    x, ones = ramp(2, 6, 7), np.ones((2, 6, 7), np.float32)
    [counted] = check_layer("Unfold", params, [ones])
    size = {"output_w": 7, "output_h": 6}
    [counts] = check_layer("Fold", {**params, **size}, [counted])
    [patches] = check_layer("Unfold", params, [x])
    # Zeros stand around the image, so that dropping what falls there loses nothing of it.
    check_layer("Fold", {**params, **size}, [patches], expected=[x * counts])


@pytest.mark.parametrize(
    ("type", "params", "shape", "message"),
    [
        ("Unfold", {"kernel_w": 0}, (1, 3, 3), "kernel_w is 0"),
        ("Unfold", {"pad_left": -7}, (1, 3, 3), "pad_left is -7"),
        ("Unfold", {"kernel_w": 4}, (1, 3, 3), "4x4 does not fit"),
        ("Unfold", {"pad_left": 1}, (3,), "2x2 does not fit into 1x5"),
        ("Unfold", {}, (1, 1, 3, 3), r"Unfold takes \(c, h, w\)"),
        ("Fold", {}, (4, 4), "output_w is 0"),
        ("Fold", {"output_w": 3, "pad_left": -233}, (4, 4), "no codes"),
        ("Fold", {"output_w": 3}, (5, 4), "are not 4 patches of 4 elements"),
        ("Fold", {"output_w": 3}, (4, 5), "are not 4 patches of 4 elements"),
        ("Fold", {"output_w": 1}, (4, 4), "2x2 does not fit into 1x1"),
    ],
)
def test_refuses(
    type: str, params: dict[str, int], shape: tuple[int, ...], message: str, check_layer: Check
) -> None:
    """Params out of their domain, and blobs that are no images or no patches."""
    with pytest.raises(LayerError, match=message):
        check_layer(type, {"kernel_w": 2, **params}, [ramp(*shape)])
