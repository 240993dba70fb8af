"""Large images window by window, as the whole."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.runtime.errors import InputError
from ncc.runtime.tiled import Span, spans

# Two convolutions of 3x3 see 2 pixels to each side.
DOUBLE = """7767517
4 4
Input input 0 1 data
Convolution conv1 1 1 data x 0=8 1=3 4=1 5=1 6=216 9=1
Convolution conv2 1 1 x y 0=12 1=3 4=1 5=1 6=864
PixelShuffle up 1 1 y out 0=2
"""


@pytest.fixture(scope="module")
def param(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("double") / "double.param"
    path.write_text(DOUBLE)
    return path


@pytest.fixture(scope="module")
def model(param: Path) -> Any:
    """For images of any size."""
    return ncc.compile(param, random_weights=1, input_shapes={"data": (3, None, None)})


@pytest.fixture(scope="module")
def fixed(param: Path) -> Any:
    """For windows of 20 by 24."""
    return ncc.compile(param, random_weights=1, input_shapes={"data": (3, 20, 24)})


def image(height: int, width: int, channels: int = 3) -> Any:
    shape = (height, width, channels) if channels > 1 else (height, width)
    return np.random.default_rng(height).integers(0, 256, shape, dtype=np.uint8)


def blob(height: int, width: int) -> Any:
    return ncc.image.from_pixels(image(height, width), norm=1 / 255)


def test_windows_along_an_axis() -> None:
    """Each gives its part; together these are the whole."""
    assert spans(30, 40, 5) == [Span(0, 30, 0, 30)]
    assert spans(50, 20, 5) == [
        Span(0, 20, 0, 15),
        Span(10, 30, 15, 25),
        Span(20, 40, 25, 35),
        Span(30, 50, 35, 50),
    ]
    for extent in range(1, 200):
        for window, overlap, multiple in [(20, 5, 1), (24, 4, 8), (16, 0, 4), (21, 10, 1)]:
            found = spans(extent, window, overlap, multiple)
            covered = [x for span in found for x in range(span.first, span.last)]
            assert covered == list(range(extent))
            for span in found:
                assert span.begin % multiple == 0 and span.end - span.begin < window + multiple
                assert span.begin in (0, span.first - overlap)
                assert span.end == extent or span.end - span.last >= overlap


@pytest.mark.parametrize("size", [(7, 9), (20, 24), (21, 24), (55, 71)])
def test_the_result_is_that_of_the_whole(model: Any, fixed: Any, size: tuple[int, int]) -> None:
    """Where windows overlap by what the network sees; of a model for one size, too."""
    x = blob(*size)
    expected = model(x)
    found = ncc.tiled(model, tile=16, overlap=2)(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert found.shape == (3, 2 * size[0], 2 * size[1])
    if size >= (20, 24):
        tiles = ncc.tiled(fixed, overlap=2)(x)
        np.testing.assert_allclose(tiles, expected, rtol=0, atol=1e-6)


def test_too_little_overlap_is_seen(model: Any) -> None:
    """The test above can fail."""
    x = blob(55, 71)
    assert np.abs(ncc.tiled(model, tile=16, overlap=0)(x) - model(x)).max() > 1e-3


def test_images_smaller_than_the_only_size_are_continued(fixed: Any) -> None:
    """By their last pixels."""
    x = blob(6, 8)
    padded = np.pad(x, [(0, 0), (0, 14), (0, 16)], mode="edge")
    found = ncc.tiled(fixed, overlap=2)(x)
    np.testing.assert_array_equal(found, fixed(padded)[:, :12, :16])


def test_pixels_are_converted_and_come_back(model: Any) -> None:
    """As the caller would do it with the whole."""
    pixels = image(40, 50)
    tiled = ncc.tiled(model, 16, 2, conversion="bgr2rgb", mean=3, norm=1 / 255)
    whole = ncc.image.from_pixels(pixels, "bgr2rgb", 3, 1 / 255)
    expected = ncc.image.to_pixels(model(whole), "rgb2bgr", 3, 1 / 255)
    found = tiled(pixels)
    assert found.dtype == np.uint8
    assert np.abs(found.astype(int) - expected).max() <= 1  # where a half is rounded
    assert (found != expected).mean() < 1e-3


def test_alpha_is_kept(model: Any) -> None:
    """Resized; opaque stays opaque, and colours are those without it."""
    pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    pixels = image(40, 50, 4)
    tiled = ncc.tiled(model, 16, 2, norm=1 / 255)
    found = tiled(pixels)
    assert found.shape == (80, 100, 4)
    np.testing.assert_array_equal(found[..., :3], tiled(pixels[..., :3]))
    alpha = ncc.image.resize(pixels[..., 3], (80, 100), "bicubic")
    np.testing.assert_array_equal(found[..., 3], alpha)
    pixels[..., 3] = 255
    assert (tiled(pixels)[..., 3] == 255).all()


def test_gray_stays_gray_and_pillow_pillow(model: Any) -> None:
    """The network sees gray colours."""
    pillow = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    gray = image(40, 50, 1)
    tiled = ncc.tiled(model, 16, 2, norm=1 / 255)
    found = tiled(gray)
    coloured = tiled(ncc.image.convert(gray, "gray2rgb"))
    np.testing.assert_array_equal(found, ncc.image.convert(coloured, "rgb2gray"))
    picture = tiled(pillow.fromarray(image(40, 50, 4)))
    assert picture.size == (100, 80) and picture.mode == "RGBA"


def test_windows_run_in_threads_and_tell_their_progress(model: Any) -> None:
    """The number of threads changes no bit."""
    x, told = blob(55, 71), []
    names: set[str] = set()

    def tell(done: int, all: int) -> None:
        told.append((done, all))
        names.update(thread.name.rpartition("_")[0] for thread in threading.enumerate())

    one, three = (ncc.tiled(model, 16, 2, threads=n) for n in (1, 3))
    np.testing.assert_array_equal(one(x), three(x, progress=tell))
    count = three.count(x)
    assert told == [(done, count) for done in range(1, count + 1)] and count == 4 * 5
    assert "ncc-tiles" in names
    assert three.count(image(55, 71)) == count


def test_an_error_ends_all_windows(model: Any) -> None:
    """That of the caller's function, too."""

    def stop(done: int, all: int) -> None:
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ncc.tiled(model, 16, 2, threads=2)(blob(55, 71), progress=stop)


