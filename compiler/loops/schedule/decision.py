"""Why a kernel has its schedule: strategies that do not fit it, cycles, and the runner-up."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from ncc.compiler.loops.kernel.kernel import Kernel, Reason
from ncc.compiler.loops.schedule.choose import cheapest_of, choose, tried
from ncc.compiler.loops.schedule.contraction import Candidate
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.loops.schedule.schedule_text import schedule_text
from ncc.compiler.target import Target

_OTHERS = "only register tiles of products have a cost model"
_OPEN = "the run tells the sizes of the kernel"


class Decision(NamedTuple):
    """The choice of a schedule, and the reasons for it.

    refused     strategies that were tried before, and which of their conditions does not hold
    wants       what the strategy of the schedule wants of a kernel
    candidate   the schedule with its cycles; None if they are not counted
    uncounted   why they are not counted, if that is so
    runner_up   the cheapest other candidate; None if there is none
    is_tuned    whether the cost model would choose another tile
    """

    strategy: Strategy
    refused: tuple[tuple[Strategy, Reason], ...]
    wants: str
    candidate: Candidate | None
    uncounted: str
    runner_up: Candidate | None
    is_tuned: bool

    @staticmethod
    def of(kernel: Kernel, schedule: Schedule, target: Target) -> Decision:
        """The decision for a schedule that strategies have made for this kernel and target."""
        *refused, (_, _, wants) = tried(kernel, target)
        near = [] if kernel.is_open else cheapest_of(kernel, target)
        chosen = choose(kernel, target)
        near = near if any(one.schedule == chosen for one in near) else []
        taken = [one for one in near if _are_alike(one.schedule, schedule)]
        others = [one for one in near if one not in taken]
        return Decision(
            schedule.strategy,
            tuple((strategy, str(reason)) for strategy, reason, _ in refused),
            wants,
            next(iter(taken), None),
            _OPEN if kernel.is_open else _OTHERS,
            next(iter(others), None),
            bool(near) and near[0] not in taken,
        )

    def lines(self) -> Iterator[str]:
        """The same as text."""
        yield f"strategy: {self.strategy.value}, which wants {self.wants}"
        for strategy, reason in self.refused:
            yield f"not {strategy.value}: {reason}"
        if self.candidate is None:
            yield f"cycles: not counted, since {self.uncounted}"
            return
        yield f"cycles: {_cycles_text(self.candidate)}{' (tuned)' * self.is_tuned}"
        if self.runner_up is not None:
            yield f"runner-up: {schedule_text(self.runner_up.schedule)}"
            yield f"runner-up's cycles: {_cycles_text(self.runner_up)}"


def _are_alike(one: Schedule, other: Schedule) -> bool:
    """Whether two schedules have the same tile, and so the same cycles; the order of loops may
    differ, for threads.
    """
    first, second = ((s.strategy, s.lane, s.vector, s.tile) for s in (one, other))
    return first == second


def _cycles_text(candidate: Candidate) -> str:
    """Cycles, and the percentage of each cause."""
    parts = candidate.parts.items()
    said = (f"{name} {100 * part / candidate.cost:.0f} %" for name, part in parts)
    return f"{candidate.cost:,.0f} ({', '.join(said)})"
