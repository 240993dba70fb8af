"""What a series of times says."""

from __future__ import annotations

import time

import pytest

from ncc.compiler.measure.timing import Stopwatch, Timing, burst


def test_a_series_is_told_by_three_times() -> None:
    """The least, the middle, and what 95 of 100 do not exceed; disturbed runs leave the middle."""
    timing = Timing.of([*range(100, 0, -1), 10_000])
    assert (timing.min, timing.median, timing.p95, timing.runs) == (1, 51, 96, 101)


def test_a_burst_is_as_long_as_asked() -> None:
    """It ends behind so many milliseconds, and what takes longer runs once."""
    runs: list[None] = []

    def run() -> None:
        runs.append(None)
        time.sleep(0.002)

    assert 2 <= len(burst(run, 20)) < 10
    runs.clear()
    assert len(burst(run, 0.1)) == 1 and len(runs) == 2


def test_a_stopwatch_adds_up_by_name() -> None:
    """In the order of first use, and also where a block ends in an error."""
    watch = Stopwatch()
    for name in ("read", "write", "read"):
        with watch.timing(name):
            time.sleep(0.001)
    with pytest.raises(ValueError), watch.timing("fail"):
        raise ValueError
    assert list(watch.seconds) == ["read", "write", "fail"]
    assert watch.seconds["read"] >= 0.002
