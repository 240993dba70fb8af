"""Conversion of ONNX models to ncnn's files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import ncc
from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.optimizer import optimize
from tests.onnx.models import model, written

node = helper.make_node
RNG = np.random.default_rng(0)


def _numbers(*shape: int) -> Any:
    return RNG.standard_normal(shape, np.float32)


def test_a_classifier_becomes_layers(tmp_path: Path) -> None:
    """The files compute what the model computes; inputs and outputs keep their names."""
    nodes = [
        node("Conv", ["x", "w", "b"], ["c"], "conv", pads=[1, 1, 1, 1], strides=[2, 2]),
        node("Relu", ["c"], ["r"], "relu"),
        node("Add", ["r", "shift"], ["a"], "shift"),
        node("MaxPool", ["a"], ["p"], "pool", kernel_shape=[2, 2], strides=[2, 2]),
        node("Flatten", ["p"], ["f"], "flat"),
        node("Gemm", ["f", "v", "d"], ["g"], "fc", transB=1),
        node("Softmax", ["g"], ["y"], "prob"),
    ]
    held = {
        "w": _numbers(8, 3, 3, 3),
        "b": _numbers(8),
        "shift": _numbers(1, 8, 1, 1),
        "v": _numbers(5, 128),
        "d": _numbers(5),
    }
    path = written(tmp_path, model(nodes, {"x": [1, 3, 16, 16]}, ["y"], held))
    optimize(path, None, tmp_path / "net.param", tmp_path / "net.bin")
    text = (tmp_path / "net.param").read_text()
    assert "onnx" not in text and "Input                    x " in text
    x = _numbers(1, 3, 16, 16)
    converted = ncc.compile(tmp_path / "net.param")
    found = converted.run({"x": x[0]})["y"]
    np.testing.assert_allclose(found, ncc.compile(path)(x)[0], rtol=1e-5, atol=1e-6)


def test_all_that_no_layer_is_is_told_at_once(tmp_path: Path) -> None:
    """With the names of nodes; nothing is written."""
    nodes = [
        node("Hardmax", ["x"], ["r"], "of five axes"),
        node("LpNormalization", ["r"], ["s"], "of two", axis=1),
        node("Hardmax", ["r"], ["t"], "another"),
    ]
    path = written(tmp_path, model(nodes, {"x": [2, 3, 4, 5, 6]}, ["s", "t"]))
    with pytest.raises(Unsupported, match="'of five axes'.*'another'.*'of two'.*'x', which is"):
        optimize(path, None, tmp_path / "net.param", tmp_path / "net.bin")
    assert not (tmp_path / "net.param").exists()
