"""Timestamps of a run: steps by their ends, and how fast the counter counts."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.artifact.from_plan import TIMESTAMPS
from ncc.compiler.driver import compile as front
from ncc.compiler.feeds import random_feeds
from ncc.compiler.measure.timestamped import TimestampedRun, ticks_per_ms
from ncc.compiler.options import Options

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"


def stamped(over: float, *timestamps: int) -> TimestampedRun:
    return TimestampedRun(over, np.array(timestamps, np.int64))


def test_a_step_takes_from_the_end_before_to_its_own() -> None:
    """One that was done earlier than the one in front of it takes nothing, and no less."""
    assert stamped(0.0, 100, 130, 120, 135, 135).ticks().tolist() == [30, 0, 5, 0]


def test_a_step_without_work_takes_nothing() -> None:
    """Nobody notes its end: its place holds 0, or a time of an earlier run."""
    assert stamped(0.0, 100, 0, 120, 35, 130, 0).ticks().tolist() == [0, 20, 0, 10, 0]
    runs = [stamped(1.0, 0, 500, 0), stamped(1.5, 900, 1500, 0)]
    assert ticks_per_ms(runs) == pytest.approx(1000 / 500)


def test_the_counter_is_measured_between_the_ends_of_runs() -> None:
    """Of the first and the last, whatever lies between."""
    runs = [stamped(1.0, 0, 500), stamped(1.1, 7, 8), stamped(1.5, 900, 1500)]
    assert ticks_per_ms(runs) == pytest.approx(1000 / 500)


def test_every_step_of_a_network_has_a_stamp() -> None:
    """They rise, and come to what passes between two runs."""
    model = front.compile_with(DIGITS, None, Options.of(timestamps=True))
    feeds = random_feeds(model.inputs, 0)
    runs = [TimestampedRun.of(model, feeds) for _ in range(3)]
    steps = len(model.artifact.info["steps"])
    assert {run.ticks().shape for run in runs} == {(steps,)}
    assert all((run.ticks() >= 0).all() and run.ticks().sum() > 0 for run in runs)
    assert runs[0].timestamps[-1] <= runs[1].timestamps[0] and runs[0].over < runs[1].over
    assert ticks_per_ms(runs) > 0


def test_a_network_of_open_shapes_has_stamps(tmp_path: Path) -> None:
    """As many for each size, which rise."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput data 0 1 data\nSigmoid s 1 1 data out\n")
    options = Options.of(timestamps=True, input_shapes={"data": (3, None, None)})
    model = front.compile_with(path, None, options)
    for shape in ((3, 8, 9), (3, 40, 5)):
        found = model.run({"data": np.zeros(shape, np.float32)})
        assert found["out"].shape == shape
        assert (np.diff(found[TIMESTAMPS]) >= 0).all() and len(found[TIMESTAMPS]) > 1
