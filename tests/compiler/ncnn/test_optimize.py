"""Patterns are driven to one end, whatever their order; names, blobs and switches hold."""

from __future__ import annotations

import random
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimizations.optimization import OPTIMIZATIONS
from ncc.compiler.ncnn.optimize import explain, optimizations_of, optimize_module, pattern_names
from ncc.compiler.ncnn.rewrite import Rewrite
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match
from ncc.dialects.ncnn.layer import PATTERNS
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError
from tests.ncnn_text import parse, types

GOLDEN = Path(__file__).parents[2] / "ir" / "ncnn" / "optimize"
CASES = sorted(GOLDEN.glob("*.mlir"))

CHAIN = """
    Input data 0 1 data 0=6 1=5 2=3
    Convolution conv 1 1 data c 0=4 1=3 6=108
    BatchNorm bn 1 1 c b 0=4 1=0.1
    ReLU relu 1 1 b r
    Dropout drop 1 1 r y
"""
VARIANCE = {"bn.var": 1.0}

OF_NCNNOPTIMIZE = """
    fuse_batchnorm_scale fuse_convolution_batchnorm fuse_convolution_mul fuse_convolution_add
    fuse_convolutiondepthwise_batchnorm fuse_convolutiondepthwise_mul fuse_convolutiondepthwise_add
    fuse_deconvolution_batchnorm fuse_deconvolution_mul fuse_deconvolution_add
    fuse_deconvolutiondepthwise_batchnorm fuse_innerproduct_batchnorm fuse_innerproduct_add
    fuse_innerproduct_dropout replace_reduction_with_global_pooling replace_prelu_with_leaky_relu
    fuse_convolution_activation fuse_convolutiondepthwise_activation fuse_deconvolution_activation
    fuse_deconvolutiondepthwise_activation fuse_innerproduct_activation fuse_memorydata_binaryop
    fuse_binaryop_eltwise eliminate_dropout eliminate_pooling1x1 eliminate_noop eliminate_split
    eliminate_flatten_after_global_pooling eliminate_reshape_after_global_pooling
    eliminate_reshape_before_binaryop replace_convolution_with_innerproduct_after_global_pooling
    replace_convolution_with_innerproduct_after_innerproduct eliminate_flatten_after_innerproduct
    eliminate_orphaned_memorydata
""".split()


def golden(path: Path) -> ModuleOp:
    """The module in front of the rewrite."""
    module = parse(path.read_text().partition("// -- becomes --")[0])
    infer_shapes(module)
    return module


def test_all_passes_of_ncnnoptimize_are_there() -> None:
    """Each of its 34 sweeps is a pattern of the same name."""
    assert len(OF_NCNNOPTIMIZE) == 34
    assert set(OF_NCNNOPTIMIZE) < set(pattern_names())


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_numbers_stay(path: Path, optimized: Any) -> None:
    """The golden texts compute the same before and after; what must not fire does not."""
    fired = optimized(golden(path))
    pattern = max(filter(path.stem.startswith, pattern_names()), key=len)
    assert (pattern in fired) == ("_not_" not in path.stem)


def test_rewrites_are_recorded(net: Any) -> None:
    """A record names the pattern, the layers with their lines, and the layer that survives."""
    rewrites = optimize_module(net(CHAIN, VARIANCE))
    assert rewrites == [
        Rewrite("fuse_convolution_batchnorm", ("conv", "bn"), (4, 5), "conv"),
        Rewrite("fuse_convolution_activation", ("conv", "relu"), (4, 6), "conv"),
        Rewrite("eliminate_dropout", ("drop",), (7,), "conv"),
    ]
    assert str(rewrites[0]) == "fuse_convolution_batchnorm conv bn"


def test_the_first_layer_and_the_last_blob_survive(net: Any) -> None:
    """The convolution keeps its name; its blob is that of what it absorbed."""
    module = net(CHAIN, VARIANCE)
    optimize_module(module)
    layer = Network.of(module).layers[-1]
    assert (layer.layer_name, layer.blob_names) == ("conv", ("r",))
    assert list(Network.of(module).outputs) == ["y"]


