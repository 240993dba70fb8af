"""Images as arrays of channels."""

from __future__ import annotations

import io
import sys
from typing import Any

import numpy as np
import pytest

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.images import read_image


@pytest.fixture
def image() -> Any:
    return pytest.importorskip("PIL.Image", reason="Pillow is not installed")


def stored(picture: Any, kind: str = "png") -> io.BytesIO:
    file = io.BytesIO()
    picture.save(file, kind)
    file.seek(0)
    return file


def test_channels_come_first(image: Any) -> None:
    """Red, green and blue; whatever else a file may hold of colours becomes these."""
    pixels = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)
    picture = image.fromarray(pixels)
    for mode in ("RGB", "RGBA"):
        found = read_image(stored(picture.convert(mode)))
        assert found.dtype == np.float32 and found.flags.c_contiguous
        np.testing.assert_array_equal(found, pixels.transpose(2, 0, 1))
    assert read_image(stored(picture.convert("P"))).shape == (3, 2, 3)
    assert read_image(stored(picture, "bmp")).shape == (3, 2, 3)


def test_grey_is_one_channel(image: Any) -> None:
    """Black is 0 and white 255, of one bit too."""
    grey = np.array([[0, 255, 7]], np.uint8)
    np.testing.assert_array_equal(read_image(stored(image.fromarray(grey))), [grey])
    bits = image.fromarray(grey).convert("1", dither=0)
    np.testing.assert_array_equal(read_image(stored(bits)), [[[0, 255, 0]]])


def test_pixels_of_more_bits_are_refused(image: Any) -> None:
    """Nobody says what their largest value is."""
    deep = image.fromarray(np.array([[0, 65535]], np.uint16))
    with pytest.raises(ValueError, match="no bytes: numpy.save"):
        read_image(stored(deep))


def test_what_is_no_image_is_an_error(image: Any) -> None:
    """However it begins."""
    with pytest.raises(OSError, match="cannot identify"):
        read_image(io.BytesIO(b"\x89PNG" + bytes(8)))


def test_without_pillow_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name that pip knows."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(Unsupported, match="pip install pillow"):
        read_image(io.BytesIO())
