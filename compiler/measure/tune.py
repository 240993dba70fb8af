"""Finds the fastest schedules on this machine: times the best candidates of the cost model.

Candidates are timed within the network. In the n-th variant of the network, every kernel has its
n-th candidate. All variants run in turns, and note when each step is done. So a candidate works on
the memory that the network gives it, and finds the caches as its neighbours leave them. A change of
the clock meets its rivals as well. At the end the winners run in turns with the cost model's choice
once more, and `ncc tune` keeps those that are still faster.

Candidates differ in tiles and in the order of parallel loops, not in the order of sums. So results
are the same, bit by bit.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.driver.tuned import tuned_file
from ncc.compiler.feeds import Range, all_feeds
from ncc.compiler.loops.build_network import Step
from ncc.compiler.loops.schedule.choose import rivals
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.loops.schedule.schedule_text import schedule_text
from ncc.compiler.measure.schedulings import Schedulings
from ncc.compiler.measure.timestamped import Feeds, TimestampedRun, ticks_per_ms
from ncc.compiler.measure.timing import rounds_of
from ncc.compiler.options import Options
from ncc.compiler.progress import counted
from ncc.runtime.paths import PathLike
from ncc.runtime.session import Model

Times: TypeAlias = NDArray[np.float64]
Optimizations: TypeAlias = Mapping[str, Sequence[Schedule]]

ROUNDS = 15
RUNS = 2
"""The number of runs of every variant in each round, one after another."""

QUANTILE = 0.1
"""The quantile of a step's times that counts, because a disturbed run is never fast."""

GAIN = 0.02
"""The part of its time that a kernel must win. Less is chance."""


@dataclass(frozen=True)
class TunedKernel:
    """One kernel signature: its layers, its candidates, and the times of all its steps together.

    known: whether an earlier tuning kept the schedule, so that it was not timed against others.
    """

    signature: str
    layers: tuple[str, ...]
    candidates: int
    favourite: Schedule
    schedule: Schedule
    before_ms: float
    after_ms: float
    known: bool

    @property
    def changed(self) -> bool:
        """Whether the cost model would have chosen another schedule."""
        return self.schedule != self.favourite


@dataclass(frozen=True)
class Tuning:
    """The result of tuning a network.

    before_ms, after_ms: the time of all steps, with those that have no choice. path: the file that
    keeps the schedules.
    """

    model: str
    target: str
    threads: int
    kernels: tuple[TunedKernel, ...]
    before_ms: float
    after_ms: float
    path: str


def tune(
    param: PathLike,
    bin: PathLike | None,
    options: Options,
    *,
    feeds: Feeds | None = None,
    seed: int = 0,
    value_range: Range | None = None,
    rounds: int = ROUNDS,
    again: bool = False,
) -> Tuning:
    """Time the candidates of every kernel that has some, and keep the fastest.

    again: whether to time kernels that an earlier tuning decided. Raises what reading, compiling
    and running raise, InputError if a shape is open or the environment says to keep nothing, and
    OSError if the file cannot be written.
    """
    rounds = rounds_of(rounds)
    kept = tuned_file(os.environ, options.target)
    kept.add({})  # fails now, not after all the timing, if the file cannot be written
    schedulings = Schedulings(param, bin, replace(options, timestamps=True))
    network = _Variants(schedulings, feeds, seed, value_range)
    steps = network.schedulings.steps
    choices = _choices(steps, options)
    known = {} if again else _known(choices, kept.read())
    trials = {name: [known[name]] if name in known else found for name, found in choices.items()}
    favourites = {name: found[0] for name, found in choices.items()}
    winners = known
    if len(known) < len(choices):
        ranks = max(map(len, trials.values()))
        times = network.times([_ranked(trials, rank) for rank in range(ranks)], rounds)
        winners = {
            name: _fastest(found, [_sum(steps, name, row) for row in times])
            for name, found in trials.items()
        }
    before, after = network.times([favourites, winners], rounds)
    found = [
        _outcome(
            name,
            candidates,
            winners[name],
            _layers(steps, name),
            (_sum(steps, name, before), _sum(steps, name, after)),
            name in known,
        )
        for name, candidates in choices.items()
    ]
    chosen = {kernel.signature: kernel.schedule for kernel in found if not kernel.known}
    kept.add(_texts(chosen))
    total = float(before.sum())
    gained = sum(kernel.before_ms - kernel.after_ms for kernel in found)
    return Tuning(
        os.path.basename(os.fspath(param)),
        options.target.name,
        options.num_threads,
        tuple(found),
        total,
        total - gained,
        str(kept.path),
    )


