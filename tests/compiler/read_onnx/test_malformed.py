"""Files that are wrong: an error names the file and the node, and nothing large is made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import helper, numpy_helper

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.read_onnx.read_model import read_model
from ncc.dialects.ncnn.layer import Array
from tests.onnx.models import model, written

HUGE = 1 << 50


def node(kind: str, inputs: str, **attributes: Any) -> Any:
    """A node `bad` that makes y."""
    return helper.make_node(kind, inputs.split(), ["y"], "bad", **attributes)


def branch(array: Array) -> Any:
    """A graph that returns an array."""
    held = [numpy_helper.from_array(array, "held")]
    return helper.make_graph([], "branch", [], [onnx.ValueInfoProto(name="held")], held)


IMAGE = np.zeros((1, 3, 8, 8), np.float32)
ROW = np.zeros(4, np.float32)
FILTERS = np.zeros((4, 3, 3, 3), np.float32)


@pytest.mark.parametrize(
    ("bad", "inputs", "held", "reason"),
    [
        (node("Add", "x y"), {"x": ROW}, {}, "a cycle"),
        (node("Add", "x z"), {"x": ROW}, {}, "'z', which nothing makes"),
        (node("Conv", "x w"), {"x": IMAGE.astype(np.int64)}, {"w": FILTERS}, "one element type"),
        (node("Concat", "x w", axis=0), {"x": ROW}, {"w": np.arange(4)}, "one element type"),
        (node("Clip", "x w"), {"x": ROW}, {"w": np.array(1)}, "one element type"),
        (node("Expand", "x n"), {"x": ROW[:1]}, {"n": np.array([HUGE])}, "no memory"),
        (node("Tile", "x n"), {"x": ROW}, {"n": np.array([HUGE])}, "no memory"),
        (node("ConstantOfShape", "n"), {}, {"n": np.array([HUGE])}, "no memory"),
        (
            node("Range", "a n b"),
            {},
            {"a": np.array(0), "n": np.array(HUGE), "b": np.array(1)},
            "no memory",
        ),
        (
            node("Range", "a n b"),
            {},
            {"a": np.array(0.0), "n": np.array(np.inf), "b": np.array(1.0)},
            "numbers from",
        ),
        (
            node("Pad", "x n", mode="reflect"),
            {"x": ROW},
            {"n": np.array([1 << 40, 0])},
            "no memory holds its tables",
        ),
        (
            node("OneHot", "x n v"),
            {"x": np.arange(2)},
            {"n": np.array(1 << 42), "v": ROW[:2]},
            "no memory holds its tables",
        ),
        (node("Resize", "x x s", nearest_mode="up"), {"x": IMAGE}, {"s": ROW}, "nearest_mode"),
        (node("MaxPool", "x", kernel_shape=[9, 9]), {"x": IMAGE}, {}, "larger than the image"),
        (node("Reshape", "x n"), {"x": ROW}, {"n": np.array([-2])}, "no shape"),
        (helper.make_node("Relu", ["x"], [], "bad"), {"x": ROW}, {}, "no outputs"),
        (
            node(
                "If",
                "k",
                then_branch=branch(np.array([1, 2])),
                else_branch=branch(np.array([1.0, 2.0], np.float32)),
            ),
            {"k": np.array(True)},
            {},
            "branches have results of the types int64 and float32",
        ),
        (node("Transpose", "x", perm=[0, 0]), {"x": ROW[None]}, {}, "no order"),
    ],
)
def test_an_error_names_the_node(
    tmp_path: Path, bad: Any, inputs: Mapping[str, Array], held: Mapping[str, Array], reason: str
) -> None:
    """Whatever is wrong with it."""
    path = written(tmp_path, model([bad], inputs, ["y"], held))
    compilation = Compilation(path, None, Options.of())
    with pytest.raises(ModelError, match=r"net\.onnx: error: .*'bad'") as raised:
        compilation.structured(compilation.network())
    assert reason in str(raised.value)


@pytest.mark.parametrize(
    ("attribute", "outputs", "error", "reason"),
    [
        ({"value_float": 1.0}, [], ModelError, "'bad' .*no outputs"),
        ({"value_float": 1.0}, ["y", "z"], ModelError, "'bad' .*2 outputs"),
        ({"value_float": 1}, ["y"], ModelError, "'bad' .*'value_float' is of the kind int64"),
        ({"value_ints": ["a"]}, ["y"], ModelError, "'bad' .*'value_ints' is of the kind strings"),
        ({"value": 1}, ["y"], ModelError, "'bad' .*'value' is of the kind int64, not tensor"),
        ({"value": branch(ROW)}, ["y"], Unsupported, "'value', which is a graph"),
        ({"value_string": "a"}, ["y"], Unsupported, "'value_string'"),
    ],
)
def test_a_constant_without_a_value(
    tmp_path: Path,
    attribute: Mapping[str, Any],
    outputs: Sequence[str],
    error: type[Exception],
    reason: str,
) -> None:
    """Its outputs, or the kind of its attribute, are wrong."""
    made = model([helper.make_node("Constant", [], outputs, "bad", **attribute)], {}, outputs)
    with pytest.raises(error, match=reason):
        read_model(written(tmp_path, made))


@pytest.mark.parametrize("extents", [(-4,), (HUGE,), (1 << 62, 0), (1 << 31, 1 << 31)])
def test_extents_that_no_values_have(tmp_path: Path, extents: Sequence[int]) -> None:
    """Of an initializer: it is named."""
    made = model([node("Add", "x w")], {"x": ROW}, ["y"], {"w": ROW})
    tensor = made.graph.initializer[0]
    del tensor.dims[:]
    tensor.dims.extend(extents)
    tensor.raw_data = b""
    with pytest.raises(ModelError, match=r"net\.onnx: error: the initializer 'w' has"):
        read_model(written(tmp_path, made))


def test_an_attribute_that_is_there_twice(tmp_path: Path) -> None:
    """Nobody could say which one counts."""
    made = model([node("Softmax", "x", axis=0)], {"x": ROW}, ["y"])
    made.graph.node[0].attribute.append(made.graph.node[0].attribute[0])
    with pytest.raises(ModelError, match="'bad' .*twice"):
        read_model(written(tmp_path, made))


def test_an_attribute_of_a_function_outside_of_one(tmp_path: Path) -> None:
    """It has no value."""
    made = model([node("Softmax", "x", axis=0)], {"x": ROW}, ["y"])
    made.graph.node[0].attribute[0].ref_attr_name = "axis"
    with pytest.raises(ModelError, match="'bad' .*of a function"):
        read_model(written(tmp_path, made))


def test_two_inputs_of_one_name(tmp_path: Path) -> None:
    """Nobody could feed both."""
    made = model([node("Add", "x x")], {"x": ROW}, ["y"])
    made.graph.input.append(made.graph.input[0])
    with pytest.raises(ModelError, match="two inputs have the name 'x'"):
        read_model(written(tmp_path, made))


@pytest.mark.parametrize("version", [0, -1])
def test_an_op_set_that_does_not_exist(tmp_path: Path, version: int) -> None:
    """The first one is 1."""
    made = model([node("Relu", "x")], {"x": ROW}, ["y"], opset=version)
    with pytest.raises(ModelError, match=f"no op set is {version}"):
        read_model(written(tmp_path, made))


def test_a_function_that_calls_itself(tmp_path: Path) -> None:
    """It has no end."""
    call = helper.make_node("F", ["x"], ["y"], "call", domain="own")
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    function = helper.make_function(
        "own", "F", ["x"], ["y"], [helper.make_node("F", ["x"], ["y"], domain="own")], sets
    )
    made = model([call], {"x": ROW}, ["y"], functions=[function])
    made.opset_import.append(sets[1])
    with pytest.raises(ModelError, match=r"net\.onnx: error: .*Cycle"):
        read_model(written(tmp_path, made))


def test_functions_that_double_each_other(tmp_path: Path) -> None:
    """A small file must not take all memory."""
    sets = [helper.make_opsetid("", 21), helper.make_opsetid("own", 1)]
    functions = []
    for k in range(40):
        inner = f"F{k + 1}" if k < 39 else "Relu"
        domain = "own" if k < 39 else ""
        nodes = [helper.make_node(inner, [x], [y], domain=domain) for x, y in ("xt", "ty")]
        functions.append(helper.make_function("own", f"F{k}", ["x"], ["y"], nodes, sets))
    call = helper.make_node("F0", ["x"], ["y"], "call", domain="own")
    made = model([call], {"x": ROW}, ["y"], functions=functions)
    made.opset_import.append(sets[1])
    with pytest.raises(Unsupported, match="nodes"):
        read_model(written(tmp_path, made))
