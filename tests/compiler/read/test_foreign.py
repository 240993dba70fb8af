"""What is handed to ncc instead of a .param is recognized, and the way from it told."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.read.read_network import read

TEXT = "7767517\n1 1\nInput x 0 1 x 0=4\n"


@pytest.mark.parametrize(
    ("name", "data", "what", "how"),
    [
        ("net.onnx", b"\x08\x07\x12\x07pytorch", "an ONNX model", "pnnx net.onnx fp16=0"),
        ("net.bin", b"\0" * 8, "a file of weights", "the .param first"),
        ("net.param", TEXT.encode("utf-16"), "text in UTF-16", "save it as UTF-8"),
        ("net.param", gzip.compress(TEXT.encode(), mtime=0), "gzip", "gunzip it"),
    ],
)
def test_a_file_of_another_kind(
    tmp_path: Path, name: str, data: bytes, what: str, how: str
) -> None:
    """What it is, and how to go on."""
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match="here ncnn's .param is wanted") as caught:
        read(tmp_path / name)
    assert what in str(caught.value) and how in str(caught.value)


@pytest.mark.parametrize(
    ("name", "data", "what", "how"),
    [
        ("x.npy", b"\x93NUMPY\x01\0v\0{", "an array, as numpy.save", "--input data=@x.npy"),
        ("net.param", TEXT.encode(), "a .param", "then its .bin"),
        ("net.bin", gzip.compress(bytes(16), mtime=0), "gzip", "gunzip it"),
        ("cat.png", b"\x89PNG\r\n\x1a\n", "a picture", "numpy.save it"),
    ],
)
def test_weights_of_another_kind(
    tmp_path: Path, name: str, data: bytes, what: str, how: str
) -> None:
    """The same where the .bin is expected; nothing is taken for weights that is none."""
    (tmp_path / "my.param").write_text(TEXT)
    (tmp_path / name).write_bytes(data)
    with pytest.raises(ModelError, match="here ncnn's .bin is wanted") as caught:
        read(tmp_path / "my.param", tmp_path / name)
    assert what in str(caught.value) and how in str(caught.value)


@pytest.mark.parametrize(
    ("name", "meant"),
    [
        ("net", "net.param"),
        ("ner.param", "net.param"),
        ("net.parm", "net.param"),
        ("other", "other.param.bin"),
        ("something", None),
        ("nowhere/net.param", None),
    ],
)
def test_a_file_that_is_not_there(tmp_path: Path, name: str, meant: str | None) -> None:
    """One whose name is like it may be meant, of networks in the same folder."""
    for there in ("net.param", "net.bin", "other.param.bin", "something.txt"):
        (tmp_path / there).write_text(TEXT)
    with pytest.raises(ModelError, match="the file cannot be read: No such file") as caught:
        read(tmp_path / name)
    found = caught.value.problems[0].suggestion
    assert found == (None if meant is None else str(tmp_path / meant))


@pytest.mark.parametrize(
    ("name", "suggestion", "how"),
    [
        ("nett.bin", "net.bin", None),
        ("new.ncc", None, "-o new.ncc names the file"),
        ("data=@x.npy", None, "--input data=@x.npy feeds an array"),
        ("data=3x8x8", None, "--shape data=3x8x8 tells a shape"),
        ("weights", None, None),
    ],
)
def test_weights_that_are_not_there(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    suggestion: str | None,
    how: str | None,
) -> None:
    """What stands in their place may be meant for an option of the command."""
    monkeypatch.chdir(tmp_path)
    for there in ("net.param", "net.bin"):
        Path(there).write_text(TEXT)
    with pytest.raises(ModelError, match="the weights cannot be read: No such file") as caught:
        read("net.param", name)
    problem = caught.value.problems[0]
    assert problem.suggestion == suggestion
    assert problem.how is None if how is None else how in str(problem.how)


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
