"""Graphs as modules: names, order, branches, and what is wrong with a file."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

import ncc
from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read_onnx.read_model import read_model
from ncc.dialects.ncnn.network import Network
from tests.onnx.models import model, written

node = helper.make_node


def test_inputs_and_outputs_keep_names_shapes_and_types(tmp_path: Path) -> None:
    """They are those of the file, the batch axis included."""
    made = model([node("Relu", ["in put"], ["out:0"])], {"in put": [1, 3, 4]}, ["out:0"])
    compiled = ncc.compile(written(tmp_path, made), opt_level=2)
    assert list(map(str, compiled.inputs)) == ["in put: float32 1x3x4"]
    assert list(map(str, compiled.outputs)) == ["out:0: float32 1x3x4"]


def test_nodes_may_stand_in_any_order(tmp_path: Path) -> None:
    """Each comes behind those that make what it reads."""
    nodes = [node("Relu", ["a"], ["y"], "late"), node("Sigmoid", ["x"], ["a"], "early")]
    module = read_model(written(tmp_path, model(nodes, {"x": [2]}, ["y"])))
    assert [op.layer_name for op in Network.of(module).layers] == ["x", "early", "late"]


def test_values_without_a_shape_are_open(tmp_path: Path) -> None:
    """A model with an open extent is compiled for the shapes of a call."""
    made = model([node("Relu", ["x"], ["y"])], {"x": ["batch", 3]}, ["y"])
    compiled = ncc.compile(written(tmp_path, made))
    for batch in (1, 4):
        x = np.linspace(-1, 1, batch * 3, dtype=np.float32).reshape(batch, 3)
        np.testing.assert_array_equal(compiled(x), np.maximum(x, 0))


def _branching(condition: str) -> Any:
    """y = x + 1 where the condition holds, else relu(x)."""

    def graph(name: str, nodes: list[Any]) -> Any:
        info = helper.make_tensor_value_info(nodes[-1].output[0], TensorProto.FLOAT, None)
        return helper.make_graph(nodes, name, [], [info])

    yes = graph("yes", [node("Add", ["x", "one"], ["r"])])
    no = graph("no", [node("Relu", ["x"], ["r"])])
    return node("If", [condition], ["y"], "choice", then_branch=yes, else_branch=no)


@pytest.mark.parametrize("holds", [True, False])
@pytest.mark.parametrize("constant", [True, False])
def test_if(tmp_path: Path, holds: bool, constant: bool) -> None:
    """The branch that the condition says, be it a constant or an input."""
    held = {"one": np.ones(1, np.float32)}
    x, flag = np.array([-1, 2], np.float32), np.array(holds)
    inputs: dict[str, Any] = {"x": [2]}
    if constant:
        held["c"] = flag
    else:
        inputs["c"] = flag
    compiled = ncc.compile(written(tmp_path, model([_branching("c")], inputs, ["y"], held)))
    found = compiled.run({"x": x} if constant else {"x": x, "c": flag})["y"]
    np.testing.assert_array_equal(found, x + 1 if holds else np.maximum(x, 0))


@pytest.mark.parametrize("broken", [False, True])
def test_a_branch_that_fits_no_shape(tmp_path: Path, broken: bool) -> None:
    """It may not be the one that is taken: nothing is wrong with the file. A node that an output
    needs is wrong anyway.
    """
    nodes = [node("Add", ["x", "shift"], ["z"], "wrong")] if broken else []
    choice = _branching("c")
    held = {"one": np.ones(3, np.float32), "shift": np.ones(4, np.float32)}
    outputs = ["y", "z"] if broken else ["y"]
    made = model([*nodes, choice], {"x": [2], "c": np.array(True)}, outputs, held)
    module = read_model(written(tmp_path, made))
    if broken:
        with pytest.raises(ModelError, match="'wrong'"):
            infer_shapes(module)
    else:
        with pytest.raises(Unsupported, match="'choice'.*only the run knows, c "):
            infer_shapes(module)


def test_all_unknown_operators_are_told_at_once(tmp_path: Path) -> None:
    """With their nodes."""
    nodes = [node("Unique", ["x"], ["a"], "first"), node("Unheard", ["a"], ["y"], "second")]
    path = written(tmp_path, model(nodes, {"x": [2]}, ["y"]))
    with pytest.raises(Unsupported, match=r"Unique of op set 21 \('first'\); Unheard.*'second'"):
        read_model(path)


@pytest.mark.parametrize(
    ("nodes", "message"),
    [
        ([node("Relu", ["z"], ["y"], "n")], "node 'n' .Relu. reads 'z', which nothing makes"),
        ([node("Relu", ["y"], ["y"], "n")], "node 'n' needs its own result: a cycle"),
        ([node("Relu", ["x"], ["y"])] * 2, "'y' is made twice"),
        ([node("Relu", ["x", "x"], ["y"])], "it has 2 inputs, but takes 1"),
        ([node("Add", ["x"], ["y"])], "input 1 is missing"),
        ([node("Transpose", ["x"], ["y"], perm=1.5)], "the attribute 'perm' is of the kind float"),
        ([node("Relu", ["x"], ["q"])], "nothing makes the output 'y'"),
        ([node("Relu", ["x"], ["y"], domain="a.b")], "the domain 'a.b', which the model does not"),
    ],
)
def test_what_is_wrong_is_told(tmp_path: Path, nodes: list[Any], message: str) -> None:
    """With the node that is at fault."""
    path = written(tmp_path, model(nodes, {"x": [2]}, ["y"]))
    with pytest.raises(ModelError, match=message):
        read_model(path)


def test_an_attribute_that_nothing_reads_is_refused(tmp_path: Path) -> None:
    """It might change the result."""
    path = written(tmp_path, model([node("Relu", ["x"], ["y"], k=1)], {"x": [2]}, ["y"]))
    with pytest.raises(Unsupported, match="Relu with the attribute 'k'"):
        read_model(path)
