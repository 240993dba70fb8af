"""What a series of times says."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.measure import timing
from ncc.compiler.measure.timing import Timing, burst, rounds_of
from ncc.runtime.errors import InputError


class Clock:
    """Time that goes on when it is told to."""

    def __init__(self) -> None:
        self.seconds = 0.0

    def __call__(self) -> float:
        return self.seconds

    def wait(self, milliseconds: float) -> None:
        self.seconds += milliseconds / 1e3


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(timing, "perf_counter", clock)
    return clock


def test_a_series_is_told_by_three_times() -> None:
    """The least, the middle, and what 95 of 100 do not exceed; disturbed runs leave the middle."""
    series = Timing.of([*range(100, 0, -1), 10_000])
    assert (series.min, series.median, series.p95, series.runs) == (1, 51, 96, 101)


def test_a_burst_is_as_long_as_asked(clock: Clock) -> None:
    """It ends behind so many milliseconds, and what takes longer runs once."""
    assert burst(lambda: clock.wait(2), 19) == pytest.approx([2.0] * 9)
    before = clock.seconds
    assert burst(lambda: clock.wait(2), 0.1) == pytest.approx([2.0])
    assert clock.seconds - before == pytest.approx(0.004), "the first one is not counted"


@pytest.mark.parametrize("wrong", [0, -1, 1.5, "2", None])
def test_what_is_no_number_of_rounds_is_refused(wrong: Any) -> None:
    """Nothing can be said of no round."""
    assert rounds_of(3) == 3
    with pytest.raises(InputError, match="rounds: expected 1 or more"):
        rounds_of(wrong)
