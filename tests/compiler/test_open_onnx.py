"""Networks of ONNX with open shapes: one compilation is right for all sizes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

import ncc
from ncc.compiler.driver.specialise import OpenModel
from tests.crossed import in_turn
from tests.onnx.models import model, written

RANDOM = np.random.default_rng(5)
NUMBERS: dict[str, Any] = {
    "w": RANDOM.standard_normal((8, 3, 3, 3)).astype(np.float32) / 5,
    "scales": np.array([1, 1, 2, 2], np.float32),
    "none": np.array([], np.float32),
    "zero": np.array(0, np.int64),
    "one": np.array(1, np.int64),
    "two": np.array([2], np.int64),
    "three": np.array([3], np.int64),
    "four": np.array([4], np.int64),
    "rows": np.array([1, 8, -1], np.int64),
    "around": np.array([0, 0, 1, 2, 0, 0, 2, 1], np.int64),
    "last": np.array(-1, np.int64),
}


def node(kind: str, inputs: str, output: str, **attributes: Any) -> Any:
    """A node that reads values by their names."""
    return helper.make_node(kind, inputs.split(), output.split(), output, **attributes)


IMAGE = [
    node("Conv", "x w", "c", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
    node("Pad", "c around", "p", mode="reflect"),
    node("Resize", "p none scales", "r", coordinate_transformation_mode="asymmetric"),
    node("Reshape", "r rows", "flat"),
    node("Shape", "r", "shape"),
    node("Gather", "shape last", "width"),
    node("Range", "zero width one", "places"),
    node("Cast", "places", "numbers", to=1),
    node("Add", "r numbers", "moved"),
    node("Slice", "shape three four", "sizes"),
    node("Slice", "moved two sizes three", "cut"),
    node("GlobalAveragePool", "cut", "mean"),
]
OUTPUTS = ["flat", "moved", "mean", "sizes"]


def compared(compiled: ncc.Model, made: Any, feeds: dict[str, Any]) -> None:
    """Whether a model makes what the reference of the onnx package makes."""
    found = compiled.run(feeds)
    expected = ReferenceEvaluator(made).run(None, feeds)
    names = [info.name for info in made.graph.output]
    for name, array in zip(names, expected, strict=True):
        np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-5, err_msg=name)


def test_one_compilation_is_right_for_all_sizes(tmp_path: Path) -> None:
    """Shapes that nodes compute, places that they count, borders that mirror an image."""
    made = model(IMAGE, {"x": (1, 3, "h", "w")}, OUTPUTS, NUMBERS)
    compiled = ncc.compile(written(tmp_path, made))
    assert isinstance(compiled, OpenModel)
    for h, w in ((8, 9), (20, 7), (5, 33)):
        compared(compiled, made, {"x": RANDOM.standard_normal((1, 3, h, w)).astype(np.float32)})
    assert compiled.reason is None and "for all shapes: 1" in repr(compiled)


@pytest.mark.slow
def test_every_operator_alone_is_right_at_level_0(tmp_path: Path) -> None:
    """Operators of ONNX are lowered at their own rank there."""
    made = model(IMAGE[:3] + IMAGE[4:], {"x": ("n", 3, "h", "w")}, OUTPUTS[1:], NUMBERS)
    compiled = ncc.compile(written(tmp_path, made), opt_level=0)
    for n, h, w in ((1, 8, 9), (2, 20, 7), (3, 5, 33)):
        compared(compiled, made, {"x": RANDOM.standard_normal((n, 3, h, w)).astype(np.float32)})


def test_a_batch_of_any_size_is_one_version(tmp_path: Path) -> None:
    """Also where the first call has one sample: samples that are apart have code for one."""
    made = model([IMAGE[0]], {"x": ("n", 3, "h", "w")}, ["c"], {"w": NUMBERS["w"]})
    compiled = ncc.compile(written(tmp_path, made))
    for shape in ((1, 3, 8, 9), (3, 3, 5, 12), (2, 3, 8, 9)):
        compared(compiled, made, {"x": RANDOM.standard_normal(shape).astype(np.float32)})
    assert "for all shapes: 1" in repr(compiled)


def test_an_lstm_whose_states_are_one_value(tmp_path: Path) -> None:
    """As torch exports it: zeros for any number of samples, read twice."""
    numbers = {
        name: RANDOM.standard_normal(shape).astype(np.float32)
        for name, shape in (("k", (1, 32, 5)), ("r", (1, 32, 8)), ("b", (1, 64)))
    }
    numbers |= {"first": np.array([1], np.int64), "hidden": np.array([8], np.int64)}
    nodes = [
        node("Shape", "x", "shape", start=1, end=2),
        node("Concat", "first shape hidden", "sizes", axis=0),
        node("ConstantOfShape", "sizes", "zeros"),
        node("LSTM", "x k r b none zeros zeros", "y", hidden_size=8),
    ]
    nodes[-1].input[4] = ""
    made = model(nodes, {"x": ("t", "n", 5)}, ["y"], numbers)
    compiled = ncc.compile(written(tmp_path, made))
    for shape in ((7, 2, 5), (1, 3, 5)):
        compared(compiled, made, {"x": RANDOM.standard_normal(shape).astype(np.float32)})
    assert isinstance(compiled, OpenModel) and compiled.reason is None


@pytest.mark.parametrize("level", [0, 2])
def test_extents_of_two_inputs_that_are_equal(tmp_path: Path, level: int) -> None:
    """As the samples of an encoder and a decoder: an input has the shape of the other one's."""
    numbers = {"first": np.array([0]), "second": np.array([1]), "halves": np.array([2, 4])}
    nodes = [
        node("Shape", "a", "of_a"),
        node("Gather", "of_a first", "n"),
        node("Shape", "b", "of_b"),
        node("Gather", "of_b second", "t"),
        node("Concat", "n t halves", "sizes", axis=0),
        node("Reshape", "b sizes", "c"),
        node("Reshape", "c of_b", "y"),
        node("Reshape", "a of_a", "z"),
        node("ReduceSum", "z second", "sum"),
        node("Add", "y sum", "out"),
    ]
    made = model(nodes, {"a": ("n", "s", 8), "b": ("n", "t", 8)}, ["out"], numbers)
    compiled = ncc.compile(written(tmp_path, made), opt_level=level)
    compiled.save(tmp_path / "net.ncc")
    for n, s, t in ((2, 5, 7), (1, 3, 1), (3, 1, 4)):
        feeds = {"a": (n, s, 8), "b": (n, t, 8)}
        values = {k: RANDOM.standard_normal(v).astype(np.float32) for k, v in feeds.items()}
        compared(ncc.load(tmp_path / "net.ncc"), made, values)


