"""The table of emitters."""

from __future__ import annotations

from functools import partial

from ncc.compiler.loops.emit.emitter import EMITTERS
from ncc.compiler.loops.emit.kernel_emitter import KernelEmitter
from ncc.compiler.loops.schedule.choose import STRATEGIES
from ncc.compiler.loops.schedule.schedule import Strategy


def test_every_strategy_has_an_emitter() -> None:
    """Whatever a strategy decides can be written."""
    assert set(EMITTERS) == set(Strategy)


def test_no_emitter_inherits_from_another() -> None:
    """They share parts instead."""
    made = [one.func if isinstance(one, partial) else one for one in EMITTERS.values()]
    assert all(isinstance(one, type) and one.__bases__ == (KernelEmitter,) for one in made)


def test_every_strategy_is_tried() -> None:
    """Each once. Contractions decide by their operands whether short vectors share one, and dot
    products whether their groups have eight products.
    """
    tried = [strategy for strategy, _, _ in STRATEGIES]
    assert len(tried) == len(set(tried))
    assert {*tried, Strategy.SHARED_VECTORS, Strategy.MATRIX_BYTES} == set(Strategy)
