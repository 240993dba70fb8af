"""How an input is fed pixels, as a text and as an object."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ncc.runtime.errors import InputError
from ncc.runtime.pixel_input import PixelInput, pixel_inputs


@pytest.mark.parametrize(
    ("text", "meant"),
    [
        ("uint8,hwc", PixelInput()),
        ("bgr", PixelInput("bgr")),
        ("uint8,hwc,bgr2rgb,norm=0.017", PixelInput("bgr2rgb", None, 0.017)),
        ("uint8,hwc,bgr,mean=104,117,123", PixelInput("bgr", (104, 117, 123))),
        ("norm=1,2,3,mean=-4.5,gray2rgb,hwc", PixelInput("gray2rgb", -4.5, (1, 2, 3))),
        ("gray2rgb,norm=1,2,3,mean=-4.5", PixelInput("gray2rgb", -4.5, (1, 2, 3))),
    ],
)
def test_texts_and_what_they_mean(text: str, meant: PixelInput) -> None:
    """In any order; numbers go on until the next word."""
    assert PixelInput.of(text) == meant


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("rgb,bgr", "no description of pixels: expected a text as uint8,hwc,bgr2rgb,mean=1,2,3"),
        ("rgb,mean=", "no description"),
        ("rgb,mean=1,mean=2", "no description"),
        ("float32,hwc", "no conversion of pixels.*'float32'"),
        ("rgb,mean=1,2", "no mean of pixels: expected a number, or 3"),
        ("rgb,norm=0", "no norm of pixels"),
        ("", "no conversion of pixels"),
    ],
)
def test_other_texts_are_refused(text: str, said: str) -> None:
    """With the form that is wanted."""
    with pytest.raises(InputError, match=said):
        PixelInput.of(text)


def test_one_number_is_for_all_channels() -> None:
    """So that equal ones are equal, and have one key in the cache."""
    assert PixelInput("rgb", 3, np.array([1, 1, 1])) == PixelInput("rgb", (3, 3, 3), 1)
    assert PixelInput("rgb", 3).mean == (3.0, 3.0, 3.0) and PixelInput().norm is None


def test_shapes_of_pixels() -> None:
    """Channels are last; gray ones have no axis for them."""
    assert PixelInput("rgba2rgb").fed((3, None, 5), 4) == (None, 5, 4)
    assert PixelInput("gray2rgb").fed((3, 4, 5), 1) == (4, 5)


@pytest.mark.parametrize("wrong", [["rgb"], "rgb", {1: "rgb"}, {"data": 3}])
def test_inputs_are_told_by_name(wrong: Any) -> None:
    """By a text or an object each."""
    assert pixel_inputs({"data": "bgr", "more": PixelInput()})["data"] == PixelInput("bgr")
    with pytest.raises(InputError, match="inputs are told by their names|no pixels for input"):
        pixel_inputs(wrong)
