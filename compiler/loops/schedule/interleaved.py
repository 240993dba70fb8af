"""Schedules of kernels that load or store a few interleaved values, as the three channels of an
image.

The lane runs along the pixels of an image whose channels are innermost, or along rows that are
shorter than a vector. Vectors are loaded as they are in memory, and shuffles in registers split
them.
"""

from __future__ import annotations

from dataclasses import replace

from ncc.compiler.loops.kernel.kernel import Kernel, Reason
from ncc.compiler.loops.kernel.vector_loops import interleaved_loops
from ncc.compiler.loops.schedule.schedule import (
    Schedule,
    Strategy,
    chunks_of,
    in_store_order,
    vector_of,
)
from ncc.compiler.target import Target


def interleaved(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The elements of a short loop are between neighbours along the lane.

    for z by vector:
      v = n vectors at x[z, 0], deinterleaved in registers: v[i] = x[z, i]
      out[z] = the sum of all f(v[i])           or out[z, i] = f(v[i]), interleaved in registers
    """
    found = interleaved_loops(kernel)
    if found is None:
        return "none of its loops has just a short loop between neighbours"
    lane, members = found
    vector, count = vector_of(kernel.extents[lane], target), kernel.extents[members]
    if count >= vector:
        return f"{count} values side by side are no fewer than the {vector} of a vector"
    others = [d for d in in_store_order(kernel, kernel.parallel) if d not in found]
    reduced = [d for d in sorted(kernel.reduced) if d != members]
    chunks = chunks_of(kernel, others, {}, target.costs.threads.chunks)
    schedule = Schedule(Strategy.INTERLEAVED, lane, vector, (), (*others, lane), tuple(reduced))
    schedule = replace(schedule, interleave=members, chunks=chunks)
    if members in kernel.reduced:
        return replace(schedule, reduced=(*reduced, members), unroll=frozenset({members}))
    return replace(schedule, tile=((members, count),), order=(*others, members, lane))
