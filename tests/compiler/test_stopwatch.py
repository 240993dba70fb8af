"""Where time went."""

from __future__ import annotations

import pytest

from ncc.compiler import stopwatch
from ncc.compiler.stopwatch import Stopwatch


def test_a_stopwatch_adds_up_by_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """In the order of first use, and also where a block ends in an error."""
    seconds = 0.0
    monkeypatch.setattr(stopwatch, "perf_counter", lambda: seconds)
    watch = Stopwatch()
    for name in ("read", "write", "read"):
        with watch.timing(name):
            seconds += 0.001
    with pytest.raises(ValueError), watch.timing("fail"):
        raise ValueError
    assert list(watch.seconds) == ["read", "write", "fail"]
    assert list(watch.seconds.values()) == pytest.approx([0.002, 0.001, 0.0])


def test_stopwatches_are_added() -> None:
    """What one of them knows counts, and what both know twice."""
    one, other = Stopwatch(), Stopwatch()
    one.seconds, other.seconds = {"a": 1.0, "b": 2.0}, {"b": 3.0, "c": 4.0}
    one.add(other)
    assert one.seconds == {"a": 1.0, "b": 5.0, "c": 4.0}
