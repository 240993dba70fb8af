"""What is a convolution that tiles can compute, and why others are none."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32, i32
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import generics_of, network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.convolutions.choose_convolution import ChooseConvolution
from ncc.compiler.linalg.convolutions.convolution import Convolution, match
from ncc.compiler.target import AVX512
from ncc.dialects.casts import saturated_int8
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert, maximum
from ncc.dialects.size import Size, assuming
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.convolutions.layers import convolution, grouped, weights
from tests.compiler.linalg.operations import relu

MakeNetwork: TypeAlias = Callable[..., ModuleOp]


def uneven(b: Builder, x: Tensor) -> Tensor:
    """A convolution that halves rows alone."""
    w = weights(b, (64, x.shape[0], 3, 3))
    o, p, q, i, k, m = b.loops("o p:13 q:26 i k m")
    return b.sum((o, p, q), (i, k, m), x[i, p * 2 + k, q + m] * w[o, i, k, m])


def narrow(b: Builder, x: Tensor) -> Tensor:
    """A convolution of windows of three rows and two columns."""
    w = weights(b, (64, x.shape[0], 3, 2))
    o, p, q, i, k, m = b.loops("o p:26 q:27 i k m")
    return b.sum((o, p, q), (i, k, m), x[i, p + k, q + m] * w[o, i, k, m])


def of_all(b: Builder, x: Tensor) -> Tensor:
    """Two groups of results that read the same channels."""
    w = weights(b, (2, 32, x.shape[0], 3, 3))
    g, o, p, q, i, k, m = b.loops("g o p:26 q:26 i k m")
    return b.sum((g, o, p, q), (i, k, m), x[i, p + k, q + m] * w[g, o, i, k, m])


def later_slices(b: Builder, x: Tensor) -> Tensor:
    """A convolution of a volume, without its first slice."""
    x = b.expand(x, [[0, 1], [2], [3]], (16, x.shape[0] // 16, *x.shape[1:]))
    w = weights(b, (32, 16, 3, 3))
    o, z, p, q, i, k, m = b.loops("o z:3 p:26 q:26 i k m")
    return b.sum((o, z, p, q), (i, k, m), x[i, z + 1, p + k, q + m] * w[o, i, k, m])


def of_positive(b: Builder, image: Tensor) -> Tensor:
    """A number for each channel, spread over the image."""
    bias = weights(b, image.shape[:1], 1)
    o, p, q = b.loops_of(image.shape)
    return b.map((o, p, q), maximum(bias[o], 0.0))


def of_rows(b: Builder, image: Tensor) -> Tensor:
    """A number for each row."""
    return b.spread(weights(b, image.shape[1:2], 1), image.shape, axis=1)


def on_top(b: Builder, x: Tensor, start: Callable[[Builder, Tensor], Tensor]) -> Tensor:
    """A convolution with an initial value that depends on its image."""
    w = weights(b, (64, 64, 3, 3))
    inside = start(b, b.slice(x, [0, 1, 1], [64, 26, 26]))
    o, p, q, i, k, m = b.loops("o p:26 q:26 i k m")
    return b.sum((o, p, q), (i, k, m), x[i, p + k, q + m] * w[o, i, k, m], inside)


def of_bytes(b: Builder, x: Tensor) -> Tensor:
    """A convolution of int8."""
    at = b.loops_of(x.shape)
    x = b.map(at, saturated_int8(x[at] * 60.0))
    kept = np.random.default_rng(3).integers(-127, 128, (64, x.shape[0], 3, 3))
    w = b.weight(WeightAttr.of(kept.astype(np.int8)))
    o, p, q, i, k, m = b.loops("o p:26 q:26 i k m")
    factors = convert(x[i, p + k, q + m], i32) * convert(w[o, i, k, m], i32)
    y = b.sum((o, p, q), (i, k, m), factors)
    at = b.loops_of(y.shape)
    return b.map(at, convert(y[at], f32))


def turned(b: Builder, x: Tensor) -> Tensor:
    """A convolution whose weights have inputs in front."""
    w = weights(b, (x.shape[0], 64, 3, 3))
    o, p, q, i, k, m = b.loops("o p:26 q:26 i k m")
    return b.sum((o, p, q), (i, k, m), x[i, p + k, q + m] * w[i, o, k, m])


def upside_down(b: Builder, x: Tensor) -> Tensor:
    """A convolution whose weights have their last row in front."""
    w = weights(b, (64, x.shape[0], 3, 3))
    o, p, q, i, k, m = b.loops("o p:26 q:26 i k:3 m")
    return b.sum((o, p, q), (i, k, m), x[i, p + k, q + m] * w[o, i, k * -1 + 2, m])


def of_each_cell(b: Builder, x: Tensor) -> Tensor:
    """Sums over channels with other weights for each element."""
    x = b.slice(x, [0] * 3, [x.shape[0], 3, 3])
    w = weights(b, (64, *x.shape))
    o, p, q, i = b.loops("o p q i")
    return b.sum((o, p, q), (i,), x[i, p, q] * w[o, i, p, q])


def flattened(b: Builder, x: Tensor) -> Tensor:
    """A convolution of a volume, over all of its slices."""
    x = b.expand(x, [[0, 1], [2], [3]], (16, x.shape[0] // 16, *x.shape[1:]))
    w = weights(b, (64, *x.shape[:2], 3, 3))
    o, p, q, i, d, k, m = b.loops("o p:26 q:26 i d k m")
    return b.sum((o, p, q), (i, d, k, m), x[i, d, p + k, q + m] * w[o, i, d, k, m])


def slanted(b: Builder, x: Tensor) -> Tensor:
    """A convolution of a volume that reads later slices in later rows."""
    x = b.expand(x, [[0, 1], [2], [3]], (16, x.shape[0] // 16, *x.shape[1:]))
    w = weights(b, (32, 16, 3, 3))
    o, z, p, q, i, k, m = b.loops("o z:2 p:3 q:26 i k m")
    return b.sum((o, z, p, q), (i, k, m), x[i, z + p, p + k, q + m] * w[o, i, k, m])


def stepping(b: Builder, x: Tensor) -> Tensor:
    """A convolution with a stride and a dilation."""
    w = weights(b, (256, x.shape[0], 3, 3))
    o, p, q, i, k, m = b.loops("o p:12 q:12 i k m")
    data = x[i, p * 2 + k * 2, q * 2 + m * 2]
    return b.sum((o, p, q), (i, k, m), data * w[o, i, k, m])


def products(module: ModuleOp) -> list[GenericOp]:
    """The contractions of a network."""
    views = [LinalgOp(op) for op in generics_of(network_of(module).body.block)]
    return [view.op for view in views if view.product is not None and view.reduced]


def found(module: ModuleOp) -> Convolution | str:
    """What the one contraction of a network is."""
    (op,) = products(module)
    return match(op, AVX512)


@pytest.mark.parametrize(("borders", "shared"), [("nn", True), ("nm", False)])
def test_images_with_one_border_are_one(
    make_network: MakeNetwork, borders: str, shared: bool
) -> None:
    """Also where the inputs decide how wide it is."""

    def write(b: Builder, x: Tensor) -> Tensor:
        sides = [Size.symbol(name, 1, most=2) for name in borders]
        images = [b.pad(x, [0, n, n], [0, 2 - n, 2 - n]) for n in sides]
        return b.concat([convolution(b, image, 64, pad=0) for image in images], 0)

    module = make_network([(64, 28, 28)], write)
    one, other = (match(op, AVX512) for op in products(module))
    assert isinstance(one, Convolution) and isinstance(other, Convolution)
    assert one.siblings() == [other.op] * shared


@pytest.mark.parametrize(
    ("write", "reason"),
    [
        (lambda b, x: convolution(b, x, 64, stride=3), "no tiles for a window of 3 x 3"),
        (lambda b, x: uneven(b, x), "stride"),
        (narrow, "square"),
        (of_bytes, "float32"),
        (turned, "other axes"),
        (upside_down, "other axes"),
        (of_each_cell, "other axes"),
        (flattened, "two axes"),
        (stepping, "a dilation"),
        (of_all, "its group"),
        (later_slices, "slices"),
        (slanted, "slices"),
        (lambda b, x: on_top(b, x, lambda _, cells: cells), "bias"),
        (lambda b, x: on_top(b, x, relu), "bias"),
        (lambda b, x: on_top(b, x, of_positive), "bias"),
        (lambda b, x: on_top(b, x, of_rows), "bias"),
        (lambda b, x: convolution(b, b.slice(x, [0] * 3, [16, 28, 28]), 16, stride=2), "worth"),
        (lambda b, x: convolution(b, x, 64, window=7, pad=3), "no tiles for a window of 7 x 7"),
        (lambda b, x: grouped(b, x, 8, window=3), "channels"),
        (lambda b, x: grouped(b, x, 24, window=3), "blocks"),
        (lambda b, x: grouped(b, b.slice(x, [0] * 3, [48, 28, 28]), 32, window=3), "blocks"),
        (lambda b, x: convolution(b, x, 8), "channels"),
        (lambda b, x: convolution(b, b.slice(x, [0] * 3, [64, 4, 4]), 64), "worth"),
        (lambda b, x: convolution(b, b.slice(x, [0] * 3, [16, 14, 14]), 16), "worth"),
    ],
)
def test_why_not(make_network: MakeNetwork, write: Callable[..., Tensor], reason: str) -> None:
    """What stays as it is has a reason, and is left alone."""
    module = make_network([(64, 28, 28)], write)
    why = found(module)
    assert isinstance(why, str) and reason in why
    before = str(module)
    ChooseConvolution().apply(Context(), module)
    assert str(module) == before


def test_weights_that_are_computed(make_network: MakeNetwork) -> None:
    """Weights that arrive at run time are not transformed."""

    def write(b: Builder, x: Tensor, w: Tensor) -> Tensor:
        o, p, q, i, k, m = b.loops("o p:28 q:28 i k m")
        return b.sum((o, p, q), (i, k, m), x[i, p + k, q + m] * w[o, i, k, m])

    module = make_network([(64, 30, 30), (64, 64, 3, 3)], write)
    assert "computed" in str(found(module))


@pytest.mark.parametrize(
    ("channels", "side", "tile", "known"),
    [(64, 14, 4, 2), (64, 8, 2, 2), (256, 14, 4, 2), (256, 7, 4, 2), (256, 3, 4, None)],
)
def test_tiles_for_any_image(
    make_network: MakeNetwork, channels: int, side: int, tile: int, known: int | None
) -> None:
    """F(2) is a little cheaper than F(4) at 14 x 14, and dearer beyond. A hint that is small itself
    has tiles for others: where weights are many, those of large images.
    """

    def form(height: int, width: int) -> int | None:
        shape = channels, height, width
        module = make_network([shape], lambda b, x: convolution(b, x, channels))
        one = found(module)
        return None if isinstance(one, str) else one.tiling.form.tile

    with assuming():
        assert form(Size.symbol("h", side), Size.symbol("w", side)) == tile
    assert form(side, side) == known
