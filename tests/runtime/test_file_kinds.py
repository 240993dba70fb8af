"""Files that are taken for others: what they are, and the way from there."""

from __future__ import annotations

import gzip
import io
import os
import pickle
from collections.abc import Mapping
from pathlib import Path
from typing import Any
from zipfile import ZipFile, ZipInfo

import numpy as np
import pytest

from ncc.runtime.file_kinds import BIN, HEAD, NCC, NPY, ONNX, PARAM, is_compiled, other_kind

TEXT = b"7767517\n1 1\nInput x 0 1 x 0=4\n"


def zipped(*names: str) -> bytes:
    """An archive with these entries, the same bytes at any time: tests are named after them."""
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        for name in names:
            archive.writestr(ZipInfo(name), b"{}")
    return file.getvalue()


def saved(array: np.ndarray[Any, Any]) -> bytes:
    """A .npy file."""
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


SCRIPT = zipped("net/data.pkl", "net/code/__torch__.py", "net/constants.pkl")
STATE = zipped("state/data.pkl", "state/data/0")
MODEL = zipped("manifest.json", "code/0.o", "weights")
TORCH_MAGIC = 0x1950A86A20F9469CFC6C

FILES: Mapping[str, tuple[bytes, str, str]] = {
    "net.param": (TEXT, "a .param", ""),
    "net.param.bin": ((7767517).to_bytes(4, "little") * 9, "a .param", ""),
    "net.bin": (bytes(64), "a file of weights, by its name", ""),
    "net.ncc": (MODEL, "a compiled model", "`ncc run`, `ncc show` and ncc.load read it"),
    "packed.ncc": (zipped("weights", "manifest.json"), "a compiled model", "ncc.load read it"),
    "cut.ncc": (MODEL[:50], "a compiled model", "ncc.load read it"),
    "x.npy": (saved(np.zeros(3)), "an array, as numpy.save", "--input data=@x.npy"),
    "x.npz": (zipped("x.npy", "y.npy"), "an archive of arrays", "numpy.save one array of it"),
    "net.pt": (SCRIPT, "a TorchScript model", "pnnx net.pt fp16=0 inputshape="),
    "net.pth": (STATE, "a checkpoint of PyTorch", "torch.jit.trace"),
    "old.pth": (pickle.dumps(TORCH_MAGIC, 2) + bytes(99), "a checkpoint of", "torch.jit.trace"),
    "net.safetensors": (b'\x40\0\0\0\0\0\0\0{"weight":', "a checkpoint of", "torch.jit.trace"),
    "cut.pt": (SCRIPT[:-9], "a zip archive that is cut off", "download it"),
    "words.zip": (zipped("words.txt"), "a zip archive", "unzip it"),
    "net.onnx": (b"anything", "an ONNX model", "pnnx net.onnx"),
    "onnx": (b"\x08\x08\x12\x07pytorch\x1a\x05", "an ONNX model", "pnnx onnx"),
    "net.h5": (b"\x89HDF\r\n\x1a\n", "as Keras writes them", "export the network to ONNX"),
    "net.tflite": (b"\x1c\0\0\0TFL3", "a TensorFlow Lite model", "export the network to ONNX"),
    "net.prototxt": (b'name: "net"', "a Caffe model", "caffe2ncnn"),
    "net.pnnx.param": (b"7767517\n1 1\npnnx.Input x 0 1 x", "pnnx's own layers", "net.ncnn.param"),
    "net.pnnx.bin": (zipped("conv.weight"), "in pnnx's own layers", "net.ncnn.bin was written"),
    "cat.png": (b"\x89PNG\r\n\x1a\n", "a picture", "numpy.save it as (channels, height, width)"),
    "cat.jpg": (b"\xff\xd8\xff\xe0", "a picture", "numpy.save"),
    "cat.bmp": (b"BM\x36\0\x0c\0\0\0\0\0", "a picture", "numpy.save"),
    "net.gz": (gzip.compress(TEXT, mtime=0), "gzip has compressed", "gunzip it"),
    "pointer": (b"version https://git-lfs.github.com/spec/v1\n", "Git LFS", "git lfs pull"),
    "page": (b"<!DOCTYPE html>", "a web page", "download the file itself"),
    "empty": (b"", "an empty file", "download it"),
}

