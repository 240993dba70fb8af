"""A run as a trace that Perfetto and Chrome can show: which thread does what, and when.

    {"name": "conv1+relu1", "cat": "contraction", "ph": "X", "ts": 12.5, "dur": 301.2,
     "pid": 1, "tid": 0, "args": {"step": 3, "kernel": "contraction_2f9a0c5b7d11", "chunks": 14}}

The code of the network notes the time whenever a thread has taken chunks of a step, and when it has
done them. The gaps between are barriers, where threads wait for each other. Several runs are made,
and the fastest one is shown: a run that lost the CPU says nothing about the code.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from time import perf_counter
from typing import Any

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.artifact.from_plan import TRACE
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.driver.specialise import settled
from ncc.compiler.measure.timestamped import Feeds
from ncc.compiler.options import Options
from ncc.runtime.memory_files import FileLike
from ncc.runtime.session import Model

RUNS = 20
"""The runs of which the fastest is shown."""

PROCESS = 1
"""The number of the process, which the format wants."""


@dataclass(frozen=True)
class Event:
    """A thread does some chunks of a step. begin, end: in ticks of the processor's counter."""

    step: int
    thread: int
    chunks: int
    begin: int
    end: int


def events_of(records: NDArray[np.int64]) -> Iterator[Event]:
    """The events of a run, in the order of their chunks: the chain that `Trace` describes."""
    place = 0
    while place < len(records):
        step, thread, following, begin, end = map(int, records[place])
        if not place < following <= len(records):
            raise CompilerBug(f"a trace goes on from chunk {place} to {following}")
        yield Event(step, thread, following - place, begin, end)
        place = following


@dataclass(frozen=True)
class TracedRun:
    """The events of one run, with the kernel and the layers of each step."""

    model: str
    events: tuple[Event, ...]
    steps: tuple[tuple[str, tuple[str, ...]], ...]
    ticks_per_us: float

    @property
    def begin(self) -> int:
        return min(event.begin for event in self.events)

    @property
    def ticks(self) -> int:
        """From the first event to the end of the last."""
        return max(event.end for event in self.events) - self.begin

    def as_object(self) -> dict[str, Any]:
        """The run in Chrome's Trace Event Format."""
        threads = sorted({event.thread for event in self.events})
        named = [_name("process_name", 0, f"ncc: {self.model}")]
        named += [_name("thread_name", thread, f"thread {thread}") for thread in threads]
        events = sorted(self.events, key=lambda event: (event.thread, event.begin))
        return {"displayTimeUnit": "ns", "traceEvents": [*named, *map(self._event, events)]}

    def _event(self, event: Event) -> dict[str, Any]:
        kernel, layers = self.steps[event.step]
        return {
            "name": "+".join(layers) or kernel,
            "cat": kernel.rpartition("_")[0],
            "ph": "X",
            "ts": (event.begin - self.begin) / self.ticks_per_us,
            "dur": (event.end - event.begin) / self.ticks_per_us,
            "pid": PROCESS,
            "tid": event.thread,
            "args": {"step": event.step, "kernel": kernel, "chunks": event.chunks},
        }


def _name(kind: str, thread: int, name: str) -> dict[str, Any]:
    return {"ph": "M", "name": kind, "pid": PROCESS, "tid": thread, "args": {"name": name}}


def trace(
    param: FileLike, bin: FileLike | None, options: Options, feeds: Feeds, runs: int = RUNS
) -> TracedRun:
    """Compile a network so that it notes what its threads do, and run it.

    Raises what compiling and running raise, and InputError if a shape is open.
    """
    model = settled(compile_with(param, bin, replace(options, trace=True)))
    _traced(model, feeds)
    found = [_traced(model, feeds) for _ in range(runs)]
    per_us = _ticks_per_us([(over, max(e.end for e in events)) for over, events in found])
    steps = tuple((kernel, tuple(layers)) for kernel, layers in model.artifact.info["steps"])
    name = str(model.artifact.info["model"])
    made = [TracedRun(name, events, steps, per_us) for _, events in found]
    return min(made, key=lambda run: run.ticks)


def _traced(model: Model, feeds: Feeds) -> tuple[float, tuple[Event, ...]]:
    """One run: when it was over, in seconds, and its events."""
    records = model.run(feeds)[TRACE]
    over = perf_counter()
    return over, tuple(events_of(records))


def _ticks_per_us(runs: Sequence[tuple[float, int]]) -> float:
    """The ticks of a microsecond, by the ends of the first and the last run."""
    (first_over, first), (last_over, last) = runs[0], runs[-1]
    return (last - first) / (last_over - first_over) * 1e-6