def test_the_best_of_any_number_of_elements(tmp_path: Path) -> None:
    """They are merged until one run is left, however many merges the hint needs."""
    made = model([node("TopK", "x two", "y places")], {"x": (3, "n")}, ["y", "places"], NUMBERS)
    compiled = ncc.compile(written(tmp_path, made))
    for count in (100, 2, 3, 64, 65, 700):
        compared(compiled, made, {"x": RANDOM.standard_normal((3, count)).astype(np.float32)})
    assert "for all shapes: 1" in repr(compiled)


def test_as_many_as_there_are_and_ten_at_most(tmp_path: Path) -> None:
    """A detector's candidates, and rows as long as the candidates are many."""
    nodes = [
        node("Shape", "x", "count"),
        node("Concat", "count ten", "both", axis=0),
        node("ReduceMin", "both", "k", keepdims=1),
        node("TopK", "x k", "y places"),
        node("Squeeze", "count", "depth"),
        node("OneHot", "places depth values", "rows"),
    ]
    numbers = {"ten": np.array([10]), "values": np.array([0, 1], np.float32)}
    made = model(nodes, {"x": ("n",)}, ["y", "places", "rows"], numbers)
    compiled = ncc.compile(written(tmp_path, made))
    for count in (100, 3, 1, 10, 11):
        compared(compiled, made, {"x": RANDOM.standard_normal(count).astype(np.float32)})
    assert "for all shapes: 1" in repr(compiled)


