"""Runs of a network that notes when each of its steps is done: `Options.stamps`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from time import perf_counter
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from ncc.compiler.pipeline import STAMPS
from ncc.runtime.session import Model

Feeds: TypeAlias = Mapping[str, NDArray[Any]]


@dataclass(frozen=True)
class StampedRun:
    """When a run was over, in seconds, and its stamps: the start, and the end of every step."""

    over: float
    stamps: NDArray[np.int64]

    @staticmethod
    def of(model: Model, feeds: Feeds) -> StampedRun:
        """Run a model that was compiled with stamps."""
        stamps = model.run(feeds)[STAMPS]
        return StampedRun(perf_counter(), stamps)

    def ticks(self) -> NDArray[np.int64]:
        """Of every step; none for one that was done before the one in front of it."""
        steps: NDArray[np.int64] = np.diff(np.maximum.accumulate(self.stamps))
        return steps


def ticks_per_ms(runs: Sequence[StampedRun]) -> float:
    """How fast the counter counts, by the first and the last of some runs."""
    first, last = runs[0], runs[-1]
    return int(last.stamps[-1] - first.stamps[-1]) / (last.over - first.over) * 1e-3
