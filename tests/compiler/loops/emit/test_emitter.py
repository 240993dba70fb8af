"""The table of emitters."""

from __future__ import annotations

from ncc.compiler.loops.emit.emitter import EMITTERS
from ncc.compiler.loops.schedule.choose import STRATEGIES
from ncc.compiler.loops.schedule.schedule import Strategy


def test_every_strategy_has_an_emitter() -> None:
    """Whatever a strategy decides can be written."""
    assert set(EMITTERS) == set(Strategy)


def test_every_strategy_is_tried() -> None:
    """Each once; contractions decide by their operands whether short vectors share one."""
    tried = [strategy for strategy, _, _ in STRATEGIES]
    assert len(tried) == len(set(tried))
    assert {*tried, Strategy.SHARED_VECTORS} == set(Strategy)
