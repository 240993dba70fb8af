"""What the strategies choose for the layers that matter, on each target."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise, product
from math import prod
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.linalg.channels.pack import Pack
from ncc.compiler.loops.kernel import Access, Kernel
from ncc.compiler.loops.schedule import CHUNKS_WANTED, LINE, Schedule, tile_of, vector_of
from ncc.compiler.loops.strategies import contraction
from ncc.compiler.loops.strategies.choose import choose
from ncc.compiler.loops.strategies.pointwise import scalar
from ncc.compiler.loops.strategies.writer import chunk_count
from ncc.compiler.target import (
    AVX2,
    AVX512,
    BASELINE,
    ONE_UNIT,
    TARGETS,
    TWO_UNITS,
    Core,
    Target,
)
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import clamp, exp, select, to_index
from ncc.dialects.shapes import Shape
from ncc.dialects.weight import WeightAttr

targets = pytest.mark.parametrize("target", TARGETS, ids=lambda target: target.name)


@pytest.fixture
def kernel(
    make_network: Callable[..., ModuleOp], kernels_of: Callable[[ModuleOp], list[Kernel]]
) -> Callable[..., Kernel]:
    """kernel(write, *shapes): the last kernel that reduces, or the only one; channels packed."""

    def last(write: Any, *shapes: Shape, packed: bool = True) -> Kernel:
        module = make_network(list(shapes), write)
        if packed:
            Pack().apply(Context(), module)
        kernels = kernels_of(module)
        return ([k for k in kernels if k.reduced] or kernels)[-1]

    return last


KernelOf: TypeAlias = Callable[..., Kernel]


def ones(*shape: int) -> WeightAttr:
    return WeightAttr.of(np.ones(shape, np.float32))


def convolution(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(64, x.shape[0], 3, 3))
    o, y, z, i, k, m = b.loops(f"o y:{x.shape[1] - 2} z:{x.shape[2] - 2} i k m")
    return b.sum((o, y, z), over=(i, k, m), of=x[i, y + k, z + m] * w[o, i, k, m])


def depthwise(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(x.shape[0], 3, 3))
    c, y, z, k, m = b.loops(f"c y:{x.shape[1] - 2} z:{x.shape[2] - 2} k m")
    return b.sum((c, y, z), over=(k, m), of=x[c, y + k, z + m] * w[c, k, m])


def depthwise_of_blocks(b: Builder, x: Tensor) -> Tensor:
    return depthwise(b, convolution(b, x))


def pooling(b: Builder, x: Tensor) -> Tensor:
    """The largest of each window of 2x2, behind a convolution that leaves blocks."""
    x = convolution(b, x)
    c, y, z, k, m = b.loops(f"c y:{x.shape[1] // 2} z:{x.shape[2] // 2} k:2 m:2")
    return b.max((c, y, z), over=(k, m), of=x[c, y * 2 + k, z * 2 + m])


def inner_product(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(1000, x.shape[0]))
    o, i = b.loops("o i")
    return b.sum((o,), over=(i,), of=x[i] * w[o, i])


def row_sums(b: Builder, x: Tensor) -> Tensor:
    r, c = b.loops_of(x.shape)
    return b.sum((r,), over=(c,), of=x[r, c])


def pointwise(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, exp(x[at]))


def accumulators(kernel: Kernel, schedule: Schedule, target: Target) -> int:
    """Vector registers that hold results of one tile."""
    points = prod(n for _, n in schedule.tile)
    return points * -(-schedule.vector // target.lanes)


LAYERS: list[tuple[Any, Shape]] = [
    (convolution, (64, 16, 16)), (convolution, (3, 40, 40)), (convolution, (20, 9, 9)),
    (depthwise, (64, 18, 18)), (depthwise, (40, 9, 9)), (pooling, (64, 16, 16)),
    (inner_product, (512,)), (row_sums, (197, 768)), (pointwise, (64, 16, 16)),
]  # fmt: skip


@targets
@pytest.mark.parametrize(("write", "shape"), LAYERS)
def test_tiles_fit_the_registers(
    kernel: KernelOf, write: Any, shape: Shape, target: Target
) -> None:
    """Accumulators, and what a step reads beside them, are not spilled."""
    found = kernel(write, shape)
    schedule = choose(found, target)
    assert accumulators(found, schedule, target) < target.registers


@targets
@pytest.mark.parametrize(("write", "shape"), LAYERS)
def test_schedules_are_whole(kernel: KernelOf, write: Any, shape: Shape, target: Target) -> None:
    """Every loop stands once; tiles are of known loops; threads get loops outside of the lane."""
    found = kernel(write, shape)
    for schedule in (choose(found, target), scalar(found)):
        assert sorted(schedule.order) == found.parallel
        assert set(schedule.reduced) == found.reduced
        assert {loop for loop, _ in schedule.tile} <= set(found.parallel)
        assert schedule.lane not in schedule.order[: schedule.chunks]
        assert all(1 < n <= found.extents[loop] for loop, n in schedule.tile)


@targets
@pytest.mark.parametrize("write", [convolution, depthwise_of_blocks, pooling])
def test_channels_are_the_lane(kernel: KernelOf, write: Any, target: Target) -> None:
    """In blocks, on every target; vectors are as wide as the target's."""
    found = kernel(write, (64, 18, 18))
    schedule = choose(found, target)
    assert schedule.lane is not None and schedule.lane in found.parallel
    assert found.store.coefficients[schedule.lane] == 1
    assert found.extents[schedule.lane] % 16 == 0
    assert schedule.vector == target.lanes


