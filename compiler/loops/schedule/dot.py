"""Schedules of int8 contractions and windows, with weights in groups of four (`emit/dot.py`)."""

from __future__ import annotations

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.products import crossed_quads_of, quads_of, reads_unsigned
from ncc.compiler.loops.schedule.contraction import Candidate, cheapest, tiled
from ncc.compiler.loops.schedule.operands import Quad
from ncc.compiler.loops.schedule.reduction import windows_along
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import Target


def dot(kernel: Kernel, target: Target) -> Schedule | None:
    """The schedule of an int8 contraction whose weights lie in fours; None for anything else."""
    return cheapest(candidates(kernel, target))


def window_dot(kernel: Kernel, target: Target) -> Schedule | None:
    """The schedule of int8 windows whose weights lie in fours; None for anything else."""
    found = crossed_quads_of(kernel)
    if found is None or kernel.clipped & kernel.reduced or kernel.captured or not target.dot:
        return None
    loop, lane, broadcast, stream = found
    others = [a for a in kernel.accesses() if a not in (broadcast, stream)]
    if any(a.coefficients[lane] not in (0, 1) for a in others):
        return None
    if kernel.store.coefficients[lane] != 1 or kernel.extents[lane] != target.lanes:
        return None
    return (
        windows_along(kernel, target, lane, quad=loop)
        if reads_unsigned(kernel, broadcast)
        else None
    )


def candidates(kernel: Kernel, target: Target) -> list[Candidate]:
    """All schedules of such a contraction; none for anything else."""
    found = quads_of(kernel)
    if found is None or kernel.valid_extents or kernel.captured:
        return []
    loop, lane, broadcast, stream = found
    others = [a for a in kernel.accesses() if a not in (broadcast, stream)]
    if any(a.coefficients[lane] not in (0, 1) for a in others):
        return []
    if kernel.store.coefficients[lane] != 1 or kernel.extents[lane] % target.lanes:
        return []
    signed = not reads_unsigned(kernel, broadcast)
    return tiled(kernel, target, lane, stream, broadcast, Quad(loop, signed, halved=not target.dot))
