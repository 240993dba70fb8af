"""Trained ONNX networks that packages of PyPI ship, on images, sounds and texts that others ship.

The packages are rapidocr, rapidocr-onnxruntime, silero-vad, nudenet, magika, ddddocr,
brainmaze-eeg-models and scikit-image, which suffice without what they depend on. A test skips a
network whose package is not there.
"""

from __future__ import annotations

import wave
from collections.abc import Callable, Iterator, Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import Array

Feeds: TypeAlias = Mapping[str, Array]


def folder_of(package: str) -> Path:
    """Where a package is installed; it is not imported."""
    found = find_spec(package)
    if found is None or not found.submodule_search_locations:
        pytest.skip(f"the package {package} is not installed")
    return Path(found.submodule_search_locations[0])


def image(name: str, height: int, width: int) -> Array:
    """An image of scikit-image, cut or repeated to a size: (3, height, width), from 0 to 1."""
    from PIL import Image

    pixels = np.asarray(Image.open(folder_of("skimage") / "data" / name).convert("RGB"))
    h, w, _ = pixels.shape
    tiled = np.tile(pixels, (-(-height // h), -(-width // w), 1))[:height, :width]
    return np.ascontiguousarray(tiled.transpose(2, 0, 1), np.float32) / 255


def sound(samples: int) -> Array:
    """A plucked string, from the tests of Python; repeated."""
    folder = folder_of("test") / "audiodata"
    if not (folder / "pluck-pcm16.wav").exists():
        pytest.skip("Python is installed without its tests")
    with wave.open(str(folder / "pluck-pcm16.wav")) as file:
        frames = np.frombuffer(file.readframes(file.getnframes()), np.int16)
    left = frames.reshape(-1, 2)[:, 0].astype(np.float32) / 32768
    return np.resize(left, samples)


def text(size: int) -> Array:
    """The begin and the end of a text, as magika reads it."""
    data = (folder_of("numpy") / "__init__.py").read_bytes()
    half = size // 2
    return np.frombuffer(data[:half] + data[-half:], np.uint8).astype(np.int32)


def detected() -> Iterator[Feeds]:
    """Pages of text."""
    for height, width in ((192, 384), (320, 320), (64, 96), (416, 640)):
        yield {"x": (image("page.png", height, width)[None] - 0.5) / 0.5}


def lines() -> Iterator[Feeds]:
    """Lines of text, of several lengths."""
    for width in (320, 97, 640, 48):
        yield {"x": (image("text.png", 48, width)[None] - 0.5) / 0.5}


def turned() -> Iterator[Feeds]:
    """Lines of the size that the network is for."""
    for name in ("text.png", "page.png"):
        yield {"x": (image(name, 48, 192)[None] - 0.5) / 0.5}


def people() -> Iterator[Feeds]:
    """A portrait."""
    for height, width in ((320, 320), (256, 384), (640, 480)):
        yield {"images": image("astronaut.png", height, width)[None]}


def words() -> Iterator[Feeds]:
    """Lines of text in grey."""
    for width in (160, 333, 64):
        yield {"input1": image("text.png", 64, width)[None, :1]}


def places() -> Iterator[Feeds]:
    """A picture of words."""
    yield {"images": image("text.png", 416, 416)[None] * 255}


def texts() -> Iterator[Feeds]:
    """One text, and several."""
    for count in (1, 3):
        yield {"bytes": np.stack([np.roll(text(2048), k) for k in range(count)])}


def windows(batch: int, rate: int | None = None) -> Feeds:
    """Windows of a sound for silero."""
    size = 288 if rate == 8000 else 576
    found = {
        "input": sound(batch * size).reshape(batch, size),
        "state": np.zeros((2, batch, 128), np.float32),
    }
    return found if rate is None else {**found, "sr": np.array(rate, np.int64)}


def heard() -> Iterator[Feeds]:
    """Both rates, one window and several."""
    yield from (windows(1, 16000), windows(1, 8000), windows(2, 16000))


def heard_at_16k() -> Iterator[Feeds]:
    """The one rate that a network is for."""
    yield from (windows(1, 16000), windows(2, 16000))


def windows_alone() -> Iterator[Feeds]:
    """Windows of the one rate, which is not said."""
    yield from (windows(1), windows(3))


def one_window() -> Iterator[Feeds]:
    """The one size that a network takes."""
    yield windows(1)


def sequences() -> Iterator[Feeds]:
    """Sounds of several lengths."""
    zeros = np.zeros((1, 1, 128), np.float32)
    for steps in (1, 20, 7):
        yield {"input": sound(steps * 576).reshape(steps, 576), "h": zeros, "c": zeros}


def spectra() -> Iterator[Feeds]:
    """A hundred bands of a sound, of several lengths."""
    for batch, steps in ((1, 300), (1, 77), (2, 150)):
        yield {"x": np.abs(sound(batch * 100 * steps).reshape(batch, 100, steps))}


NETWORKS: dict[str, tuple[str, str, Callable[[], Iterator[Feeds]]]] = {
    "det": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx", detected),
    "rec": ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx", lines),
    "det6": ("rapidocr", "models/PP-OCRv6_det_small.onnx", detected),
    "rec6": ("rapidocr", "models/PP-OCRv6_rec_small.onnx", lines),
    "cls": ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx", turned),
    "nudenet": ("nudenet", "320n.onnx", people),
    "magika": ("magika", "models/standard_v3_3/model.onnx", texts),
    "ddddocr": ("ddddocr", "common.onnx", words),
    "ddddocr-det": ("ddddocr", "common_det.onnx", places),
    "seizures": ("brainmaze_eeg_models", "seizure/_models/modelA_paper.onnx", spectra),
    "silero": ("silero_vad", "data/silero_vad.onnx", heard),
    "silero-ifless": ("silero_vad", "data/silero_vad_op18_ifless.onnx", heard),
    "silero-op15": ("silero_vad", "data/silero_vad_16k_op15.onnx", heard_at_16k),
    "silero-half": ("silero_vad", "data/silero_vad_half.onnx", windows_alone),
    "silero-openvino": ("silero_vad", "data/silero_vad_openvino_16k.onnx", one_window),
    "silero-sequence": ("silero_vad", "data/silero_vad_16k_sequence.onnx", sequences),
}
"""Package, file and inputs."""