def test_a_convolution_fills_the_registers(kernel: KernelOf) -> None:
    """At least half of the registers accumulate: fewer would wait for the adder."""
    found = kernel(convolution, (64, 30, 30))
    for target in (AVX512, AVX2, BASELINE):
        schedule = choose(found, target)
        assert accumulators(found, schedule, target) >= target.registers // 2


@targets
def test_a_window_is_unrolled(kernel: KernelOf, target: Target) -> None:
    """Depthwise 3x3 and pooling 2x2 have no loop over the window: neighbours share what is read."""
    for write in (depthwise_of_blocks, pooling):
        found = kernel(write, (64, 18, 18))
        assert choose(found, target).unroll == found.reduced


def apart(b: Builder, x: Tensor) -> Tensor:
    """Every second row and column of a depthwise convolution."""
    w = b.weight(ones(x.shape[0], 3, 3))
    c, y, z, k, m = b.loops(f"c y:{(x.shape[1] - 1) // 2} z:{(x.shape[2] - 1) // 2} k m")
    return b.sum((c, y, z), over=(k, m), of=x[c, y * 2 + k, z * 2 + m] * w[c, k, m])


@targets
def test_two_rows_of_windows_share_what_they_read(kernel: KernelOf, target: Target) -> None:
    """Where all rows of a window but one are those of the next; a stride leaves too few."""
    for write, rows in ((depthwise_of_blocks, 2), (apart, 1)):
        found = kernel(write, (64, 17, 17))
        schedule = choose(found, target)
        *_, row, _, lane = schedule.order
        assert lane == schedule.lane and schedule.points(row) == rows


@targets
def test_sums_of_rows_are_vectors(kernel: KernelOf, target: Target) -> None:
    """The lane is the row that is summed."""
    found = kernel(row_sums, (197, 768), packed=False)
    schedule = choose(found, target)
    assert schedule.lane in found.reduced and schedule.vector == target.lanes


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


@pytest.mark.parametrize(("core", "streams"), [(ONE_UNIT, 4), (TWO_UNITS, 8)], ids=["one", "two"])
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
        _line(ahead, place)
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


def copy_of_rows(rows: int) -> Callable[[Builder, Tensor], Tensor]:
    """The first rows of an image as they are, in a frame."""

    def write(b: Builder, x: Tensor) -> Tensor:
        strip = b.cut(x, 1, 0, rows)
        return b.pad(b.map(at := b.loops_of(strip.shape), strip[at]), [0, 1, 1], [0, 0, 1])

    return write


