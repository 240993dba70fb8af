"""Where ncnnoptimize changed results, ncc does not: its reproduced faults, one by one.

Every test here runs a network before and after, and tries each rewrite on edge values, too.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError
from ncc.compiler.ncnn.optimize import optimize_module
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.network import Network
from tests.ncnn_text import types

PLANES = "Input x 0 1 x 0=5 1=4 2=3\n"
ROWS = "Input x 0 1 x 0=6 1=4\n"
VARIANCE = {"b.var": 0.5}


# --- 1 to 4: folds through what stands between ----------------------------------------------


def test_batchnorm_behind_a_fused_relu(net: Any, optimized: Any) -> None:
    """A BatchNorm is not folded through an activation, neither now nor in a second run."""
    fused = PLANES + "Convolution c 1 1 x c 0=4 1=3 6=108 9=1\nBatchNorm b 1 1 c y 0=4"
    assert not optimized(net(fused, VARIANCE))
    apart = PLANES + "Convolution c 1 1 x c 0=4 1=3 6=108\nReLU r 1 1 c r\nBatchNorm b 1 1 r y 0=4"
    assert optimized(net(apart, VARIANCE)) == ["fuse_convolution_activation"]


def test_a_deviation_of_zero(net: Any, optimized: Any) -> None:
    """var + eps = 0 is folded as the layer computes it, and leaves no NaN in the weights."""
    module = net(
        PLANES + "Convolution c 1 1 x c 0=4 1=3 6=108\nBatchNorm b 1 1 c y 0=4", {"b.var": 0.0}
    )
    assert optimized(module) == ["fuse_convolution_batchnorm"]
    weight: Any = Network.of(module).layers[-1].properties["weight"]
    assert np.isfinite(weight.array()).all()


@pytest.mark.parametrize("activation", range(1, 7))
@pytest.mark.parametrize("op_type", [0, 2])
def test_constants_behind_an_activation(
    net: Any, optimized: Any, activation: int, op_type: int
) -> None:
    """act(c) * k and act(c) + k keep their values, also for negative k."""
    params = {2: " -23310=1,0.1", 3: " -23310=2,0,6", 6: " -23310=2,0.2,0.5"}.get(activation, "")
    text = f"""{PLANES}MemoryData k 0 1 k 0=4
        Convolution c 1 1 x c 0=4 1=3 6=108 9={activation}{params}
        BinaryOp y 2 1 c k y 0={op_type}"""
    assert not optimized(net(text, {"k.data": [1, -2, 3, -4]}))


@pytest.mark.parametrize("params", ["8=1", "8=2", "19=1"])
def test_quantized_and_dynamic_layers(net: Any, params: str) -> None:
    """Weights that are int8 or inputs are not folded into; what ncc cannot read it refuses."""
    inputs = "2 1 x w" if params == "19=1" else "1 1 x"
    text = f"""{PLANES}Input w 0 1 w 0=3 1=3 11=3 2=4
        Convolution c {inputs} c 0=4 1=3 6=108 {params}
        BatchNorm b 1 1 c y 0=4"""
    try:
        module = net(text, VARIANCE, shapes=False)
    except (ModelError, LayerError):
        return
    optimize_module(module)
    assert "BatchNorm" in types(module)


# --- 5 to 7: inner products, ranks, activations ---------------------------------------------


@pytest.mark.parametrize(
    ("layer", "fires"),
    [
        ("BatchNorm b 1 1 p y 0=4", False),
        ("MemoryData k 0 1 k 0=4\nBinaryOp b 2 1 p k y 0=0", False),
        ("Flatten b 1 1 p y", False),
        ("Dropout b 1 1 p y 0=0.5", True),
    ],
)
def test_inner_products_of_rows(net: Any, optimized: Any, layer: str, fires: bool) -> None:
    """Behind rows, what works along the rows or makes a vector of them stays."""
    weights = VARIANCE if layer.startswith("BatchNorm") else {}
    module = net(ROWS + "InnerProduct p 1 1 x p 0=4 1=1 2=24\n" + layer, weights)
    assert bool(optimized(module)) == fires


def test_inner_products_of_other_rows(net: Any, optimized: Any) -> None:
    """With another count of rows than outputs, a BatchNorm fits the rows only."""
    module = net(
        "Input x 0 1 x 0=6 1=3\nInnerProduct p 1 1 x p 0=4 2=24\nBatchNorm b 1 1 p y 0=3", VARIANCE
    )
    assert not optimized(module)


def test_a_vector_and_planes(net: Any, optimized: Any) -> None:
    """[C] + [C, 1, 1] has rank 3, and keeps it: a Reshape follows the sum of two vectors."""
    module = net(
        PLANES + "InnerProduct p 1 1 x p 0=4 2=240\nMemoryData k 0 1 k 0=1 1=1 2=4\n"
        "BinaryOp y 2 1 p k y 0=0"
    )
    assert "fuse_innerproduct_add" in optimized(module)
    assert types(module)[-1] == "Reshape"


@pytest.mark.parametrize("second", ["HardSwish", "Sigmoid", "Mish", "ReLU", "Clip"])
def test_an_activation_behind_an_activation(net: Any, optimized: Any, second: str) -> None:
    """None is lost; those that compose do."""
    module = net(PLANES + f"Convolution c 1 1 x c 0=4 1=3 6=108 9=1\n{second} y 1 1 c y")
    assert bool(optimized(module)) == (second in ("ReLU", "Clip"))


# --- 8 and 9: constants and sums ------------------------------------------------------------


@pytest.mark.parametrize("split", [False, True])
@pytest.mark.parametrize("op_type", [1, 3, 6])
def test_shared_constants(net: Any, optimized: Any, split: bool, op_type: int) -> None:
    """One constant of two BinaryOps, left of SUB, DIV and POW: both take it, nothing dangles."""
    a, b = ("p", "q") if split else ("k", "k")
    text = PLANES + "MemoryData k 0 1 k 0=1\n" + ("Split s 1 2 k p q\n" if split else "")
    text += f"BinaryOp m 2 1 {a} x m 0={op_type}\nBinaryOp y 2 1 m {b} y 0=2"
    module = net(text, {"k.data": 1.5})
    assert optimized(module).count("fuse_memorydata_binaryop") == 2
    assert "MemoryData" not in types(module)


def test_a_constant_that_is_an_output(net: Any, optimized: Any) -> None:
    """It goes into its reader and stays an output; a Split of it does not matter."""
    text = PLANES + "MemoryData k 0 1 k 0=1\nSplit s 1 2 k p q\nBinaryOp y 2 1 x p y 0=2"
    module = net(text, {"k.data": 1.5})
    optimized(module)
    assert sorted(Network.of(module).outputs) == ["q", "y"]


@pytest.mark.parametrize("shapes", [("0=4 1=4 2=2", "0=2"), ("0=2", "0=4 1=4 2=2")])
def test_scaled_terms_that_broadcast(net: Any, optimized: Any, shapes: tuple[str, str]) -> None:
    """a s + b t with different shapes is no Eltwise, in both orders."""
    first, second = shapes
    module = net(f"""Input x 0 1 x {first}
        Input z 0 1 z {second}
        BinaryOp a 1 1 x a 0=2 1=1 2=2
        BinaryOp b 1 1 z b 0=2 1=1 2=3
        BinaryOp y 2 1 a b y 0=0""")
    assert not optimized(module)


# --- 10 to 12: splits, poolings, noops ------------------------------------------------------


@pytest.mark.parametrize("consumed", [0, 1, 3])
@pytest.mark.parametrize("unconsumed", [0, 1])
@pytest.mark.parametrize("behind", ["x", "r"])
def test_splits(net: Any, optimized: Any, consumed: int, unconsumed: int, behind: str) -> None:
    """A Split goes; each of its blobs that nobody reads stays an output of the network."""
    count = consumed + unconsumed
    if not count:
        return
    blobs = [f"s{k}" for k in range(count)]
    text = PLANES + "ReLU r 1 1 x r\n" * (behind == "r")
    text += f"Split s 1 {count} {behind} {' '.join(blobs)}\n"
    text += "".join(f"BinaryOp o{k} 1 1 s{k} o{k} 1=1 2={k + 1}\n" for k in range(consumed))
    module = net(text)
    outputs = list(Network.of(module).outputs)
    optimized(module)
    network = Network.of(module)
    assert "Split" not in types(module) and list(network.inputs) == ["x"]
    assert list(network.outputs) == outputs and len(outputs) == count


@pytest.mark.parametrize(
    ("shape", "params", "fires"),
    [
        ("0=5 1=4 2=3", "1=1", True),
        ("0=5 1=4", "1=1", False),
        ("0=5", "1=1", False),
        ("0=5 1=4 11=3 2=2", "1=1", False),
        ("0=5 1=4 2=3", "1=1 2=1 7=1 8=2", False),
    ],
)
def test_poolings_of_one_cell(
    net: Any, optimized: Any, shape: str, params: str, fires: bool
) -> None:
    """Identity in rank 3 only, and not where the parts are adaptive."""
    module = net(f"Input x 0 1 x {shape}\nAbsVal a 1 1 x a\nPooling y 1 1 a y {params}")
    assert optimized(module) == (["eliminate_pooling1x1"] if fires else [])


@pytest.mark.parametrize(("inputs", "results"), [(1, 1), (2, 2), (6, 1), (2, 1)])
@pytest.mark.parametrize("fed", [False, True])
def test_noops(net: Any, optimized: Any, inputs: int, results: int, fed: bool) -> None:
    """Result k is input k; inputs beyond that are outputs now, and the network's input is not."""
    made = ["x"] if fed else []
    text = PLANES
    for k in range(inputs - fed):
        text += f"BinaryOp a{k} 1 1 x a{k} 1=1 2={k + 1}\n"
        made.append(f"a{k}")
    results_text = " ".join(f"y{k}" for k in range(results))
    module = net(text + f"Noop n {inputs} {results} {' '.join(made)} {results_text}")
    optimized(module)
    network = Network.of(module)
    assert "Noop" not in types(module) and list(network.inputs) == ["x"]
    wanted = [f"y{k}" for k in range(results)] + [n for n in made[results:] if n != "x"]
    assert list(network.outputs) == wanted


