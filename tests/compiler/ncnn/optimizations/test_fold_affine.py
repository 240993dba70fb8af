"""What is affine in each channel goes into the weights before it, where that changes nothing."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ncc.compiler.ncnn.optimizations.affine_hosts import affine_hosts
from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.layer import WeightAttr
from ncc.dialects.ncnn.network import Network
from tests.crossed import crossed

FILTERS = {
    # host: the input, its params but bias_term, the rank of its result
    "Convolution": ("0=5 1=4 2=3", "0=6 1=3 6=162", 3),
    "ConvolutionDepthWise": ("0=5 1=4 2=4", "0=6 1=3 6=108 7=2", 3),
    "Convolution1D": ("0=9 1=3", "0=6 1=3 6=54", 2),
    "ConvolutionDepthWise1D": ("0=9 1=4", "0=6 1=3 6=36 7=2", 2),
    "Convolution3D": ("0=5 1=4 11=3 2=2", "0=6 1=2 6=96", 4),
    "ConvolutionDepthWise3D": ("0=5 1=4 11=3 2=6", "0=6 1=2 6=48 7=6", 4),
    "Deconvolution": ("0=5 1=4 2=3", "0=6 1=3 6=162", 3),
    "DeconvolutionDepthWise": ("0=5 1=4 2=4", "0=6 1=3 6=108 7=2", 3),
    "Deconvolution1D": ("0=9 1=3", "0=6 1=3 6=54", 2),
    "DeconvolutionDepthWise1D": ("0=9 1=4", "0=6 1=3 6=36 7=2", 2),
    "Deconvolution3D": ("0=5 1=4 11=3 2=2", "0=6 1=2 6=96", 4),
    "DeconvolutionDepthWise3D": ("0=5 1=4 11=3 2=6", "0=6 1=2 6=48 7=6", 4),
    "DeformableConv2D": ("0=5 1=4 2=3", "0=6 1=3 6=162", 3),
}
OTHERS = {
    "InnerProduct": ("0=5 1=4 2=3", "0=6 2=360", 1),
    "BatchNorm": ("0=5 1=4 2=6", "0=6 1=0.01", 3),
    "Scale": ("0=5 1=4 2=6", "0=6", 3),
}
CONSUMERS = {
    "batchnorm": "BatchNorm    y 1 1 h y 0=6 1=0.001",
    "scale": "Scale            y 1 1 h y 0=6 1=1",
    "bias": "Bias              y 1 1 h y 0=6",
    "dropout": "Dropout        y 1 1 h y 0=0.5",
    "power": "Power            y 1 1 h y 0=1 1=-2 2=0.25",
    "mul": "MemoryData k 0 1 k 0=6\n BinaryOp y 2 1 h k y 0=2",
    "add": "MemoryData k 0 1 k 0=6\n BinaryOp y 2 1 k h y 0=0",
}


def lines(host: str, consumer: str, more: str = "") -> str:
    shape, params, _ = {**FILTERS, **OTHERS}[host]
    text = f"""
        Input x 0 1 x {shape}
        {host} h 1 1 x h {params} {more}
        {consumer}
    """
    if host == "DeformableConv2D":
        text = "Input o 0 1 o 0=3 1=2 2=18" + text.replace("h 1 1 x", "h 2 1 x o")
    return text


def weights(text: str) -> dict[str, object]:
    """Variances are positive."""
    return {f"{line.split()[1]}.var": 0.5 for line in text.splitlines() if "BatchNorm" in line}


def test_all_hosts_are_tried() -> None:
    """The table of hosts is that of the compiler, Gemm aside."""
    hosts = {host.kind.LAYER.type for host in affine_hosts()}
    assert hosts - {"Gemm"} == {*FILTERS, *OTHERS}


@pytest.mark.parametrize(("host", "bias"), crossed(list(FILTERS), ["5=0", "5=1"]))
def test_filters_take_everything_up(net: Any, optimized: Any, host: str, bias: str) -> None:
    """Each kind of consumer goes into each kind of filter, with a bias and without."""
    for name, consumer in CONSUMERS.items():
        text = lines(host, consumer, bias)
        fired = optimized(net(text, weights(text)))
        assert f"fuse_{host.lower()}_{name}" in fired, name


@pytest.mark.parametrize("host", OTHERS)
def test_others_take_everything_up(net: Any, optimized: Any, host: str) -> None:
    """So do InnerProduct, BatchNorm and Scale; a Bias of a vector has one number."""
    for name, consumer in CONSUMERS.items():
        text = lines(host, consumer)
        fired = optimized(net(text, weights(text)))
        assert f"fuse_{host.lower()}_{name}" in fired, name


@pytest.mark.parametrize(
    ("op_type", "first", "fires"),
    [(0, 0, 1), (1, 0, 1), (2, 0, 1), (3, 0, 1), (7, 0, 1), (8, 0, 0), (4, 0, 0)]
    + [(0, 1, 1), (1, 1, 1), (2, 1, 1), (3, 1, 0), (7, 1, 1), (8, 1, 1), (6, 1, 0)],
)
@pytest.mark.parametrize("shape", ["0=6", "0=1 1=1 2=6", "0=1"])
def test_constants_on_either_side(
    net: Any, optimized: Any, op_type: int, first: int, fires: int, shape: str
) -> None:
    """Of the functions of a constant and a value, those that are affine in the value go in."""
    operands = "k h" if first else "h k"
    consumer = f"MemoryData k 0 1 k {shape}\n BinaryOp y 2 1 {operands} y 0={op_type}"
    fired = optimized(net(lines("Convolution", consumer, "5=1")))
    assert any(name.startswith("fuse_convolution_") for name in fired) == bool(fires)


def test_chains_go_in_whole(net: Any, optimized: Any) -> None:
    """BatchNorm, BatchNorm, a constant and Scale in a row leave one convolution."""
    text = lines(
        "Convolution",
        """BatchNorm b 1 1 h b 0=6
        BatchNorm c 1 1 b c 0=6 1=0.1
        BinaryOp d 1 1 c d 0=1 1=1 2=0.5
        Scale y 1 1 d y 0=6 1=1""",
    )
    module = net(text, weights(text))
    optimized(module)
    assert [op.LAYER.type for op in Network.of(module).layers] == ["Input", "Convolution"]
    assert Network.of(module).layers[-1].blob_names == ("y",)


def test_a_relu_between_lets_positive_factors_through(net: Any, optimized: Any) -> None:
    """relu(x) * m is relu(x * m) for m > 0 only, leaky or not; nothing is added."""
    for activation in ("9=1", "9=2 -23310=1,0.1"):
        for values, fires in (([1, 2, 3, 4, 5, 6], True), ([1, 2, 3, 4, 5, -6], False)):
            module = net(lines("Convolution", CONSUMERS["mul"], activation), {"k.data": values})
            assert ("fuse_convolution_mul" in optimized(module)) == fires
        module = net(lines("Convolution", CONSUMERS["add"], activation))
        assert not optimized(module)
        [(layer, reason)] = explain(module, "fuse_convolution_add")
        assert layer == "y" and reason.startswith("a ReLU stands between")


@pytest.mark.parametrize("activation", ["9=3 -23310=2,0,6", "9=4", "9=5", "9=6 -23310=2,0.2,0.5"])
def test_other_activations_stand_between(net: Any, optimized: Any, activation: str) -> None:
    """Nothing is folded through a Clip, a Sigmoid, a Mish or a HardSwish."""
    assert not optimized(net(lines("Convolution", CONSUMERS["mul"], activation), {"k.data": 2.0}))


def test_a_deviation_of_zero_is_the_one_of_the_layer(net: Any, optimized: Any) -> None:
    """With var + eps = 0 BatchNorm divides by 1e-4, and so does the fold."""
    module = net(lines("Convolution", "BatchNorm y 1 1 h y 0=6 1=0"), {"y.var": 0.0})
    assert optimized(module) == ["fuse_convolution_batchnorm"]


def test_what_is_not_finite_stays(net: Any, optimized: Any) -> None:
    """Division by 0, a negative variance and weights that overflow are not folded."""
    for consumer, values in (
        ("BinaryOp y 1 1 h y 0=3 1=1 2=0", {}),
        ("BatchNorm y 1 1 h y 0=6", {"y.var": -1.0}),
        ("BinaryOp y 1 1 h y 0=2 1=1 2=3e38", {"h.weight": 1e3}),
    ):
        assert not optimized(net(lines("Convolution", consumer), values))


def test_rows_are_not_columns(net: Any, optimized: Any) -> None:
    """An InnerProduct of rows makes (rows, outputs): BatchNorm and a vector work along the rows."""
    rows = """
        Input x 0 1 x 0=8 1=6
        InnerProduct h 1 1 x h 0=6 2=48
    """
    batchnorm = net(rows + "BatchNorm y 1 1 h y 0=6 1=0.1", {"y.var": 1.0})
    assert not optimized(batchnorm)
    assert explain(batchnorm, "fuse_innerproduct_batchnorm") == [
        ("y", "it works along axis 0, the channels lie along axis 1")
    ]
    assert not optimized(net(rows + "MemoryData k 0 1 k 0=6\n BinaryOp y 2 1 h k y 0=0"))
    other = rows.replace("1=6", "1=5")
    fired = optimized(net(other + "MemoryData k 0 1 k 0=6\n BinaryOp y 2 1 h k y 0=0"))
    assert "fuse_innerproduct_add" in fired
    assert "fuse_innerproduct_dropout" in optimized(net(rows + "Dropout y 1 1 h y 0=0.5"))


def test_a_rank_that_rises_is_no_fold(net: Any, optimized: Any) -> None:
    """A vector and a constant of [C, 1, 2] make rank 3."""
    text = lines("InnerProduct", "MemoryData k 0 1 k 0=2 1=1 2=6\n BinaryOp y 2 1 h k y 0=0")
    module = net(text)
    assert not optimized(module)
    [(_, reason)] = explain(module, "fuse_innerproduct_add")
    assert reason == "the constant may have a higher rank than what it is combined with"


def test_channels_must_be_those(net: Any, optimized: Any) -> None:
    """A constant along w, or one that broadcasts the result, is not folded."""
    for shape in ("0=3", "0=2 1=6", "0=3 1=2 2=6"):
        consumer = f"MemoryData k 0 1 k {shape}\n BinaryOp y 2 1 h k y 0=2"
        assert not optimized(net(lines("Convolution", consumer)))


def test_what_others_read_stays(net: Any, optimized: Any) -> None:
    """A result that another layer reads, or that is an output, is not folded away."""
    text = lines("Convolution", "Dropout y 1 1 h y 0=0.5")
    assert not optimized(net(text + "AbsVal z 1 1 h z"))
    assert not optimized(net(text, outputs=["h", "y"]))
    assert not optimized(net(text), keep=["h"])


def test_shared_constants_are_not_edited(net: Any, optimized: Any) -> None:
    """Two layers that take one constant as bias do not share it; the weights are their own."""
    module = net("""
        Input x 0 1 x 0=8
        MemoryData k 0 1 k 0=4
        InnerProduct a 1 1 x a 0=4 1=0 2=32
        BinaryOp c 2 1 a k c 0=0
        InnerProduct b 1 1 x b 0=4 1=0 2=32
        BinaryOp d 2 1 b k d 0=0
        Dropout e 1 1 d e 0=0.5
    """)
    optimized(module)
    first, second = (layer.properties["bias"] for layer in Network.of(module).layers[1:])
    assert isinstance(first, WeightAttr) and isinstance(second, WeightAttr)
    np.testing.assert_allclose(second.array(), first.array() * 0.5)


def test_without_shapes_channels_are_enough(net: Any, optimized: Any) -> None:
    """Where no shape is known, a constant of as many elements as channels is along them."""
    text = lines("Convolution", CONSUMERS["add"]).replace("0=5 1=4 2=3", "")
    assert "fuse_convolution_add" in optimized(net(text, shapes=False))
    text = lines("InnerProduct", CONSUMERS["add"]).replace("0=5 1=4 2=3", "")
    assert not optimized(net(text, shapes=False))


@pytest.mark.parametrize("transposed", ["3=1", "3=0", "3=1 14=1", "3=1 11=1", "3=0 11=1 14=1"])
@pytest.mark.parametrize("added", ["6=0", "6=1 10=4", "6=1 10=0", "6=1 10=-1"])
def test_gemm_takes_columns_up(net: Any, optimized: Any, transposed: str, added: str) -> None:
    """A constant B takes what works along the columns up, whatever alpha, beta and C are."""
    middle = " 1=1" if "11=1" in transposed else ""
    columns = f"0=1{middle} {'2' if middle else '1'}=4" if "14=1" in transposed else "0=4"
    columns += " 1=1 2=1" if middle and "14=1" not in transposed else ""
    module = net(f"""
        Input x 0 1 x 0=6 1=5
        Gemm g 1 1 x g 0=0.5 1=2.0 5=1 8=4 9=6 {added} {transposed}
        BinaryOp a 1 1 g a 0=2 1=1 2=3
        MemoryData k 0 1 k {columns}
        BinaryOp y 2 1 a k y 0=0
    """)
    fired = optimized(module)
    assert fired[:2] == ["fuse_gemm_mul", "fuse_gemm_add"]


def test_gemm_takes_rows_up(net: Any, optimized: Any) -> None:
    """A constant A takes what works along the rows up; a full C stands in the way."""
    text = """
        Input x 0 1 x 0=4 1=6
        Gemm g 1 1 x g 0=0.5 1=2.0 4=1 7=5 8=4 9=6 6=1 10={}
        BatchNorm y 1 1 g y 0=5
    """
    for kind, fires in ((0, True), (1, True), (2, True), (3, False), (4, False)):
        fired = optimized(net(text.format(kind), {"y.var": 0.5}))
        assert fired == (["fuse_gemm_batchnorm"] if fires else [])


@pytest.mark.parametrize(("params", "fires"), [("6=12", True), ("6=24", False)])
def test_surplus_weights_are_no_rows(net: Any, optimized: Any, params: str, fires: bool) -> None:
    """Where a depthwise line has more weights than it reads, channels are not where they seem."""
    text = f"""
        Input x 0 1 x 0=9 1=6
        ConvolutionDepthWise1D h 1 1 x h 0=6 1=2 7=6 {params}
        {CONSUMERS["scale"]}
    """
    assert bool(optimized(net(text))) == fires


GIVEN = "Input k 0 1 k 0=6"


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (f"{GIVEN}\nScale h 2 1 x k h 0=-233", "the scales are a second input"),
        (
            "Input w 0 1 w 0=1 1=1 2=6 11=6\nConvolution h 2 1 x w h 19=1",
            "its weights are inputs",
        ),
        (
            "Input c 0 1 c 0=6\nGemm h 2 1 x c h 3=1 5=1 6=0 7=0 8=6 9=4 10=4",
            "what it adds is an input",
        ),
    ],
    ids=["Scale", "Convolution", "Gemm"],
)
def test_operands_of_a_run_take_nothing_up(net: Any, text: str, reason: str) -> None:
    """Their values are not known."""
    shape = "0=4 1=3" if "Gemm" in text else "0=5 1=4 2=6"
    module = net(f"Input x 0 1 x {shape}\n{text}\nBinaryOp y 1 1 h y 0=2 1=1 2=0.5")
    kind = text.splitlines()[-1].split()[0].lower()
    assert explain(module, f"fuse_{kind}_mul") == [("y", reason)]


def test_scales_of_a_run_go_nowhere(net: Any, optimized: Any) -> None:
    """Behind a filter as in front of anything else."""
    module = net(lines("Convolution", f"{GIVEN}\nScale y 2 1 h k y 0=-233"))
    assert explain(module, "fuse_convolution_scale") == [("y", "its scales are a second input")]


def test_weights_of_int8_take_nothing_up(net: Any) -> None:
    """They would have to be quantized again."""
    text = "Input x 0 1 x\nConvolution h 1 1 x h 0=6 1=3 6=162 8=1"
    module = net(f"{text}\nBinaryOp y 1 1 h y 0=2 1=1 2=0.5", shapes=False)
    assert explain(module, "fuse_convolution_mul") == [("y", "its weights are int8")]