def test_inputs_keep_their_names(net: Any) -> None:
    """Dropout, Split, Noop and a Pooling of one cell behind an Input vanish; the Input does not."""
    module = net("""
        Input data 0 1 data 0=6 1=5 2=3
        Dropout a 1 1 data a
        Split b 1 2 a b0 b1
        Noop c 1 1 b0 c
        Pooling d 1 1 c d 1=1
        BinaryOp y 2 1 d b1 y 0=2
    """)
    optimize_module(module)
    assert types(module) == ["Input", "BinaryOp"]
    assert list(Network.of(module).inputs) == ["data"]


def test_patterns_are_switched_off_by_name(net: Any, optimized: Any) -> None:
    """Without one pattern the others go on; an unknown name is told."""
    module = net(CHAIN, VARIANCE)
    fired = optimized(module, off=["fuse_convolution_batchnorm", "eliminate_dropout"])
    assert fired == []
    module = net(CHAIN, VARIANCE)
    assert optimized(module, off=["fuse_convolution_activation"]) == [
        "fuse_convolution_batchnorm",
        "eliminate_dropout",
    ]
    with pytest.raises(InputError, match="fuse_convolution_batchnorm"):
        optimize_module(module, off=["fuse_convolution_batchnrom"])


def test_kept_blobs_survive(net: Any, optimized: Any) -> None:
    """A kept blob is there by its name with its value; the outputs are as before."""
    module = net(CHAIN, VARIANCE)
    assert optimized(module, keep=["b"]) == ["fuse_convolution_batchnorm", "eliminate_dropout"]
    network = Network.of(module)
    assert list(network.outputs) == ["y"]
    assert [layer.blob_names for layer in network.layers] == [("data",), ("b",), ("r",)]
    with pytest.raises(InputError, match="'bb'"):
        optimize_module(module, keep=["bb"])


def test_a_kept_name_of_an_input_becomes_an_output(net: Any) -> None:
    """Where a kept blob is the input itself under another name, only an output can say so."""
    module = net("Input x 0 1 x 0=4\nDropout d 1 1 x d\nReLU r 1 1 d y")
    assert [str(rewrite) for rewrite in optimize_module(module, keep=["d"])] == [
        "eliminate_dropout d"
    ]
    network = Network.of(module)
    assert list(network.outputs) == ["y", "d"]
    assert network.outputs["d"] is network.inputs["x"]
    assert not optimize_module(module, keep=["d"])


def test_a_kept_name_that_a_rewrite_drops_comes_back(net: Any) -> None:
    """A layer that made no named output has the name of the kept blob behind it."""
    module = net("Input x 0 1 x 0=4\nAbsVal a 1 1 x a\nDropout d 1 1 a d\nReLU r 1 1 d y")
    optimize_module(module, keep=["d"])
    assert [layer.blob_names for layer in Network.of(module).layers] == [("x",), ("d",), ("y",)]


def test_a_check_refuses(net: Any) -> None:
    """A reason of the hook keeps a rewrite from happening; it is asked for legal ones only."""
    asked: list[str] = []

    def check(pattern: LayerPattern, layers: Match) -> str | None:
        asked.append(pattern.name)
        return "not this one" if pattern.name == "fuse_convolution_batchnorm" else None

    module = net(CHAIN, VARIANCE)
    assert [r.pattern for r in optimize_module(module, check=check)] == ["eliminate_dropout"]
    assert set(asked) == {"fuse_convolution_batchnorm", "eliminate_dropout"}


def test_feature_masks_are_left_alone(net: Any, optimized: Any) -> None:
    """A layer with a mask is not fused, but still an identity where it is one."""
    module = net(CHAIN.replace("0=4 1=0.1", "0=4 1=0.1 31=1"), VARIANCE)
    assert optimized(module) == ["eliminate_dropout"]
    reasons = explain(module, "fuse_convolution_batchnorm")
    assert reasons == [("bn", "bn has the feature mask 1")]


def test_what_a_noop_collects_is_an_output(net: Any, optimized: Any) -> None:
    """Without the Noop nobody reads the blobs it ended: they are outputs, as in ncnn."""
    module = net("""
        Input x 0 1 x 0=4
        AbsVal a 1 1 x a
        ReLU b 1 1 x b
        Noop n 2 1 a b y
    """)
    assert optimized(module) == ["eliminate_noop"]
    assert list(Network.of(module).outputs) == ["y", "b"]
    assert types(module) == ["Input", "AbsVal", "ReLU"]


