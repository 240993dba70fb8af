"""Where time went."""

from __future__ import annotations

import pytest

from ncc.compiler.measure import stopwatch
from ncc.compiler.measure.stopwatch import Stopwatch


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
