"""Every value gets its shape, or the file is told what is wrong with it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import DYNAMIC_INDEX, ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ncc.compiler.diagnostics import CompilerBug, ModelError, Unsupported
from ncc.compiler.ncnn.infer_shapes import InferShapes, infer_shapes, parse_input_shape
from ncc.dialects.ncnn.convolution.convolution import ConvolutionOp
from ncc.dialects.ncnn.detection.yolo import YoloDetectionOutputOp
from ncc.dialects.ncnn.elementwise.activation_layers import ReLUOp
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.per_channel import PReLUOp
from ncc.dialects.ncnn.layer import Layer, ParamValue, Shape, WeightAttr, shape_of
from ncc.dialects.ncnn.linear.linear import InnerProductOp
from ncc.dialects.ncnn.movement.movement import PermuteOp
from ncc.dialects.ncnn.movement.reshape import FlattenOp, ReshapeOp
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp, SplitOp
from ncc.dialects.ncnn.pooling.pooling import PoolingOp
from ncc.dialects.weights.sources import Random, Weights
from ncc.runtime.errors import InputError


def network(layers: list[Layer], outputs: list[str]) -> ModuleOp:
    """A module of layers that returns the named blobs."""
    values = {b: r for op in layers for b, r in zip(op.blob_names, op.results, strict=True)}
    returned = [values[name] for name in outputs]
    body = Region(Block([*layers, ReturnOp(*returned)]))
    function = FuncOp("network", ((), [value.type for value in returned]), body)
    function.attributes["outputs"] = ArrayAttr([StringAttr(name) for name in outputs])
    return ModuleOp([function])


def weight(*shape: int) -> WeightAttr:
    return WeightAttr(Weights(shape, Random(0, 0)))


def data(name: str = "data", **extents: int) -> InputOp:
    return InputOp.make([], extents, name=f"in_{name}", blobs=[name], line=3)


def convolution(x: Layer, channels: int, line: int = 4) -> ConvolutionOp:
    params = {"num_output": 8, "kernel_w": 3, "weight_data_size": 8 * channels * 9}
    weights = {"weight": weight(8, channels, 3, 3)}
    return ConvolutionOp.make(x.results, params, weights, name="conv1", blobs=["conv"], line=line)


def product(x: Layer, count: int, name: str = "fc", line: int = 5) -> InnerProductOp:
    params = {"num_output": 2, "weight_data_size": 2 * count}
    weights = {"weight": weight(2, count)}
    return InnerProductOp.make(x.results, params, weights, name=name, blobs=[name], line=line)


def shapes(module: ModuleOp) -> list[Shape | None]:
    return [shape_of(result) for op in Network.of(module).layers for result in op.results]


def test_shapes_follow_the_layers() -> None:
    """Each result has the shape its layer says, and the function returns these types."""
    x = data(w=10, h=8, c=3)
    conv = convolution(x, 3)
    module = network([x, conv, product(conv, 384)], ["fc", "conv"])
    InferShapes().apply(Context(), module)
    module.verify()
    assert shapes(module) == [(3, 8, 10), (8, 6, 8), (2,)]


def test_the_callers_shape_wins() -> None:
    """An input shape that is asked for overrides the file's, again and again."""
    x = data(w=10, h=8, c=3)
    module = network([x, convolution(x, 3)], ["conv"])
    infer_shapes(module)
    infer_shapes(module, {"data": (3, 5, 4)})
    assert shapes(module) == [(3, 5, 4), (8, 3, 2)]
    InferShapes(("data=3x4x4",)).apply(Context(), module)
    assert shapes(module) == [(3, 4, 4), (8, 2, 2)]
    infer_shapes(module)
    assert shapes(module)[0] == (3, 4, 4)


def test_all_unknown_inputs_are_named() -> None:
    """A file without input shapes is told every input that it needs one for."""
    x, y = data("left"), data("right")
    module = network([x, y, BinaryOpOp.make([*x.results, *y.results], blobs=["sum"])], ["sum"])
    with pytest.raises(ModelError) as caught:
        infer_shapes(module)
    messages = [problem.message for problem in caught.value.problems]
    assert len(messages) == 2
    assert "'left'" in messages[0] and "'right'" in messages[1]
    infer_shapes(module, {"left": (2, 3), "right": (2, 3)})
    assert shapes(module)[-1] == (2, 3)


