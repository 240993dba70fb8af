"""Pixels as what networks read: orders of channels, mean and norm, and back."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ncc.runtime.errors import InputError
from ncc.runtime.pixel_orders import ORDERS, Conversion
from ncc.runtime.pixels import Pixels, convert, from_pixels, to_pixels

MEAN, NORM = (123.675, 116.28, 103.53), (1 / 58.395, 1 / 57.12, 1 / 57.375)


def pixels_of(channels: int, height: int = 17, width: int = 16) -> Pixels:
    """Random ones; with 17 x 16 x 3 of them, every value is there."""
    generator = np.random.default_rng(channels)
    shape = (height, width, channels) if channels > 1 else (height, width)
    return generator.integers(0, 256, shape, dtype=np.uint8)


def test_channels_come_first_in_the_order_asked_for() -> None:
    """Each value as float32."""
    pixels = pixels_of(3)
    same = pixels.transpose(2, 0, 1).astype(np.float32)
    found = from_pixels(pixels)
    assert found.dtype == np.float32 and found.flags.c_contiguous
    np.testing.assert_array_equal(found, same)
    np.testing.assert_array_equal(from_pixels(pixels, "bgr2rgb"), same[::-1])
    np.testing.assert_array_equal(from_pixels(pixels_of(4), "bgra2rgb").shape, same.shape)
    gray = from_pixels(pixels_of(1), "gray")
    np.testing.assert_array_equal(gray, pixels_of(1)[None])
    np.testing.assert_array_equal(from_pixels(pixels_of(1)[..., None], "gray"), gray)


@pytest.mark.parametrize("conversion", [*map("2".join, product(ORDERS, ORDERS))])
def test_conversions_are_those_of_ncnn(conversion: str) -> None:
    """All that ncnn has, to the bit."""
    ncnn = pytest.importorskip("ncnn", reason="ncnn is not installed")
    source, target = conversion.split("2")
    name = source if source == target else conversion
    kind = getattr(ncnn.Mat.PixelType, f"PIXEL_{name.upper()}", None)
    if kind is None:
        pytest.skip(f"ncnn has no {conversion}")
    pixels = pixels_of(Conversion.of(conversion).channels)
    expected = np.array(ncnn.Mat.from_pixels(pixels, kind, 16, 17))
    np.testing.assert_array_equal(from_pixels(pixels, conversion), expected.reshape(-1, 17, 16))


@pytest.mark.parametrize(("mean", "norm"), [(MEAN, NORM), (MEAN, None), (None, NORM), (127.5, 0.1)])
def test_mean_and_norm_are_those_of_ncnn(mean: Any, norm: Any) -> None:
    """To the bit, where ncnn multiplies and adds with one rounding."""
    ncnn = pytest.importorskip("ncnn", reason="ncnn is not installed")
    pixels = pixels_of(3)
    mat = ncnn.Mat.from_pixels(pixels, ncnn.Mat.PixelType.PIXEL_RGB, 16, 17)
    each = [[] if given is None else list(np.broadcast_to(given, 3)) for given in (mean, norm)]
    mat.substract_mean_normalize(*each)
    np.testing.assert_array_equal(from_pixels(pixels, "rgb", mean, norm), np.array(mat))


def test_mean_and_norm_are_those_of_numpy() -> None:
    """Of one of them to the bit; of both but for the rounding in between."""
    x = pixels_of(3).transpose(2, 0, 1).astype(np.float32)
    mean, norm = (np.array(n, np.float32).reshape(3, 1, 1) for n in (MEAN, NORM))
    np.testing.assert_array_equal(from_pixels(pixels_of(3), mean=MEAN), x - mean)
    np.testing.assert_array_equal(from_pixels(pixels_of(3), norm=NORM), x * norm)
    found = from_pixels(pixels_of(3), "rgb", MEAN, NORM)
    np.testing.assert_allclose(found, (x - mean) * norm, rtol=0, atol=5e-7)
    np.testing.assert_array_equal(
        from_pixels(pixels_of(3), "rgb", np.array(MEAN), np.array(NORM)), found
    )


@pytest.mark.parametrize("conversion", ["rgb", "bgr2rgb", "rgba2bgra", "gray"])
def test_back_are_the_same_pixels(conversion: str) -> None:
    """Whatever mean and norm."""
    chosen = Conversion.of(conversion)
    pixels = pixels_of(chosen.channels)
    for mean, norm in [(None, None), (None, 1 / 255), (127.5, 1 / 128), (0.5, None)]:
        blob = from_pixels(pixels, conversion, mean, norm)
        np.testing.assert_array_equal(to_pixels(blob, str(chosen.reversed), mean, norm), pixels)


def test_back_values_are_limited_and_rounded() -> None:
    """A half to the even one; what is no number is black."""
    values = [-1e9, -0.6, 0.5, 1.5, 254.49, 254.6, 255.4, 1e9, np.inf, np.nan]
    found = to_pixels(np.array([[values]], np.float32), "gray")
    assert found.tolist() == [[0, 0, 0, 2, 254, 255, 255, 255, 255, 0]]
    assert found.dtype == np.uint8
    assert to_pixels(np.array([[[0.0, 0.5, 1.0]]]), "gray", norm=1 / 255).tolist() == [
        [0, 128, 255]
    ]


def test_conversions_of_pixels_alone() -> None:
    """Opaque where there was no alpha; gray three times."""
    gray = np.array([[7, 200]], np.uint8)
    assert convert(gray, "gray2rgba").tolist() == [[[7, 7, 7, 255], [200, 200, 200, 255]]]
    assert convert(convert(gray, "gray2bgr"), "bgr2gray").tolist() == gray.tolist()


@pytest.mark.parametrize(
    ("pixels", "options", "said"),
    [
        (pixels_of(3), {"conversion": "grb"}, "expected one of rgb, bgr.*'grb'.*mean 'rgb'"),
        (pixels_of(3), {"conversion": "rgb2"}, "or two as bgr2rgb"),
        (pixels_of(3), {"conversion": None}, "no conversion of pixels"),
        (pixels_of(4), {}, r"expected uint8 \(height, width, 3\), found uint8 \(17, 16, 4\)"),
        (pixels_of(3), {"conversion": "gray"}, r"expected uint8 \(height, width\), found"),
        (np.zeros((4, 4, 3)), {}, r"found float64 \(4, 4, 3\)"),
        (pixels_of(3), {"mean": (1, 2)}, "no mean of pixels: expected a number, or 3"),
        (pixels_of(3), {"norm": 0}, "no norm of pixels: expected numbers other than 0"),
        (pixels_of(3), {"norm": "1/255"}, "no norm of pixels: expected a number"),
        (pixels_of(3), {"mean": float("nan")}, "no mean of pixels"),
    ],
)
def test_what_does_not_fit_is_refused(pixels: Any, options: Any, said: str) -> None:
    """With what would fit."""
    with pytest.raises(InputError, match=said):
        from_pixels(pixels, **options)


def test_what_does_not_fit_is_refused_on_the_way_back() -> None:
    """By the number of channels."""
    with pytest.raises(InputError, match=r"no values of rgb: expected \(3, height, width\)"):
        to_pixels(np.zeros((1, 4, 4), np.float32))
