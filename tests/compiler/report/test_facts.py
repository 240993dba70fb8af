"""Facts are plain data: what follows from them, and JSON."""

from __future__ import annotations

import json

from ncc.compiler.report.facts import Facts, Layer, Result, Results, Step


def layer(became: int | None, rewrites: tuple[str, ...]) -> Layer:
    return Layer("ReLU", "act", 4, "", (), (), 0, 0, became=became, rewrites=rewrites)


def test_the_fate_of_a_layer() -> None:
    """It follows from what became of it and what rewrote it."""
    assert layer(3, ()).fate == "kept"
    assert layer(3, ("fuse a b",)).fate == "changed"
    assert layer(None, ("eliminate a",)).fate == "gone"


def test_the_bound_of_a_step_is_the_longer_one() -> None:
    """There is none if nothing was measured."""
    step = Step(("a",), "k", 1, 10, 30, 70, ms=1.0, arithmetic_ms=0.2, memory_ms=0.5)
    assert (step.bound_ms, step.bytes) == (0.5, 100)
    assert Step(("a",), "k", 1, 10, 30, 70).bound_ms is None


def test_results_count_what_differs() -> None:
    """The page begins with this number."""
    rows = [Result("a", "ReLU", "a", "3", 0.0, d, True) for d in (True, False)]
    assert Results("exact results", tuple(rows), None).differing == 1


def test_facts_are_json(facts: Facts) -> None:
    """All of them, for programs."""
    told = json.loads(json.dumps(facts.as_object(), allow_nan=False))
    assert told["model"] == "net.param"
    assert [one["name"] for one in told["now"]] == ["data", "first", "pool", "side", "score"]