def test_samples_of_a_grid_are_apart(tmp_path: Path) -> None:
    """Code is for one sample of the image and of the grid."""
    nodes = [node("GridSample", "x grid", "y", mode="linear", padding_mode="reflection")]
    shapes: dict[str, tuple[int | str, ...]] = {
        "x": ("n", 3, "h", "w"),
        "grid": ("n", "a", "b", 2),
    }
    made = model(nodes, shapes, ["y"])
    compiled = ncc.compile(written(tmp_path, made))
    for n, h, w, a, b in ((2, 5, 6, 3, 4), (3, 1, 9, 7, 2)):
        sizes = {"x": (n, 3, h, w), "grid": (n, a, b, 2)}
        drawn = {k: RANDOM.standard_normal(v).astype(np.float32) for k, v in sizes.items()}
        compared(compiled, made, drawn)
    assert "for all shapes: 1" in repr(compiled)


def test_samples_of_an_lstm(tmp_path: Path) -> None:
    """A step of any number of samples: a version for one, and one for all others."""
    numbers = {
        name: RANDOM.standard_normal(shape).astype(np.float32)
        for name, shape in (("k", (1, 32, 5)), ("r", (1, 32, 8)), ("b", (1, 64)))
    }
    step = node("LSTM", "x k r b none state state", "y", hidden_size=8)
    shapes = {"x": (1, "n", 5), "state": (1, "n", 8)}
    step.input[4] = ""
    made = model([step], shapes, ["y"], numbers)
    compiled = ncc.compile(written(tmp_path, made))
    for count in (1, 3, 7):
        feeds = {name: (1, count, shape[2]) for name, shape in shapes.items()}
        drawn = {k: RANDOM.standard_normal(v).astype(np.float32) for k, v in feeds.items()}
        compared(compiled, made, drawn)
    assert isinstance(compiled, OpenModel) and compiled.reason is None


def test_an_image_of_any_size_comes_out_at_one_size(tmp_path: Path) -> None:
    """No layer is that Resize, so a file takes images that its scales for the hint would empty."""
    made = model(
        [node("Resize", "x none none sizes", "y", mode="linear")],
        {"x": (1, 3, "h", "w")},
        ["y"],
        {**NUMBERS, "sizes": np.array([1, 3, 16, 24], np.int64)},
    )
    made.graph.node[0].input[1:3] = ["", ""]
    ncc.compile(written(tmp_path, made)).save(tmp_path / "net.ncc")
    for h, w in ((40, 31), (3, 5), (1, 1)):
        drawn = RANDOM.standard_normal((1, 3, h, w)).astype(np.float32)
        compared(ncc.load(tmp_path / "net.ncc"), made, {"x": drawn})


def test_the_best_of_any_number_of_boxes(tmp_path: Path) -> None:
    """As many scores as boxes, fewer boxes than may stay, and a table that their rows look up."""
    limits = [np.array([20]), np.array([0.5], np.float32), np.array([0.3], np.float32)]
    numbers = dict(zip(("most", "overlap", "score"), limits, strict=True))
    nodes = [
        node("NonMaxSuppression", "boxes scores most overlap score", "kept"),
        node("Slice", "kept two three one_", "column"),
        node("Squeeze", "column one_", "places"),
        node("Squeeze", "boxes zero_", "table"),
        node("Gather", "table places", "best"),
    ]
    numbers |= NUMBERS | {"one_": np.array([1]), "zero_": np.array([0])}
    shapes: dict[str, tuple[int | str, ...]] = {"boxes": (1, "n", 4), "scores": (1, 2, "n")}
    made = model(nodes, shapes, ["kept", "best"], numbers)
    compiled = ncc.compile(written(tmp_path, made))
    for count in (40, 1, 7):
        corners = RANDOM.uniform(0, 10, (2, 1, count, 2)) + [[[[0]]], [[[10]]]]
        scores = RANDOM.uniform(0, 1, (1, 2, count)).astype(np.float32)
        boxes = np.concatenate(list(corners), -1).astype(np.float32)
        compared(compiled, made, {"boxes": boxes, "scores": scores})
    assert isinstance(compiled, OpenModel) and compiled.reason is None


