"""Chains in strips of rows: the same numbers, each row computed once, and when they stay whole."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

import ncc
from ncc.compiler.cost_model import CostModel
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.convolutions.compute_in_strips import (
    MOST_COMPUTATIONS,
    Chain,
    ComputeInStrips,
    chains,
    room_of,
)
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.rewrite.parts import ROWS
from ncc.compiler.options import Options
from ncc.compiler.plan import Plan
from ncc.compiler.target import AVX512, Target
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from ncc.runtime import cpu
from tests.compiler.linalg.computations import ELSEWHERE, add, add_from_elsewhere, relu
from tests.compiler.linalg.convolutions.tiled import generics
from tests.structured.evaluate import evaluate

MakeNetwork = Callable[..., ModuleOp]

CACHE = AVX512.core.l2_bytes


def strips_of(room: int) -> CostModel:
    """Any value is large enough, and strips hand on so many bytes."""
    return CostModel(large_value=1 / CACHE, strip_share=room / CACHE)


SMALL = replace(AVX512, costs=strips_of(64 << 10))
"""A target for which strips are a few rows."""


def weights(b: Builder, *shape: int, stream: int = 0) -> Tensor:
    scale = float(np.prod(shape[1:])) ** -0.5
    return b.weight(WeightAttr(Weights(shape, Random(7, stream, scale))))


def mix(b: Builder, x: Tensor, outputs: int) -> Tensor:
    """A 1x1 convolution with bias."""
    w = weights(b, outputs, x.shape[0])
    bias = b.spread(weights(b, outputs, stream=1), (outputs, *x.shape[1:]), axis=0)
    o, p, q, i = b.loops(f"o p:{x.shape[1]} q:{x.shape[2]} i")
    return b.sum((o, p, q), (i,), x[i, p, q] * w[o, i], bias)


def depthwise(b: Builder, x: Tensor, window: int = 3, stride: int = 1) -> Tensor:
    pad = window // 2
    x = b.pad(x, [0, pad, pad], [0, pad, pad])
    height, width = ((n - window) // stride + 1 for n in x.shape[1:])
    w = weights(b, x.shape[0], window, window)
    c, p, q, k, m = b.loops(f"c p:{height} q:{width} k m")
    return b.sum((c, p, q), (k, m), x[c, p * stride + k, q * stride + m] * w[c, k, m])


def bottleneck(window: int, stride: int) -> Callable[[Builder, Tensor], Tensor]:
    """An inverted residual: expand, depthwise, project, and the input where it fits."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = relu(b, x)
        y = relu(b, mix(b, x, 2 * x.shape[0]))
        y = relu(b, depthwise(b, y, window, stride))
        y = mix(b, y, x.shape[0])
        return add(b, y, x) if stride == 1 else y

    return write


def chains_of(module: ModuleOp, target: Target = SMALL) -> list[Chain]:
    return list(chains(network_of(module).body.block, target))


