"""Schedules of pointwise kernels, whose lane is the contiguous loop of the store, and of all
others.

If a kernel reads at computed coordinates (`gathered`), the lanes run along the output elements. A
few channels, or blocks of channels, share the coordinates and the weights, which round as scalars
do.
"""

from __future__ import annotations

from xdsl.dialects.builtin import i8

from ncc.compiler.loops.kernel.kernel import GATHERS, Kernel, Reason
from ncc.compiler.loops.kernel.vector_loops import NO_LANE, can_be_lane, can_gather
from ncc.compiler.loops.schedule.schedule import (
    Schedule,
    Strategy,
    chunks_of,
    in_store_order,
    tile_of,
    vector_of,
)
from ncc.compiler.target import Target


def pointwise(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The lane is the contiguous loop of the store, and nothing is read across it.

    for y:
      for z by 2 vectors: out[y, z] = f(a[y, z], b[y])      one vector if the kernel sums

    Vectors that become bytes may be longer (`Target.byte_lanes`).

    Some blocks of channels are read together at computed coordinates:

    for c by 4, y:
      for z by vector: out[c, y, z] = x[c, f(a[y]), z]      f(a) once for all c of the tile
    """
    lanes = [d for d in kernel.parallel if can_be_lane(kernel, d)]
    if not lanes:
        return NO_LANE
    lane = max(lanes, key=lambda d: kernel.extents[d])
    stores_bytes = kernel.element_types[kernel.store.argument] == i8
    longest = target.byte_lanes if stores_bytes else target.lanes
    vector = vector_of(kernel.extents[lane], target, longest)
    order = (*(d for d in in_store_order(kernel, kernel.parallel) if d != lane), lane)
    wide = kernel.extents[lane] >= 4 * vector
    tile = ((lane, 2),) if wide and not kernel.accumulates else ()
    blocks = _read_alike(kernel, lane)
    if blocks is not None:
        tile = ((blocks, tile_of(kernel.extents[blocks], target.costs.schedules.most_shared)),)
    chunks = chunks_of(kernel, order[:-1], dict(tile), target.costs.threads.chunks)
    reduced = tuple(sorted(kernel.reduced))
    return Schedule(Strategy.POINTWISE, lane, vector, tile, order, reduced, chunks=chunks)


def _read_alike(kernel: Kernel, lane: int) -> int | None:
    """The loop of blocks of channels that are read at the same computed coordinates."""
    read = [a for a in kernel.anchor.inputs if a is not None]
    if kernel.accumulates or not read or not kernel.anchor.extracts:
        return None
    led = kernel.indexed - {lane}
    alike = [d for d in led if kernel.extents[d] > 1 and not any(a.coefficients[d] for a in read)]
    return alike[0] if len(alike) == 1 else None


def gathered(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The lane is the contiguous loop of the store, and each lane has its own coordinates.

    for y, z by vector:
      for c by 4: out[c, y, z] = x[c, f(a[y, z])]       f(a) is computed once for all c of the tile
    """
    if kernel.accumulates:
        return "it sums"
    if not any(stage.extracts for stage in kernel.stages):
        return "it reads nothing at computed coordinates"
    lanes = [d for d in kernel.parallel if can_gather(kernel, d)]
    if not lanes:
        return "no loop of its contiguous result can have gathered lanes"
    lane = max(lanes, key=lambda d: kernel.extents[d])
    others = [d for d in in_store_order(kernel, kernel.parallel) if d != lane]
    shared = [d for d in others if d in kernel.indexed][:1]
    order = (*(d for d in others if d not in shared), *shared, lane)
    most = target.costs.schedules.most_shared
    tile = tuple((d, n) for d in shared if (n := tile_of(kernel.extents[d], most)) > 1)
    chunks = chunks_of(kernel, order[:-1], dict(tile), target.costs.threads.chunks)
    vector = vector_of(kernel.extents[lane], target)
    return Schedule(Strategy.GATHERED, lane, vector, tile, order, (), chunks=chunks)


def transposed(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The lane is the contiguous loop of the store; other operands are contiguous along another.

    for y by n, z by n:
      v = x[z, y], n vectors along y, transposed in registers
      out[y, z] = f(v)                              n vectors along z
    """
    if kernel.accumulates:
        return "it sums"
    if any(stage.extracts for stage in kernel.stages):
        return GATHERS
    best: tuple[int, int, int] | None = None
    least = target.costs.schedules.least_square
    for lane in kernel.parallel:
        if kernel.store.coefficients[lane] != 1 or lane in kernel.indexed:
            continue
        across = [a for a in kernel.accesses() if a.coefficients[lane] not in (0, 1)]
        for other in kernel.parallel:
            if other == lane or any(a.coefficients[other] != 1 for a in across):
                continue
            lanes = vector_of(min(kernel.extents[lane], kernel.extents[other]), target)
            if lanes >= least and (best is None or lanes > best[0]):
                best = (lanes, lane, other)
    if best is None:
        return "all of its operands are contiguous along no two loops that are long enough"
    lanes, lane, along = best
    others = [d for d in kernel.parallel if d not in (lane, along)]
    order = (*in_store_order(kernel, others), along, lane)
    tile = ((along, lanes),)
    chunks = chunks_of(kernel, order[:-1], dict(tile), target.costs.threads.chunks)
    return Schedule(
        Strategy.TRANSPOSED, lane, lanes, tile, order, (), transpose=along, chunks=chunks
    )


def scalar(kernel: Kernel, target: Target) -> Schedule:
    """Plain loops in the order of the store: right for every kernel."""
    order = in_store_order(kernel, kernel.parallel)
    reduced, wanted = tuple(sorted(kernel.reduced)), target.costs.threads.chunks
    chunks = chunks_of(kernel, order, {}, wanted)
    return Schedule(Strategy.SCALAR, None, 1, (), order, reduced, chunks=chunks)