def test_reasons_are_told_for_canonicalizations_and_optimizations(net: Any) -> None:
    """`explain` knows both kinds, and no other name."""
    module = net(CHAIN.replace("r y", "r y 0=0.5"), VARIANCE)
    assert explain(module, "eliminate_dropout") == [("drop", "its scale is 0.5, not 1")]
    assert explain(module, "fuse_convolution_batchnorm") == []
    with pytest.raises(InputError, match="eliminate_dropout"):
        explain(module, "eliminate_dropuot")


# --- the order ------------------------------------------------------------------------------

MANY = """
    Input data 0 1 data 0=6 1=5 2=3
    Split s 1 3 data s0 s1 s2
    Padding pad 1 1 s0 p 0=1 1=1 2=1 3=1
    Convolution conv 1 1 p c 0=4 1=3 6=108
    BatchNorm bn 1 1 c b 0=4 1=0.1
    MemoryData k 0 1 k 0=4
    BinaryOp add 2 1 k b a 0=0
    PReLU pr 1 1 a r 0=1
    Permute pa 1 1 s1 pa 0=3
    Permute pb 1 1 pa pb 0=4
    Convolution dw 1 1 pb d 0=4 1=1 6=12
    MemoryData two 0 1 two 0=1
    BinaryOp m 2 1 d two m 0=2
    BinaryOp n 1 1 r n 0=2 1=1 2=0.25
    BinaryOp sum 2 1 m n u 0=0
    Pooling gap 1 1 u g 0=1 4=1
    Reshape rs 1 1 g v 0=1 1=1 2=4
    Convolution fc 1 1 v w 0=4 1=1 6=16
    Sigmoid sg 1 1 w q
    BinaryOp se 2 1 u q t 0=2
    Sigmoid sw 1 1 t z
    BinaryOp sl 2 1 t z o 0=2
    Flatten f1 1 1 o f
    Flatten f2 1 1 f h
    InnerProduct ip 1 1 h i 0=5 2=600
    Flatten f3 1 1 i j
    Dropout dr 1 1 j l 0=0.5
    Clip cl 1 1 l e 0=0 1=6
    AbsVal av 1 1 s2 x
"""


@pytest.fixture
def shuffled() -> Iterator[Any]:
    """shuffled(seed): offer patterns in another order, for one test."""
    optimizations = list(OPTIMIZATIONS)
    canonicalizations = {type: list(held) for type, held in PATTERNS.items()}

    def shuffle(seed: int) -> None:
        generator = random.Random(seed)
        generator.shuffle(OPTIMIZATIONS)
        for held in PATTERNS.values():
            generator.shuffle(held)
        optimizations_of.cache_clear()

    yield shuffle
    OPTIMIZATIONS[:] = optimizations
    for type, held in canonicalizations.items():
        PATTERNS[type][:] = held
    optimizations_of.cache_clear()


def test_the_order_of_patterns_does_not_matter(net: Any, optimized: Any, shuffled: Any) -> None:
    """A network that most patterns have a hand in ends as the same layers, in any order."""

    def ended() -> list[tuple[str, str, tuple[str, ...]]]:
        module = net(MANY, VARIANCE)
        optimized(module, tolerance=1e-4)
        layers = Network.of(module).layers
        return [(layer.LAYER.type, layer.layer_name, layer.blob_names) for layer in layers]

    expected = ended()
    assert len(expected) == 10
    for seed in range(4):
        shuffled(seed)
        assert ended() == expected, seed


def test_weights_are_rounded_once(net: Any) -> None:
    """A fold is computed in float64: its weights are the float32 nearest to the product."""
    module = net(CHAIN, VARIANCE)
    convolution, batchnorm = Network.of(module).layers[1:3]
    weight = convolution.properties["weight"].array().astype(np.float64)  # type: ignore[attr-defined]
    slope = batchnorm.properties["slope"].array().astype(np.float64)  # type: ignore[attr-defined]
    deviation = np.sqrt(np.float32(1) + np.float32(0.1)).astype(np.float64)
    optimize_module(module)
    found = Network.of(module).layers[1].properties["weight"].array()  # type: ignore[attr-defined]
    wanted = (weight * (slope / deviation)[:, None, None, None]).astype(np.float32)
    np.testing.assert_array_equal(found, wanted)