def check(module: ModuleOp, *shapes: Sequence[int]) -> None:
    """The same numbers before and after, plain and in blocks."""
    rng = np.random.default_rng(1)
    x = [rng.standard_normal(shape).astype(np.float32) for shape in shapes]
    (before,) = evaluate(network_of(module), x, dtype=np.float64)
    many = len(generics(module))
    ComputeInStrips(SMALL).apply(Context(), module)
    module.verify()
    assert len(generics(module)) > 1.5 * many
    (after,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(after, before, rtol=0, atol=1e-12 * np.abs(before).max())
    PackChannels().apply(Context(), module)
    (packed,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(packed, before, rtol=0, atol=1e-12 * np.abs(before).max())


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("window", [3, 5])
@pytest.mark.parametrize("size", [(24, 12), (36, 10), (26, 12)])
def test_numbers(
    make_network: MakeNetwork, size: tuple[int, int], window: int, stride: int
) -> None:
    """Rows at the border, rows of two strips, a last strip that is lower, strides, residuals."""
    shape = (16, *size)
    check(make_network([shape], bottleneck(window, stride)), shape)


@pytest.mark.parametrize(("height", "window"), [(25, 3), (26, 5)])
def test_last_strip_has_all_it_reads(
    make_network: MakeNetwork, monkeypatch: pytest.MonkeyPatch, height: int, window: int
) -> None:
    """It may read none but rows of the strip before: what else its window covers is border."""
    monkeypatch.setattr(Chain, "strip_rows", lambda *_: 8)
    shape = (16, height, 12)
    module = make_network([shape], bottleneck(window, 1))
    check(module, shape)
    assert all(0 not in shape_of(op.results[0]) for op in generics(module))


def test_numbers_of_a_long_chain(make_network: MakeNetwork) -> None:
    """Windows behind windows: each has rows of its own to hand on."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for stride in (1, 1, 2):
            x = mix(b, relu(b, depthwise(b, x, 3, stride)), 16)
        return x

    module = make_network([(16, 24, 24)], write)
    (chain,) = chains_of(module)
    assert len(chain.computations) == 9
    check(module, (16, 24, 24))


@pytest.mark.parametrize("how", ELSEWHERE)
def test_what_is_read_elsewhere(make_network: MakeNetwork, how: str) -> None:
    """Strips read their rows of a value, if these move with them; else the value is whole."""

    def write(b: Builder, x: Tensor, y: Tensor) -> Tensor:
        x = depthwise(b, relu(b, mix(b, x, 32)))
        return mix(b, depthwise(b, add_from_elsewhere(b, x, relu(b, y), how)), 16)

    shapes = [(16, 24, 24), ELSEWHERE[how]]
    check(make_network(shapes, write), *shapes)


def test_every_row_is_computed_once(make_network: MakeNetwork) -> None:
    """What the window of the next strip needs again is copied, not computed."""
    module = make_network([(16, 24, 24)], bottleneck(3, 1))

    def rows() -> int:
        reduced = [op for op in generics(module) if LinalgOp(op).reduced]
        return sum(shape_of(op.results[0])[ROWS] for op in reduced)

    before = rows()
    ComputeInStrips(SMALL).apply(Context(), module)
    assert rows() == before


def test_strips_take_less_memory(
    make_network: MakeNetwork,
    make_plan: Callable[[ModuleOp], Plan],
) -> None:
    """All strips of a value are given the same memory."""
    target = replace(AVX512, costs=strips_of(128 << 10))

    def arena(rewritten: bool) -> int:
        module = make_network([(16, 48, 48)], bottleneck(3, 2))
        if rewritten:
            ComputeInStrips(target).apply(Context(), module)
        return make_plan(module).arena_bytes

    assert arena(True) < 0.6 * arena(False)


def test_more_threads_take_higher_strips(make_network: MakeNetwork) -> None:
    """The most rows that hand on no more than there is room for, in strips that are not many."""
    (chain,) = chains_of(make_network([(24, 112, 112)], bottleneck(3, 1)), AVX512)
    rows = [chain.strip_rows(room_of(AVX512) * threads) for threads in (1, 2, 4)]
    assert rows == [16, 28, 56]
    assert chain.strip_rows(150_000) is None
    assert chain.strip_rows(room_of(AVX512), most=2) is None


def test_strips_have_two_rows_at_least(make_network: MakeNetwork) -> None:
    """Where only one fits, the chain stays whole."""
    (chain,) = chains_of(make_network([(16, 12, 16)], bottleneck(3, 1)))
    rows = [chain.strip_rows(room) for room in range(0, 32 << 10, 64)]
    assert rows[0] is None and next(filter(None, rows)) == 2


def test_a_chain_that_is_too_long_is_cut(make_network: MakeNetwork) -> None:
    """Values between two chains are whole: better so than very many strips."""

    def write(b: Builder, x: Tensor) -> Tensor:
        for _ in range(3):
            x = depthwise(b, relu(b, x))
        return x

    lengths = []
    for room in (1 << 20, 16_000, 1_000):
        target = replace(AVX512, costs=strips_of(room))
        found = chains_of(make_network([(16, 32, 32)], write), target)
        lengths.append([len(chain.computations) for chain in found])
    assert lengths == [[6], [3, 3], []]


def test_a_chain_has_so_many_computations(make_network: MakeNetwork) -> None:
    """However many follow one another point by point: strips of each are written one in another."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = depthwise(b, x)
        for _ in range(400):
            x = relu(b, x)
        return depthwise(b, x)

    module = make_network([(16, 8, 8)], write)
    lengths = [len(chain.computations) for chain in chains_of(module)]
    assert lengths and max(lengths) <= MOST_COMPUTATIONS
    ComputeInStrips(SMALL).apply(Context(), module)
    module.verify()


@pytest.mark.parametrize(("channels", "whole"), [(17, False), (32, False), (16, True), (3, True)])
def test_blocks_that_are_not_full(make_network: MakeNetwork, channels: int, whole: bool) -> None:
    """Channels take the memory of their blocks, but for the few of an image."""
    pixels = int(AVX512.costs.large_value * CACHE) // (4 * 32) + 64
    shape = (channels, 64, pixels // 64)
    module = make_network([shape], lambda b, x: depthwise(b, relu(b, x)))
    assert (not chains_of(module, AVX512)) == whole


def test_what_stays_whole(make_network: MakeNetwork) -> None:
    """Small values, values with two readers, results without rows, large weights."""

    def twice(b: Builder, x: Tensor) -> Tensor:
        y = mix(b, x, 64)
        return add(b, depthwise(b, y), y)

    def total(b: Builder, x: Tensor) -> Tensor:
        c, p, q = b.loops_of(x.shape)
        return b.sum((c,), (p, q), mix(b, x, 64)[c, p, q])

    def deep(b: Builder, x: Tensor) -> Tensor:
        return depthwise(b, mix(b, mix(b, x, 256), 256))

    def active(b: Builder, x: Tensor) -> Tensor:
        return depthwise(b, relu(b, mix(b, relu(b, mix(b, x, 256)), 256)))

    assert not chains_of(make_network([(16, 24, 24)], bottleneck(3, 1)), AVX512)
    for write in (twice, total):
        assert not chains_of(make_network([(16, 112, 112)], write), AVX512)
    for write in (deep, active):
        assert not chains_of(make_network([(16, 112, 24)], write), AVX512)


NETWORK = """7767517
4 4
Input data 0 1 data 0=24 1=24 2=16
Convolution expand 1 1 data wide 0=32 1=1 5=1 6=512 9=1
ConvolutionDepthWise window 1 1 wide deep 0=32 1=3 3={stride} 4=1 5=1 6=288 7=32 9=1
Convolution project 1 1 deep out 0=16 1=1 5=1 6=512
"""


@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("threads", [1, 2])
def test_compiled_results_are_equal_bit_by_bit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, stride: int, threads: int
) -> None:
    """Strips change neither the sums nor their order."""
    monkeypatch.setattr(cpu, "l2_bytes", lambda: CACHE)
    param = tmp_path / "net.param"
    param.write_text(NETWORK.format(stride=stride))
    x = np.random.default_rng(2).standard_normal((16, 24, 24)).astype(np.float32)
    target = Target.of("host", tiles=False)
    options = Options(target=target, random_weights=1, num_threads=threads)
    whole = compile_with(param, None, options)
    small = replace(target, costs=strips_of(64 << 10))
    cut = compile_with(param, None, replace(options, target=small))
    assert len(cut.artifact.info["steps"]) > 1.5 * len(whole.artifact.info["steps"])
    np.testing.assert_array_equal(cut(x), whole(x))


NARROWING = """7767517
4 4
Input data 0 1 data 0=64 1=112 2=16
Convolution expand 1 1 data wide 0=96 1=1 6=1536
ConvolutionDepthWise window 1 1 wide deep 0=96 1=3 4=1 6=864 7=96
Convolution project 1 1 deep out 0=16 1=1 6=1536
"""


def test_threads_change_no_bit(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """They have higher strips, and what is chosen for the contractions in them is the same."""
    monkeypatch.setattr(cpu, "l2_bytes", lambda: CACHE)
    param = tmp_path / "net.param"
    param.write_text(NARROWING)
    x = np.random.default_rng(2).standard_normal((16, 112, 64)).astype(np.float32)
    models = [ncc.compile(param, random_weights=1, num_threads=n) for n in (1, 2, 3)]
    assert len({len(model.artifact.info["steps"]) for model in models}) == 3
    first, *others = (model(x) for model in models)
    for other in others:
        np.testing.assert_array_equal(other, first)
