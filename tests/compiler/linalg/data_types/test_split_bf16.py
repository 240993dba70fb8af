"""Contractions by pairs of bfloat16: the same sums, but for 2**-16 of their largest terms."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import AnyFloat, ModuleOp, bf16, f32
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.attributes import FACTORS
from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.convolutions.forms import F2
from ncc.compiler.linalg.data_types.split_bf16 import SplitBf16
from ncc.compiler.linalg.fusion.tile_and_fuse import TileAndFuse
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.target import AMX, Target
from ncc.dialects.bfloat16 import bf16_pairs, from_bfloat16
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import sqrt
from ncc.dialects.tile import TILE_K
from ncc.dialects.tiled import TiledLoopOp
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.convolutions.tiled import in_tiles
from tests.compiler.tile_cores import FAST, SHARED, SLOW
from tests.crossed import some
from tests.structured.evaluate import evaluate

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Array: TypeAlias = np.ndarray[Any, Any]
Write: TypeAlias = Callable[[Builder, Tensor], Tensor]

LEFT = 2.0**-16
"""What one product may lose of itself, the other terms' half units in the last place too."""


def random(*shape: int, seed: int = 0) -> Array:
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def blocked(b: Builder, x: Tensor) -> Tensor:
    """x out of a convolution that changes nothing, so that its channels are in blocks."""
    w = b.weight(WeightAttr.of(np.eye(x.shape[0], dtype=np.float32)))
    o, y, z, i = b.loops("o y z i")
    return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])


def convolution(outputs: int, kernel: int, stride: int = 1) -> Write:
    return lambda b, x: windows(outputs, kernel, stride)(b, blocked(b, x))


