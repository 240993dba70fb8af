"""Operators that become layers, and those that must not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import ncc
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.onnx.convert_to_ncnn import convert_to_ncnn
from ncc.compiler.read_onnx.read_model import read_model
from ncc.dialects.ncnn.network import Network
from tests.onnx.models import model, written

node = helper.make_node
RNG = np.random.default_rng(3)


def _numbers(*shape: int) -> Any:
    return RNG.standard_normal(shape, np.float32)


def _types(path: Path) -> list[str]:
    """The operations of a converted model, without inputs and views."""
    module = read_model(path)
    infer_shapes(module)
    convert_to_ncnn(module)
    module.verify()
    names = [op.name for op in Network.of(module).layers]
    return [name for name in names if name not in ("onnx.Input", "onnx.View")]


IMAGE: dict[str, Any] = {"x": [1, 4, 6, 6]}

CASES = {
    "Convolution": (node("Conv", ["x", "w"], ["y"]), {"w": _numbers(3, 4, 2, 2)}),
    "ConvolutionDepthWise": (
        node("Conv", ["x", "w"], ["y"], group=4, strides=[2, 1]),
        {"w": _numbers(8, 1, 3, 3)},
    ),
    "Deconvolution": (
        node("ConvTranspose", ["x", "w"], ["y"], strides=[2, 2], pads=[1, 1, 0, 0]),
        {"w": _numbers(4, 3, 3, 3)},
    ),
    "BatchNorm": (
        node("BatchNormalization", ["x", "s", "b", "m", "v"], ["y"]),
        {"s": _numbers(4), "b": _numbers(4), "m": _numbers(4), "v": np.abs(_numbers(4))},
    ),
    "Clip": (node("Clip", ["x", "low"], ["y"]), {"low": np.array(-0.5, np.float32)}),
    "HardSigmoid": (node("HardSigmoid", ["x"], ["y"]), {}),
    "PReLU": (node("PRelu", ["x", "s"], ["y"]), {"s": _numbers(4, 1, 1)}),
    "Pooling": (node("AveragePool", ["x"], ["y"], kernel_shape=[3, 3], pads=[1, 1, 1, 1]), {}),
    "Reduction": (node("ReduceMean", ["x", "a"], ["y"]), {"a": np.array([2, 3])}),
    "Softmax": (node("Softmax", ["x"], ["y"], axis=1), {}),
    "Permute": (node("Transpose", ["x"], ["y"], perm=[0, 2, 3, 1]), {}),
    "Crop": (
        node("Slice", ["x", "s", "e"], ["y"]),
        {"s": np.array([0, 1, 2]), "e": np.array([1, 3, 9])},
    ),
    "Padding": (node("Pad", ["x", "p"], ["y"]), {"p": np.array([0, 0, 1, 2, 0, 0, 0, 1])}),
    "Interp": (
        node("Resize", ["x", "", "s"], ["y"], mode="linear"),
        {"s": np.array([1, 1, 2, 2], np.float32)},
    ),
    "BinaryOp": (node("Mul", ["x", "s"], ["y"]), {"s": _numbers(4, 1, 1)}),
    "UnaryOp": (node("Exp", ["x"], ["y"]), {}),
    "GELU": (node("Gelu", ["x"], ["y"]), {}),
    "SELU": (node("Selu", ["x"], ["y"], alpha=1.5), {}),
    "LayerNorm": (
        node("LayerNormalization", ["x", "s", "b"], ["y"], axis=2),
        {"s": _numbers(6, 6), "b": _numbers(6, 6)},
    ),
    "GroupNorm": (
        node("GroupNormalization", ["x", "s", "b"], ["y"], num_groups=2),
        {"s": _numbers(4), "b": _numbers(4)},
    ),
    "InstanceNorm": (
        node("InstanceNormalization", ["x", "s", "b"], ["y"]),
        {"s": _numbers(4), "b": _numbers(4)},
    ),
    "LRN": (node("LRN", ["x"], ["y"], size=3, alpha=0.5), {}),
}
"""An operator on an image for each layer, and its constants."""


@pytest.mark.parametrize("layer", CASES)
def test_an_operator_that_a_layer_expresses(tmp_path: Path, layer: str) -> None:
    """The batch axis is gone, and the results are those of the operator."""
    one, held = CASES[layer]
    path = written(tmp_path, model([one], IMAGE, ["y"], held))
    assert [name for name in _types(path) if name != "ncnn.MemoryData"] == [f"ncnn.{layer}"]
    x = _numbers(1, 4, 6, 6)
    plain, converted = (ncc.compile(path, opt_level=level)(x) for level in (0, 1))
    np.testing.assert_allclose(converted, plain, rtol=1e-5, atol=1e-5)


@pytest.mark.parametrize("mode", ["DCR", "CRD"])
@pytest.mark.parametrize(
    ("kind", "layer"), [("DepthToSpace", "PixelShuffle"), ("SpaceToDepth", "Reorg")]
)
def test_blocks_in_both_orders_of_channels(
    tmp_path: Path, kind: str, layer: str, mode: str
) -> None:
    """The layer has the mode of the operator."""
    one = node(kind, ["x"], ["y"], blocksize=2, mode=mode)
    path = written(tmp_path, model([one], {"x": [1, 8, 6, 6]}, ["y"], {}))
    assert _types(path) == [f"ncnn.{layer}"]
    x = _numbers(1, 8, 6, 6)
    plain, converted = (ncc.compile(path, opt_level=level)(x) for level in (0, 1))
    np.testing.assert_array_equal(converted, plain)


@pytest.mark.parametrize("batch", [[], [1]])
@pytest.mark.parametrize("after", [[6, 4, 5], [24, 5]])
def test_a_shuffle_of_channels(tmp_path: Path, batch: list[int], after: list[int]) -> None:
    """It is one where an image is behind it, too; else the elements are only in another order."""
    rank = len(batch)
    nodes = [
        node("Reshape", ["x", "groups"], ["a"]),
        node("Transpose", ["a"], ["b"], perm=[*range(rank), *(rank + k for k in (1, 0, 2, 3))]),
        node("Reshape", ["b", "image"], ["c"]),
        node("Relu", ["c"], ["y"]),
    ]
    held = {"groups": np.array([*batch, 2, 3, 4, 5]), "image": np.array([*batch, *after])}
    path = written(tmp_path, model(nodes, {"x": [*batch, 6, 4, 5]}, ["y"], held))
    assert ("ncnn.ShuffleChannel" in _types(path)) == (after == [6, 4, 5])
    x = _numbers(*batch, 6, 4, 5)
    plain, converted = (ncc.compile(path, opt_level=level)(x) for level in (0, 1))
    np.testing.assert_array_equal(converted, plain)


TURNED = {"s": np.array([-1]), "e": np.array([-9]), "a": np.array([2]), "t": np.array([-1])}
"""All elements along an axis, from the back: the result has the shape of x."""


@pytest.mark.parametrize(
    ("one", "held", "shape"),
    [
        (node("Conv", ["x", "w"], ["y"]), {"w": _numbers(3, 4, 2, 2)}, [2, 4, 6, 6]),
        (node("Relu", ["x"], ["y"]), {}, [2, 3, 4, 5, 6]),
        (node("MaxPool", ["x"], ["y"], kernel_shape=[2, 2], dilations=[2, 2]), {}, [1, 4, 6, 6]),
        (node("Softmax", ["x"], ["y"], axis=1), {}, [2, 3, 4, 5, 6]),
        (node("Slice", ["x", "s", "e", "a", "t"], ["y"]), TURNED, [1, 4, 6, 6]),
        (node("LayerNormalization", ["x", "s"], ["y"]), {"s": _numbers(6)}, [1, 4, 6, 6]),
    ],
)
def test_an_operator_that_no_layer_is(
    tmp_path: Path, one: Any, held: dict[str, Any], shape: list[int]
) -> None:
    """A batch, too many axes, windows with holes, steps, no bias."""
    path = written(tmp_path, model([one], {"x": shape}, ["y"], held))
    assert f"onnx.{one.op_type}" in _types(path)


def test_views_between_layers_vanish(tmp_path: Path) -> None:
    """A batch of 1 costs nothing: one view in front, one behind."""
    nodes = [
        node("Relu", ["x"], ["a"]),
        node("Unsqueeze", ["a", "first"], ["b"]),
        node("Squeeze", ["b", "first"], ["c"]),
        node("Sigmoid", ["c"], ["y"]),
    ]
    made = model(nodes, IMAGE, ["y"], {"first": np.array([0])})
    module = read_model(written(tmp_path, made))
    infer_shapes(module)
    convert_to_ncnn(module)
    names = [op.name for op in Network.of(module).layers]
    assert names == ["onnx.Input", "onnx.View", "ncnn.ReLU", "ncnn.Sigmoid", "onnx.View"]


def test_views_between_layers_are_reshapes(tmp_path: Path) -> None:
    """So optimizations see what they see in a .param: a squeezed vector stays one."""
    nodes = [
        node("GlobalAveragePool", ["x"], ["a"]),
        node("Conv", ["a", "w"], ["b"]),
        node("Add", ["b", "s"], ["c"]),
        node("Relu", ["c"], ["y"]),
    ]
    held = {"w": _numbers(3, 4, 1, 1), "s": _numbers(1, 3, 1, 1)}
    module = read_model(written(tmp_path, model(nodes, IMAGE, ["y"], held)))
    infer_shapes(module)
    convert_to_ncnn(module)
    optimize_module(module)
    names = [op.name for op in Network.of(module).layers if op.name.startswith("ncnn.")]
    assert names[:2] == ["ncnn.Pooling", "ncnn.InnerProduct"]
    assert set(names[2:]) <= {"ncnn.Reshape"}
