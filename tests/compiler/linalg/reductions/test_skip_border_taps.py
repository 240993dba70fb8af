"""Sums over channels leave out taps that see the border alone, where the run tells the extents."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import tensor
from xdsl.dialects.builtin import ModuleOp, TensorType
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.reductions.skip_border_taps import SkipBorderTaps
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.size import Size, assuming, largest
from tests.compiler.linalg.operations import whole_numbers
from tests.structured.evaluate import evaluate
from tests.structured.given_sizes import with_extents

MakeNetwork = Callable[..., ModuleOp]

HEIGHT, WIDTH = Size.symbol("h", 224) // 16, Size.symbol("w", 256) // 16
"""Rows and columns late in a network."""


def convolution(
    *, window: int = 3, dilation: int = 1, stride: int = 1, border: int = 1, of_parts: bool = False
) -> Callable[[Builder, Tensor], Tensor]:
    """A convolution of a padded image, or of a part of one, which lies within a larger border."""

    def write(b: Builder, x: Tensor) -> Tensor:
        reach = dilation * (window - 1)
        sides = [0, border + of_parts, border + of_parts]
        shape = [n + 2 * border for n in x.shape[1:]]
        x = b.pad(x, sides, sides)
        if of_parts:
            x = b.slice(x, [0, 1, 1], [x.shape[0], *shape])
        height, width = ((n - reach - 1) // stride + 1 for n in shape)
        w = whole_numbers(b, 4, x.shape[0], window, window)
        o, p, q, i, k, m = b.loops("o p q i k m", p=height, q=width)
        term = x[i, p * stride + k * dilation, q * stride + m * dilation] * w[o, i, k, m]
        return b.sum((o, p, q), (i, k, m), term)

    return write


def in_two_parts(b: Builder, x: Tensor) -> Tensor:
    """A convolution of numbers in two parts, as three products on matrix tiles are."""
    height, width = x.shape[1:]
    x, w = b.expand(x, [[0, 1], [2], [3]], (1, *x.shape)), whole_numbers(b, 2, 4, 1, 3, 3)
    x = b.pad(x, [0, 0, 1, 1], [0, 0, 1, 1])
    o, p, q, i, k, m = b.loops("o p q i k m", p=height, q=width)
    high, low = (x[i, n, p + k, q + m] for n in range(2))
    weight, rest = (w[n, o, i, k, m] for n in range(2))
    return b.sum((o, p, q), (i, k, m), high * weight + high * rest + low * weight)


def of_each_channel(window: int, stride: int = 1) -> Callable[[Builder, Tensor], Tensor]:
    """A depthwise convolution of a padded image."""

    def write(b: Builder, x: Tensor) -> Tensor:
        shape, border = [(n - 1) // stride + 1 for n in x.shape[1:]], window // 2
        x = b.pad(x, [0, border, border], [0, border, border])
        w = whole_numbers(b, 3, window, window)
        c, p, q, k, m = b.loops_of((3, *shape, window, window))
        return b.sum((c, p, q), (k, m), x[c, p * stride + k, q * stride + m] * w[c, k, m])

    return write


def taps_of(module: ModuleOp) -> list[tuple[int, ...]]:
    """The taps of the windows of each sum."""
    block = network_of(module).body.block
    views = [LinalgOp(op) for op in block.ops if isinstance(op, GenericOp)]
    return [linalg_op.extents[-2:] for linalg_op in views if linalg_op.reduced]


@pytest.mark.parametrize(
    "write",
    [
        convolution(),
        convolution(of_parts=True),
        convolution(dilation=2, border=2),
        convolution(stride=2),
        convolution(window=5, border=2),
        in_two_parts,
        of_each_channel(5),
        of_each_channel(5, stride=2),
    ],
)
def test_numbers(make_network: MakeNetwork, write: Callable[[Builder, Tensor], Tensor]) -> None:
    """They are those of all taps, for images of any size."""
    with assuming() as assumed:
        whole, module = (make_network([(3, HEIGHT, WIDTH)], write) for _ in range(2))
        before = dict(assumed)
        SkipBorderTaps().apply(Context(), module)
    assert assumed == before and taps_of(module) != taps_of(whole)
    rng = np.random.default_rng(1)
    for height, width in ((1, 1), (1, 7), (2, 1), (2, 2), (3, 4), (6, 8)):
        at = {"h": 16 * height, "w": 16 * width}
        x = [rng.standard_normal((3, height, width)).astype(np.float32)]
        one, other = (
            evaluate(network_of(with_extents(it, at)), x, dtype=np.float64)
            for it in (whole, module)
        )
        np.testing.assert_allclose(other[0], one[0], rtol=0, atol=1e-12)


def test_taps(make_network: MakeNetwork) -> None:
    """A row has one row of taps, an element one tap of nine."""
    with assuming():
        module = make_network([(3, HEIGHT, WIDTH)], convolution())
        SkipBorderTaps().apply(Context(), module)
    for height, width, taps in ((1, 7, (1, 3)), (7, 1, (3, 1)), (1, 1, (1, 1)), (2, 2, (3, 3))):
        at = {"h": 16 * height, "w": 16 * width}
        assert taps_of(with_extents(module, at)) == [taps]


def test_matrix_tiles_of_large_images(make_network: MakeNetwork) -> None:
    """Their loops over taps are code for any of them, so that rare sizes cost nothing."""
    with assuming():
        module = make_network([(3, Size.symbol("h", 224), Size.symbol("w", 256))], in_two_parts)
        SkipBorderTaps().apply(Context(), module)
    for height, width, taps in ((1, 256, (1, 3)), (224, 1, (3, 1)), (224, 256, (3, 3))):
        assert taps_of(with_extents(module, {"h": height, "w": width})) == [taps]


def test_taps_of_each_channel(make_network: MakeNetwork) -> None:
    """Windows of a row have one row of taps, and no border above and below. Taps of a row stay:
    kernels have no loop over these.
    """
    with assuming():
        module = make_network([(3, HEIGHT, WIDTH)], of_each_channel(5))
        SkipBorderTaps().apply(Context(), module)
    for height, width, taps, border in ((1, 7, (1, 5), 0), (2, 7, (3, 5), 2), (7, 1, (5, 5), 4)):
        made = with_extents(module, {"h": 16 * height, "w": 16 * width})
        (pad,) = [op for op in made.walk() if isinstance(op, tensor.PadOp)]
        assert taps_of(made) == [taps]
        assert shape_of(pad.result) == (3, height + border, width + 4)


@pytest.mark.parametrize(("stride", "border", "cut"), [(1, 1, True), (1, 1, False), (2, 2, False)])
def test_parts_that_an_image_does_not_have(
    make_network: MakeNetwork, stride: int, border: int, cut: bool
) -> None:
    """No extent of them is negative, nor one of their padded image."""
    few = largest(0, Size.symbol("n", 4) - 2)

    def of_few_rows(b: Builder, x: Tensor) -> Tensor:
        sides, w = [0, border, border], whole_numbers(b, 4, 3, 3, 3)
        x = b.pad(x, sides, sides)
        if cut:
            x = b.slice(x, [0, 0, 0], [3, few + 2, x.shape[2]])
        columns = (x.shape[2] - 3) // stride + 1
        o, p, q, i, k, m = b.loops("o p q i k m", p=few, q=columns)
        term = x[i, p * stride + k, q * stride + m] * w[o, i, k, m]
        return b.sum((o, p, q), (i, k, m), term)

    with assuming():
        module = make_network([(3, HEIGHT, WIDTH)], of_few_rows)
        SkipBorderTaps().apply(Context(), module)
    for height, width in ((1, 1), (1, 7), (6, 1)):
        made = with_extents(module, {"n": 1, "h": 16 * height, "w": 16 * width})
        kinds = [result.type for op in made.walk() for result in op.results]
        assert all(n >= 0 for one in kinds if isinstance(one, TensorType) for n in one.get_shape())


@pytest.mark.parametrize(
    ("shape", "write", "reason"),
    [
        ((3, 14, 16), convolution(), None),
        ((3, Size.symbol("h", 224), Size.symbol("w", 256)), convolution(), "seldom"),
        ((3, HEIGHT + 2, WIDTH + 2), convolution(), "see all"),
        ((3, HEIGHT, WIDTH), convolution(window=2, dilation=2, border=1), "see all"),
        ((3, HEIGHT + 2, WIDTH + 2), convolution(border=0), "see all"),
        ((3, HEIGHT, WIDTH), of_each_channel(3), "sums no channels"),
    ],
)
def test_others_stay(
    make_network: MakeNetwork,
    shape: tuple[int, ...],
    write: Callable[[Builder, Tensor], Tensor],
    reason: str | None,
) -> None:
    """What is of one size, never small or seldom so, and what has no loops over its taps."""
    with assuming():
        module = make_network([shape], write)
        before = str(module)
        decisions = SkipBorderTaps().explain(module)
    assert str(module) == before
    assert not decisions if reason is None else reason in decisions[-1].reason
