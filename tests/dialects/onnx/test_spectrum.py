"""DFT and STFT."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.onnx.models import check_operator

X = np.random.default_rng(6).standard_normal((2, 6, 2), np.float32)


def _pairs(x: Any) -> Any:
    return np.stack([x.real, x.imag], -1).astype(np.float32)


def test_transforms() -> None:
    """Of complex and of real numbers, there and back, of other lengths."""
    numbers, axis = X[..., 0] + 1j * X[..., 1], {2: np.array(1)}
    wanted = [_pairs(np.fft.fft(numbers))]
    check_operator("DFT", {}, [X], constants=axis, expected=wanted, opset=20, atol=1e-5)
    back = [_pairs(np.fft.ifft(numbers))]
    check_operator("DFT", {"inverse": 1}, [X], constants=axis, expected=back, opset=20)
    real = X[..., :1]
    half = [_pairs(np.fft.rfft(real[..., 0], 8))]
    longer = {1: np.array(8), **axis}
    check_operator(
        "DFT", {"onesided": 1}, [real], constants=longer, expected=half, opset=20, atol=1e-5
    )
    check_operator("DFT", {"axis": 1}, [X], expected=wanted, opset=17, atol=1e-5)


@pytest.mark.parametrize("onesided", [0, 1])
def test_frames(onesided: int) -> None:
    """Each times a window."""
    signal, window = X[:, :, :1], np.array([0.5, 1, 1, 0.5], np.float32)
    frames = np.stack([signal[:, k : k + 4, 0] for k in (0, 2)], 1) * window
    found = np.fft.rfft(frames) if onesided else np.fft.fft(frames)
    constants = {1: np.array(2)}
    given = [signal, None, window]
    wanted = [_pairs(found)]
    attributes = {"onesided": onesided}
    check_operator("STFT", attributes, given, constants=constants, expected=wanted, atol=1e-5)
