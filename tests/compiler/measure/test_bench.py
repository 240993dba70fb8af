"""A network's time, step by step, and what bounds each."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from ncc.compiler.measure import bench as bench_module
from ncc.compiler.measure.bench import StepCost, bench
from ncc.runtime import cpu
from ncc.runtime.errors import InputError

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"

COST = StepCost(("conv",), ("k1",), 1.0, 100, 30, 20, 40, 60, arithmetic_ms=0.6, memory_ms=0.5)


@pytest.mark.parametrize("threads", [1, 2])
def test_steps_add_up_to_the_network(threads: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """All layers have their time, which is that of their steps."""
    monkeypatch.setattr(bench_module, "BURST_MILLISECONDS", 1.0)
    result = bench(DIGITS, num_threads=threads, rounds=3)
    assert result.model == "digits.param" and result.threads == min(threads, cpu.cores())
    assert result.time.min <= result.time.median <= result.time.p95
    named = {layer for cost in result.layers for layer in cost.layers}
    assert {"conv1", "score"} <= named
    whole = sum(cost.ms for cost in result.steps)
    assert whole > 0
    assert sum(cost.ms for cost in result.layers) == pytest.approx(whole)
    assert result.gigaflops == pytest.approx(2e-6 * result.multiply_adds / result.time.min)


def test_an_open_shape_is_asked_for(tmp_path: Path) -> None:
    """As by every command that runs a network."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nReLU relu 1 1 data out\n")
    with pytest.raises(InputError, match="--shape data="):
        bench(path, rounds=1)


def test_the_longer_bound_holds_where_it_explains_the_time() -> None:
    """And neither does where both are a small part of it."""
    assert (COST.bound, COST.bound_ms, COST.bytes) == ("compute", 0.6, 100)
    assert replace(COST, memory_ms=0.7).bound == "memory"
    assert replace(COST, ms=20.0).bound == "latency"


def test_steps_of_a_layer_are_added_up() -> None:
    """A kernel that runs twice is named once; unknown arithmetic makes the sum unknown."""
    both = COST.plus(replace(COST, kernels=("k2",))).plus(COST)
    assert both.kernels == ("k1", "k2")
    assert (both.ms, both.flops, both.weight_bytes, both.data_bytes) == (3.0, 300, 120, 180)
    assert (both.tile_flops, both.byte_flops) == (90, 60)
    assert both.plus(replace(COST, flops=None)).flops is None
