"""Sequences as images of one row: the same numbers, and blocks of channels in between."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.cost_model import Convolutions, CostModel
from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.convolutions.conv1d_to_conv2d import Conv1dToConv2d
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.pipeline import stages
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.compiled import compiled
from tests.crossed import crossed
from tests.structured.evaluate import evaluate

MakeNetwork = Callable[..., ModuleOp]


def convolve(b: Builder, x: Tensor, outputs: int, stride: int, stream: int) -> Tensor:
    """A padded convolution of a sequence with three taps."""
    x = b.pad(x, [0, 1], [0, 1])
    width = (x.shape[1] - 3) // stride + 1
    w = b.weight(WeightAttr(Weights((outputs, x.shape[0], 3), Random(7, stream, 0.2))))
    bias = b.weight(WeightAttr(Weights((outputs,), Random(8, stream, 1.0))))
    start = b.spread(bias, (outputs, width), axis=0)
    o, q, i, m = b.loops(f"o q:{width} i m")
    return b.sum((o, q), (i, m), x[i, q * stride + m] * w[o, i, m], start)


def residual(b: Builder, x: Tensor) -> Tensor:
    """Two convolutions, an activation between them, and the sum of both."""
    y = convolve(b, x, 32, 2, 0)
    at = b.loops_of(y.shape)
    y = b.map(at, maximum(y[at], 0.0))
    z = convolve(b, y, 32, 1, 1)
    return b.map(at, y[at] + z[at])


def test_what_lies_between_convolutions_is_in_blocks(make_network: MakeNetwork) -> None:
    """The first reads the input as it is; nothing but the result is unpacked."""
    module = make_network([(20, 31)], residual)
    x = [np.random.default_rng(1).standard_normal((20, 31)).astype(np.float32)]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    Conv1dToConv2d().apply(Context(), module)
    module.verify()
    (after,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12)
    PackChannels().apply(Context(), module)
    (packed,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(packed, before, rtol=0, atol=1e-12)
    made = [
        shape_of(op.results[0])
        for op in network_of(module).body.block.ops
        if op.name == "linalg.generic" and len(shape_of(op.results[0])) > 1
    ]
    assert made.count((2, 1, 16, 16)) == len(made) - 1


def test_matrices_stay(make_network: MakeNetwork) -> None:
    """A product whose factor's rows are summed has no window, whatever follows it."""

    def product(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr(Weights((20, 24), Random(7, 0, 0.2))))
        m, n, k = b.loops("m n k")
        y = b.sum((m, n), (k,), x[m, k] * w[k, n])
        at = b.loops_of(y.shape)
        return b.map(at, maximum(y[at], 0.0))

    module = make_network([(31, 20)], product)
    text = str(module)
    Conv1dToConv2d().apply(Context(), module)
    assert str(module) == text


def test_points_are_lifted_where_constants_sum_their_channels(make_network: MakeNetwork) -> None:
    """As in a convolution with one tap; a product of two computed factors is one of matrices."""

    def sums(b: Builder, x: Tensor, y: Tensor) -> list[Tensor]:
        w = b.weight(WeightAttr(Weights((24, 20), Random(7, 0, 0.2))))
        o, q, i = b.loops("o q i")
        return [
            b.sum((o, q), (i,), x[i, q] * w[o, i]),
            b.sum((o, q), (i,), x[i, q] * y[o, i]),
        ]

    module = make_network([(20, 31), (24, 20)], sums)
    told = Conv1dToConv2d().explain(module)
    assert [one.reason for one in told] == ["", "both matrices of the product are computed"]
    made = [shape_of(op.results[0]) for op in generics_of(network_of(module).body.block)]
    assert made == [(24, 1, 31), (24, 31)]


def test_full_vectors_stay(make_network: MakeNetwork) -> None:
    """They are not, if the sequence fills its vectors."""

    def sums(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr(Weights((24, 20), Random(7, 0, 0.2))))
        o, q, i = b.loops("o q i")
        return b.sum((o, q), (i,), x[i, q] * w[o, i])

    (told,) = Conv1dToConv2d().explain(make_network([(20, 32)], sums))
    assert told.reason == "vectors along the sequence have hardly an empty lane"
    wide = Conv1dToConv2d(CostModel(convolutions=Convolutions(fewest_empty_lanes=0)))
    assert wide.explain(make_network([(20, 32)], sums))[0].fired


TRANSPOSED = """7767517
3 3
Input data 0 1 data 0=9 1=20
Deconvolution1D up 1 1 data a 0=32 1=5 3=2 4=1 5=1 6=3200
Deconvolution1D further 1 1 a b 0=16 1=4 3=3 5=1 6=2048
"""


def test_transposed_convolutions_sum_in_blocks(tmp_path: Path) -> None:
    """Every phase of their stride does, where more than a window's extent is read for it."""
    param = tmp_path / "net.param"
    param.write_text(TRANSPOSED)
    seen: dict[str, list[tuple[int, ...]]] = {}

    def look(name: str, module: ModuleOp) -> None:
        sums = [op for op in generics_of(network_of(module).body.block) if LinalgOp(op).reduced]
        seen[name] = [shape_of(op.results[0]) for op in sums]

    for name, _ in stages(param, random_weights=1, observe=look):
        if name == "linalg":
            break
    assert seen["convert-ncnn-to-linalg"] == [(32, 19)] * 2 + [(16, 58)] * 3
    assert seen["pack-channels"] == [(2, 1, 19, 16)] * 2 + [(1, 1, 58, 16)] * 3


NETWORK = """7767517
12 13
Input data 0 1 data 0=45 1=20
Convolution1D first 1 1 data a 0=24 1=3 3=2 4=1 5=1 6=1440
GELU gelu 1 1 a b
Split split 1 2 b b0 b1
Padding pad 1 1 b0 c 2=1 3=2 5=0.5
Convolution1D dilated 1 1 c d 0=24 1=3 2=2 4=1 5=1 6=1728 9=1
Concat concat 2 1 b1 d e 0=1
ConvolutionDepthWise1D each 1 1 e f 0=24 1=5 4=2 5=1 6=120 7=24
ConvolutionDepthWise1D groups 1 1 f g 0=32 1=3 4=1 5=1 6=1152 7=2 9=1
Deconvolution1D back 1 1 g h 0=16 1=4 3=2 4=1 5=1 6=2048 9=1
Permute turn 1 1 h i 0=1
LayerNorm norm 1 1 i y 0=16
"""


POINTWISE = """7767517
4 4
Input data 0 1 data 0=45 1=20
Convolution1D wide 1 1 data a 0=72 1=1 5=1 6=1440
GELU gelu 1 1 a b
Convolution1D narrow 1 1 b y 0=20 1=1 5=1 6=1440
"""


NETWORKS = {"windows": NETWORK, "pointwise": POINTWISE}


@pytest.mark.parametrize(
    ("name", "target"), crossed(list(NETWORKS), ["avx512", "avx2", "baseline"], usual=2)
)
def test_compiled(tmp_path: Path, name: str, target: str) -> None:
    """The numbers of -O1, which lifts nothing; the same bits for any number of threads."""
    param = tmp_path / "net.param"
    param.write_text(NETWORKS[name])
    x = np.random.default_rng(3).standard_normal((20, 45)).astype(np.float32)
    plain, one = compiled(param, x, target)
    np.testing.assert_allclose(one, plain, rtol=0, atol=1e-4)