@targets
def test_a_strip_that_is_copied_asks_for_the_next(kernel: KernelOf, target: Target) -> None:
    """Each line of the rows behind it; nothing where the planes end with the strip."""
    planes, rows, width = 3, 10, 224
    found = kernel(copy_of_rows(rows), (planes, 224, width), packed=False)
    schedule = choose(found, target)
    (read,) = found.anchor.inputs
    assert read is not None and schedule.lane is not None
    together = schedule.vector * schedule.points(schedule.lane)
    places = [
        {plane: p, row: r, column: c}
        for (plane, row, column) in [schedule.order]
        for p, r, c in product(range(planes), range(rows), range(0, width, together))
    ]
    asked = {_line(ahead, place) for ahead in schedule.ahead for place in places}
    behind = [(p * 224 + r) * width for p in range(planes) for r in range(rows, 2 * rows)]
    assert asked == {(row + c) // LINE for row in behind for c in range(width)}
    whole = kernel(copy_of_rows(224), (planes, 224, width), packed=False)
    assert not choose(whole, target).ahead


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
        asked |= {_line(access, place) for access in schedule.next}
        for cell in product(*tile):
            here = dict(zip(own, cell, strict=True))
            here[tiled] += schedule.points(tiled)
            wanted.add(_line(points, {**place, **here}))
    assert wanted <= asked and len(asked) <= LINE * found.extents[schedule.reduced[0]]
    assert not choose(kernel(depthwise_of_blocks, (64, 18, 18)), AVX512).next


def _line(access: Access, place: dict[int, int]) -> int:
    return (access.offset + sum(access.coefficients[d] * n for d, n in place.items())) // LINE


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


@pytest.mark.parametrize("core", [ONE_UNIT, TWO_UNITS], ids=["one", "two"])
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


def triangle_sums(b: Builder, x: Tensor) -> Tensor:
    """Of each row, as far as it reaches."""
    r, c = b.loops_of(x.shape)
    return b.sum((r,), over=(c,), of=select(b.index(c) < b.index(r), x[r, c], 0.0))


def turned_triangle(b: Builder, x: Tensor) -> Tensor:
    r, c = b.loops_of(x.shape)
    return b.map((c, r), select(b.index(c) < b.index(r), x[r, c], 0.0))


def some_of_a_phase(b: Builder, x: Tensor) -> Tensor:
    """Every second column of sums over three cells each, of which the first few count."""
    to = b.full((x.shape[0], 2 * x.shape[1]), 0.5)
    r, q, k = b.loops(f"r q:{x.shape[1] - 2} k:3")
    of = select(b.index(q) < 5, x[r, q + k], 0.0)
    return b.sum((r, q * 2), over=(k,), of=of, init=to)


@targets
@pytest.mark.parametrize("write", [triangle_sums, turned_triangle, some_of_a_phase])
def test_a_loop_that_is_asked_for_its_place_is_no_lane(
    kernel: KernelOf, write: Any, target: Target
) -> None:
    """All lanes of a vector would get the place of the first."""
    found = kernel(write, (64, 64), packed=False)
    assert choose(found, target).lane not in {*found.index_of.values()} - {None}


def sums_of_blocks(b: Builder, x: Tensor) -> Tensor:
    """Of every second block in each row."""
    r, o, i = b.loops("r o i")
    return b.sum((r,), over=(o, i), of=x[r, o, 0, i])


@targets
def test_lanes_beyond_the_last_channel_are_not_summed(kernel: KernelOf, target: Target) -> None:
    """Where the last block is not full, lanes are summed one by one."""
    found = kernel(sums_of_blocks, (64, 3, 2, 16), packed=False)
    blocks, lanes = sorted(found.reduced)
    assert choose(found, target).lane == lanes
    clipped = replace(found, tails=((blocks, lanes, 40),))
    assert choose(clipped, target).lane is None


def phase(b: Builder, x: Tensor) -> Tensor:
    """Every second row and column of a depthwise deconvolution."""
    w = b.weight(ones(x.shape[0], 2, 2))
    to = b.full((x.shape[0], 2 * x.shape[1], 2 * x.shape[2]), 0.5)
    height, width = x.shape[1] - 1, x.shape[2] - 1
    c, p, q, k, m = b.loops(f"c p:{height} q:{width} k m")
    return b.sum((c, p * 2, q * 2 + 1), (k, m), of=x[c, p + k, q + m] * w[c, k, m], init=to)


@targets
def test_results_that_lie_apart_are_vectorised(kernel: KernelOf, target: Target) -> None:
    """Neighbours share a vector where they read side by side; they are stored one by one."""
    found = kernel(phase, (5, 9, 14), packed=False)
    schedule = choose(found, target)
    assert schedule.lane is not None
    assert found.extents[schedule.lane] == 13
    assert found.store.coefficients[schedule.lane] == 2
    assert schedule.vector == min(8, target.lanes)


@targets
@pytest.mark.parametrize("axis", [0, 1])
def test_softmax_is_vectorised(
    make_network: Callable[..., ModuleOp],
    kernels_of: Callable[[ModuleOp], list[Kernel]],
    axis: int,
    target: Target,
) -> None:
    """Largest, powers, sum and quotient, along rows or along columns."""

    def write(b: Builder, x: Tensor) -> Tensor:
        at, rest = (loops := b.loops_of(x.shape)), [loops[1 - axis]]
        most = b.max(rest, over=[at[axis]], of=x[at])
        at = b.loops_of(x.shape)
        powers = b.map(at, exp(x[at] - most[at[1 - axis]]))
        at = b.loops_of(x.shape)
        total = b.sum([at[1 - axis]], over=[at[axis]], of=powers[at])
        at = b.loops_of(x.shape)
        return b.map(at, powers[at] / total[at[1 - axis]])

    kernels = kernels_of(make_network([(64, 96)], write))
    assert len(kernels) == 4
    assert all(choose(kernel, target).vector == target.lanes for kernel in kernels)


@targets
def test_threads_get_enough_to_do(kernel: KernelOf, target: Target) -> None:
    """The outer loops make some 16 chunks or more where there are as many steps."""
    for write in (convolution, depthwise, pooling):
        found = kernel(write, (64, 34, 34))
        assert chunk_count(found, choose(found, target)) >= CHUNKS_WANTED


@targets
@pytest.mark.parametrize("channels", [1, 3, 8])
def test_places_are_computed_in_vectors(kernel: KernelOf, target: Target, channels: int) -> None:
    """Along the points, once for several channels; threads share the points."""

    def sampled(b: Builder, x: Tensor, grid: Tensor) -> Tensor:
        c, p, q = b.loops_of((channels, 64, 96))
        return b.map((c, p, q), x.at(b.index(c), to_index(clamp(grid[p, q], 0.0, 8.0))))

    found = kernel(sampled, (channels, 9), (64, 96), packed=False)
    schedule = choose(found, target)
    assert schedule.vector == target.lanes
    assert [n for _, n in schedule.tile] == ([] if channels == 1 else [min(channels, 4)])
    assert chunk_count(found, schedule) >= CHUNKS_WANTED


@targets
def test_rows_are_shared_out(kernel: KernelOf, target: Target) -> None:
    """Also where they are the only loop: the lane is a reduced one."""
    found = kernel(row_sums, (64, 96))
    schedule = choose(found, target)
    assert schedule.lane in found.reduced and chunk_count(found, schedule) == 16
    assert chunk_count(found, scalar(found)) == 64


def test_the_same_kernel_is_scheduled_the_same_way(kernel: KernelOf) -> None:
    """A choice depends on nothing but the kernel and the target."""
    first, second = (kernel(convolution, (64, 16, 16)) for _ in range(2))
    assert choose(first, AVX512) == choose(second, AVX512)


def test_vectors_fill() -> None:
    """The widest vector of the target that an extent fills."""
    assert [vector_of(n, AVX512) for n in (1, 3, 8, 15, 16, 100)] == [1, 2, 8, 8, 16, 16]
    assert [vector_of(n, BASELINE) for n in (0, 2, 100)] == [1, 2, 4]


def test_tiles_divide_where_they_can() -> None:
    """A tile that divides, unless it would be less than half of what fits."""
    assert [tile_of(n, 7) for n in (14, 12, 13, 5, 1)] == [7, 6, 7, 5, 1]
    draw = random.Random(0)
    for _ in range(100):
        extent, most = draw.randint(1, 60), draw.randint(1, 8)
        assert 1 <= tile_of(extent, most) <= min(extent, most)
