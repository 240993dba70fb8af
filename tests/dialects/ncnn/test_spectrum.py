"""Spectrograms: the references and expansions against ncnn, against numpy's, and there and back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LAYERS, LayerError
from ncc.dialects.ncnn.spectrum import ROWS, FourierLayer

Array = np.ndarray[Any, Any]
Check = Callable[..., list[Array]]


@pytest.mark.layer("Spectrogram", "InverseSpectrogram")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


def signal(n: int) -> Array:
    return np.random.default_rng(2).uniform(-1, 1, n).astype(np.float32)


def test_a_frame_by_hand(check_layer: Check) -> None:
    """Four values, their sum, differences, and alternating sum; power is the square."""
    params = {"n_fft": 4, "center": 0}
    x = np.array([1, 2, 4, 8], np.float32)
    expected = np.array([[[15, 0]], [[-3, 6]], [[-5, 0]]])
    check_layer("Spectrogram", params, [x], expected=[expected])
    squares = np.array([[225], [45], [25], [45]])
    check_layer("Spectrogram", {**params, "power": 2, "onesided": 0}, [x], expected=[squares])
    magnitudes = np.sqrt(squares[:3]) / 2
    check_layer("Spectrogram", {**params, "power": 1, "normalized": 1}, [x], expected=[magnitudes])


@pytest.mark.parametrize(
    ("pad_type", "padded"),
    [(0, [0, 0, 1, 2, 3, 0, 0]), (1, [1, 1, 1, 2, 3, 3, 3]), (2, [3, 2, 1, 2, 3, 2, 1])],
)
def test_half_a_frame_on_both_sides(pad_type: int, padded: list[int], check_layer: Check) -> None:
    """Frames stand around their hops: zeros, the edge or the mirrored signal is beside it."""
    params = {"n_fft": 4, "hoplen": 3, "power": 1, "pad_type": pad_type}
    frames = np.array([padded[:4], padded[3:]])
    expected = np.abs(np.fft.rfft(frames)).T
    check_layer("Spectrogram", params, [np.array([1, 2, 3], np.float32)], expected=[expected])


def layer_of(type: str, **params: int) -> FourierLayer:
    op = LAYERS[type].make([], params)
    assert isinstance(op, FourierLayer)
    return op


def test_windows() -> None:
    """Periodic ones of winlen values, in the middle of the frame."""
    hann = layer_of("Spectrogram", n_fft=7, winlen=4, window_type=1)
    np.testing.assert_allclose(hann.window, [0, 0, 0.5, 1, 0.5, 0, 0], atol=1e-12)
    hamming = layer_of("Spectrogram", n_fft=4, window_type=2)
    np.testing.assert_allclose(hamming.window, [0.08, 0.54, 1, 0.54])
    ones = layer_of("Spectrogram", n_fft=4, winlen=2, normalized=2)
    assert ones.window.tolist() == [0, 1, 1, 0]
    assert ones.norm == pytest.approx(np.sqrt(2))


def test_a_quarter_of_a_frame_is_the_hop() -> None:
    """Unless the file says otherwise."""
    assert layer_of("Spectrogram", n_fft=20).hoplen == 5
    assert layer_of("Spectrogram", n_fft=20, hoplen=7).hoplen == 7


@pytest.mark.parametrize("n_fft", [8, 9, 16])
@pytest.mark.parametrize("normalized", [0, 1, 2])
@pytest.mark.parametrize("onesided", [0, 1])
def test_there_and_back(n_fft: int, normalized: int, onesided: int, check_layer: Check) -> None:
    """The inverse of a spectrogram is the signal; its imaginary part is nothing."""
    frame = {"n_fft": n_fft, "hoplen": 3, "window_type": 2, "normalized": normalized}
    x = signal(n_fft + 3 * 6)
    (spectra,) = check_layer("Spectrogram", {**frame, "onesided": onesided}, [x])
    (y,) = check_layer("InverseSpectrogram", frame, [spectra])
    count = min(len(x), len(y))
    assert count > len(x) - frame["hoplen"]
    np.testing.assert_allclose(y[:count, 0], x[:count], atol=1e-5)
    np.testing.assert_allclose(y[:, 1], 0, atol=1e-5)
    for returns in (1, 2):
        (part,) = check_layer("InverseSpectrogram", {**frame, "returns": returns}, [spectra])
        np.testing.assert_allclose(part, y[:, returns - 1], atol=1e-6)


def test_places_that_no_window_sees_are_zero(check_layer: Check) -> None:
    """Hops longer than a window leave gaps."""
    spectra = np.ones((3, 2, 2), np.float32)
    params = {"n_fft": 4, "hoplen": 6, "winlen": 2, "center": 0}
    expected = np.zeros((10, 2))
    expected[[1, 7]], expected[[2, 8]] = [-0.5, 0], [0, 0.5]
    check_layer("InverseSpectrogram", params, [spectra], expected=[expected])


@pytest.mark.parametrize(
    ("type", "params", "shape", "message"),
    [
        ("Spectrogram", {"n_fft": 0}, (8,), "n_fft is 0"),
        ("Spectrogram", {"n_fft": 3}, (8,), "hoplen is 0"),
        ("Spectrogram", {"winlen": 9}, (8,), "winlen 9 is more than n_fft 8"),
        ("Spectrogram", {"window_type": 3}, (8,), "window_type is 3, none of"),
        ("Spectrogram", {"center": 2}, (8,), "center is 2, neither 0 nor 1"),
        ("Spectrogram", {"power": 3}, (8,), "power is 3"),
        ("Spectrogram", {"pad_type": 3}, (8,), "pad_type is 3"),
        ("Spectrogram", {}, (8, 8), "its rank is not 1"),
        ("Spectrogram", {}, (4,), "too short to be mirrored for 4 elements"),
        ("Spectrogram", {"n_fft": 16385}, (9,), "n_fft is 16385, but at most 16384"),
        ("Spectrogram", {"center": 0}, (7,), "shorter than a frame of 8"),
        ("InverseSpectrogram", {"returns": 3}, (5, 2, 2), "returns is 3"),
        ("InverseSpectrogram", {}, (6, 2, 2), r"is not \(5 or 8 frequencies, frames, 2\)"),
        ("InverseSpectrogram", {}, (5, 2), r"is not \(5 or 8 frequencies, frames, 2\)"),
        ("InverseSpectrogram", {}, (5, 1, 2), "nothing is left of 1 frames"),
    ],
)
def test_refused(
    type: str, params: dict[str, int], shape: tuple[int, ...], message: str, check_layer: Check
) -> None:
    """Params out of their domain, and inputs that do not fit them."""
    with pytest.raises(LayerError, match=message):
        check_layer(type, {"n_fft": 8, **params}, [np.zeros(shape, np.float32)])


@pytest.mark.parametrize("type", ["Spectrogram", "InverseSpectrogram"])
def test_matrices_are_made_in_parts(type: str, check_layer: Check) -> None:
    """Some rows at a time, the last of them fewer: the same numbers."""
    n_fft, frequencies = 3 * ROWS, 3 * ROWS // 2 + 1
    shape = (2 * n_fft,) if type == "Spectrogram" else (frequencies, 5, 2)
    x = np.random.default_rng(0).standard_normal(shape).astype(np.float32)
    check_layer(type, {"n_fft": n_fft, "hoplen": n_fft // 3, "window_type": 1}, [x])
