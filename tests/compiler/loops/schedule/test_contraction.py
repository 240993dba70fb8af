"""The tile of a contraction on a core, and the operand that is read once."""

from __future__ import annotations

from dataclasses import replace
from math import prod

import pytest
from xdsl.dialects import memref

from ncc.compiler.linalg.analysis.block_size import BLOCK
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.schedule import contraction
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.target import (
    AVX512,
    BASELINE,
    NEON,
    ONE_UNIT,
    TWO_UNITS,
    TWO_UNITS_OF_AMD,
    Core,
    Target,
)
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import ones
from tests.compiler.loops.emit.layers import (
    KernelOf,
    convolution,
    inner_product,
    pointwise,
    pointwise_convolution,
    targets,
)
from tests.crossed import some


@targets
def test_an_inner_product_streams_its_weights(kernel: KernelOf, target: Target) -> None:
    """The lane is the block of outputs, in which the weights are contiguous."""
    found = kernel(inner_product, (512,))
    schedule = choose(found, target)
    weights = found.anchor.inputs[1]
    assert schedule.lane is not None and weights is not None
    assert weights.coefficients[schedule.lane] == 1


@targets
@pytest.mark.parametrize("inputs", some([9216, 1024, 25088], usual=1))
def test_a_vector_reads_several_rows_of_weights_at_once(
    kernel: KernelOf, inputs: int, target: Target
) -> None:
    """However long they are: operands that are read once come from memory in as many streams."""
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
    """If the lane is the only loop over vectors, all are read between two uses of one."""
    schedule = choose(kernel(scores, (64, 1500)), AVX512)
    sizes = dict(schedule.tile)
    assert schedule.order[-1] == schedule.lane
    points = prod(n for d, n in sizes.items() if d != schedule.lane)
    assert points / TWO_UNITS.multiply_adds >= TWO_UNITS.l2_line


def test_candidates_are_of_all_tiles(kernel: KernelOf) -> None:
    """The choice is the cheapest of them; other kernels have none."""
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


def test_arm_unrolls_the_iterations_over_a_block(kernel: KernelOf) -> None:
    """Six points of a block: 24 sums, the vectors of the points, and two of weights are 32
    registers. Vectors are the outer loop of the tile, so that each is loaded once.
    """
    layer = pointwise_convolution(64)
    found = kernel(lambda b, x: layer(b, layer(b, x)), (64, 14, 14))
    schedule = choose(found, NEON)
    assert schedule.at_once == (schedule.reduced[-1], BLOCK)
    *vectors, (_, points) = schedule.tile
    assert (prod(n for _, n in vectors), points) == (4, 6)
    assert not schedule.prefetch_l1
    assert choose(found, replace(NEON, by_element=False)).at_once is None
    assert choose(found, BASELINE).at_once is None


def test_points_of_a_row_share_vectors(kernel: KernelOf) -> None:
    """An image of the caller's has its channels in planes: neighbours along a row of the window are
    neighbours in memory, also those of the next point.
    """
    found = kernel(convolution, (3, 30, 30))
    schedule = choose(found, NEON)
    assert schedule.at_once == (schedule.reduced[-1], 3)
    written = write(found, schedule, "kernel")
    assert not [op for op in written.walk() if isinstance(op, memref.LoadOp)]