def test_each_culprit_is_told_once(tmp_path: Path) -> None:
    """A problem names layer, line and the way of the shapes; what follows it is silent."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n5 6\nInput in_data 0 1 data\nSplit s 1 2\nInnerProduct fc 1 1\n")
    x = data(w=10, h=8, c=3)
    split = SplitOp.make(x.results, name="s", blobs=["a", "b"], line=4)
    first = InnerProductOp.make(
        [split.results[0]],
        {"num_output": 2, "weight_data_size": 14},
        {"weight": weight(2, 7)},
        name="fc",
        blobs=["fc"],
        line=5,
    )
    flat = FlattenOp.make(first.results, name="flat", blobs=["flat"], line=6)
    conv = ConvolutionOp.make(
        [split.results[1]],
        {"num_output": 8, "kernel_w": 30, "weight_data_size": 8 * 3 * 900},
        {"weight": weight(8, 3, 30, 30)},
        name="conv",
        blobs=["conv"],
        line=7,
    )
    module = network([x, split, first, flat, conv], ["flat", "conv"])
    module.attributes["source"] = StringAttr(str(path))
    with pytest.raises(ModelError) as caught:
        infer_shapes(module)
    wrong_count, too_big = caught.value.problems
    assert "'fc' (InnerProduct)" in wrong_count.message
    assert (wrong_count.path, wrong_count.line) == (str(path), 5)
    assert wrong_count.source_line == "InnerProduct fc 1 1"
    assert wrong_count.found == "data 3x8x10 -> a 3x8x10"
    assert "'conv' (Convolution)" in too_big.message
    assert too_big.line == 7


def test_what_no_output_needs_may_have_no_shape() -> None:
    """A window too large behind the output, and what is made of it, are left out."""

    def layers() -> list[Layer]:
        x = data(c=3, h=4, w=4)
        first = ReLUOp.make(x.results, {}, name="first", blobs=["a"])
        wide = PoolingOp.make(first.results, {"kernel_w": 7, "pad_mode": 1}, name="p", blobs=["b"])
        return [x, first, wide, ReLUOp.make(wide.results, {}, name="last", blobs=["c"])]

    module = network(layers(), ["a"])
    infer_shapes(module)
    assert [op.layer_name for op in Network.of(module).layers] == ["in_data", "first"]
    for outputs in (["c"], ["a", "b"]):
        with pytest.raises(ModelError, match="layer 'p'"):
            infer_shapes(network(layers(), outputs))


def test_unknown_names_and_shapes_are_refused() -> None:
    """An input shape needs the name of an input, and positive extents."""
    module = network([data(w=10)], ["data"])
    with pytest.raises(InputError, match="did you mean 'data'"):
        infer_shapes(module, {"date": (3,)})
    for shape in ((), (1, 2, 3, 4, 5)):
        with pytest.raises(InputError, match="the shape of input 'data' cannot be"):
            infer_shapes(module, {"data": shape})
    with pytest.raises(InputError, match="cannot be 0"):
        infer_shapes(module, {"data": (0,)})


def test_what_no_memory_holds() -> None:
    """Extents whose product is no address are the file's fault, or that of who asks for them."""
    x = data(w=10)
    relu = ReLUOp.make(x.results, name="big", blobs=["y"])
    with pytest.raises(ModelError, match="no memory holds the result.*3x99999999x99999999"):
        infer_shapes(network([x, relu], ["y"]), {"data": (3, 99999999, 99999999)})


def test_shapes_on_the_command_line() -> None:
    """`name=3x224x224` in numpy order, commas alike; anything else is refused."""
    assert parse_input_shape("data=3x224x224") == ("data", (3, 224, 224))
    assert parse_input_shape("a=b=7") == ("a=b", (7,))
    for text in ("data", "data=", "data=3x", "data=-1", "3x224"):
        with pytest.raises(InputError):
            parse_input_shape(text)


def test_rows_that_the_run_counts() -> None:
    """A layer that has a row for each row keeps the count; any other is refused by its name."""
    relu = behind_rows(ReLUOp, {})
    assert shape_of(relu.results[0]) == (DYNAMIC_INDEX, 6)
    flipped = behind_rows(ReshapeOp, {"w": 2, "h": 3, "c": -1})
    assert shape_of(flipped.results[0]) == (DYNAMIC_INDEX, 3, 2)
    for kind, params in ((FlattenOp, {}), (PermuteOp, {"order_type": 1})):
        with pytest.raises(Unsupported, match="layer 's'.*only the run knows"):
            behind_rows(kind, params)
    with pytest.raises(ModelError, match=r"4 slopes do not fit the \? channels of \(\?, 6\)"):
        behind_rows(PReLUOp, {"num_slope": 4})


def behind_rows(kind: type[Layer], params: Mapping[str, ParamValue]) -> Layer:
    """A layer that reads detections, with shapes."""
    maps = data(w=4, h=4, c=12)
    anchors: dict[str, ParamValue] = {"num_class": 1, "num_box": 2, "biases": (1.0,) * 4}
    found = YoloDetectionOutputOp.make(maps.results, anchors, name="d", blobs=["d"])
    weights = {"slope": weight(4)} if kind is PReLUOp else {}
    op = kind.make(found.results, params, weights, name="s", blobs=["y"])
    infer_shapes(network([maps, found, op], ["y"]))
    return op


def test_a_broken_rule_is_our_bug(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a shape rule raises besides LayerError is not blamed on the file."""

    def broken(self: Layer, x: Shape) -> Shape:
        raise IndexError("tuple index out of range")

    monkeypatch.setattr(FlattenOp, "infer", broken)
    x = data(w=10)
    module = network([x, FlattenOp.make(x.results, name="flat", blobs=["y"])], ["y"])
    with pytest.raises(CompilerBug, match="'flat' \\(Flatten\\) fails on 10"):
        infer_shapes(module)