def test_the_result_goes_where_the_caller_says(model: Any) -> None:
    """If it fits."""
    out = np.empty((80, 100, 3), np.uint8)
    tiled = ncc.tiled(model, 16, 2, norm=1 / 255)
    assert tiled(image(40, 50), out=out) is out
    np.testing.assert_array_equal(out, tiled(image(40, 50)))
    with pytest.raises(InputError, match="`out` does not fit the result: expected uint8"):
        tiled(image(40, 51), out=out)


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tile": 0}, "no tile of windows: expected 1 or more"),
        ({"overlap": -1}, "no overlap of windows"),
        ({"tile": 10, "multiple": 4}, "tile 10 is no multiple of 4"),
        ({"threads": 0}, "no threads of windows"),
        ({"conversion": "rbg"}, "no conversion of pixels"),
    ],
)
def test_what_does_not_fit_is_refused(model: Any, options: Any, said: str) -> None:
    """Before anything runs."""
    with pytest.raises(InputError, match=said):
        ncc.tiled(model, **options)


def test_windows_of_another_size_than_the_only_one_are_refused(fixed: Any) -> None:
    """With the sum that would fit."""
    with pytest.raises(InputError, match=r"tile \+ 2 \* overlap to be 20, the only size"):
        ncc.tiled(fixed, tile=16, overlap=3)
    with pytest.raises(InputError, match="found overlap 10"):
        ncc.tiled(fixed)


@pytest.mark.parametrize("wrong", [np.zeros((2, 3, 8, 8), np.float32), image(8, 8, 2)])
def test_what_is_no_image_is_refused(model: Any, wrong: Any) -> None:
    """By its shape."""
    with pytest.raises(InputError, match="no image|no pixels"):
        ncc.tiled(model)(wrong)


def test_a_network_that_makes_images_smaller_is_refused(tmp_path: Path) -> None:
    """There is no scale by which tiles would fit."""
    path = tmp_path / "pool.param"
    path.write_text("7767517\n2 2\nInput i 0 1 data\nPooling p 1 1 data y 1=2 2=2\n")
    model = ncc.compile(path, random_weights=1, input_shapes={"data": (3, None, None)})
    with pytest.raises(InputError, match="as large as they are, or larger"):
        ncc.tiled(model)(blob(8, 8))
