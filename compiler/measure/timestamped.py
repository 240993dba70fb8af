"""Runs a network that notes when each of its steps is done (`Options.timestamps`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.artifact.from_plan import TIMESTAMPS
from ncc.runtime.session import Model

Feeds: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class TimestampedRun:
    """One run: when it was over, in seconds, and its timestamps, of the start and of every step's
    end.
    """

    over: float
    timestamps: NDArray[np.int64]

    @staticmethod
    def of(model: Model, feeds: Feeds) -> TimestampedRun:
        """Run a model that was compiled with timestamps."""
        timestamps = model.run(feeds)[TIMESTAMPS]
        return TimestampedRun(perf_counter(), timestamps)

    def ticks(self) -> NDArray[np.int64]:
        """The ticks of every step; 0 for a step that was done before the step in front of it.

        A step that has nothing to do at this size notes no time: its place holds 0, or the time of
        an earlier run.
        """
        steps: NDArray[np.int64] = np.diff(np.maximum.accumulate(self.timestamps))
        return steps


def ticks_per_ms(runs: Sequence[TimestampedRun]) -> float:
    """The ticks of a millisecond, by the first and the last of some runs."""
    first, last = runs[0], runs[-1]
    ticks = int(last.timestamps.max() - first.timestamps.max())
    return ticks / (last.over - first.over) * 1e-3
