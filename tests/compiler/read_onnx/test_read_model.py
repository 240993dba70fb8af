"""Files that are no ONNX models, or broken ones."""

from __future__ import annotations

import builtins
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import ncc
from ncc.compiler.diagnostics import ModelError, NccError, Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.onnx.convert_to_ncnn import convert_to_ncnn
from ncc.compiler.read_onnx.read_model import read_model
from tests.onnx.models import model, written

node = helper.make_node


def _classifier() -> Any:
    """A model with all that a file has: attributes, initializers, arithmetic on shapes."""
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"]),
        node("Shape", ["r"], ["s"]),
        node("Concat", ["s", "one"], ["t"], axis=0),
        node("MaxPool", ["r"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"]),
        node("Gemm", ["f", "v", "d"], ["g"], "fc", transB=1),
        node("Reshape", ["g", "k"], ["z"]),
        node("Transpose", ["z"], ["q"], perm=[1, 0]),
        node("Unsqueeze", ["q", "one"], ["u"]),
    ]
    held = {
        "w": np.ones((8, 3, 3, 3), np.float32),
        "b": np.ones(8, np.float32),
        "v": np.ones((5, 128), np.float32),
        "d": np.ones(5, np.float32),
        "one": np.array([1]),
        "k": np.array([5, -1]),
    }
    return model(nodes, {"x": [1, 3, 16, 16]}, ["u"], held)


def _changed(data: bytes, rng: random.Random) -> bytes:
    """The bytes cut off somewhere, or some of them changed, names and numbers at the front above
    all.
    """
    if not rng.randrange(4):
        return data[: rng.randrange(len(data))]
    changed = bytearray(data)
    for _ in range(rng.choice([1, 1, 2, 4])):
        at = rng.randrange(min(700, len(data)) if rng.random() < 0.7 else len(data))
        changed[at] = rng.choice([0, 1, 127, 255, rng.randrange(256), changed[at] ^ 1])
    return bytes(changed)


@pytest.mark.parametrize(
    ("seed", "count"), [(0, 100), pytest.param(1, 5000, marks=pytest.mark.slow)]
)
def test_broken_files(tmp_path: Path, seed: int, count: int) -> None:
    """Whatever is wrong with a file is told as such."""
    data, rng = _classifier().SerializeToString(), random.Random(seed)
    path = tmp_path / "net.onnx"
    for _ in range(count):
        path.write_bytes(_changed(data, rng))
        try:
            module = read_model(path)
            infer_shapes(module)
            convert_to_ncnn(module)
            module.verify()
        except (ModelError, Unsupported) as error:
            assert str(error)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "this is an empty file"),
        (b"7767517\n1 1\n", "this is a .param; here an .onnx is wanted"),
        (b"\x08\x08\x12\x07pytorch", "it has no graph"),
        (b"\xff" * 100, "its bytes are no such message"),
    ],
)
def test_other_files(tmp_path: Path, content: bytes, message: str) -> None:
    """They are told for what they are."""
    path = tmp_path / "net.onnx"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=message):
        read_model(path)


def test_a_missing_file(tmp_path: Path) -> None:
    """Its path is told."""
    with pytest.raises(ModelError, match=r"none\.onnx: error: the file cannot be read: No such"):
        read_model(tmp_path / "none.onnx")


def test_an_op_set_that_the_package_does_not_know(tmp_path: Path) -> None:
    """A newer one is refused."""
    made = model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], opset=999)
    with pytest.raises(Unsupported, match="the op set 999"):
        read_model(written(tmp_path, made))


def test_an_older_op_set_is_converted(tmp_path: Path) -> None:
    """By the package; what it cannot convert is refused."""
    made = model([node("Relu", ["x"], ["y"])], {"x": [2]}, ["y"], opset=6)
    for info in made.graph.output:
        info.type.CopyFrom(made.graph.input[0].type)
    assert "onnx.Relu" in str(read_model(written(tmp_path, made)))


def test_without_the_package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The command that installs it is told."""
    path = written(tmp_path, _classifier())
    imported = builtins.__import__

    def without(name: str, *args: Any, **kwargs: Any) -> Any:
        if name == "onnx":
            raise ImportError(name)
        return imported(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(NccError, match="takes the package onnx: pip install"):
        read_model(path)


def test_slopes_of_old_op_sets_stand_by_channel(tmp_path: Path) -> None:
    """Also where the last axis is as long as there are channels."""
    slope, x = np.array([0.5, 2, 3], np.float32), -np.ones((2, 3, 4, 3), np.float32)
    nodes = [helper.make_node("PRelu", ["x", "s"], ["y"])]
    made = model(nodes, {"x": x}, ["y"], {"s": slope}, opset=6)
    made.graph.output[0].CopyFrom(helper.make_tensor_value_info("y", 1, x.shape))
    found = ncc.compile(written(tmp_path, made))(x)
    np.testing.assert_array_equal(found, x * slope.reshape(3, 1, 1))
