"""Images in files and of Pillow as pixels."""

from __future__ import annotations

import io
import re
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.runtime import images
from ncc.runtime.errors import INSTALL, InputError, NccError

Image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")

PIXELS = np.arange(2 * 3 * 3, dtype=np.uint8).reshape(2, 3, 3)


def stored(picture: Any, kind: str = "png", **options: Any) -> bytes:
    file = io.BytesIO()
    picture.save(file, kind, **options)
    return file.getvalue()


def test_files_paths_and_bytes_are_opened(tmp_path: Path) -> None:
    """And written."""
    path = tmp_path / "x.png"
    images.save(PIXELS, path)
    for given in (path, str(path), path.read_bytes(), io.BytesIO(path.read_bytes())):
        np.testing.assert_array_equal(images.open(given), PIXELS)
    images.save(PIXELS, tmp_path / "x.jpg", quality=100)
    assert images.open(tmp_path / "x.jpg").shape == (2, 3, 3)


def test_whatever_a_file_holds_becomes_gray_or_colours_with_or_without_alpha() -> None:
    """A palette may be transparent, too."""
    picture = Image.fromarray(PIXELS)
    shapes = {"RGB": (3,), "RGBA": (4,), "L": (), "LA": (4,), "P": (3,), "1": ()}
    for mode, channels in shapes.items():
        found = images.open(stored(picture.convert(mode)))
        assert found.dtype == np.uint8 and found.shape == (2, 3, *channels), mode
    palette = picture.convert("P")
    palette.info["transparency"] = 0
    assert images.open(stored(palette)).shape == (2, 3, 4)
    assert images.open(stored(picture.convert("CMYK"), "jpeg")).shape == (2, 3, 3)


def test_photos_stand_as_the_camera_was_held() -> None:
    """By the note that it leaves in the file."""
    picture = Image.fromarray(PIXELS)
    exif = Image.Exif()
    exif[0x0112] = 6  # the camera was turned
    assert images.open(stored(picture, "jpeg", exif=exif)).shape == (3, 2, 3)


def test_pixels_of_more_bits_are_refused() -> None:
    """Nobody says what their largest value is."""
    deep = Image.fromarray(np.array([[0, 65535]], np.uint16))
    with pytest.raises(InputError, match="no bytes but of mode I;16"):
        images.open(stored(deep))


def test_what_is_no_image_is_an_error(tmp_path: Path) -> None:
    """However it begins."""
    with pytest.raises(InputError, match="cannot identify"):
        images.open(b"\x89PNG" + bytes(8))
    with pytest.raises(FileNotFoundError):
        images.open(tmp_path / "missing.png")


def test_without_pillow_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """By the name that pip knows."""
    monkeypatch.setitem(sys.modules, "PIL", None)
    with pytest.raises(NccError, match=f"needs PIL, .*{re.escape(INSTALL['image'])}"):
        images.open(b"")


def test_resized_as_pillow_does() -> None:
    """(height, width), as shapes of arrays are."""
    pixels = np.random.default_rng(1).integers(0, 256, (8, 6, 3), dtype=np.uint8)
    expected = Image.fromarray(pixels).resize((3, 4), Image.Resampling.LANCZOS)
    found = images.resize(pixels, (4, 3), "lanczos")
    np.testing.assert_array_equal(found, np.asarray(expected))
    np.testing.assert_array_equal(images.resize(Image.fromarray(pixels), (4, 3), "lanczos"), found)
    assert images.resize(pixels[..., 0], (5, 5)).shape == (5, 5)
    with pytest.raises(InputError, match="no way to resize: expected nearest or "):
        images.resize(pixels, (4, 3), "cubic")
    with pytest.raises(InputError, match="no size of an image"):
        images.resize(pixels, (0, 3))


def test_letterbox_keeps_the_shape_and_tells_the_place() -> None:
    """Gray beside it; alpha there is opaque."""
    pixels = np.full((10, 20, 3), 7, np.uint8)
    found, scale, left, top = images.letterbox(pixels, (40, 40))
    assert found.shape == (40, 40, 3) and (scale, left, top) == (2, 0, 10)
    assert (found[10:30] == 7).all() and (found[:10] == 114).all() and (found[30:] == 114).all()
    tall = images.letterbox(np.full((30, 1, 4), 9, np.uint8), (10, 10), fill=0)
    assert (tall.pixels[..., 3] == 255).sum() == 90 and tall.left == 4
    assert images.letterbox(pixels[..., 0], (5, 7)).pixels.shape == (5, 7)
