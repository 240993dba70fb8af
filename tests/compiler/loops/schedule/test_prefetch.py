"""Prefetches of a contraction: all lines of the next tile, and few others."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from math import prod

import pytest

from ncc.compiler.loops.kernel.kernel import LINE
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.prefetch import PER_STREAM
from ncc.compiler.target import AVX512, ONE_UNIT
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import ones
from tests.compiler.loops.emit.layers import (
    KernelOf,
    convolution,
    depthwise_of_blocks,
    line_of,
    pointwise_convolution,
)

deep_convolution = pointwise_convolution(512)


def test_weights_of_the_next_tile_are_prefetched(kernel: KernelOf) -> None:
    """All their lines, by tiles of points that share them."""
    found = kernel(deep_convolution, (512, 7, 7))
    schedule = choose(found, AVX512)
    weights = found.anchor.inputs[1]
    assert weights is not None
    (blocks,) = (d for d in found.parallel if weights.coefficients[d] > 1)
    (points,) = (d for d in found.parallel if not weights.coefficients[d])
    tile = schedule.points(blocks) * weights.coefficients[blocks]
    tiles_of_points = range(0, found.extents[points], schedule.points(points))
    iterations = product(*(range(found.extents[d]) for d in schedule.reduced))
    subviews = [dict(zip(schedule.reduced, iteration, strict=True)) for iteration in iterations]
    asked = {
        line_of(hint, subview)
        for hint in schedule.prefetch_l2
        for subview in [
            {**iteration, points: first} for iteration in subviews for first in tiles_of_points
        ]
        if hint.argument == weights.argument
    }
    assert asked >= set(range(tile // LINE, 2 * tile // LINE))
    assert max(asked) <= 2 * tile // LINE + len(tiles_of_points)
    assert not choose(kernel(depthwise_of_blocks, (64, 18, 18)), AVX512).prefetch_l2


def test_large_shares_are_several_streams(kernel: KernelOf) -> None:
    """An iteration whose share is more than half a line takes parts of as many streams."""
    schedule = choose(kernel(deep_convolution, (512, 4, 4)), AVX512)
    offsets = sorted(access.offset for access in schedule.prefetch_l2)
    assert len(offsets) > 1
    distances = {b - a for a, b in pairwise(offsets)}
    assert len(distances) == 1 and distances.pop() >= 512 * PER_STREAM / 2


def product_inside_a_border(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(x.shape[0], x.shape[0]))
    o, y, z, i = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i")
    return b.sum((o, y, z), over=(i,), of=x[i, y + 1, z + 1] * w[o, i])


def test_rows_of_planes_are_not_prefetched(kernel: KernelOf) -> None:
    """A whole plane is between two iterations: a row of each plane would be too many lines."""
    found = kernel(product_inside_a_border, (24, 46, 46), packed=False)
    schedule = choose(found, AVX512)
    image = found.anchor.inputs[0]
    assert schedule.lane is not None and image is not None
    assert image.coefficients[schedule.lane] == 1
    assert not schedule.prefetch_l2


def deep_sums_of_bf16(b: Builder, x: Tensor) -> Tensor:
    """Sums of each half of the channels, whose weights are apart."""
    x = b.expand(x, [[0, 1], [2], [3]], (2, x.shape[0] // 2, *x.shape[1:]))
    w = b.expand(b.weight(ones(512, 512)), [[0], [1, 2]], (512, 2, 256))
    h, o, y, z, i = b.loops("h o y z i")
    return b.sum((h, o, y, z), over=(i,), of=x[h, i, y, z] * w[o, h, i])


def test_panels_with_gaps_between_them_are_prefetched_one_by_one(kernel: KernelOf) -> None:
    """The lines of each vector of the next tile, and none in between."""
    found = kernel(deep_sums_of_bf16, (512, 7, 7))
    schedule = choose(found, AVX512)
    weights = found.anchor.inputs[1]
    assert weights is not None
    asked = [hint.offset for hint in schedule.prefetch_l2 if hint.argument == weights.argument]
    blocks = max(found.parallel, key=lambda d: weights.coefficients[d])
    count, apart = schedule.points(blocks), weights.coefficients[blocks]
    assert {offset // apart for offset in asked} == set(range(count, 2 * count))


def behind_a_deep_one(outputs: int) -> Callable[[Builder, Tensor], Tensor]:
    def write(b: Builder, x: Tensor) -> Tensor:
        return pointwise_convolution(outputs)(b, deep_convolution(b, x))

    return write


@pytest.mark.parametrize("outputs", [512, 16])
def test_the_points_of_the_next_tile_are_prefetched(kernel: KernelOf, outputs: int) -> None:
    """All its lines, where weights stay while points are walked, or are of one vector; not where
    windows overlap.
    """
    found = kernel(behind_a_deep_one(outputs), (512, 14, 14))
    schedule = choose(found, AVX512)
    (points,) = found.anchor.inputs[:1]
    assert points is not None
    own = [d for d in schedule.order if points.coefficients[d]]
    tiled = next(d for d in reversed(own) if schedule.points(d) < found.extents[d])
    wanted, asked = set(), set()
    tile = [range(schedule.points(d)) for d in own]
    for iteration in product(*(range(found.extents[d]) for d in schedule.reduced)):
        subview = dict(zip(schedule.reduced, iteration, strict=True))
        asked |= {line_of(access, subview) for access in schedule.prefetch_l1}
        for cell in product(*tile):
            here = dict(zip(own, cell, strict=True))
            here[tiled] += schedule.points(tiled)
            wanted.add(line_of(points, {**subview, **here}))
    assert wanted <= asked and len(asked) <= LINE * found.extents[schedule.reduced[0]]
    assert not choose(kernel(depthwise_of_blocks, (64, 18, 18)), AVX512).prefetch_l1


def convolution_of_stride_2(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(32, x.shape[0], 3, 3))
    o, y, z, i, k, m = b.loops(f"o y:{(x.shape[1] - 1) // 2} z:{(x.shape[2] - 1) // 2} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, 2 * y + k, 2 * z + m] * w[o, i, k, m])


@pytest.mark.parametrize("write", [convolution, convolution_of_stride_2])
def test_the_next_row_of_planes_is_prefetched(
    kernel: KernelOf, write: Callable[[Builder, Tensor], Tensor]
) -> None:
    """All lines of the same tile of the next row of points, and few others."""
    found = kernel(write, (3, 114, 114))
    schedule = choose(found, AVX512)
    points = found.anchor.inputs[0]
    assert points is not None and schedule.prefetch_l1
    column, row = sorted(
        (d for d in schedule.order if points.coefficients[d]), key=points.coefficients.__getitem__
    )
    wanted, asked = set(), set()
    for iteration in product(*(range(found.extents[d]) for d in schedule.reduced)):
        subview = dict(zip(schedule.reduced, iteration, strict=True))
        asked |= {line_of(access, subview) for access in schedule.prefetch_l1}
        for cell in range(schedule.points(column)):
            wanted.add(line_of(points, {**subview, row: 1, column: cell}))
    assert wanted <= asked and len(asked) <= 2 * len(wanted)


def behind_another(inputs: int, outputs: int) -> Callable[[Builder, Tensor], Tensor]:
    """An operation of blocks of channels that the run computes."""
    first, second = pointwise_convolution(inputs), pointwise_convolution(outputs)
    return lambda b, x: second(b, first(b, x))


def test_points_that_leave_l2_are_prefetched_while_vectors_are_walked(kernel: KernelOf) -> None:
    """All lines of the next tile of points in every tile of vectors; none of what stays in L2."""
    found = kernel(behind_another(1024, 128), (16, 26, 26))
    schedule = choose(found, replace(AVX512, core=ONE_UNIT))
    points, weights = found.anchor.inputs
    assert points is not None and weights is not None and not schedule.prefetch_l1
    tiled = next(d for d in schedule.order if points.coefficients[d])
    assert weights.coefficients[schedule.order[1]] and schedule.order[0] == tiled
    (hint,) = schedule.prefetch_l2
    extents = [found.extents[d] for d in schedule.reduced]
    asked, wanted = set(), set()
    for iteration in product(*(range(extent) for extent in extents)):
        subview = dict(zip(schedule.reduced, iteration, strict=True))
        asked.add(line_of(hint, subview))
        for point in range(schedule.points(tiled)):
            wanted.add(line_of(points, {**subview, tiled: schedule.points(tiled) + point}))
    assert wanted <= asked and len(asked) <= prod(extents)
    small = kernel(behind_another(256, 32), (16, 14, 14))
    (near,) = (access for access in small.anchor.inputs[:1] if access is not None)
    hints = choose(small, replace(AVX512, core=ONE_UNIT)).prefetch_l2
    assert all(hint.argument != near.argument for hint in hints)
