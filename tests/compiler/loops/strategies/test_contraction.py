"""Which tile a contraction gets on a core, what is walked once, and what is asked for ahead."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from math import prod

import pytest

from ncc.compiler.loops.schedule import LINE
from ncc.compiler.loops.strategies import contraction
from ncc.compiler.loops.strategies.choose import choose
from ncc.compiler.target import AVX512, ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD, Core, Target
from ncc.dialects.comprehension import Builder, Tensor
from tests.compiler.loops.strategies.layers import (
    KernelOf,
    convolution,
    depthwise_of_blocks,
    inner_product,
    line_of,
    ones,
    pointwise,
    targets,
)


@targets
def test_an_inner_product_streams_its_weights(kernel: KernelOf, target: Target) -> None:
    """The lane is the block of outputs, in which the weights are contiguous."""
    found = kernel(inner_product, (512,))
    schedule = choose(found, target)
    weights = found.anchor.inputs[1]
    assert schedule.lane is not None and weights is not None
    assert weights.coefficients[schedule.lane] == 1


@targets
@pytest.mark.parametrize("inputs", [1024, 9216, 25088])
def test_a_vector_reads_several_rows_of_weights_at_once(
    kernel: KernelOf, inputs: int, target: Target
) -> None:
    """However long they are: what nothing reads again comes from memory in as many streams."""
    schedule = choose(kernel(inner_product, (inputs,)), target)
    assert schedule.tile and prod(n for _, n in schedule.tile) >= 4


@pytest.mark.parametrize(
    ("core", "streams"),
    [(ONE_UNIT, 4), (TWO_UNITS, 8), (TWO_UNITS_OF_AMD, 4)],
    ids=["one", "two", "of AMD"],
)
def test_a_core_follows_the_streams_from_memory(kernel: KernelOf, core: Core, streams: int) -> None:
    """Weights of 18 MB; those of 250 KB stay in L2, where streams do not matter."""
    target = replace(AVX512, core=core)
    for inputs, expected in ((9216, streams), (128, 8)):
        schedule = choose(kernel(inner_product, (inputs,)), target)
        assert prod(n for _, n in schedule.tile) == expected


def deep_convolution(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(512, x.shape[0]))
    o, y, z, i = b.loops("o y z i")
    return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])


def test_weights_are_asked_for_a_tile_ahead(kernel: KernelOf) -> None:
    """Tiles of points share the asking for all lines of the next tile of weights."""
    found = kernel(deep_convolution, (512, 7, 7))
    schedule = choose(found, AVX512)
    weights = found.anchor.inputs[1]
    assert weights is not None
    (blocks,) = (d for d in found.parallel if weights.coefficients[d] > 1)
    (points,) = (d for d in found.parallel if not weights.coefficients[d])
    tile = schedule.points(blocks) * weights.coefficients[blocks]
    tiles_of_points = range(0, found.extents[points], schedule.points(points))
    steps = product(*(range(found.extents[d]) for d in schedule.reduced))
    places = [dict(zip(schedule.reduced, step, strict=True)) for step in steps]
    asked = {
        line_of(ahead, place)
        for ahead in schedule.ahead
        for place in [{**step, points: first} for step in places for first in tiles_of_points]
        if ahead.argument == weights.argument
    }
    assert asked >= set(range(tile // LINE, 2 * tile // LINE))
    assert max(asked) <= 2 * tile // LINE + len(tiles_of_points)
    assert not choose(kernel(depthwise_of_blocks, (64, 18, 18)), AVX512).ahead


def test_streams_are_asked_for_side_by_side(kernel: KernelOf) -> None:
    """A step that wants more than half a line asks for parts of as many streams, which are all."""
    schedule = choose(kernel(deep_convolution, (512, 4, 4)), AVX512)
    offsets = sorted(access.offset for access in schedule.ahead)
    assert len(offsets) > 1
    distances = {b - a for a, b in pairwise(offsets)}
    assert len(distances) == 1 and distances.pop() >= 512 * contraction.ASKED / 2


def product_inside_a_border(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(x.shape[0], x.shape[0]))
    o, y, z, i = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i")
    return b.sum((o, y, z), over=(i,), of=x[i, y + 1, z + 1] * w[o, i])


def test_rows_of_planes_are_not_asked_for_ahead(kernel: KernelOf) -> None:
    """Between two steps lies a whole plane: to ask for a row of each would be to ask for all."""
    found = kernel(product_inside_a_border, (24, 46, 46), packed=False)
    schedule = choose(found, AVX512)
    image = found.anchor.inputs[0]
    assert schedule.lane is not None and image is not None
    assert image.coefficients[schedule.lane] == 1
    assert not schedule.ahead


def deep_sums_of_halves(b: Builder, x: Tensor) -> Tensor:
    """Of each half of the channels, whose weights lie apart."""
    x = b.expand(x, [[0, 1], [2], [3]], (2, x.shape[0] // 2, *x.shape[1:]))
    w = b.expand(b.weight(ones(512, 512)), [[0], [1, 2]], (512, 2, 256))
    h, o, y, z, i = b.loops("h o y z i")
    return b.sum((h, o, y, z), over=(i,), of=x[h, i, y, z] * w[o, h, i])


def test_weights_that_lie_apart_are_asked_for_one_by_one(kernel: KernelOf) -> None:
    """The lines of each vector of the next tile, and none in between."""
    found = kernel(deep_sums_of_halves, (512, 7, 7))
    schedule = choose(found, AVX512)
    weights = found.anchor.inputs[1]
    assert weights is not None
    asked = [ahead.offset for ahead in schedule.ahead if ahead.argument == weights.argument]
    blocks = max(found.parallel, key=lambda d: weights.coefficients[d])
    count, apart = schedule.points(blocks), weights.coefficients[blocks]
    assert {offset // apart for offset in asked} == set(range(count, 2 * count))


def deep_convolutions(b: Builder, x: Tensor) -> Tensor:
    return deep_convolution(b, deep_convolution(b, x))


def test_the_points_of_the_next_tile_are_asked_for(kernel: KernelOf) -> None:
    """All its lines, where weights stay while points are walked; not where windows overlap."""
    found = kernel(deep_convolutions, (512, 14, 14))
    schedule = choose(found, AVX512)
    (points,) = found.anchor.inputs[:1]
    assert points is not None
    own = [d for d in schedule.order if points.coefficients[d]]
    tiled = next(d for d in reversed(own) if schedule.points(d) < found.extents[d])
    wanted, asked = set(), set()
    tile = [range(schedule.points(d)) for d in own]
    for step in product(*(range(found.extents[d]) for d in schedule.reduced)):
        place = dict(zip(schedule.reduced, step, strict=True))
        asked |= {line_of(access, place) for access in schedule.next}
        for cell in product(*tile):
            here = dict(zip(own, cell, strict=True))
            here[tiled] += schedule.points(tiled)
            wanted.add(line_of(points, {**place, **here}))
    assert wanted <= asked and len(asked) <= LINE * found.extents[schedule.reduced[0]]
    assert not choose(kernel(depthwise_of_blocks, (64, 18, 18)), AVX512).next


def convolution_of_stride_2(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(32, x.shape[0], 3, 3))
    o, y, z, i, k, m = b.loops(f"o y:{(x.shape[1] - 1) // 2} z:{(x.shape[2] - 1) // 2} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, 2 * y + k, 2 * z + m] * w[o, i, k, m])


@pytest.mark.parametrize("write", [convolution, convolution_of_stride_2])
def test_the_next_row_of_planes_is_asked_for(
    kernel: KernelOf, write: Callable[[Builder, Tensor], Tensor]
) -> None:
    """All lines that the same tile of the next row of points reads, and few others."""
    found = kernel(write, (3, 114, 114))
    schedule = choose(found, AVX512)
    points = found.anchor.inputs[0]
    assert points is not None and schedule.next
    column, row = sorted(
        (d for d in schedule.order if points.coefficients[d]), key=points.coefficients.__getitem__
    )
    wanted, asked = set(), set()
    for step in product(*(range(found.extents[d]) for d in schedule.reduced)):
        place = dict(zip(schedule.reduced, step, strict=True))
        asked |= {line_of(access, place) for access in schedule.next}
        for cell in range(schedule.points(column)):
            wanted.add(line_of(points, {**place, row: 1, column: cell}))
    assert wanted <= asked and len(asked) <= 2 * len(wanted)


def pointwise_convolution(outputs: int) -> Callable[[Builder, Tensor], Tensor]:
    def write(b: Builder, x: Tensor) -> Tensor:
        w = b.weight(ones(outputs, x.shape[0]))
        o, y, z, i = b.loops("o y z i")
        return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])

    return write


@pytest.mark.parametrize(
    ("inputs", "outputs", "side", "outer"),
    [
        (512, 512, 14, "w"),
        (1024, 128, 26, "x"),
        (64, 256, 56, "w"),
        (256, 64, 56, "x"),
        (576, 96, 14, "w"),
        (240, 40, 28, "x"),
    ],
)
def test_the_largest_operand_is_walked_once(
    kernel: KernelOf, inputs: int, outputs: int, side: int, outer: str
) -> None:
    """Weights of 1 MB beside data of 400 KB, data beyond L2, results of 3 MB, data of 3 MB; weights
    of 220 KB, from memory, beside data of 450 KB, and 40 KB beside 750 KB.
    """
    found = kernel(pointwise_convolution(outputs), (inputs, side, side))
    schedule = choose(found, AVX512)
    weights = found.anchor.inputs[1]
    assert weights is not None
    assert (weights.coefficients[schedule.order[0]] != 0) == (outer == "w")


def behind_another(inputs: int, outputs: int) -> Callable[[Builder, Tensor], Tensor]:
    """What reads blocks of channels that a run has made."""
    first, second = pointwise_convolution(inputs), pointwise_convolution(outputs)
    return lambda b, x: second(b, first(b, x))


def test_points_from_behind_l2_are_asked_for_while_vectors_are_walked(kernel: KernelOf) -> None:
    """All lines of the next tile of points in every tile of vectors; none of what stays in L2."""
    found = kernel(behind_another(1024, 128), (16, 26, 26))
    schedule = choose(found, replace(AVX512, core=ONE_UNIT))
    points, weights = found.anchor.inputs
    assert points is not None and weights is not None and not schedule.next
    tiled = next(d for d in schedule.order if points.coefficients[d])
    assert weights.coefficients[schedule.order[1]] and schedule.order[0] == tiled
    (ahead,) = schedule.ahead
    extents = [found.extents[d] for d in schedule.reduced]
    asked, wanted = set(), set()
    for step in product(*(range(extent) for extent in extents)):
        place = dict(zip(schedule.reduced, step, strict=True))
        asked.add(line_of(ahead, place))
        for point in range(schedule.points(tiled)):
            wanted.add(line_of(points, {**place, tiled: schedule.points(tiled) + point}))
    assert wanted <= asked and len(asked) <= prod(extents)
    small = kernel(behind_another(256, 32), (16, 14, 14))
    (near,) = (access for access in small.anchor.inputs[:1] if access is not None)
    hints = choose(small, replace(AVX512, core=ONE_UNIT)).ahead
    assert all(hint.argument != near.argument for hint in hints)


@pytest.mark.parametrize(
    "core", [ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD], ids=["one", "two", "of AMD"]
)
def test_vectors_from_l2_do_not_hold_up_the_units(kernel: KernelOf, core: Core) -> None:
    """Where two units wait for vectors from L2, a tile has points enough to hide them."""
    found = kernel(pointwise_convolution(512), (512, 14, 14))
    schedule = choose(found, replace(AVX512, core=core))
    points, vectors = (
        prod(n for d, n in schedule.tile if access is not None and access.coefficients[d])
        for access in found.anchor.inputs
    )
    assert points * vectors >= 20
    assert points * vectors / core.multiply_adds >= core.l2_line * vectors


def scores(b: Builder, x: Tensor) -> Tensor:
    """x[s, e] * y[e, t] of rows s and a matrix whose rows are longer than a cache's share."""
    w = b.weight(ones(160, x.shape[0]))
    s, t, e = b.loops("s t e")
    return b.sum((s, t), over=(e,), of=w[s, e] * x[e, t])