FITTING = {
    PARAM: ("net.param", "net.param.bin", "empty"),
    BIN: ("net.bin", "empty"),
    NCC: ("net.ncc", "packed.ncc", "cut.ncc"),
    NPY: ("x.npy",),
    ONNX: ("net.onnx", "onnx"),
}
"""What each reader takes, or refuses in its own words."""


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("wanted", FITTING)
def test_every_file_is_known_wherever_another_is_wanted(
    tmp_path: Path, name: str, wanted: str
) -> None:
    """By what is in it, and by its name; a reader of its kind is not kept from it."""
    data, what, how = FILES[name]
    (tmp_path / name).write_bytes(data)
    found = other_kind(str(tmp_path / name), data[:HEAD], wanted)
    if name in FITTING[wanted]:
        assert found is None
    else:
        assert found is not None and what in found[0] and how in found[1]


@pytest.mark.parametrize(
    ("name", "wanted", "how"),
    [
        ("net.param", BIN, "give the .param first, then its .bin"),
        ("net.param", NCC, "`ncc compile net.param` or ncc.compile makes one of it"),
        ("net.param", ONNX, "give the .onnx"),
        ("net.bin", PARAM, "give the .param first, then its .bin"),
        ("net.bin", NCC, "`ncc compile net.param` makes one"),
        ("net.ncc", BIN, "-o net.ncc writes it"),
        ("x.npz", NPY, "numpy.save one array of it"),
    ],
)
def test_the_way_depends_on_what_is_wanted(
    tmp_path: Path, name: str, wanted: str, how: str
) -> None:
    """A network is compiled to be loaded, and goes first to be compiled."""
    data = FILES[name][0]
    (tmp_path / name).write_bytes(data)
    found = other_kind(str(tmp_path / name), data[:HEAD], wanted)
    assert found is not None and how in found[1]


@pytest.mark.parametrize("wanted", FITTING)
def test_what_nobody_knows_is_left_to_who_reads_it(tmp_path: Path, wanted: str) -> None:
    """It may be broken."""
    assert other_kind(str(tmp_path / "words"), b"hello", wanted) is None


@pytest.mark.parametrize("data", [b"\xff\xfe7\0", b"\xfe\xff\0007", b"\xef\xbb\xbf7767517\n"])
def test_only_texts_have_an_encoding(data: bytes) -> None:
    """Weights may begin with any bytes."""
    found = other_kind("net", data, PARAM)
    assert found is not None and "save it as UTF-8" in found[1]
    assert other_kind("net", data, BIN) is None


def test_weights_may_begin_with_any_bytes() -> None:
    """Of random ones none is taken for something else, nor by two bytes alone."""
    rng = np.random.default_rng(0)
    for _ in range(20_000):
        assert other_kind("net.bin", rng.bytes(HEAD), BIN) is None
    assert other_kind("net.bin", b"BM" + bytes(range(1, 99)), BIN) is None
    assert other_kind("net.bin", b"\x1f\x8b\x07" + bytes(99), BIN) is None


def test_a_pipe_is_not_opened_again(tmp_path: Path) -> None:
    """What came through it is gone: an archive is one of any kind."""
    os.mkfifo(tmp_path / "net.pt")
    found = other_kind(str(tmp_path / "net.pt"), SCRIPT[:HEAD], PARAM)
    assert found == ("a zip archive", "unzip it")


@pytest.mark.parametrize("name", FILES)
def test_compiled_models_are_told_from_networks(tmp_path: Path, name: str) -> None:
    """Also broken ones; what is not there, or a folder, is none."""
    (tmp_path / name).write_bytes(FILES[name][0])
    assert is_compiled(str(tmp_path / name)) == (name in FITTING[NCC])
    assert not is_compiled(str(tmp_path)) and not is_compiled(str(tmp_path / "nowhere"))