def test_operands_of_equal_extents(tmp_path: Path) -> None:
    """Extents of inputs with different names, which an operator needs to be equal."""
    nodes = [
        node("MaxUnpool", "x places", "larger", kernel_shape=[2, 2], strides=[2, 2]),
        node("Conv", "larger filters bias", "y", kernel_shape=[1, 1]),
        node("PRelu", "x slope", "z"),
    ]
    places = np.zeros((1, 4, 1, 1), np.int64)
    shapes: dict[str, Any] = {
        "x": (1, 4, "h", "w"),
        "places": places,
        "filters": ("n", 4, 1, 1),
        "bias": ("m",),
        "slope": ("q",),
    }
    made = model(nodes, shapes, ["y", "z"])
    for axis, name in ((2, "a"), (3, "b")):
        made.graph.input[1].type.tensor_type.shape.dim[axis].dim_param = name
    compiled = ncc.compile(written(tmp_path, made))
    for h, w, n in ((3, 5, 7), (1, 2, 1), (6, 4, 16)):
        feeds = {"x": (1, 4, h, w), "filters": (n, 4, 1, 1), "bias": (n,), "slope": (w,)}
        drawn: dict[str, Any] = {
            name: RANDOM.standard_normal(shape).astype(np.float32) for name, shape in feeds.items()
        }
        corners = np.arange(h)[:, None] * 4 * w + np.arange(w) * 2
        drawn["places"] = np.broadcast_to(corners, (1, 4, h, w)) + np.arange(4).reshape(
            1, 4, 1, 1
        ) * (4 * h * w)
        compared(compiled, made, drawn)
    assert isinstance(compiled, OpenModel) and compiled.reason is None


DECODER = [
    node("MatMul", "x wk", "k"),
    node("MatMul", "x wv", "v"),
    node("Concat", "past_k k", "keys", axis=-2),
    node("Concat", "past_v v", "values", axis=1),
    node("Transpose", "keys", "turned", perm=[0, 2, 1]),
    node("MatMul", "x turned", "scores"),
    node("Add", "scores mask", "masked"),
    node("Softmax", "masked", "shares"),
    node("MatMul", "shares values", "y"),
]


@pytest.mark.parametrize("level", in_turn((2, 0, 1, 3), every=4))
def test_a_decoder_begins_without_a_past(tmp_path: Path, level: int) -> None:
    """What is only joined to others may be empty: one compilation runs prompts and tokens."""
    cache: list[int | str] = ["batch", "past", 8]
    shapes: dict[str, list[int | str]]
    shapes = {"x": ["batch", "new", 8], "past_k": cache, "past_v": cache}
    weights = {one: RANDOM.standard_normal((8, 8)).astype(np.float32) / 3 for one in ("wk", "wv")}
    outputs = ["y", "keys", "values"]
    made = model(DECODER, {**shapes, "mask": ["batch", "new", "all"]}, outputs, weights)
    path = written(tmp_path, made)
    compiled = ncc.compile(path, opt_level=level, num_threads=2)
    ncc.compile(path, opt_level=level, num_threads=2).save(tmp_path / "net.ncc")
    assert isinstance(compiled, OpenModel)
    with ncc.load(tmp_path / "net.ncc") as loaded:
        assert "past_k: float32 ?x0..x8" in repr(loaded)
        for batch, past, new in ((1, 0, 5), (1, 5, 1), (2, 0, 1), (1, 70, 3)):
            feeds = {"x": (new, 8), "past_k": (past, 8), "past_v": (past, 8)}
            feeds["mask"] = (new, past + new)
            arrays = {
                name: RANDOM.standard_normal((batch, *shape)).astype(np.float32)
                for name, shape in feeds.items()
            }
            compared(compiled, made, arrays)
            compared(loaded, made, arrays)
    assert compiled.reason is None
