"""Sums up a series of measured times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from time import perf_counter

import numpy as np

from ncc.compiler.options import at_least

ROUNDS = 20
"""The number of rounds. Each round measures everything that is compared."""

BURST_MILLISECONDS = 50.0
"""How long a network runs in each round. A network that takes longer runs once."""


def rounds_of(value: object) -> int:
    """A number of rounds as a caller may write it. Raises InputError for any other value."""
    return at_least(1, "no such number of rounds", None, "1 or more", value)


@dataclass(frozen=True)
class Timing:
    """The milliseconds of many runs: the least, the median, and the 95th percentile."""

    min: float
    median: float
    p95: float
    runs: int

    @staticmethod
    def of(milliseconds: Sequence[float]) -> Timing:
        least, middle, most = np.percentile(milliseconds, (0, 50, 95))
        return Timing(float(least), float(middle), float(most), len(milliseconds))


def timed(run: Callable[[], object]) -> float:
    """The milliseconds of one run."""
    start = perf_counter()
    run()
    return (perf_counter() - start) * 1e3


def burst(run: Callable[[], object], milliseconds: float) -> list[float]:
    """Run for about so long, at least twice; the times of all runs but the first."""
    samples = [timed(run)]
    while sum(samples) < milliseconds:
        samples.append(timed(run))
    return samples[1:] or [timed(run)]
