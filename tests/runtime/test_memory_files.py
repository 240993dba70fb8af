"""Bytes and open files in place of paths."""

from __future__ import annotations

import gc
import gzip
import io
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.runtime.errors import InputError
from ncc.runtime.memory_files import file_of, is_in_memory, shown_path

NETWORK = """7767517
2 2
Input in 0 1 x{size}
InnerProduct fc 1 1 x y 0=2 2=8
"""
WEIGHTS = bytes(4) + np.arange(8, dtype="<f4").tobytes()
X = np.ones(4, np.float32)


def descriptors() -> int:
    gc.collect()
    return len(os.listdir("/proc/self/fd"))


@pytest.mark.slow
def test_bytes_are_a_file_as_long_as_its_path_lives() -> None:
    """One that others can open, and that is no more when nobody can need it."""
    before = descriptors()
    path = file_of(b"some\nbytes", "the .param")
    assert Path(path).read_bytes() == b"some\nbytes" and file_of(path, "the .param") is path
    assert shown_path(path) == "<bytes>" and is_in_memory(path)
    assert type(pickle.loads(pickle.dumps(path))) is str
    assert descriptors() == before + 1
    del path
    assert descriptors() == before
    assert shown_path("/proc/1/fd/99999") == "/proc/1/fd/99999"


def test_an_open_file_is_itself(tmp_path: Path) -> None:
    """By its own name, and without a copy; what was read already is no part of it."""
    (tmp_path / "net.param").write_bytes(b"1\n2\n")
    with open(tmp_path / "net.param", "rb") as file:
        path = file_of(file, "the .param")
        assert file.tell() == 0 and shown_path(path) == str(tmp_path / "net.param")
        file.readline()
        rest = file_of(file, "the .param")
    assert Path(path).read_bytes() == b"1\n2\n" and Path(rest).read_bytes() == b"2\n"
    assert not is_in_memory(path) and is_in_memory(rest)


def test_files_of_any_kind_are_read(tmp_path: Path) -> None:
    """What they give, not what lies beneath."""
    with gzip.open(tmp_path / "x.gz", "wb") as file:
        file.write(b"a\nb")
    with gzip.open(tmp_path / "x.gz") as packed:
        assert Path(file_of(packed, "the .param")).read_bytes() == b"a\nb"
    for value in (io.BytesIO(b"a\nb"), bytearray(b"a\nb"), memoryview(b"a\nb")):
        assert Path(file_of(value, "the .param")).read_bytes() == b"a\nb"


def test_texts_are_refused(tmp_path: Path) -> None:
    """With the way to open them."""
    (tmp_path / "net.param").write_text("7767517\n")
    with open(tmp_path / "net.param") as file:
        with pytest.raises(InputError, match="opened for reading bytes, as open"):
            file_of(file, "the .param")
    with pytest.raises(InputError, match="bytes: os.fsdecode makes a path"):
        file_of(b"net.param", "the .param")


Given = Callable[[Path], Any]
GIVEN: list[Given] = [
    lambda path: path,
    lambda path: path.read_bytes(),
    lambda path: io.BytesIO(path.read_bytes()),
    lambda path: open(path, "rb"),
]


@pytest.fixture
def files(tmp_path: Path) -> dict[str, Path]:
    """A network and its compiled file."""
    param, bin, compiled = (tmp_path / f"net.{end}" for end in ("param", "bin", "ncc"))
    param.write_text(NETWORK.format(size=" 0=4"))
    bin.write_bytes(WEIGHTS)
    ncc.compile(param, bin).save(compiled)
    return {"param": param, "bin": bin, "ncc": compiled}


@pytest.mark.parametrize("given", GIVEN)
def test_networks_are_compiled_loaded_and_optimized(files: dict[str, Path], given: Given) -> None:
    """From whatever holds them, with the same results."""
    expected = [6.0, 22.0]
    model = ncc.compile(given(files["param"]), given(files["bin"]))
    assert model(X).tolist() == expected
    assert ncc.load(given(files["ncc"]))(X).tolist() == expected
    out = files["param"].parent / "out.param"
    ncc.optimize(given(files["param"]), given(files["bin"]), out, out.with_suffix(".bin"))
    assert ncc.compile(out)(X).tolist() == expected


@pytest.mark.slow
def test_a_model_of_open_shapes_keeps_its_weights() -> None:
    """Until it is forgotten; a separate process finds them too."""
    before = descriptors()
    model = ncc.compile(NETWORK.format(size="").encode(), io.BytesIO(WEIGHTS))
    gc.collect()
    assert model(X).tolist() == [6, 22]
    del model
    assert descriptors() <= before + 1  # of a file of weights, which stays mapped


def test_models_are_kept_in_the_cache(own_cache: Path) -> None:
    """By the content of what was in memory, wherever it was."""
    for scale in (1, 2):
        bin = bytes(4) + (scale * np.arange(8, dtype="<f4")).tobytes()
        for _ in range(2):
            model = ncc.compile(NETWORK.format(size=" 0=4").encode(), bin)
            assert model(X).tolist() == [6 * scale, 22 * scale]
            assert model.artifact.info["model"] == "<bytes>"


def test_an_onnx_in_memory() -> None:
    """With weights that are large enough to stay in the file."""
    onnx = pytest.importorskip("onnx", reason="onnx is not installed")
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype(np.float32)
    model = onnx.helper.make_model(
        onnx.helper.make_graph(
            [onnx.helper.make_node("MatMul", ["x", "w"], ["y"])],
            "net",
            [onnx.helper.make_tensor_value_info("x", 1, (2, 64))],
            [onnx.helper.make_tensor_value_info("y", 1, (2, 64))],
            [onnx.numpy_helper.from_array(weights, "w")],
        ),
        opset_imports=[onnx.helper.make_opsetid("", 17)],
        ir_version=8,
    )
    x = np.random.default_rng(1).standard_normal((2, 64)).astype(np.float32)
    compiled = ncc.compile(model.SerializeToString())
    np.testing.assert_allclose(compiled(x), x @ weights, rtol=0, atol=1e-4)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda: ncc.compile(b"7767517\n1 1\nInput x 0\n"), "^<bytes>:3:"),
        (lambda: ncc.compile(b"\x00\x01\x02\n"), "^<bytes>:1:1: error: this is not an ncnn"),
        (
            lambda: ncc.compile(NETWORK.format(size=" 0=4").encode()),
            "no file <bytes>.bin",
        ),
        (
            lambda: ncc.compile(NETWORK.format(size=" 0=4").encode(), WEIGHTS[:20]),
            "<bytes> ends within weight 'weight'",
        ),
        (lambda: ncc.load(b"7767517\n1 1\n"), "^<bytes> is not a compiled model but a .param"),
        (lambda: ncc.load(b"PK\3\4" + bytes(300)), "^<bytes> is not a compiled model"),
        (lambda: ncc.load(io.BytesIO(b"")), "^<bytes> is not a compiled model but an empty file"),
        (lambda: ncc.compile(b"\x08\x08\x12\x07pytorch" + bytes(9)), "^<bytes>: error: "),
    ],
)
def test_errors_name_what_has_no_name(call: Callable[[], object], said: str) -> None:
    """<bytes>."""
    with pytest.raises(ncc.NccError, match=said):
        call()
