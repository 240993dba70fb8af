"""Factors taken into weights: the same sums, and the product over the image is gone."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.reductions.fold_scale_into_weights import FoldScaleIntoWeights
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.weights.sources import Random, Weights
from ncc.dialects.weights.weight import WeightAttr
from tests.structured.evaluate import evaluate

Make: TypeAlias = Callable[..., ModuleOp]
Write: TypeAlias = Callable[..., Tensor | list[Tensor]]
IMAGE, FACTORS = (40, 12, 12), (40,)


def scaled(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    """x[i, y, z] * s[i]"""
    loops = b.loops_of(x.shape)
    return b.map(loops, x[loops] * s[loops[0]])


def convolution(b: Builder, x: Tensor, outputs: int = 24, window: int = 1) -> Tensor:
    height, width = (n - window + 1 for n in x.shape[1:])
    shape = (outputs, x.shape[0], window, window)
    w = b.weight(WeightAttr(Weights(shape, Random(7, 0, 0.1))))
    o, y, z, i, k, m = b.loops(f"o y:{height} z:{width} i k m")
    return b.sum((o, y, z), (i, k, m), x[i, y + k, z + m] * w[o, i, k, m])


def products_of(module: ModuleOp) -> list[tuple[int, ...]]:
    """The shapes of what is multiplied point by point."""
    block = network_of(module).body.block
    generics = [op for op in block.ops if isinstance(op, GenericOp)]
    return [
        shape_of(g.results[0]) for g in generics if LinalgOp(g).is_pointwise and len(g.inputs) == 2
    ]


@pytest.fixture
def products(make_network: Make) -> Callable[..., list[tuple[int, ...]]]:
    """products(write, packed): their shapes behind the pass; what the network computes stays."""

    def behind(
        write: Write, packed: bool = False, most: int | None = None
    ) -> list[tuple[int, ...]]:
        module = make_network([IMAGE, FACTORS], write)
        draw = np.random.default_rng(0)
        feeds = [draw.standard_normal(shape).astype(np.float32) for shape in (IMAGE, FACTORS)]
        if packed:
            PackChannels().apply(Context(), module)
        else:
            feeds[0][3, 2, 1], feeds[1][5] = np.nan, np.inf
        with np.errstate(invalid="ignore"):
            before = evaluate(network_of(module), feeds)
            FoldScaleIntoWeights(most).apply(Context(), module)
            module.verify()
            after = evaluate(network_of(module), feeds)
        for a, b in zip(before, after, strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-5)
        return products_of(module)

    return behind


Products: TypeAlias = Callable[..., list[tuple[int, ...]]]


def test_weights_are_scaled_instead_of_the_image(products: Products) -> None:
    """A product over 24 x 40 weights replaces one over 40 x 12 x 12 elements."""
    assert products(lambda b, x, s: convolution(b, scaled(b, x, s))) == [(24, 40, 1, 1)]


@pytest.mark.parametrize("most", [32, 24, 16])
def test_few_outputs(products: Products, most: int) -> None:
    """Of a contraction with more the image is scaled, which tiles multiply sooner."""
    found = products(lambda b, x, s: convolution(b, scaled(b, x, s), outputs=24), most=most)
    assert found == [(24, 40, 1, 1) if most >= 24 else IMAGE]


def squeeze_and_excite(b: Builder, x: Tensor, s: Tensor) -> list[Tensor]:
    """Factors that a product of matrices makes, of a value that others read too."""
    w = b.weight(WeightAttr(Weights((40, 40), Random(7, 1, 0.1))))
    o, i = b.loops("o i")
    factors = b.sum((o,), (i,), s[i] * w[o, i])
    inner = convolution(b, x, outputs=40)
    return [convolution(b, scaled(b, inner, factors)), convolution(b, inner)]


def test_blocks_of_weights_are_scaled_as_they_are_streamed(products: Products) -> None:
    """Channels fill a part of the last block."""
    assert products(squeeze_and_excite, packed=True) == [(2, 3, 1, 1, 16, 16)]


def test_weights_of_windows_are_scaled(products: Products) -> None:
    """Each of a window by the factor of its channel."""
    found = products(lambda b, x, s: convolution(b, scaled(b, x, s), outputs=2, window=3))
    assert found == [(2, 40, 3, 3)]


@pytest.mark.parametrize("outputs", [4, 48])
def test_equal_weights_are_scaled_once(products: Products, outputs: int) -> None:
    """Parts of an image are read by contractions that share their weights: they count together."""

    def write(b: Builder, x: Tensor, s: Tensor) -> list[Tensor]:
        w = b.weight(WeightAttr(Weights((outputs, x.shape[0]), Random(7, 0, 0.1))))
        parts = []
        for first in (0, 6):
            rows = scaled(b, b.slice(x, [0, first, 0], [x.shape[0], 6, x.shape[2]]), s)
            o, y, z, i = b.loops(f"o y:6 z:{x.shape[2]} i")
            parts.append(b.sum((o, y, z), (i,), rows[i, y, z] * w[o, i]))
        return parts

    assert products(write) == [(outputs, 40)]


def _small_image(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    return convolution(b, scaled(b, x, s), outputs=96)


def _padded(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    """An infinite factor of a border's zero would be NaN."""
    return convolution(b, b.pad(scaled(b, x, s), [0, 1, 1], [0, 1, 1]), outputs=2, window=3)


