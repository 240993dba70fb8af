"""A trace of a run: every chunk of every step once, by one thread, one after the other."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.measure.trace import Event, TracedRun, events_of, trace
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.runtime.session import Model

TILES = """7767517
6 6
Input       data 0 1 data 0=96 1=48 2=32
Convolution a    1 1 data a 0=32 1=3 4=1 5=1 6=9216
ReLU        b    1 1 a b
Convolution c    1 1 b c 0=32 1=3 4=1 5=1 6=9216
Pooling     d    1 1 c d 0=1 4=1
InnerProduct e   1 1 d e 0=10 1=1 2=320
"""
"""Winograd convolutions, whose tiles are loops."""


@pytest.fixture
def param(tmp_path: Path) -> Path:
    path = tmp_path / "net.param"
    path.write_text(TILES)
    return path


def arrays() -> dict[str, np.ndarray]:
    return {"data": np.random.default_rng(0).uniform(-1, 1, (32, 48, 96)).astype(np.float32)}


@pytest.mark.parametrize("threads", [1, 2, 3])
def test_every_chunk_is_there_once(param: Path, threads: int) -> None:
    """In each of some runs; steps are the model's, and a thread does one thing at a time."""
    options = Options.of(random_weights=0, num_threads=threads, trace=True)
    compilation = Compilation(param, None, options)
    loops = compilation.loops(*compilation.planned)
    assert any(step.of_iteration for step in loops.steps), "there are loops"
    model = Model(compile_with(param, None, options).artifact, threads)
    plain = compile_with(param, None, Options.of(random_weights=0, num_threads=threads))
    feeds = arrays()
    for _ in range(5):
        found = model.run(feeds)
        events = list(events_of(found["a trace"]))
        assert sum(event.chunks for event in events) == loops.chunks
        assert {event.step for event in events} == set(range(len(loops.steps)))
        assert {event.thread for event in events} <= set(range(threads))
        assert np.array_equal(found["e"], plain.run(feeds)["e"])
        for thread in range(threads):
            own = sorted((e.begin, e.end) for e in events if e.thread == thread)
            assert all(begin <= end for begin, end in own)
            assert all(one[1] <= other[0] for one, other in pairwise(own))


def test_a_run_for_perfetto(param: Path) -> None:
    """JSON as Chrome's format wants it: complete events, and names of threads."""
    options = Options.of(random_weights=0, num_threads=2)
    run = trace(param, None, options, arrays(), runs=3)
    told = json.loads(json.dumps(run.as_object()))
    events = [event for event in told["traceEvents"] if event["ph"] == "X"]
    names = [event for event in told["traceEvents"] if event["ph"] == "M"]
    assert len(events) == len(run.events) and min(event["ts"] for event in events) == 0.0
    assert all(event["dur"] >= 0 and event["pid"] == 1 for event in events)
    assert {event["tid"] for event in events} <= {event["tid"] for event in names}
    assert {"a", "c", "e"} <= {name for event in events for name in event["name"].split("+")}
    assert all(event["args"]["kernel"] for event in events)
    last = max(event["ts"] + event["dur"] for event in events)
    assert last == pytest.approx(run.ticks / run.ticks_per_us)


def test_records_that_nobody_wrote_are_not_read() -> None:
    """The chain goes from the first chunk of a piece to the first of the next."""
    records = np.full((5, 5), -7, np.int64)
    records[0] = 0, 1, 3, 10, 20
    records[3] = 1, 0, 5, 20, 30
    assert list(events_of(records)) == [Event(0, 1, 3, 10, 20), Event(1, 0, 2, 20, 30)]


@pytest.mark.parametrize("following", [0, -1, 6])
def test_a_chain_that_is_broken_is_a_bug(following: int) -> None:
    """It is no endless loop."""
    records = np.zeros((5, 5), np.int64)
    records[0, 2] = following
    with pytest.raises(CompilerBug, match="a trace goes on"):
        list(events_of(records))


def test_times_count_from_the_first_event() -> None:
    """In microseconds."""
    events = (Event(0, 1, 2, 1500, 2500), Event(0, 0, 2, 1000, 2000))
    run = TracedRun("net", events, (("k_1", ("a", "b")),), 1000.0)
    first, second = [one for one in run.as_object()["traceEvents"] if one["ph"] == "X"]
    assert (first["tid"], first["ts"], first["dur"], first["cat"]) == (0, 0.0, 1.0, "k")
    assert (second["tid"], second["ts"], second["name"]) == (1, 0.5, "a+b")
