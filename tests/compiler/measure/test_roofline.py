"""The kernels that measure what a machine can do."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.measure.roofline import (
    BLOCKS,
    Roofline,
    RooflineMeter,
    byte_products,
    multiply_adds,
    reading,
    tile_products,
)
from ncc.compiler.target import Target
from ncc.runtime.session import Model
from tests.runnable import RUNNABLE


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda target: target.name)
def test_reading_reads_every_cell_of_every_round(target: Target) -> None:
    """The sums that a kernel hands out are those of all it claims to read, on each thread."""
    size, rounds = 16 << 10, 3
    artifact, data, work = reading(target, 2, size, rounds * size)
    cells = size // 4
    data[:] = np.repeat([1.0, 2.0], cells)
    sums = Model(artifact, 2).run({"block": data})["sums"].reshape(2, target.lanes)
    assert sums.sum(axis=1).tolist() == [rounds * cells, 2 * rounds * cells]
    assert work == 2 * rounds * size


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda target: target.name)
def test_multiply_adds_are_all_done(target: Target) -> None:
    """n iterations of acc * 1 + 1 count to n, in every accumulator that is claimed."""
    artifact, data, work = multiply_adds(target, 1, 10)
    data[:] = 1.0
    sums = Model(artifact).run({"block": data})["sums"]
    accumulators = work // (2 * target.lanes * 10)
    assert sums.tolist() == [11.0 * accumulators] * target.lanes
    assert accumulators <= target.registers - 2


def test_a_meter_knows_the_best_of_its_samples() -> None:
    """Rates are positive, and farther memory is never said to be faster."""
    meter = RooflineMeter(RUNNABLE[-1], 1)
    meter.sample()
    first = meter.roofline()
    meter.sample()
    second = meter.roofline()
    assert 0 < first.gigaflops <= second.gigaflops
    rates = list(second.gigabytes.values())
    assert list(second.gigabytes) == list(BLOCKS) and rates == sorted(rates, reverse=True)


@pytest.mark.parametrize("target", [t for t in RUNNABLE if t.tiles], ids=lambda target: target.name)
def test_products_of_tiles_are_all_done(target: Target) -> None:
    """n iterations of sixteen pairs 0 * 0 + 1 * 1 count to 16 n, in each sum of the four tiles."""
    artifact, data, work = tile_products(target, 1, 10)
    data[:] = 1.0  # a bfloat16 of zero, and one of one
    sums = Model(artifact).run({"block": data})["sums"]
    places = 4 * 16 * 16
    assert sums.tolist() == [16 * 10 * (places // target.lanes)] * target.lanes
    assert work == 10 * places * 2 * 32


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda target: target.name)
def test_products_of_bytes_are_all_done(target: Target) -> None:
    """n iterations of four products of ones count to 4 n, in every accumulator that is claimed."""
    artifact, data, work = byte_products(target, 1, 10)
    data[:] = np.full(4 * data.size, 1, np.int8).view(np.float32)
    sums = Model(artifact).run({"block": data})["sums"]
    accumulators = work // (8 * target.lanes * 10)
    assert sums.tolist() == [40.0 * accumulators] * target.lanes


def test_memory_is_as_fast_as_the_cache_that_holds_it() -> None:
    """Split among the threads; a cache is as fast as the largest block in it, and what no block
    holds is as slow as the largest.
    """
    known = Roofline(2, 100.0, RATES, CACHES)
    assert [known.bandwidth(n) for n in (0, 2000, 2002, 8000, 8002, 10**9)] == [
        30.0, 30.0, 10.0, 10.0, 5.0, 5.0,
    ]  # fmt: skip


RATES = {500: 30.0, 2000: 12.0, 3000: 10.0, 9000: 5.0}
CACHES = (1000, 4000)


@pytest.mark.parametrize(
    ("bytes", "took"),
    [
        ((900, 0, 0, 0), 900 / 30),  # of the first cache, the second and what is behind it
        ((3000, 0, 0, 0), 2000 / 10),
        ((6000, 0, 0, 0), 5000 / 10),
        ((12000, 0, 0, 0), 8000 / 5),
        ((3000, 2000, 0, 0), 3000 / 10),  # both are held, each to its part
        ((0, 0, 2000, 3000), 2000 * 2 / 3 / 10),  # of the weights, as of all that is touched
        ((0, 0, 2000, 40000), 2000 * 0.9 / 5),
    ],
)
def test_the_level_that_takes_longest_bounds_memory(bytes: tuple[int, ...], took: float) -> None:
    """Two threads have twice the caches for twice the bytes."""
    assert Roofline(1, 1.0, RATES, CACHES).memory_ms(*bytes) == pytest.approx(took * 1e-6)
    twice = Roofline(2, 1.0, RATES, CACHES).memory_ms(*(2 * n for n in bytes))
    assert twice == pytest.approx(2 * took * 1e-6)


def test_tiles_work_beside_vectors() -> None:
    """The longer of their times is the least of both."""
    known = Roofline(1, 100.0, RATES, CACHES, tile_gigaflops=1000.0)
    assert known.arithmetic_ms(5000, 0, 0) == pytest.approx(5e-5)
    assert known.arithmetic_ms(25000, 20000, 0) == pytest.approx(5e-5)
    assert known.arithmetic_ms(85000, 80000, 0) == pytest.approx(8e-5)


def test_products_of_bytes_take_the_turns_of_vectors() -> None:
    """Their time and that of the others add up."""
    known = Roofline(1, 100.0, RATES, CACHES, byte_gigaflops=500.0)
    assert known.arithmetic_ms(25000, 0, 20000) == pytest.approx(9e-5)
