"""Networks of either format, by what their files are."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from ncc.compiler import cli
from ncc.compiler.network_files import read_network, weights_path
from ncc.compiler.summary import summary_of
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError
from tests.onnx.models import model, written


def _written(folder: Path, name: str = "net.onnx") -> Path:
    """y = x + 1, as an .onnx."""
    node = helper.make_node("Add", ["x", "w"], ["y"], "plus")
    return written(folder, model([node], {"x": [1, 3]}, ["y"], {"w": np.ones(3, np.float32)}), name)


def test_an_onnx_is_known_by_its_name(tmp_path: Path) -> None:
    """It has its weights."""
    path = _written(tmp_path)
    assert list(Network.of(read_network(path).module).inputs) == ["x"]
    assert weights_path(path) == str(path)
    assert weights_path("net.param") == "net.bin"


def test_an_onnx_takes_no_other_weights(tmp_path: Path) -> None:
    """Neither a .bin nor a seed."""
    path = _written(tmp_path)
    with pytest.raises(InputError, match="no .bin belongs to it"):
        read_network(path, "net.bin")
    with pytest.raises(InputError, match="none are made up"):
        read_network(path, random_weights=1)


def test_a_summary_has_the_nodes(tmp_path: Path) -> None:
    """Constants count as weights of their readers."""
    summary = summary_of(_written(tmp_path))
    assert [(layer.type, layer.name, layer.weights) for layer in summary.layers] == [
        ("Input", "x", 0),
        ("Add", "plus", 3),
    ]


def test_the_commands_take_an_onnx(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Where they take a .param; optimize writes ncnn's files."""
    path = str(_written(tmp_path))
    for command in ("show", "run", "explain"):
        assert cli.run([command, path]) == 0, command
    param, bin = tmp_path / "out.param", tmp_path / "out.bin"
    assert cli.run(["optimize", path, str(param), str(bin)]) == 0
    assert "BinaryOp" in param.read_text() and bin.exists()
    capsys.readouterr()