# --- 13 and 14: means, reshapes -------------------------------------------------------------


@pytest.mark.parametrize("shape", ["0=5", "0=5 1=4", "0=5 1=4 2=3", "0=5 1=4 11=2 2=3"])
@pytest.mark.parametrize("keep", [0, 1])
@pytest.mark.parametrize("axes", ["1,2", "2,1,2", "2,-1,-2", "1,1", "1,0", "2,0,1"])
@pytest.mark.parametrize("operation", [3, 4])
def test_means(net: Any, optimized: Any, shape: str, keep: int, axes: str, operation: int) -> None:
    """Pairs of reductions and single ones, of any rank: the shape and the values stay."""
    reduction = f"0={operation} 1=0 -23303={axes} 4={keep} 5=1"
    for second in (reduction, "0=3 1=0 -23303=1,1 4=0 5=1"):
        text = f"Input x 0 1 x {shape}\nReduction a 1 1 x a {reduction}\n"
        try:
            module = net(text + f"Reduction y 1 1 a y {second}")
        except ModelError:
            continue
        optimized(module)


def test_the_largest_of_minus_infinity(net: Any) -> None:
    """A Reduction of a plane of minus infinities is -FLT_MAX, before and after."""
    module = net(PLANES + "Reduction y 1 1 x y 0=4 1=0 -23303=2,1,2 4=0 5=1")
    feeds = {"x": np.full((3, 4, 5), -np.inf, np.float32)}
    before = interpret(module, feeds)["y"]
    optimize_module(module)
    np.testing.assert_array_equal(interpret(module, feeds)["y"], before)