def test_rows_walked_for_every_tile_of_points_come_from_l2(kernel: KernelOf) -> None:
    """Vectors that have no loop but the lane are all read between two uses of one."""
    schedule = choose(kernel(scores, (64, 1500)), AVX512)
    sizes = dict(schedule.tile)
    assert schedule.order[-1] == schedule.lane
    points = prod(n for d, n in sizes.items() if d != schedule.lane)
    assert points / TWO_UNITS.multiply_adds >= TWO_UNITS.l2_line


def test_candidates_are_of_all_tiles(kernel: KernelOf) -> None:
    """The choice is the cheapest of them, and none is there for what is no contraction."""
    found = kernel(convolution, (64, 16, 16))
    candidates = contraction.candidates(found, AVX512)
    best = min(candidates, key=lambda one: one.cost)
    assert best.schedule == choose(found, AVX512)
    assert len({one.schedule for one in candidates}) == len(candidates) > 20
    assert contraction.candidates(kernel(pointwise, (64, 16, 16)), AVX512) == []


def test_what_a_tile_has_fewer_of_is_innermost(kernel: KernelOf) -> None:
    """It stays in registers; of 3 points and 8 vectors these would not fit beside 24 sums."""
    found = kernel(pointwise_convolution(128), (64, 56, 56))
    tiles = [dict(one.tile) for one in contraction.candidates(found, AVX512)]
    weights = found.anchor.inputs[1]
    assert weights is not None
    shapes = set()
    for tile in tiles:
        moves = [weights.coefficients[loop] != 0 for loop in tile]
        vectors = prod(n for n, moved in zip(tile.values(), moves, strict=True) if moved)
        points = prod(tile.values()) // vectors
        shapes.add((points, vectors))
        if points != vectors:
            assert moves == sorted(moves, reverse=points < vectors)
    assert {(3, 8), (14, 2)} <= shapes