def _read_twice(b: Builder, x: Tensor, s: Tensor) -> list[Tensor]:
    both = scaled(b, x, s)
    return [convolution(b, both), convolution(b, both)]


def _stored_with_what_is_scaled(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    return convolution(b, scaled(b, convolution(b, x, outputs=40), s))


def _behind_an_activation(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    loops = b.loops_of(x.shape)
    return convolution(b, b.map(loops, maximum(x[loops], 0.0) * s[loops[0]]))


def _by_weights_of_a_run(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    o, i = b.loops_of((24, 40))
    w, x = b.map((o, i), s[i] + 1.0), scaled(b, x, s)
    o, y, z, i = b.loops("o y z i")
    return b.sum((o, y, z), (i,), x[i, y, z] * w[o, i])


def _along_the_image(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    loops = b.loops_of(x.shape)
    row = b.slice(s, [0], [x.shape[1]])
    return convolution(b, b.map(loops, x[loops] * row[loops[1]]), outputs=4)


def _divided(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    loops = b.loops_of(x.shape)
    return convolution(b, b.map(loops, x[loops] / s[loops[0]]))


def _by_more_than_the_factors(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    loops = b.loops_of(x.shape)
    return convolution(b, b.map(loops, x[loops] * (s[loops[0]] + 1.0)))


def _of_two_factors(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    i, y, z = b.loops_of(x.shape)
    row = b.slice(s, [0], [x.shape[1]])
    return convolution(b, b.map((i, y, z), s[i] * row[y]), outputs=4)


def _in_groups(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    x, w = scaled(b, x, s), b.weight(WeightAttr(Weights((2, 4, 20), Random(7, 0, 0.1))))
    g, o, y, z, i = b.loops(f"g o y:{x.shape[1]} z:{x.shape[2]} i")
    return b.sum((g, o, y, z), (i,), x[g * 20 + i, y, z] * w[g, o, i])


def _from_behind(b: Builder, x: Tensor, s: Tensor) -> Tensor:
    x, w = scaled(b, x, s), b.weight(WeightAttr(Weights((4, 40), Random(7, 0, 0.1))))
    o, y, z, i = b.loops("o y z i")
    return b.sum((o, y, z), (i,), x[i, y, z] * w[o, i * -1 + 39])


def test_products_of_windows(products: Products) -> None:
    """A product that is folded is none of an image and its factors."""

    def write(b: Builder, x: Tensor, s: Tensor) -> Tensor:
        i, y, z, k = b.loops("i:40 y:12 z:11 k:2")
        return convolution(b, b.product((i, y, z), (k,), x[i, y, z + k]), outputs=4)

    assert not products(write)


@pytest.mark.parametrize(
    "write",
    [
        _small_image,
        _padded,
        _read_twice,
        _stored_with_what_is_scaled,
        _behind_an_activation,
        _by_weights_of_a_run,
        _along_the_image,
        _divided,
        _by_more_than_the_factors,
        _of_two_factors,
        _in_groups,
        _from_behind,
    ],
)
def test_the_image_is_scaled(products: Products, write: Any) -> None:
    """Where the weights are more, or it is read by others, or the factors are not the sum's."""
    assert products(write) == [IMAGE]
