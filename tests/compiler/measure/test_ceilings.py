"""The kernels that measure what a machine can do."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.measure import ceilings
from ncc.compiler.measure.ceilings import BLOCKS, CeilingMeter, Ceilings
from ncc.compiler.target import Target
from ncc.runtime.session import Model
from tests.runnable import RUNNABLE


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda target: target.name)
def test_reading_reads_every_cell_of_every_round(
    target: Target, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The sums that a kernel hands out are those of all it claims to read, on each thread."""
    size, rounds = 16 << 10, 3
    monkeypatch.setattr(ceilings, "READ_BYTES", rounds * size)
    artifact, data, work = ceilings._reading(target, 2, size)
    cells = size // 4
    data[:] = np.repeat([1.0, 2.0], cells)
    sums = Model(artifact, 2).run({"block": data})["sums"].reshape(2, target.lanes)
    assert sums.sum(axis=1).tolist() == [rounds * cells, 2 * rounds * cells]
    assert work == 2 * rounds * size


@pytest.mark.parametrize("target", RUNNABLE, ids=lambda target: target.name)
def test_multiply_adds_are_all_done(target: Target, monkeypatch: pytest.MonkeyPatch) -> None:
    """n turns of acc * 1 + 1 count to n, in every accumulator that is claimed."""
    monkeypatch.setattr(ceilings, "TURNS", 10)
    artifact, data, work = ceilings._multiply_add(target, 1)
    data[:] = 1.0
    sums = Model(artifact).run({"block": data})["sums"]
    accumulators = work // (2 * target.lanes * 10)
    assert sums.tolist() == [11.0 * accumulators] * target.lanes
    assert accumulators <= target.registers - 2


def test_a_meter_knows_the_best_of_its_samples() -> None:
    """Rates are positive, and farther memory is never said to be faster."""
    meter = CeilingMeter(RUNNABLE[-1], 1)
    meter.sample()
    first = meter.ceilings()
    meter.sample()
    second = meter.ceilings()
    assert 0 < first.gigaflops <= second.gigaflops
    rates = list(second.gigabytes.values())
    assert list(second.gigabytes) == list(BLOCKS) and rates == sorted(rates, reverse=True)


def test_memory_is_as_fast_as_a_block_that_holds_it() -> None:
    """Split among the threads; what no block holds is as slow as the largest."""
    known = Ceilings(2, 100.0, {1000: 30.0, 4000: 10.0, 9000: 5.0})
    assert [known.bandwidth(n) for n in (0, 2000, 2002, 8000, 18000, 10**9)] == [
        30.0, 30.0, 10.0, 10.0, 5.0, 5.0,
    ]  # fmt: skip
