"""What is handed to ncc instead of a .param is recognized, and the way from it told."""

from __future__ import annotations

import gzip
import io
from pathlib import Path
from zipfile import ZipFile, ZipInfo

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.read_network import read


def zipped(name: str) -> bytes:
    """An archive with one entry, the same bytes at any time: tests are named after them."""
    file = io.BytesIO()
    with ZipFile(file, "w") as archive:
        archive.writestr(ZipInfo(name), b"{}")
    return file.getvalue()


TEXT = "7767517\n1 1\nInput x 0 1 x 0=4\n"
LFS = b"version https://git-lfs.github.com/spec/v1\noid sha256:0123\nsize 61\n"
PNNX = b"7767517\n3 2\npnnx.Input x 0 1 0 #0=(1,3,8,8)f32\n"


@pytest.mark.parametrize(
    ("name", "data", "what", "how"),
    [
        ("net.ncc", zipped("manifest.json"), "a compiled model", "ncc.load read it"),
        (
            "net.pt",
            zipped("net/data.pkl"),
            "as PyTorch writes them",
            "pnnx net.pt fp16=0 inputshape=",
        ),
        ("net.onnx", b"\x08\x07\x12\x07pytorch", "an ONNX model", "pnnx net.onnx fp16=0"),
        ("net.pnnx.param", PNNX, "pnnx's own layers", "ncnn's, net.ncnn.param, was written"),
        ("net.bin", b"\0" * 8, "a file of weights", "the .param first"),
        ("net.param", TEXT.encode("utf-16"), "text in UTF-16", "save it as UTF-8"),
        ("net.param", TEXT.encode("utf-8-sig"), "a byte-order mark", "save it as UTF-8 without"),
        ("net.param", gzip.compress(TEXT.encode(), mtime=0), "gzip", "gunzip it"),
        ("net.param", LFS, "what Git LFS left", "git lfs pull"),
        ("net.param", b"<!DOCTYPE html>\n<html>", "a web page", "download the file itself"),
    ],
)
def test_a_file_of_another_kind(
    tmp_path: Path, name: str, data: bytes, what: str, how: str
) -> None:
    """What it is, and how to go on."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError) as caught:
        read(tmp_path / name)
    assert what in str(caught.value) and how in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "what", "how"),
    [
        ("x.npy", b"\x93NUMPY\x01\0v\0{", "an array, as numpy.save", "--input data=@x.npy"),
        ("net.param", b"7767517\n1 1\nInput x 0 1 x\n", "a .param", "then its .bin"),
        ("net.param.bin", (7767517).to_bytes(4, "little") * 9, "a .param", "then its .bin"),
        ("net.ncc", zipped("manifest.json"), "a compiled model", "ncc.load read it"),
        ("net.pnnx.bin", zipped("conv.weight"), "in pnnx's own layers", "net.ncnn.bin was"),
        ("net.bin", gzip.compress(bytes(16), mtime=0), "gzip", "gunzip it"),
        ("net.bin", LFS, "what Git LFS left", "git lfs pull"),
        ("net.bin", b"<html><head>", "a web page", "download the file itself"),
    ],
)
def test_weights_of_another_kind(
    tmp_path: Path, name: str, data: bytes, what: str, how: str
) -> None:
    """The same where the .bin is expected; nothing is taken for weights that is none."""
    (tmp_path / "my.param").write_text("7767517\n1 1\nInput x 0 1 x 0=4\n")
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match="here ncnn's .bin is wanted") as caught:
        read(tmp_path / "my.param", tmp_path / name)
    assert what in str(caught.value) and how in str(caught.value)


@pytest.mark.parametrize("data", [b"7767517\n1 1\nInput x 0 1 x 0=4\n", b"hello"])
def test_what_may_be_a_param_is_read(tmp_path: Path, data: bytes) -> None:
    """By its content: a text in a .bin is one, and anything else is refused where it is wrong."""
    path = tmp_path / ("net.bin" if data.startswith(b"7") else "net.param")
    path.write_bytes(data)
    if data.startswith(b"7"):
        assert "ncnn.Input" in str(read(path, random_weights=1).module)
    else:
        with pytest.raises(ModelError, match="net.param:1:1: error: this is not an ncnn .param"):
            read(path)
