"""What the cost model of register tiles distinguishes."""

from __future__ import annotations

from dataclasses import replace

import pytest

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.contraction import candidates
from ncc.compiler.loops.schedule.cycles import TileCost
from ncc.compiler.loops.schedule.operands import ContractionOperands
from ncc.compiler.loops.schedule.schedule import parts_of_tile
from ncc.compiler.target import AVX2, AVX512, ONE_UNIT, TWO_UNITS, TWO_UNITS_OF_AMD
from ncc.dialects.index_notation import Builder, Tensor
from tests.compiler.linalg.operations import ones
from tests.compiler.loops.emit.layers import KernelOf


def pointwise_convolution(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(128, x.shape[0]))
    o, y, z, i = b.loops("o y z i")
    return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])


@pytest.fixture
def operands(kernel: KernelOf) -> ContractionOperands:
    """Eight blocks of outputs at 14 x 14 points, on a core with one unit."""
    target = replace(AVX512, core=ONE_UNIT)
    return candidates(kernel(pointwise_convolution, (64, 14, 14)), target)[0].operands


def test_what_tiles_leave_over_is_counted(operands: ContractionOperands) -> None:
    """Tiles of 14 divide 196 points, tiles of 13 leave one: its own tile waits for results."""
    (points, *_), (blocks, *_) = operands.points, operands.vectors
    cost = TileCost(operands)
    whole, left_over = (cost.of(((points, n), (blocks, 2))) for n in (14, 13))
    assert whole < left_over


@pytest.mark.parametrize("size", [1, 3, 6, 9, 13])
def test_any_rest_is_expected_of_a_loop_whose_extent_the_run_tells(
    operands: ContractionOperands, size: int
) -> None:
    """Its cost is that of the extents around the likely one, each taken once, within 5 %."""
    loop, (blocks, *_), likely = operands.points[0], operands.vectors, 30

    def cost(kernel: Kernel) -> float:
        return TileCost(replace(operands, kernel=kernel)).of(((loop, size), (blocks, 2)))

    def at(extent: int) -> float:
        rest = extent % size
        taken = min(n for n in (0, *parts_of_tile(size)) if n >= rest)
        extents = list(operands.kernel.extents)
        extents[loop] = extent - rest + taken
        return cost(replace(operands.kernel, extents=tuple(extents)))

    around = [at(likely - size // 2 + n) for n in range(size)]
    expected = cost(replace(operands.kernel, about=((loop, likely),)))
    assert expected == pytest.approx(sum(around) / size, rel=0.05)


def test_a_tile_that_fits_the_hint_costs_less(operands: ContractionOperands) -> None:
    """14 points are one tile of 14, and two of 13; for extents around, both cost about the same."""
    loop, (blocks, *_) = operands.points[0], operands.vectors
    cost = TileCost(replace(operands, kernel=replace(operands.kernel, about=((loop, 14),))))
    fitting, other = (cost.of(((loop, n), (blocks, 2))) for n in (14, 13))
    assert fitting < other


def test_a_second_unit_is_worth_what_is_not_read(operands: ContractionOperands) -> None:
    """A tile of many points takes half the time or little more; one of one waits for vectors."""
    (points, *_), (blocks, *_) = operands.points, operands.vectors
    cores = (replace(TWO_UNITS, multiply_adds=units) for units in (1, 2))
    one, two = (TileCost(replace(operands, target=replace(AVX512, core=core))) for core in cores)
    for tile, least, most in (
        (((points, 14), (blocks, 2)), 0.5, 0.6),
        (((points, 1), (blocks, 8)), 0.9, 1.0),
    ):
        assert least <= two.of(tile) / one.of(tile) < most


def test_sums_beyond_those_of_the_core_cost_more(operands: ContractionOperands) -> None:
    """A core overlaps 13 of 28 sums with others: two tiles of 14 take less."""
    (points, *_), (blocks, *_) = operands.points, operands.vectors
    for sums in (13, 32):
        core = replace(TWO_UNITS_OF_AMD, sums=sums)
        cost = TileCost(replace(operands, target=replace(AVX512, core=core)))
        large, small = (cost.of(((points, n), (blocks, 2))) for n in (14, 7))
        assert (large < small) == (sums == 32)


def test_short_vectors_cost_less(operands: ContractionOperands) -> None:
    """Half a vector for the last of eight blocks: at most a sixteenth of all."""
    (points, *_), (blocks, *_) = operands.points, operands.vectors
    tile = ((points, 14), (blocks, 2))
    whole, short = (TileCost(replace(operands, short=one)).of(tile) for one in (None, (blocks, 8)))
    assert 15 / 16 * whole <= short < whole


@pytest.mark.parametrize(("inputs", "is_less"), [(64, False), (2048, True)])
def test_both_halves_of_a_line_come_at_once(kernel: KernelOf, inputs: int, is_less: bool) -> None:
    """Two vectors of 256 bits side by side take less than two of different blocks, unless both
    blocks' weights stay in L1.
    """
    operands = candidates(kernel(pointwise_convolution, (inputs, 14, 14)), AVX2)[0].operands
    (points, *_), (blocks, *_) = operands.points, operands.vectors
    cost = TileCost(operands)
    line, apart = (cost.of(((points, 7), (loop, 2))) for loop in (operands.lane, blocks))
    assert line < apart if is_less else line == apart


def test_points_that_push_each_other_out_come_from_l2(operands: ContractionOperands) -> None:
    """Lines that lie a way of L1 apart have room for a few points of a tile."""
    (points, *_), (blocks, *_) = operands.points, operands.vectors
    coefficients = list(operands.broadcast.coefficients)
    coefficients[points] = 1024
    apart = replace(
        operands, broadcast=replace(operands.broadcast, coefficients=tuple(coefficients))
    )
    for n, is_more in ((4, False), (14, True)):
        tile = ((points, n), (blocks, 2))
        assert (TileCost(apart).of(tile) > TileCost(operands).of(tile)) == is_more
