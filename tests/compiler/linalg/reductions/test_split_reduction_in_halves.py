"""Sums over channels are split where both halves were made apart, and are worth it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, i8, i32

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.reductions.split_reduction_in_halves import HALVES, SplitReductionInHalves
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import convert
from ncc.dialects.weights.weight import WeightAttr
from tests.compiler.linalg.operations import relu
from tests.compiler.linalg.same_numbers import after, marked
from tests.executed_lines import lines_of

MakeNetwork: TypeAlias = Callable[..., ModuleOp]
Split: TypeAlias = Callable[..., list[LinalgOp]]


def drawn(b: Builder, *shape: int) -> Tensor:
    return b.weight(WeightAttr.of(np.random.default_rng(1).integers(-3, 4, shape)))


def depthwise(b: Builder, x: Tensor) -> Tensor:
    """Windows of 3 x 3 of each channel, in blocks."""
    weights = drawn(b, x.shape[0], 3, 3, 16)
    c, y, x_, u, v, lane = b.loops("c y:12 x:12 u v k")
    return b.sum(
        (c, y, x_, lane), over=(u, v), of=x[c, y + u, x_ + v, lane] * weights[c, u, v, lane]
    )


def pointwise(b: Builder, x: Tensor, blocks: int, weights: Tensor | None = None) -> Tensor:
    """A 1x1 convolution with a bias, in blocks."""
    weights = weights or drawn(b, blocks, x.shape[0], 16, 16)
    bias = drawn(b, blocks, 16)
    start = b.map(at := b.loops_of((blocks, *x.shape[1:3], 16)), bias[at[0], at[3]])
    o, y, x_, i, lane, k = b.loops("o y x i lane k")
    of = x[i, y, x_, k] * weights[o, i, k, lane]
    return b.sum((o, y, x_, lane), over=(i, k), of=of, init=start)


def alike(b: Builder, x: Tensor) -> Tensor:
    """Sums over all blocks by the same weights."""
    weights = drawn(b, 3, 16, 16)
    o, y, x_, i, lane, k = b.loops("o y x i lane k")
    return b.sum((o, y, x_, lane), over=(i, k), of=x[i, y, x_, k] * weights[o, k, lane])


def by_every_other(b: Builder, x: Tensor) -> Tensor:
    """Sums by half of the weights."""
    weights = drawn(b, 1, 2 * x.shape[0], 16, 16)
    o, y, x_, i, lane, k = b.loops("o y x i lane k")
    return b.sum((o, y, x_, lane), over=(i, k), of=x[i, y, x_, k] * weights[o, i * 2, k, lane])


def in_groups(b: Builder, x: Tensor) -> Tensor:
    """Large windows over the lanes of each block, for a result of each."""
    weights = drawn(b, x.shape[0], 9, 9, 16)
    c, y, x_, u, v, k = b.loops("c y:4 x:4 u v k")
    return b.sum((c, y, x_), over=(u, v, k), of=x[c, y + u, x_ + v, k] * weights[c, u, v, k])


def along_a_diagonal(b: Builder, x: Tensor) -> Tensor:
    """Each block meets weights from another row on."""
    weights = drawn(b, 1, x.shape[0], 15 + x.shape[0], 16)
    o, y, x_, i, lane, k = b.loops("o y x i lane k:16")
    return b.sum((o, y, x_, lane), over=(i, k), of=x[i, y, x_, k] * weights[o, i, k + i, lane])


def into_every_other(b: Builder, x: Tensor) -> Tensor:
    """Results with others between them."""
    weights = drawn(b, 3, x.shape[0], 16, 16)
    into = b.full((6, *x.shape[1:3], 16), 0.5)
    o, y, x_, i, lane, k = b.loops("o y x i lane k")
    of = x[i, y, x_, k] * weights[o, i, k, lane]
    return b.sum((o * 2, y, x_, lane), over=(i, k), of=of, init=into)


def of_bytes(b: Builder, x: Tensor) -> Tensor:
    """Sums of int8, in int32."""
    at = b.loops_of(x.shape)
    narrow = b.map(at, convert(x[at], i8))
    weights = b.weight(WeightAttr.of(np.ones((3, x.shape[0], 16, 16), np.int8)))
    o, y, x_, i, lane, k = b.loops("o y x i lane k")
    of = convert(narrow[i, y, x_, k], i32) * convert(weights[o, i, k, lane], i32)
    return b.sum((o, y, x_, lane), over=(i, k), of=of)


def depthwise_apart(b: Builder, x: Tensor) -> Tensor:
    """Windows of each channel, of which every other block is none."""
    weights = drawn(b, x.shape[0], 3, 3, 16)
    into = b.full((2 * x.shape[0], 12, 12, 16), 0.5)
    c, y, x_, u, v, lane = b.loops("c y:12 x:12 u v k")
    of = x[c, y + u, x_ + v, lane] * weights[c, u, v, lane]
    return b.sum((c * 2, y, x_, lane), over=(u, v), of=of, init=into)


def scaled(b: Builder, x: Tensor, factors: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] * factors[at[0], at[3]])


@pytest.fixture
def split(make_network: MakeNetwork) -> Split:
    """The operations that the pass makes of a network; the numbers stay the same."""

    def rewritten(write: Callable[..., Tensor], *shapes: tuple[int, ...]) -> list[LinalgOp]:
        return after(make_network(list(shapes), write), SplitReductionInHalves())

    return rewritten


def halves(found: list[LinalgOp]) -> int:
    """Sums of both halves."""
    views = [linalg_op for linalg_op in found if len(linalg_op.reduced) == 1]
    return sum(
        linalg_op.extents[linalg_op.reduced[0]] == HALVES and len(linalg_op.reads) == 1
        for linalg_op in views
    )


IMAGE = (12, 14, 14, 16)


def test_projection_of_a_depthwise_is_split(split: Split) -> None:
    """Its halves read half of the channels each, of the data and of the weights."""
    found = split(lambda b, x: pointwise(b, depthwise(b, x), 3), IMAGE)
    assert halves(found) == 1
    sums = found[-2]
    assert [shape_of(read.value) for read in sums.reads] == [(2, 6, 12, 12, 16), (3, 2, 6, 16, 16)]


def test_scaled_channels_are_still_made_apart(split: Split) -> None:
    """Squeeze-and-excite between the two changes nothing."""
    found = split(lambda b, x, s: pointwise(b, scaled(b, depthwise(b, x), s), 3), IMAGE, (12, 16))
    assert halves(found) == 1


def test_what_follows_channels_is_looked_at_once(split: Split) -> None:
    """Forty sums of a value with itself, each of what the one in front makes."""

    def write(b: Builder, x: Tensor) -> Tensor:
        made = depthwise(b, x)
        for _ in range(40):
            at = b.loops_of(made.shape)
            twice = b.map(at, made[at] + made[at])
            made = b.map(at, twice[at] - made[at])
        return pointwise(b, made, 3)

    assert halves(split(write, IMAGE)) == 1


@pytest.mark.parametrize("front", [depthwise, relu], ids=["by channels", "not by channels"])
def test_residuals_are_looked_at_once(
    make_network: MakeNetwork, front: Callable[[Builder, Tensor], Tensor]
) -> None:
    """Each is a sum of all before it."""

    def write(count: int, b: Builder, x: Tensor) -> Tensor:
        made = front(b, x)
        for _ in range(count):
            at, y = b.loops_of(made.shape), pointwise(b, made, 12)
            made = b.map(at, made[at] + y[at])
        return made

    modules = [make_network([IMAGE], partial(write, count)) for count in (10, 20)]
    apply = SplitReductionInHalves().apply
    once, twice = (lines_of(partial(apply, Context(), module)) for module in modules)
    assert twice < 2.2 * once


@pytest.mark.parametrize(
    ("write", "shape"),
    [
        (lambda b, x: pointwise(b, depthwise(b, x), 5), IMAGE),
        (lambda b, x: pointwise(b, depthwise(b, x), 2), (9, 14, 14, 16)),
        (lambda b, x: pointwise(b, depthwise(b, x), 1), (4, 14, 14, 16)),
        (lambda b, x: pointwise(b, pointwise(b, x, 12), 3), IMAGE),
        (lambda b, x: pointwise(b, x, 3), IMAGE),
        (lambda b, x: alike(b, depthwise(b, x)), IMAGE),
        (lambda b, x: by_every_other(b, depthwise(b, x)), (16, 14, 14, 16)),
        (lambda b, x: in_groups(b, depthwise(b, x)), IMAGE),
        (lambda b, x: along_a_diagonal(b, depthwise(b, x)), (16, 14, 14, 16)),
        (lambda b, x: into_every_other(b, depthwise(b, x)), IMAGE),
        (lambda b, x: of_bytes(b, depthwise(b, x)), IMAGE),
        (lambda b, x: pointwise(b, depthwise_apart(b, x), 3), IMAGE),
    ],
    ids=[
        "many sums",
        "odd blocks",
        "little to sum",
        "made of all channels",
        "an input",
        "alike",
        "by every other",
        "groups",
        "diagonal",
        "into every other",
        "bytes",
        "depthwise apart",
    ],
)
def test_what_stays_whole(
    split: Split, write: Callable[..., Tensor], shape: tuple[int, ...]
) -> None:
    """Nothing is gained, halves are uneven, or all threads made each channel."""
    assert halves(split(write, shape)) == 0


@pytest.mark.parametrize(("parts", "split_ones"), [(1, 1), (2, 2), (4, 0)])
def test_parts_of_an_image_count_together(split: Split, parts: int, split_ones: int) -> None:
    """How large they are is no reason."""

    def write(b: Builder, x: Tensor) -> Tensor:
        weights = drawn(b, 3, x.shape[0], 16, 16)
        each = [pointwise(b, depthwise(b, x), 3, weights) for _ in range(parts)]
        return b.concat(each, axis=1)

    assert halves(split(write, IMAGE)) == split_ones


def test_sums_with_attributes_stay(make_network: MakeNetwork) -> None:
    """A tail is one of all channels."""
    module = make_network([IMAGE], lambda b, x: pointwise(b, depthwise(b, x), 3))
    assert halves(after(marked(module), SplitReductionInHalves())) == 0
