"""Locality between kernels: a thread goes on with what it made, which is in its cache.

    conv, rows of all channels outermost       %y[b, r, c]     thread 0 makes the upper rows
    window, channels outermost                 reads half of what it does from another core
            rows outermost                     reads what it made, and a few rows of another core

A window does little with each element that it reads: a read from another core's cache shows.
Where what it reads was shared out among threads along another loop than its own outermost one, that
loop becomes the outermost one here. Its tiles stay what they are, and so do results.

Only the share of each thread follows from the number of threads.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from ncc.compiler.cost_model import Threads
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.schedule.schedule import Schedule, chunks_of
from ncc.compiler.plan import Buffer, Call, Subview
from ncc.dialects.size import hint


@dataclass
class Sharing:
    """How values are handed out: for each, how far it is from one part of it to the next."""

    distances: dict[Buffer, int] = field(default_factory=dict)

    def outermost(self, kernel: Kernel, subviews: list[Subview]) -> int | None:
        """The innermost loop of a window that goes from one part of what it reads to another, if it
        is known how that was handed out.
        """
        if not _is_window(kernel):
            return None
        for access in _reads(kernel):
            distance = self.distances.get(subviews[access.argument].buffer)
            if distance is not None:
                strides, extents = access.coefficients, kernel.extents
                found = [d for d in kernel.parallel if strides[d] * extents[d] > distance]
                return min(found, key=strides.__getitem__, default=None)
        return None

    def note(self, kernel: Kernel, subviews: list[Subview], schedule: Schedule) -> None:
        """Remember how the result of a reduction is handed out; other kernels write little."""
        if not kernel.accumulates:
            return
        loops = schedule.order[: schedule.chunks]
        first = next((d for d in loops if kernel.extents[d] > schedule.points(d)), None)
        if first is not None:
            buffer = subviews[kernel.store.argument].buffer
            self.distances[buffer] = kernel.store.coefficients[first]

    def note_iteration(self, call: Call) -> None:
        """Remember how a call of a loop hands out its results: by how far those of the next
        iteration lie.
        """
        for subview in call.results:
            if subview.further != 0:
                self.distances[subview.buffer] = hint(subview.further)


def handed_out_along(
    kernel: Kernel, schedule: Schedule, loop: int | None, costs: Threads
) -> Schedule:
    """The schedule of a window with that loop outermost, for its columns their rows."""
    others = schedule.order[:-1]
    if loop not in others or schedule.order[-1] != schedule.lane or len(others) < 2:
        return schedule
    first = loop if loop != others[-1] else others[-2]
    order = (first, *(d for d in others if d != first))
    chunks = chunks_of(kernel, order, dict(schedule.tile), costs.chunks)
    return replace(schedule, order=(*order, schedule.order[-1]), chunks=chunks)


def _is_window(kernel: Kernel) -> bool:
    """Whether all that a reduction reads moves with its result, a vector at a time."""
    reads = _reads(kernel)
    lanes = [d for d in kernel.parallel if all(a.coefficients[d] == 1 for a in reads)]
    return kernel.accumulates and bool(kernel.reduced and reads and lanes)


def _reads(kernel: Kernel) -> list[Access]:
    return [access for access in kernel.anchor.reads if access.moves]