def _choices(steps: Sequence[Step], options: Options) -> Optimizations:
    """The candidates of kernels that have several, by signature; the favourite is first."""
    kernels = {
        step.signature: step.only_kernel
        for step in steps
        if step.signature is not None and step.only_kernel is not None
    }
    found = {name: rivals(kernel, options.target) for name, kernel in kernels.items()}
    return {name: candidates for name, candidates in found.items() if len(candidates) > 1}


def _outcome(
    name: str,
    candidates: Sequence[Schedule],
    winner: Schedule,
    layers: tuple[str, ...],
    times: tuple[float, float],
    known: bool,
) -> TunedKernel:
    """Decide for one kernel. The winner stays if it was known, or is faster than the favourite by
    GAIN.

    times: those of the favourite and of the winner.
    """
    favourite, (before, after) = candidates[0], times
    chosen = winner if known or after <= (1 - GAIN) * before else favourite
    return TunedKernel(
        name,
        layers,
        len(candidates),
        favourite,
        chosen,
        before,
        before if chosen == favourite else after,
        known,
    )


def _layers(steps: Sequence[Step], name: str) -> tuple[str, ...]:
    """The layers that the kernel of a signature computes."""
    found = [layer for step in steps if step.signature == name for layer in step.layers]
    return tuple(dict.fromkeys(found))


def _known(choices: Optimizations, kept: Mapping[str, str]) -> dict[str, Schedule]:
    """The schedules that an earlier tuning kept, for kernels that can have them."""
    return {
        name: candidate
        for name, candidates in choices.items()
        for candidate in candidates
        if kept.get(name) == schedule_text(candidate)
    }


def _ranked(trials: Optimizations, rank: int) -> dict[str, Schedule]:
    """The candidate of a rank for every kernel; its last candidate if it has fewer."""
    return {name: found[min(rank, len(found) - 1)] for name, found in trials.items()}


def _sum(steps: Sequence[Step], signature: str, times: Times) -> float:
    """The time of all steps of one signature."""
    return float(sum(times[at] for at, step in enumerate(steps) if step.signature == signature))


def _fastest(candidates: Sequence[Schedule], times: Sequence[float]) -> Schedule:
    """The candidate with the least time; the first one if no other clearly wins."""
    ranked = times[: len(candidates)]
    best = min(range(len(ranked)), key=ranked.__getitem__)
    return candidates[best if ranked[best] <= (1 - GAIN) * ranked[0] else 0]


def _texts(schedules: Mapping[str, Schedule]) -> dict[str, str]:
    """Schedules as the file keeps them."""
    return {name: schedule_text(schedule) for name, schedule in schedules.items()}


class _Variants:
    """Variants of one network with other schedules, on the same weights and inputs."""

    def __init__(
        self, schedulings: Schedulings, feeds: Feeds | None, seed: int, value_range: Range | None
    ) -> None:
        self.schedulings, self.feeds = schedulings, feeds
        self.seed, self.value_range = seed, value_range

    def times(self, variants: Sequence[Mapping[str, Schedule]], rounds: int) -> list[Times]:
        """Run all variants in turns; the milliseconds of every step of each."""
        compiled = counted("compiling candidates", variants, len(variants))
        models = [self._model(schedules) for schedules in compiled]
        inputs = all_feeds(models[0].inputs, self.feeds, self.seed, self.value_range)
        runs: list[list[TimestampedRun]] = [[] for _ in models]
        for _ in counted("timing candidates", range(rounds), rounds):
            for model, made in zip(models, runs, strict=True):
                made += [TimestampedRun.of(model, inputs) for _ in range(RUNS)]
        per_ms = ticks_per_ms([runs[0][0], runs[-1][-1]])
        return [
            np.quantile([made.ticks() for made in one], QUANTILE, axis=0) / per_ms for one in runs
        ]

    def _model(self, schedules: Mapping[str, Schedule]) -> Model:
        return self.schedulings.model(_texts(schedules))