@pytest.mark.parametrize(
    "other", ["0=8", "0=5 1=8", "0=5 1=4 2=8", "0=5 1=4 11=2 2=8", "0=4 1=4 2=1"]
)
@pytest.mark.parametrize("source", ["0=8", "0=2 1=2 2=2", "0=8 1=1"])
@pytest.mark.parametrize("order", ["a x", "x a"])
@pytest.mark.parametrize("readers", [1, 2])
def test_reshapes_before_a_binaryop(
    net: Any, optimized: Any, other: str, source: str, order: str, readers: int
) -> None:
    """[1, 1, N] before a BinaryOp goes where N channels meet a vector of N, and nowhere else."""
    text = f"""Input x 0 1 x {other}
        Input v 0 1 v {source}
        Reshape a 1 1 v a 0=1 1=1 2=8
        BinaryOp y 2 1 {order} y 0=2
        """
    module = net(text + ("Sigmoid z 1 1 a z" if readers == 2 else ""))
    fired = "eliminate_reshape_before_binaryop" in optimized(module)
    wide = other in ("0=5 1=4 2=8", "0=5 1=4 11=2 2=8")
    assert fired == (wide and source == "0=8")


# --- 15 to 17: convolutions of vectors, outputs, inputs -------------------------------------


def test_convolutions_behind_a_global_pooling(net: Any, optimized: Any) -> None:
    """3x3 stays what it was, an error; chains of 1x1 become inner products."""
    head = "Input x 0 1 x{}\nPooling p 1 1 x p 0=1 4=1\n"
    wide = net(head.format("") + "Convolution y 1 1 p y 0=2 1=3 6=54", shapes=False)
    optimize_module(wide)
    assert types(wide)[-1] == "Convolution"
    chain = "Convolution a 1 1 p a 0=4 1=1 6=12 9=1\nConvolution y 1 1 a y 0=2 1=1 6=8"
    module = net(head.format(" 0=5 1=4 2=3") + chain)
    optimized(module)
    assert types(module) == ["Input", "Pooling", "InnerProduct", "InnerProduct"]


def test_a_constant_as_output(net: Any, optimized: Any) -> None:
    """A constant that is an output of the network stays."""
    module = net(PLANES + "MemoryData k 0 1 k 0=4\nReLU y 1 1 x y")
    optimized(module)
    assert sorted(Network.of(module).outputs) == ["k", "y"]


@pytest.mark.parametrize(
    "layer",
    [
        "Dropout d 1 1 x d",
        "Split d 1 1 x d",
        "Noop d 1 1 x d",
        "Pooling d 1 1 x d 1=1",
        "Permute d 1 1 x d",
        "Reshape d 1 1 x d 0=5 1=4 2=3",
    ],
)
@pytest.mark.parametrize("read", [False, True])
def test_inputs_keep_their_names(net: Any, optimized: Any, layer: str, read: bool) -> None:
    """What stands behind an Input goes, and callers feed the blob that they always fed."""
    module = net(PLANES + layer + ("\nReLU r 1 1 d y" if read else ""))
    outputs = list(Network.of(module).outputs)
    assert len(optimized(module)) == 1
    assert list(Network.of(module).inputs) == ["x"]
    assert list(Network.of(module).outputs) == outputs
