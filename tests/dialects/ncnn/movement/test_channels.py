"""Between channels, and between channels and the image."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError, Shape
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]


@pytest.mark.layer("ShuffleChannel", "PixelShuffle", "Reorg")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def test_shuffle_channel(check_layer: Check) -> None:
    """Two groups of three are dealt out in turn; `reverse` collects them again."""
    x = ramp(6, 1, 2)
    dealt = x[[0, 3, 1, 4, 2, 5]]
    check_layer("ShuffleChannel", {"group": 2}, [x], expected=[dealt])
    check_layer("ShuffleChannel", {"group": 2, "reverse": 1}, [dealt], expected=[x])
    check_layer("ShuffleChannel", {"group": 1}, [x], expected=[x])


@pytest.mark.parametrize("mode", [0, 1])
def test_pixel_shuffle(mode: int, check_layer: Check) -> None:
    """Four channels of one pixel are one block; `mode` is the order of two results."""
    x = ramp(8, 1, 1)
    blocks = {0: [[[0, 1], [2, 3]], [[4, 5], [6, 7]]], 1: [[[0, 2], [4, 6]], [[1, 3], [5, 7]]]}
    expected = np.array(blocks[mode], np.float32)
    check_layer("PixelShuffle", {"upscale_factor": 2, "mode": mode}, [x], expected=[expected])
    check_layer("Reorg", {"stride": 2, "mode": mode}, [expected], expected=[x])


def test_reorg_drops_what_fills_no_block(check_layer: Check) -> None:
    """Of three columns and two rows one block of two by two is made."""
    expected = np.array([0, 1, 3, 4], np.float32).reshape(4, 1, 1)
    check_layer("Reorg", {"stride": 2}, [ramp(1, 2, 3)], expected=[expected])


@pytest.mark.parametrize(
    "type, params, x, message",
    [
        ("ShuffleChannel", {"group": 0}, (4, 1, 1), "group is 0"),
        ("ShuffleChannel", {"group": 3}, (4, 1, 1), "4 channels .* do not fall into 3 groups"),
        ("ShuffleChannel", {"group": 2}, (4, 1), "its rank is below 3"),
        ("PixelShuffle", {"upscale_factor": 0}, (4, 1, 1), "upscale_factor is 0"),
        ("PixelShuffle", {"upscale_factor": 2}, (6, 1, 1), "6 channels"),
        ("PixelShuffle", {"upscale_factor": 2}, (4, 1), "its rank is not 3"),
        ("PixelShuffle", {"mode": 2}, (4, 1, 1), "mode is 2"),
        ("Reorg", {"stride": -1}, (4, 1, 1), "stride is -1"),
        ("Reorg", {"stride": 2}, (4, 1, 3), "no block of 2 by 2"),
    ],
)
def test_refused(type: str, params: Any, x: Shape, message: str, check_layer: Check) -> None:
    """Channels that do not divide, and params that mean nothing."""
    with pytest.raises(LayerError, match=message):
        check_layer(type, params, [ramp(*x)])
