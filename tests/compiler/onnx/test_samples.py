"""Batches whose samples are computed apart."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import ncc
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.onnx.samples import are_apart, batch_of, with_samples
from ncc.compiler.options import Options
from ncc.compiler.read_onnx.build_module import build
from ncc.compiler.read_onnx.initializers import Initializers
from ncc.dialects.ncnn.layer import Array
from ncc.dialects.size import Size, assuming
from ncc.runtime.errors import InputError
from ncc.runtime.extents import OPEN
from tests.onnx.models import model, written

RANDOM = np.random.default_rng(11)
NUMBERS: dict[str, Any] = {
    "w": RANDOM.standard_normal((4, 3, 3, 3)).astype(np.float32),
    "m": RANDOM.standard_normal((4, 5)).astype(np.float32),
    "rows": np.array([0, -1], np.int64),
    "flat": np.array([-1, 4], np.int64),
    "zero": np.array([0], np.int64),
    "one": np.array([1], np.int64),
    "two": np.array([2], np.int64),
    "back": np.array([-1], np.int64),
    "far": np.array([-1000], np.int64),
    "batch": RANDOM.standard_normal((3, 1, 1, 1)).astype(np.float32),
}


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    """A node that reads values by their names."""
    return helper.make_node(kind, inputs.split(), [output], output, **attributes)


NETWORK = [
    node("Conv", "x w", "c"),
    node("Relu", "c", "r"),
    node("GlobalAveragePool", "r", "p"),
    node("Reshape", "p rows", "f"),
    node("MatMul", "f m", "t"),
    node("Softmax", "t", "y"),
]


def network(nodes: Sequence[Any], shape: Sequence[int | str] = (3, 3, 8, 8)) -> Any:
    """A model that makes y of x."""
    return model(nodes, {"x": shape}, ["y"], NUMBERS)


@pytest.mark.parametrize(
    ("nodes", "apart"),
    [
        (NETWORK, True),
        ([node("Transpose", "x", "y", perm=[0, 3, 1, 2])], True),
        ([node("Transpose", "x", "y", perm=[1, 0, 2, 3])], False),
        ([node("ReduceMean", "x", "y", keepdims=1)], False),
        ([node("ReduceMean", "x", "a", keepdims=1), node("Sub", "x a", "y")], False),
        ([node("Add", "x batch", "y")], False),
        ([node("Concat", "x x", "y", axis=1)], True),
        ([node("Concat", "x x", "y", axis=0)], False),
        ([node("Slice", "x one two one", "y")], True),
        ([node("Gather", "x one", "y", axis=0)], False),
        ([node("Gather", "x one", "y", axis=1)], True),
        ([node("Softmax", "x", "y", axis=0)], False),
        ([node("Reshape", "x flat", "y")], False),
        ([node("Reshape", "x flat", "a"), node("Reshape", "a rows", "y")], False),
        (
            [
                node("Shape", "x", "s"),
                node("Slice", "s zero one", "n"),
                node("Cast", "n", "count", to=1),
                node("Mul", "x count", "y"),
            ],
            False,
        ),
        (
            [
                node("Shape", "x", "s"),
                node("Slice", "s zero one", "n"),
                node("Concat", "n back", "to", axis=0),
                node("Reshape", "x to", "y"),
            ],
            True,
        ),
    ],
)
def test_what_keeps_samples_apart(nodes: Sequence[Any], apart: bool) -> None:
    """The batch is the first axis of all values, and nothing else is made of it."""
    made = network(nodes)
    module = build(made, "net.onnx", Initializers(made.graph, "net.onnx"))
    with assuming() as assumed:
        infer_shapes(module, with_samples({"x": (3, 3, 8, 8)}))
    assert are_apart(module, assumed, OPEN) is apart


@pytest.mark.parametrize(
    ("shapes", "batch"),
    [
        ({"x": (4, 3)}, 4),
        ({"x": (1, 3)}, None),
        ({"x": (4, 3), "y": (5, 3)}, None),
        ({"x": (None, 3), "y": (Size.symbol("n", 2), 3)}, OPEN),
        ({"x": (4, 3), "y": ()}, None),
    ],
)
def test_a_batch_is_the_first_extent_of_all_inputs(
    shapes: Mapping[str, Any], batch: int | None
) -> None:
    """A batch of one is none."""
    assert batch_of(shapes) == batch


def compared(compiled: ncc.Model, made: Any, x: Array) -> None:
    """Whether a model makes what the reference of the onnx package makes."""
    expected: Any = ReferenceEvaluator(made).run(None, {"x": x})
    np.testing.assert_allclose(compiled(x), expected[0], 1e-5)


def test_a_batch_of_any_number(tmp_path: Path) -> None:
    """Of a file, too, which tells its own shapes."""
    made = network(NETWORK, ("n", 3, 8, 8))
    options = Options.of(ahead=True)
    compiled = compile_with(written(tmp_path, made), None, options)
    compiled.save(tmp_path / "net.ncc")
    loaded = ncc.load(tmp_path / "net.ncc")
    assert [str(one) for one in loaded.inputs] == ["x: float32 ?x3x8x8"]
    for count in (1, 2, 5):
        x = RANDOM.standard_normal((count, 3, 8, 8)).astype(np.float32)
        compared(compiled, made, x)
        compared(loaded, made, x)


def test_a_batch_of_one_number(tmp_path: Path) -> None:
    """Another number is told."""
    made = network(NETWORK)
    compiled = compile_with(written(tmp_path, made), None, Options.of())
    compared(compiled, made, RANDOM.standard_normal((3, 3, 8, 8)).astype(np.float32))
    assert compiled.artifact.by_sample
    with pytest.raises(InputError, match="3x3x8x8"):
        compiled(np.zeros((2, 3, 8, 8), np.float32))


def test_inputs_of_different_batches(tmp_path: Path) -> None:
    """They belong to no call."""
    made = model([node("Add", "x z", "y")], {"x": ("n", 4), "z": ("n", 4)}, ["y"])
    compiled = compile_with(written(tmp_path, made), None, Options.of(ahead=True))
    feeds = {"x": np.zeros((2, 4), np.float32), "z": np.zeros((3, 4), np.float32)}
    with pytest.raises(InputError, match="different numbers of samples: 2 of 'x', 3 of 'z'"):
        compiled.run(feeds)


def test_inputs_that_nothing_joins_have_batches_of_their_own(tmp_path: Path) -> None:
    """One image and three texts, say."""
    nodes = [node("Relu", "x", "a"), node("Neg", "z", "b"), node("Abs", "u", "c")]
    nodes += [node("Add", "a u", "d")]
    made = model(nodes, {"x": ("n", 4), "z": ("m", 4), "u": ("n", 4)}, ["d", "b", "c"])
    compiled = compile_with(written(tmp_path, made), None, Options.of(ahead=True))
    x, z = np.ones((1, 4), np.float32), np.ones((3, 4), np.float32)
    found = compiled.run({"x": x, "z": z, "u": x})
    np.testing.assert_array_equal(found["b"], -z)
    np.testing.assert_array_equal(found["d"], 2 * x)


def test_places_of_a_pool_count_through_the_batch(tmp_path: Path) -> None:
    """They are not those of a sample alone."""
    pool = helper.make_node("MaxPool", ["x"], ["y", "places"], kernel_shape=[2], strides=[2])
    x = RANDOM.permutation(2 * 3 * 8).reshape(2, 3, 8).astype(np.float32)
    for shape in ((2, 3, 8), ("n", 3, 8)):
        made = model([pool], {"x": shape}, ["y", "places"])
        compiled = compile_with(written(tmp_path, made), None, Options.of())
        found = compiled.run({"x": x})
        np.testing.assert_array_equal(x.reshape(-1)[found["places"]], found["y"])
