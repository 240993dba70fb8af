"""Schedules of int8 contractions and windows, with weights in groups of four (`emit/dot.py`)."""

from __future__ import annotations

from ncc.compiler.loops.kernel.kernel import GATHERS, PADDED, Access, Kernel, Reason
from ncc.compiler.loops.kernel.products import match_quads, reads_unsigned
from ncc.compiler.loops.schedule.contraction import Candidate, cheapest, tiled
from ncc.compiler.loops.schedule.operands import Quad
from ncc.compiler.loops.schedule.reduction import windows_along
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.target import OCTET, Target


def dot(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The schedule of an int8 contraction whose weights are in groups of four."""
    found = _match(kernel, target)
    return found if isinstance(found, str) else cheapest(tiled(kernel, target, *found))


def window_dot(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The schedule of int8 windows whose weights are in groups of four."""
    found = match_quads(kernel, across=True)
    if isinstance(found, str):
        return found
    loop, lane, broadcast, stream = found
    if kernel.clipped & kernel.reduced:
        return "some of what it sums is padding"
    if not target.dot:
        return "the target has no instruction for it"
    if reason := _refused(kernel, lane, (broadcast, stream)):
        return reason
    if kernel.extents[lane] != target.lanes:
        return f"its blocks of {kernel.extents[lane]} channels are not vectors of {target.lanes}"
    if not reads_unsigned(kernel, broadcast):
        return "its data has signs"
    return windows_along(kernel, target, lane, quad=loop)


def candidates(kernel: Kernel, target: Target) -> list[Candidate]:
    """All schedules of an int8 contraction; none for any other kernel."""
    found = _match(kernel, target)
    return [] if isinstance(found, str) else tiled(kernel, target, *found)


def _match(kernel: Kernel, target: Target) -> tuple[int, Access, Access, Quad] | Reason:
    """The lane of such a contraction, its stream, its broadcast operand, and the four products."""
    found = match_quads(kernel)
    if isinstance(found, str):
        return found
    loop, lane, broadcast, stream = found
    if kernel.valid_extents:
        return PADDED
    if reason := _refused(kernel, lane, (broadcast, stream)):
        return reason
    if kernel.extents[lane] % target.lanes:
        return f"its blocks of {kernel.extents[lane]} channels are no vectors of {target.lanes}"
    if kernel.extents[loop] == OCTET and not target.matrix_bytes:
        return "the target has no matrix products of bytes"
    signed = not reads_unsigned(kernel, broadcast)
    if target.dot_signed and not signed:
        return "its data has no signs"
    surplus = signed and not target.dot_signed
    return lane, stream, broadcast, Quad(loop, surplus, not target.dot, target.dot_signed)


def _refused(kernel: Kernel, lane: int, pair: tuple[Access, Access]) -> Reason | None:
    """Why vectors along the lane cannot be stored, or other operands not be loaded as vectors."""
    if kernel.captured:
        return GATHERS
    if any(a.coefficients[lane] not in (0, 1) for a in kernel.accesses() if a not in pair):
        return "what it adds to the sums, or stores, is not contiguous along the lane"
    if kernel.store.coefficients[lane] != 1:
        return "its result is not contiguous along the lane"
    return None