def windows(outputs: int, kernel: int, stride: int = 1) -> Write:
    """A convolution of planes inside of a border, as a first layer is."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x = b.pad(x, (0, kernel // 2, kernel // 2), (0, kernel // 2, kernel // 2))
        w = b.weight(WeightAttr.of(random(outputs, x.shape[0], kernel, kernel, seed=1)))
        size = [(n - kernel) // stride + 1 for n in x.shape[1:]]
        o, y, z, i, k, m = b.loops(f"o y:{size[0]} z:{size[1]} i k m")
        term = x[i, y * stride + k, z * stride + m] * w[o, i, k, m]
        return b.sum((o, y, z), over=(i, k, m), of=term)

    return write


def groups(number: int, outputs: int, kernel: int) -> Write:
    """A convolution in groups of so many outputs each, of channels in blocks."""

    def write(b: Builder, x: Tensor) -> Tensor:
        size = x.shape[0] // number
        x = b.pad(blocked(b, x), (0, kernel // 2, 0), (0, kernel // 2, 0))
        w = b.weight(WeightAttr.of(random(number, outputs, size, kernel, seed=1)))
        g, o, y, z, i, k = b.loops(f"g o y:{x.shape[1] - kernel + 1} z i k")
        term = x[g * size + i, y + k, z] * w[g, o, i, k]
        return b.collapse(b.sum((g, o, y, z), over=(i, k), of=term), [[0, 1], [2], [3]])

    return write


def planes(b: Builder, x: Tensor) -> Tensor:
    """A convolution of what nobody has put into blocks."""
    w = b.weight(WeightAttr.of(random(16, x.shape[0], 1, 3, seed=1)))
    o, y, z, i, k, m = b.loops(f"o y:{x.shape[1]} z:{x.shape[2] - 2} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def rows(outputs: int) -> Write:
    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(WeightAttr.of(random(outputs, x.shape[1], seed=1)))
        m, n, k = b.loops("m n k")
        return b.sum((m, n), over=(k,), of=x[m, k] * w[n, k])

    return write


def components(b: Builder, x: Tensor) -> Tensor:
    """Components that have weights of their own, as those of a transform have."""
    channels, components, size = x.shape
    w = b.weight(WeightAttr.of(random(components, 40, channels, seed=1)))
    o, p, z, i = b.loops(f"o p z:{size} i")
    return b.sum((o, p, z), over=(i,), of=blocked(b, x)[i, p, z] * w[p, o, i])


def bf16_sums(module: ModuleOp) -> list[LinalgOp]:
    """The contractions on bfloat16."""
    views = [LinalgOp(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
    return [v for v in views if v.reduced and element_of(v.reads[0].value) == bf16]


def last_sum(module: ModuleOp) -> LinalgOp:
    """The last contraction."""
    views = [LinalgOp(op) for op in network_of(module).body.block.ops if isinstance(op, GenericOp)]
    return [v for v in views if v.reduced][-1]


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (convolution(32, 1), (32, 3, 4)),
        (convolution(16, 3), (64, 4, 5)),
        (convolution(24, 3, 2), (40, 9, 8)),
        (convolution(40, 3), (48, 5, 7)),
        (planes, (33, 2, 9)),
        (planes, (12, 2, 9)),  # three elements of a row are more than a k-tile
        (windows(32, 7, 2), (3, 11, 12)),
        (windows(20, 5), (3, 6, 7)),
        (windows(16, 9), (4, 9, 10)),
        (rows(48), (12, 64)),
        (rows(20), (8, 50)),
        (components, (72, 3, 11)),
        (groups(3, 40, 1), (192, 5, 7)),
        (groups(3, 40, 1), (240, 5, 7)),  # an odd number of blocks each
        (groups(2, 24, 3), (96, 4, 5)),
    ],
)
def test_the_same_sums(make_network: MakeNetwork, write: Write, shape: tuple[int, ...]) -> None:
    """Channels beyond the last and blocks beyond the last pair of blocks add nothing."""
    module = make_network([shape], write)
    x = random(*shape)
    [exact] = evaluate(network_of(module), [x], dtype=np.float64)
    [bound] = evaluate(network_of(_absolute(make_network, write, shape)), [abs(x)])
    PackChannels().apply(Context(), module)
    SplitBf16(FAST).apply(Context(), module)
    module.verify()
    found = bf16_sums(module)
    assert found and all(shape_of(v.reads[0].value)[-1] >= TILE_K for v in found)
    [after] = evaluate(network_of(module), [x])
    assert (abs(after - exact) <= LEFT * bound).all()


@pytest.mark.parametrize(
    ("write", "shape", "l2_bytes", "parts"),
    [
        (rows(256), (9, 640), 1 << 14, 3),
        (rows(256), (9, 640), 1 << 20, 1),  # all stays in L2
        (rows(64), (9, 640), 1 << 14, 1),  # sums are as much as the data
        (components, (288, 7, 24), 1 << 16, 1),  # those of one component stay
    ],
)
def test_sums_in_parts(
    make_network: MakeNetwork, write: Write, shape: tuple[int, ...], l2_bytes: int, parts: int
) -> None:
    """As many as let the data of one stay in L2, where the sums in between are less than they."""
    module = make_network([shape], write)
    x = random(*shape)
    [exact] = evaluate(network_of(module), [x], dtype=np.float64)
    PackChannels().apply(Context(), module)
    SplitBf16(replace(FAST, core=replace(FAST.core, l2_bytes=l2_bytes))).apply(Context(), module)
    module.verify()
    *_, last = found = bf16_sums(module)
    sums = [v for v in found if shape_of(v.op.results[0]) == shape_of(last.op.results[0])]
    assert len(sums) == parts
    [after] = evaluate(network_of(module), [x])
    assert abs(after - exact).max() <= 1e-5 * abs(exact).max()


def _absolute(make_network: MakeNetwork, write: Write, shape: tuple[int, ...]) -> ModuleOp:
    """The same network of the absolute values of its weights."""
    module = make_network([shape], write)
    for op in list(network_of(module).body.block.ops):
        if hasattr(op, "value") and isinstance(op.value, WeightAttr):
            op.properties["value"] = WeightAttr.of(abs(op.value.array()))
    return module


def product(x: Array, y: Array) -> Array:
    """x @ y by three products of bf16 parts, as float32 arithmetic has it."""
    (high, low), (weight, rest) = (
        [from_bfloat16(half) for half in bf16_pairs(factor)] for factor in (x, y)
    )
    with np.errstate(invalid="ignore"):
        return np.asarray(low @ weight + high @ weight + high @ rest)


def adversarial(kind: str) -> tuple[Array, Array]:
    """Factors of a product that a careless split would lose most of."""
    x, y = random(24, 96), random(96, 24, seed=1)
    match kind:
        case "half way":  # between two bfloat16, the second half is as large as it can be
            x, y = (np.sign(v) * np.float32(1 + 2.0**-8) for v in (x, y))
        case "last place":  # the second half leaves as much as it can
            x, y = (np.sign(v) * np.float32(2 - 2.0**-23) for v in (x, y))
        case "cancelling":
            x, y = np.concatenate([x, -x], 1), np.concatenate([y, y * np.float32(1 + 2.0**-20)])
        case "scales apart":
            x *= np.float32(2.0) ** np.arange(-48, 48, dtype=np.float32)
            y *= np.float32(2.0) ** np.arange(48, -48, -1, dtype=np.float32)[:, None]
        case "positive":
            x, y = abs(x), abs(y)
    return x, y


@pytest.mark.parametrize(
    "kind", ["normal", "half way", "last place", "cancelling", "scales apart", "positive"]
)
def test_bound(kind: str) -> None:
    """The error is at most 2**-16 of the sum of all |x * y|."""
    x, y = adversarial(kind)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    bound = abs(x).astype(np.float64) @ abs(y).astype(np.float64)
    assert (abs(product(x, y) - exact) <= LEFT * bound).all()


@pytest.mark.parametrize("depth", [64, 576, 4608])
def test_class_of_float32(depth: int) -> None:
    """Of random numbers, 1e-5 of the largest result whatever the depth of the sum."""
    x, y = random(32, depth), random(depth, 32, seed=1)
    exact = x.astype(np.float64) @ y.astype(np.float64)
    assert abs(product(x, y) - exact).max() <= 1e-5 * abs(exact).max()


@pytest.mark.parametrize("depth", some([32, 512], usual=1))
@pytest.mark.parametrize("data", ["normal", "positive", "offset"])
def test_class_of_float32_in_tiles(depth: int, data: str) -> None:
    """The same of sums of F(2), which convolutions are computed in tiles by."""
    x, w = random(48, depth, 4, 4), random(64, depth, 3, 3, seed=1)
    x = {"normal": x, "positive": np.maximum(x, 0), "offset": x + np.float32(5)}[data]
    to, of, back = (np.array(m, np.float32) for m in (F2.input, F2.filter, F2.output))
    v, u = (to @ x @ to.T).transpose(2, 3, 0, 1), (of @ w @ of.T).transpose(2, 3, 1, 0)
    found = back @ product(v, u).transpose(2, 3, 0, 1) @ back.T
    seen = np.lib.stride_tricks.sliding_window_view(x.astype(np.float64), (3, 3), (2, 3))
    exact = np.einsum("nipqkl,oikl->nopq", seen, w, optimize=True)
    assert abs(found - exact).max() <= 1e-5 * abs(exact).max()


def test_two_parts_leave_little() -> None:
    """2**-17 of each number; nothing of a number with sixteen bits."""
    x = random(4096)
    first, second = (from_bfloat16(half).astype(np.float64) for half in bf16_pairs(x))
    assert (abs(x - first - second) <= 2.0**-17 * abs(x)).all()
    short = np.round(x * 2**12).astype(np.float32)
    high, low = (from_bfloat16(half) for half in bf16_pairs(short))
    np.testing.assert_array_equal(high + low, short)


def test_what_is_not_finite() -> None:
    """An infinity has no second half, NaN stays NaN, and the largest numbers become infinite."""
    x = np.array([np.inf, -np.inf, np.nan, 3.4e38, -3.38e38], np.float32)
    high, low = (from_bfloat16(half) for half in bf16_pairs(x))
    np.testing.assert_array_equal(high[:4], [np.inf, -np.inf, np.nan, np.inf])
    np.testing.assert_array_equal(low[:4], np.zeros(4))
    assert np.isfinite(high[4]) and np.isfinite(low[4])


@pytest.mark.parametrize("bad", [np.inf, -np.inf, np.nan])
def test_what_is_not_finite_is_seen(make_network: MakeNetwork, bad: float) -> None:
    """Sums that depend on it are not finite either; the others do not change."""
    module = make_network([(12, 64)], rows(16))
    PackChannels().apply(Context(), module)
    SplitBf16(FAST).apply(Context(), module)
    x = random(12, 64)
    [clean] = evaluate(network_of(module), [x])
    x[3, 5] = bad
    [found] = evaluate(network_of(module), [x])
    assert not np.isfinite(found[3]).any()
    np.testing.assert_array_equal(np.delete(found, 3, 0), np.delete(clean, 3, 0))


def test_garbage_behind_the_channels(make_network: MakeNetwork) -> None:
    """What stands in a block beyond its channels reaches no sum, be it infinite."""

    def write(b: Builder, x: Tensor) -> Tensor:
        y = blocked(b, x)
        at = b.loops_of(y.shape)
        return convolution(16, 1)(b, b.map(at, sqrt(y[at]) / y[at]))  # 0 / 0 beyond

    module = make_network([(40, 3, 4)], write)
    x = abs(random(40, 3, 4)) + np.float32(0.1)
    [before] = evaluate(network_of(module), [x])
    PackChannels().apply(Context(), module)
    SplitBf16(FAST).apply(Context(), module)
    [after] = evaluate(network_of(module), [x])
    np.testing.assert_allclose(after, before, atol=1e-3)


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (convolution(16, 3), (16, 5, 5)),  # too few channels
        (windows(16, 3), (3, 9, 9)),  # most of a k-tile would be zeros
        (rows(16), (4, 64)),  # too few rows
        (lambda b, x: b.map(b.loops_of(x.shape), 1.0), (4, 64)),
    ],
)
def test_what_stays(make_network: MakeNetwork, write: Write, shape: tuple[int, ...]) -> None:
    """What tiles would not make faster."""
    module = make_network([shape], write)
    PackChannels().apply(Context(), module)
    before = str(module)
    SplitBf16(FAST).apply(Context(), module)
    assert str(module) == before


@pytest.mark.parametrize(
    ("write", "shape", "stays"),
    [
        (groups(4, 48, 1), (256, 3, 5), False),
        (groups(4, 48, 1), (64, 3, 5), True),  # too few channels of a group
        (groups(4, 16, 1), (256, 3, 5), True),  # too few products with a number
        (groups(4, 16, 3), (256, 3, 5), False),
        (groups(4, 48, 1), (256, 2, 3), True),  # too few points
    ],
)
def test_groups_that_stay(
    make_network: MakeNetwork, write: Write, shape: tuple[int, ...], stays: bool
) -> None:
    """Those whose bf16 pairs would cost more than tiles save."""
    module = make_network([shape], write)
    PackChannels().apply(Context(), module)
    SplitBf16(FAST).apply(Context(), module)
    assert stays != any(len(linalg_op.write.index) == 5 for linalg_op in bf16_sums(module))


def test_bf16_pairs_are_made_once(make_network: MakeNetwork) -> None:
    """Two readers of a value share its bf16 pairs."""
    module = make_network([(12, 64)], lambda b, x: (rows(16)(b, x), rows(32)(b, x)))
    PackChannels().apply(Context(), module)
    SplitBf16(FAST).apply(Context(), module)
    first, second = bf16_sums(module)
    assert first.reads[0].value is second.reads[0].value


@pytest.mark.parametrize(
    ("write", "shape", "target", "stays"),
    [
        (convolution(48, 1), (48, 12, 12), AMX, False),
        (convolution(24, 1), (48, 56, 56), AMX, False),
        (convolution(24, 1), (48, 56, 56), SHARED, True),  # 32 outputs of 64 inputs are computed
        (convolution(32, 1), (64, 56, 56), SHARED, False),
        (convolution(40, 1), (33, 3, 3), AMX, True),  # the like, for points that hardly fill a tile
        (rows(48), (12, 64), SLOW, True),
    ],
)
def test_what_is_cheaper_in_float32(
    make_network: MakeNetwork, write: Write, shape: tuple[int, ...], target: Target, stays: bool
) -> None:
    """Where products in k-tiles that are mostly empty take longer, it stays."""
    module = make_network([shape], write)
    PackChannels().apply(Context(), module)
    SplitBf16(target).apply(Context(), module)
    assert element_of(last_sum(module).reads[0].value) == (f32 if stays else bf16)


@pytest.mark.parametrize(("factors", "target"), [(f32, FAST), (bf16, SLOW)])
def test_factors_that_are_said(
    make_network: MakeNetwork, factors: AnyFloat, target: Target
) -> None:
    """They are obeyed, whatever the costs are, and forgotten then."""
    module = make_network([(72, 3, 11)], components)
    FACTORS.put(last_sum(module).op, factors)
    PackChannels().apply(Context(), module)
    assert str(module).count(f"{FACTORS.name} = {factors}") == 1
    SplitBf16(target).apply(Context(), module)
    assert element_of(last_sum(module).reads[0].value) == factors
    assert FACTORS.name not in str(module)


@pytest.mark.parametrize(
    ("channels", "size", "target", "bf16x3"),
    [
        (48, 36, AMX, False),
        (64, 20, AMX, True),
        (64, 36, SHARED, False),
        pytest.param(256, 20, AMX, True, marks=pytest.mark.slow),
    ],
)
def test_convolutions_round_as_they_promise(
    make_network: MakeNetwork, channels: int, size: int, target: Target, bf16x3: bool
) -> None:
    """F(4) stays in float32, where it rounds by 1e-5 of the largest result: in bf16x3 it would
    round by more. The direct convolution, and F(2), run in bf16x3.
    """
    shape = channels, size, size
    module = make_network([shape], windows(channels, 3))
    x = random(*shape)
    [exact] = evaluate(network_of(module), [x], dtype=np.float64)
    ChooseConvolution(target, bf16x3=True).apply(Context(), module)
    is_tiled = "separable" in str(module)
    PackChannels().apply(Context(), module)
    SplitBf16(target).apply(Context(), module)
    module.verify()
    assert bool(bf16_sums(module)) == bf16x3 and (is_tiled or bf16x3)
    [after] = evaluate(network_of(module), [x])
    assert abs(after - exact).max() <= 1e-5 * abs(exact).max()


@pytest.mark.parametrize("channels", [pytest.param(256, marks=pytest.mark.slow), 272])
@pytest.mark.slow
def test_sums_of_tiles_in_a_loop(make_network: MakeNetwork, channels: int) -> None:
    """Each iteration splits its own tiles; an odd number of blocks is filled up there."""
    target = in_tiles(F2, rows=3, target=AMX)
    module = make_network([(channels, 20, 20)], windows(256, 3))
    x = random(channels, 20, 20)
    [exact] = evaluate(network_of(module), [x], dtype=np.float64)
    for one in (
        ChooseConvolution(target, bf16x3=True),
        PackChannels(),
        SplitBf16(target),
        TileAndFuse(),
    ):
        one.apply(Context(), module)
        module.verify()
    (loop,) = (op for op in network_of(module).body.block.ops if isinstance(op, TiledLoopOp))
    kinds = [element_of(op.results[0]) for op in loop.body.block.ops if isinstance(op, GenericOp)]
    assert kinds[:2] == [f32, bf16] and bf16 not in kinds[2:]
    [after] = evaluate(network_of(module), [x])
    assert abs(after - exact).max() <= 1e-5 * abs(exact).max()
