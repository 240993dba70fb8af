"""Pixels that compiled code converts are what numpy makes of them, bit by bit."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.pixels import PixelsOp, ToPixelsOp
from ncc.runtime import cpu
from ncc.runtime.pixel_orders import Conversion
from ncc.runtime.pixels import from_pixels, to_pixels

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


OUTPUTS = [
    ncc.image.PixelOutput("rgb", (123.675, 116.28, 103.53), (1 / 58.395, 1 / 57.12, 0.017)),
    ncc.image.PixelOutput("rgb2bgr", None, 1 / 255),
    ncc.image.PixelOutput("bgr2rgba", 127.5),
    ncc.image.PixelOutput("rgba2bgr", 3, 0.1),
    ncc.image.PixelOutput("rgb2gray", 3, 0.1),
    ncc.image.PixelOutput("gray2rgb", 3, 0.1),
    ncc.image.PixelOutput("gray"),
]


def values(chosen: ncc.image.PixelOutput, height: int, width: int) -> Any:
    """Levels beyond both limits, halves, infinities and NaN, as a network has them."""
    channels = Conversion.of(chosen.conversion).channels
    levels = np.random.default_rng(width).integers(-80, 700, (channels, height, width)) * 0.5
    mean = np.resize(np.array(chosen.mean or 0.0), channels)[:, None, None]
    norm = np.resize(np.array(chosen.norm or 1.0), channels)[:, None, None]
    found = ((levels - mean) * norm).astype(np.float32)
    odd = np.array([np.nan, np.inf, -np.inf])
    found.reshape(-1)[:3] = odd[: found.size]
    return found


@pytest.mark.parametrize("size", ["", " 0=13 1=7 2={channels}"])
@pytest.mark.parametrize("chosen", OUTPUTS, ids=lambda chosen: chosen.conversion)
def test_outputs_are_equal_to_numpy(
    chosen: ncc.image.PixelOutput, size: str, tmp_path: Path
) -> None:
    """At one size, and at all sizes, bit by bit."""
    channels = Conversion.of(chosen.conversion).channels
    path = network(tmp_path, size.format(channels=channels))
    shapes: Any = None if size else {"data": (channels, None, None)}
    outputs = {"y": chosen}
    model = ncc.compile(path, random_weights=1, input_shapes=shapes, outputs=outputs)
    for height, width in [(7, 13), *([(3, 5), (40, 33), (1, 1)] if not size else [])]:
        x = values(chosen, height, width)
        expected = to_pixels(x, chosen.conversion, chosen.mean, chosen.norm)
        found = model(x)
        assert found.dtype == np.uint8
        np.testing.assert_array_equal(found, expected)


def test_outputs_at_every_level_and_target(tmp_path: Path) -> None:
    """The same bits everywhere."""
    chosen = OUTPUTS[0]
    path, x = network(tmp_path, " 0=13 1=7 2=3"), values(chosen, 7, 13)
    expected = to_pixels(x, chosen.conversion, chosen.mean, chosen.norm)
    for level, target in [(0, "host"), (1, "host"), (2, "baseline"), (2, "host")]:
        outputs = {"y": chosen}
        model = ncc.compile(path, opt_level=level, target=target, random_weights=1, outputs=outputs)
        np.testing.assert_array_equal(model(x), expected)


def test_pixels_of_another_shape_are_refused() -> None:
    """The caller has asked for them."""
    op = ToPixelsOp.make([], {"conversion": "rgb2bgra"})
    assert op.infer((3, 4, 5)) == op.infer((1, 3, 4, 5)) == (4, 5, 4)
    for shape in [(4, 5), (4, 5, 3), (2, 3, 4, 5)]:
        with pytest.raises(ncc.InputError, match=r"no image: expected \(3, height, width\)"):
            op.infer(shape)
