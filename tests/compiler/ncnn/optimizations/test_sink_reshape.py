"""A squeezed vector stays a vector on its way through a block that excites."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.ncnn.check_rewrites import require_equal_results
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimize import explain, optimize_module
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.network import Network

BLOCK = """7767517
{count} {count}
Input x 0 1 x 0=5 1=4 2=6
Reduction mean 1 1 x m 0=3 1=0 -23303=2,1,2 4=1 5=1
Convolution squeeze 1 1 m s 0=3 1=1 {pads} 5=1 6=18
Swish act 1 1 s a
BatchNorm norm 1 1 a n 0=3
Convolution excite 1 1 n e 0=6 1=1 5=1 6=18
Sigmoid gate 1 1 e g
"""
EXCITED = "BinaryOp out 2 1 x g out 0=2\n"


def network(tmp_path: Path, pads: str, last: str) -> ModuleOp:
    """The block, with shapes."""
    param = tmp_path / "net.param"
    param.write_text(BLOCK.format(count=7 + bool(last), pads=pads) + last)
    module = read(param, random_weights=3).module
    infer_shapes(module)
    return module


def optimized(module: ModuleOp) -> tuple[list[str], dict[str, np.ndarray]]:
    """The layer types after optimization, and how far each output moved."""
    x = np.random.default_rng(0).standard_normal((6, 4, 5), np.float32)
    before = interpret(module, {"x": x})
    optimize_module(module, check=require_equal_results)
    module.verify()
    assert not optimize_module(module)
    after = interpret(module, {"x": x})
    types = [op.LAYER.type for op in Network.of(module).layers]
    return types, {name: np.abs(after[name] - before[name]) for name in before}


@pytest.mark.parametrize("pads", ["", "4=-233"])
def test_the_reshape_vanishes(pads: str, tmp_path: Path) -> None:
    """Pooling, what works on the vector, and the multiplication are left."""
    types, moved = optimized(network(tmp_path, pads, EXCITED))
    inner = ["InnerProduct", "Swish", "BatchNorm", "InnerProduct"]
    assert types == ["Input", "Pooling", *inner, "BinaryOp"]
    assert moved["out"].max() < 1e-5


def test_an_output_keeps_its_shape(tmp_path: Path) -> None:
    """Where planes of one pixel are asked for, a Reshape makes them in the end."""
    types, moved = optimized(network(tmp_path, "", ""))
    assert types[-1] == "Reshape" and "Convolution" not in types
    assert moved["g"].shape == (6, 1, 1) and moved["g"].max() < 1e-5


def test_padding_is_no_pixel(tmp_path: Path) -> None:
    """A window of one pixel that lies on padding does not see the vector."""
    module = network(tmp_path, "3=3 4=1", EXCITED)
    optimize_module(module, off=["fuse_convolution_activation"], check=require_equal_results)
    assert "Convolution" in [op.LAYER.type for op in Network.of(module).layers]
    assert ("squeeze", "it pads") in explain(module, "sink_reshape_below_convolution")


def test_a_vector_is_one_channel_to_a_bias(net: Any, optimized: Any) -> None:
    """It adds its first number to all elements, so that the Reshape stays above."""
    module = net("""
        Input x 0 1 x 0=4
        Reshape r 1 1 x r 0=1 1=1 2=4
        Bias b 1 1 r b 0=4
        ReLU y 1 1 b y
    """)
    assert not optimized(module)


@pytest.mark.parametrize(
    ("view", "behind"),
    [
        ("Reshape r 1 1 x r 0=2 1=1 2=3", "BatchNorm y 1 1 r y 0=3"),
        ("Reshape r 1 1 x r 0=1 1=6 2=1", "BatchNorm y 1 1 r y 0=1"),
        ("Reshape r 1 1 x r 0=2 1=1 2=3", "Convolution y 1 1 r y 0=4 1=1 6=12"),
    ],
)
def test_other_views_are_no_planes_of_a_pixel(net: Any, view: str, behind: str) -> None:
    """What is behind them takes other channels than the vector has elements."""
    module = net(f"Input x 0 1 x 0=6\n{view}\n{behind}")
    kind = "convolution" if "Conv" in behind else "activation"
    reason = "the view does not make planes of one pixel of a vector"
    assert explain(module, f"sink_reshape_below_{kind}") == [("y", reason)]


def test_a_view_that_others_read_stays(net: Any) -> None:
    """It is an output, too."""
    module = net(
        "Input x 0 1 x 0=6\nReshape r 1 1 x r 0=1 1=1 2=6\nReLU y 1 1 r y", outputs=["r", "y"]
    )
    reason = "the view is read by others, too"
    assert explain(module, "sink_reshape_below_activation") == [("y", reason)]


BIASED = """7767517
7 7
Input x 0 1 x 0=5 1=4 2=6
Pooling mean 1 1 x m 0=1 4=1
Reshape planes 1 1 m p 0=1 1=1 2=6
Convolution squeeze 1 1 p s 0=3 1=1 6=18
MemoryData bias 0 1 b 0=1 1=1 2=3
BinaryOp add 2 1 {order} a 0={kind}
ReLU act 1 1 a y
"""


@pytest.mark.parametrize(("order", "kind"), [("s b", 0), ("b s", 0), ("b s", 1), ("s b", 2)])
def test_a_constant_goes_into_the_weights(order: str, kind: int, tmp_path: Path) -> None:
    """A bias that the file adds to planes of one pixel, as ONNX files have it; also by other
    operations.
    """
    param = tmp_path / "net.param"
    param.write_text(BIASED.format(order=order, kind=kind))
    module = read(param, random_weights=3).module
    infer_shapes(module)
    types, moved = optimized(module)
    assert types == ["Input", "Pooling", "InnerProduct", "Reshape"]
    assert moved["y"].shape == (3, 1, 1) and moved["y"].max() < 1e-5


WITH_ITSELF = """7767517
7 8
Input x 0 1 x 0=5 1=4 2=6
Pooling mean 1 1 x m 0=1 4=1
Reshape planes 1 1 m p 0=1 1=1 2=6
Convolution squeeze 1 1 p s 0=3 1=1 5=1 6=18
Split split 1 2 s s1 s2
Sigmoid gate 1 1 s1 g
BinaryOp swish 2 1 {order} a 0=2
"""


@pytest.mark.parametrize("order", ["s2 g", "g s2"])
def test_a_vector_times_a_function_of_it(order: str, tmp_path: Path) -> None:
    """Both sides of a product are vectors, so that it is one activation, as it is of an image."""
    param = tmp_path / "net.param"
    param.write_text(WITH_ITSELF.format(order=order))
    module = read(param, random_weights=3).module
    infer_shapes(module)
    types, moved = optimized(module)
    assert types == ["Input", "Pooling", "InnerProduct", "Swish", "Reshape"]
    assert moved["a"].shape == (3, 1, 1) and moved["a"].max() < 1e-5


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        ("0=1 1=6", "0=1 1=1 2=6", "it does not combine two vectors of as many elements"),
        ("0=6", "0=1 1=6 2=1", "the view does not make planes of one pixel of a vector"),
    ],
)
def test_other_operands_are_not_combined(net: Any, first: str, second: str, reason: str) -> None:
    """Their elements do not meet one by one."""
    module = net(f"""
        Input x 0 1 x {first}
        Input u 0 1 u 0=6
        Reshape r 1 1 u r {second}
        BinaryOp y 2 1 x r y
    """)
    assert ("y", reason) in explain(module, "sink_reshape_below_binaryop")


def test_a_constant_of_other_channels_stays(net: Any) -> None:
    """A vector of one element is stretched."""
    module = net("""
        Input x 0 1 x 0=1
        MemoryData c 0 1 c 0=1 1=1 2=3
        BinaryOp y 2 1 x c y 0=0
    """)
    reason = "the constant is not combined with a vector of its channels"
    assert explain(module, "sink_reshape_below_constant") == [("y", reason)]
