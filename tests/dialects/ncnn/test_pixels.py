"""Pixels that compiled code converts are what numpy makes of them, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.pixels import PixelsOp
from ncc.runtime import cpu
from ncc.runtime.pixel_orders import Conversion
from ncc.runtime.pixels import from_pixels

SAME = "7767517\n2 2\nInput i 0 1 data{size}\nDropout d 1 1 data y\n"


def network(folder: Path, size: str = "") -> Path:
    path = folder / "same.param"
    path.write_text(SAME.format(size=size))
    return path


def pixels(conversion: str, height: int, width: int) -> Any:
    channels = Conversion.of(conversion).channels
    shape = (height, width, channels) if channels > 1 else (height, width)
    return np.random.default_rng(width).integers(0, 256, shape, np.uint8)


@pytest.mark.parametrize("size", ["", " 0=13 1=7 2={channels}"])
@pytest.mark.parametrize(
    "chosen",
    [
        ncc.image.PixelInput("rgb", (123.675, 116.28, 103.53), (1 / 58.395, 1 / 57.12, 0.017)),
        ncc.image.PixelInput("bgr2rgb", None, 1 / 255),
        ncc.image.PixelInput("rgba2bgr", 127.5),
        ncc.image.PixelInput("bgr2rgba", 3, 0.1),
        ncc.image.PixelInput("rgb2gray", 3, 0.1),
        ncc.image.PixelInput("gray2rgb", (1, 2, 3), 0.1),
        ncc.image.PixelInput("gray"),
    ],
    ids=lambda chosen: chosen.conversion,
)
def test_equal_to_numpy(chosen: ncc.image.PixelInput, size: str, tmp_path: Path) -> None:
    """At one size, and at all sizes; where a CPU multiplies and adds with one rounding."""
    path = network(tmp_path, size.format(channels=chosen.channels))
    model = ncc.compile(path, random_weights=1, inputs={"data": chosen})
    for height, width in [(7, 13), *([(3, 5), (40, 33)] if not size else [])]:
        image = pixels(chosen.conversion, height, width)
        expected = from_pixels(image, chosen.conversion, chosen.mean, chosen.norm)
        if "fma" in cpu.features() or None in (chosen.mean, chosen.norm):
            np.testing.assert_array_equal(model(image), expected)
        else:
            np.testing.assert_allclose(model(image), expected, rtol=2e-7, atol=2e-5)


def test_at_every_level_and_without_one_rounding(tmp_path: Path) -> None:
    """Baseline rounds the product as well."""
    mean, norm = (123.675, 116.28, 103.53), 0.017
    image = pixels("bgr2rgb", 7, 13)
    expected = from_pixels(image, "bgr2rgb", mean, norm)
    path = network(tmp_path, " 0=13 1=7 2=3")
    for level, target in [(0, "host"), (1, "host"), (2, "baseline")]:
        inputs = {"data": ncc.image.PixelInput("bgr2rgb", mean, norm)}
        model = ncc.compile(path, opt_level=level, target=target, random_weights=1, inputs=inputs)
        if target == "host" and "fma" in cpu.features():
            np.testing.assert_array_equal(model(image), expected)
        np.testing.assert_allclose(model(image), expected, rtol=1e-6, atol=1e-6)


def test_another_number_of_channels_is_refused() -> None:
    """By the shape rule."""
    op = PixelsOp.make([], {"conversion": "rgb2gray"})
    assert op.infer((4, 5, 3)) == (1, 4, 5)
    for shape in [(4, 5), (4, 5, 4), (3, 4, 5)]:
        with pytest.raises(LayerError, match="pixels are of shape"):
            op.infer(shape)
