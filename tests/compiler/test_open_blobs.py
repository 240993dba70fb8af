"""Files for images of every size, from an .onnx that leaves the size open."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.optimizer import optimize
from tests.onnx.converted import check_converted
from tests.onnx.models import model, written

node = helper.make_node
RNG = np.random.default_rng(0)

NUMBERS = {
    "w": RNG.standard_normal((8, 3, 3, 3), np.float32),
    "two": np.array([2]),
    "three": np.array([3]),
    "four": np.array([4]),
    "one": np.array([1]),
    "end": np.array([2**62]),
    "samples": np.array([1, 8]),
    "rows": np.array([1, -1, 16]),
}


def _open(folder: Path, *nodes: Any, outputs: tuple[str, ...] = ("y",), c: int | str = 3) -> str:
    used = {name for one in nodes for name in one.input}
    held = {name: array for name, array in NUMBERS.items() if name in used}
    made = model(nodes, {"x": ["N", c, "H", "W"]}, outputs, held)
    return str(written(folder, made))


def _warnings(path: str, folder: Path, **more: Any) -> list[str]:
    report = optimize(path, None, folder / "net.param", folder / "net.bin", **more)
    return [warning.removeprefix("warning: ") for warning in report.warnings]


CONVOLUTION = [
    node("Conv", ["x", "w"], ["c"], "conv", pads=[1, 1, 1, 1], strides=[2, 2]),
    node("Relu", ["c"], ["r"], "relu"),
]

IMAGES = [
    *CONVOLUTION,
    node("MaxPool", ["r"], ["p"], kernel_shape=[2, 2], strides=[2, 2], ceil_mode=1),
    node("Shape", ["r"], ["s"]),
    node("Slice", ["s", "two", "four"], ["sides"]),
    node("Concat", ["samples", "sides"], ["size"], axis=0),
    node("Resize", ["p", "", "", "size"], ["u"], mode="linear"),
    node("Concat", ["u", "r"], ["k"], axis=1),
    node("Transpose", ["k"], ["t"], perm=[0, 2, 3, 1]),
    node("Shape", ["t"], ["all"]),
    node("Reshape", ["t", "rows"], ["q"]),
    node("Softmax", ["q"], ["m"], axis=2),
    node("Reshape", ["m", "all"], ["y"]),
    node("Slice", ["r", "one", "end", "three", "two"], ["z"]),
    node("MaxPool", ["x"], ["e"], kernel_shape=[3, 3], strides=[2, 2], auto_pad="SAME_UPPER"),
    node("Conv", ["e", "w"], ["h"], "same", strides=[3, 2], auto_pad="SAME_LOWER"),
    node("Shape", ["h"], ["d"]),
    node("GlobalMaxPool", ["h"], ["i"]),
    node("Expand", ["i", "d"], ["j"]),
    node("Sub", ["h", "j"], ["v"]),
    node("GlobalAveragePool", ["k"], ["g"]),
    node("Flatten", ["g"], ["f"]),
]


@pytest.mark.parametrize("size", [(32, 48), (33, 51), (17, 64), (64, 17), (101, 77)])
def test_files_are_right_at_every_size(tmp_path: Path, size: tuple[int, int]) -> None:
    """One pair of files. Reshape and Interp compute the sizes that they need."""
    pytest.importorskip("ncnn")
    import onnxruntime

    names = ("y", "z", "f", "v")
    path = _open(tmp_path, *IMAGES, outputs=names)
    x = RNG.standard_normal((1, 3, *size), np.float32)
    wanted = onnxruntime.InferenceSession(path).run(None, {"x": x})
    check_converted(path, {"x": x}, dict(zip(names, wanted, strict=True)))
    text = (tmp_path / "net.param").read_text() if (tmp_path / "net.param").exists() else ""
    assert "-23330" not in text, "no shape is told"


def test_what_the_files_are_for_is_told(tmp_path: Path) -> None:
    """The batch, and the least size that the layers take."""
    path = _open(tmp_path, node("AveragePool", ["x"], ["y"], kernel_shape=[5, 3]))
    batch, *least = _warnings(path, tmp_path)
    assert batch == "input 'x', ?x3x?x?, is a batch of 1 in ncnn"
    assert sorted(least) == ["the files are for x_H >= 5", "the files are for x_W >= 3"]
    assert "0 1 x 2=3\n" in (tmp_path / "net.param").read_text()


def test_extents_that_have_to_be_equal(tmp_path: Path) -> None:
    """The files are for images whose sides are."""
    turned = node("Transpose", ["x"], ["t"], perm=[0, 1, 3, 2])
    path = _open(tmp_path, turned, node("Add", ["x", "t"], ["y"]))
    assert _warnings(path, tmp_path)[1:] == ["input 'x' has to be 1x3x[x_H]x[x_H]"]


def test_extents_that_have_to_be_even(tmp_path: Path) -> None:
    """ONNX takes no others as well."""
    path = _open(tmp_path, node("SpaceToDepth", ["x"], ["y"], blocksize=2))
    _, *said = _warnings(path, tmp_path)
    assert "the files are for x_H that is a multiple of 2" in said


def test_a_side_that_the_layers_fix(tmp_path: Path) -> None:
    """It has to be given: the file is not wrong. The other side may stay open."""
    path = _open(tmp_path, node("Squeeze", ["x", "two"], ["s"]), node("Relu", ["s"], ["y"]))
    with pytest.raises(Unsupported, match="--shape"):
        optimize(path, None, tmp_path / "net.param", tmp_path / "net.bin")
    assert _warnings(path, tmp_path, input_shapes={"x": (1, 3, 1, None)}) == []


def test_a_shape_that_is_given_is_no_open_one(tmp_path: Path) -> None:
    """Its extents stand in the file."""
    path = _open(tmp_path, node("Relu", ["x"], ["y"]))
    assert _warnings(path, tmp_path, input_shapes={"x": (1, 3, 8, 9)}) == []
    assert "0=9 1=8 2=3" in (tmp_path / "net.param").read_text()


@pytest.mark.parametrize(
    ("nodes", "said"),
    [
        ([node("Shape", ["x"], ["s"]), node("ConstantOfShape", ["s"], ["y"])], "ConstantOfShape"),
        ([node("Flatten", ["x"], ["f"]), node("TopK", ["f", "two"], ["y", "k"], "best")], "'best'"),
        (
            [node("ReduceMax", ["x"], ["m"]), node("Hardmax", ["x"], ["y"], "of a size")],
            "'of a size'",
        ),
    ],
)
def test_a_decision_of_the_size_is_refused(tmp_path: Path, nodes: list[Any], said: str) -> None:
    """By name; nothing is written."""
    path = _open(tmp_path, *nodes)
    with pytest.raises(Unsupported, match=said):
        optimize(path, None, tmp_path / "net.param", tmp_path / "net.bin")
    assert not (tmp_path / "net.param").exists()
