"""Which strategy writes a kernel.

A strategy looks at the kernel's coefficients only. The first whose condition holds fills the
schedule; the last always does.

    transform     the lane is contiguous; rows of a small transform at once (`transform` writes it)
    selection     lanes of blocks, put together in registers (`selection` writes it)
    tiles         a contraction by halves of bfloat16, on matrix tiles (`tiles` writes it)
    halving       a value in halves of bfloat16, both out of one read
    dot           an int8 contraction in fours: one dot product a lane (`dot` writes it)
    contraction   the lane is an output or image loop; a register tile of P points x Q vectors
    window        the lane is a batch loop (depthwise, pooling); a tile along the image, of two rows
                  where their windows overlap
    rows          the lane is a reduced loop: a vector of partial results, folded at the end
    pointwise     the lane is the contiguous loop of the store
    turned        as pointwise, some operands contiguous along another loop
    apart         the lane is contiguous where a reduction reads; results are stored one by one
    scalar        no lane: always right, slow
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ncc.compiler.loops.kernel import Access, Kernel, can_be_lane, extracts
from ncc.compiler.loops.schedule import Schedule, chunks_of, in_store_order, tile_of, vector_of
from ncc.compiler.loops.strategies import contraction, dot
from ncc.compiler.loops.strategies.selection import selection
from ncc.compiler.loops.strategies.tiles import halving, tiles
from ncc.compiler.loops.strategies.transform import transform
from ncc.compiler.target import Target

MAX_UNROLLED = 9
"""Cells of a window that are written out, so that neighbouring points share their reads."""

MOST_POINTS, FEW_POINTS = 7, 4
"""Points of a tile of vectors: with 32 registers, and with fewer, or where none shares a read."""

LEAST_SQUARE = 4
"""Elements along a side of a square that is worth turning in registers."""

RIVALS = 12
NEAR = 1.5
"""How many schedules of a kernel are worth timing at most, and by how much the count of cycles may
put them behind its favourite."""


def rivals(kernel: Kernel, target: Target) -> list[Schedule]:
    """What to time: the schedule that `choose` gives, and those that come close to it."""
    chosen, near = choose(kernel, target), _cheapest(kernel, target)
    return near if chosen in near else [chosen]


def named(kernel: Kernel, target: Target, text: str) -> Schedule | None:
    """The one of several rivals whose text this is; None where there is no such."""
    return next((one for one in _cheapest(kernel, target) if str(one) == text), None)


def _cheapest(kernel: Kernel, target: Target) -> list[Schedule]:
    """By the count of cycles, the best first; none for a kernel whose cycles are not counted."""
    found = dot.candidates(kernel, target) or contraction.candidates(kernel, target)
    found = sorted(found, key=lambda one: one.cost)
    return [one.schedule for one in found[:RIVALS] if one.cost <= NEAR * found[0].cost]


def choose(kernel: Kernel, target: Target) -> Schedule:
    """The schedule of the first strategy that fits."""
    strategies = (
        transform,
        selection,
        tiles,
        halving,
        dot.dot,
        contraction.contraction,
        _window,
        _rows,
        _pointwise,
        _turned,
        _apart,
    )
    for strategy in strategies:
        schedule = strategy(kernel, target)
        if schedule is not None:
            return schedule
    return scalar(kernel)


def scalar(kernel: Kernel) -> Schedule:
    """Plain loops in the order of the store: right for every kernel."""
    order = in_store_order(kernel, kernel.parallel)
    return Schedule(
        None, 1, (), order, tuple(sorted(kernel.reduced)), chunks=chunks_of(kernel, order, {})
    )


def _window(kernel: Kernel, target: Target) -> Schedule | None:
    """A reduction whose lane moves every operand: depthwise convolution, pooling, means.

    for y (by 2 where windows of two rows overlap):
      for z by 7:
        v = initial                                 a vector of channels for each point
        for k, m: v[z] += x[y + k, z + m] * w[k, m]         written out, if few
        out[y, z] = epilogue(v[z])
    """
    if not kernel.accumulates or not kernel.reduced:
        return None
    lanes = [d for d in kernel.parallel if can_be_lane(kernel, d)]
    reads = [a for a in kernel.anchor.inputs if a is not None and any(a.coefficients)]
    lanes = [d for d in lanes if any(a.coefficients[d] for a in reads)]
    if not lanes:
        return None
    lane = max(lanes, key=lambda d: min(kernel.extents[d], target.lanes))
    vector = vector_of(kernel.extents[lane], target)
    others = [d for d in in_store_order(kernel, kernel.parallel) if d != lane]
    window = prod(kernel.extents[d] for d in kernel.reduced)
    unroll = frozenset(kernel.reduced) if window <= MAX_UNROLLED else _innermost(kernel)
    tile: list[tuple[int, int]] = []
    if others:
        loop, shares_reads = others[-1], unroll or len(others) > 1
        most = MOST_POINTS if target.registers >= 32 and shares_reads else FEW_POINTS
        tile.append((loop, tile_of(kernel.extents[loop], most)))
    if unroll and len(others) > 1 and _overlap(kernel, reads, others[-2]):
        tile.insert(0, (others[-2], min(kernel.extents[others[-2]], 2)))
    tile = [(loop, n) for loop, n in tile if n > 1]
    order = (*others, lane)
    reduced = tuple(sorted(kernel.reduced))
    chunks = chunks_of(kernel, others, dict(tile))
    return Schedule(lane, vector, tuple(tile), order, reduced, unroll, chunks=chunks)


def _overlap(kernel: Kernel, reads: Sequence[Access], rows: int) -> bool:
    """Whether the windows of two rows have all their rows but one in common."""
    moving = [a.coefficients for a in reads if a.coefficients[rows]]
    return any(c[d] == c[rows] for c in moving for d in kernel.reduced)


def _innermost(kernel: Kernel) -> frozenset[int]:
    last = max(kernel.reduced)
    return frozenset({last}) if kernel.extents[last] <= 7 else frozenset()


def _rows(kernel: Kernel, target: Target) -> Schedule | None:
    """The lane is the contiguous reduced loop: one vector of partial results a row.

    for y by 4:
      v = 0                                         a vector of partial results for each row
      for k by vector: v[y] += x[y, k]
      out[y] = epilogue(initial + sum of the lanes of v[y])
    """
    if not kernel.accumulates or not kernel.reduced or kernel.tails:
        return None
    if any(d in kernel.reduced for d in kernel.index_of.values() if d is not None):
        return None
    reads = [a for a in kernel.anchor.inputs if a is not None]
    lanes = [
        d
        for d in kernel.reduced
        if all(a.coefficients[d] in (0, 1) for a in reads)
        and any(a.coefficients[d] == 1 for a in reads)
        and kernel.extents[d] >= target.lanes
    ]
    if not lanes or extracts(kernel.anchor) or kernel.anchor.yielded.owner is kernel.anchor.body:
        return None
    lane = max(lanes, key=lambda d: kernel.extents[d])
    order = in_store_order(kernel, kernel.parallel)
    tile = tuple((d, n) for d in order[-1:] if (n := tile_of(kernel.extents[d], FEW_POINTS)) > 1)
    reduced = (*(d for d in sorted(kernel.reduced) if d != lane), lane)
    chunks = chunks_of(kernel, order, dict(tile))
    return Schedule(lane, target.lanes, tile, order, reduced, chunks=chunks)


def _pointwise(kernel: Kernel, target: Target) -> Schedule | None:
    """The lane is the contiguous loop of the store, and nothing is read across it.

    for y:
      for z by 2 vectors: out[y, z] = f(a[y, z], b[y])      one where something is summed
    """
    lanes = [d for d in kernel.parallel if can_be_lane(kernel, d)]
    if not lanes:
        return None
    lane = max(lanes, key=lambda d: kernel.extents[d])
    vector = vector_of(kernel.extents[lane], target)
    order = (*(d for d in in_store_order(kernel, kernel.parallel) if d != lane), lane)
    wide = kernel.extents[lane] >= 4 * vector
    tile = ((lane, 2),) if wide and not kernel.accumulates else ()
    chunks = chunks_of(kernel, order[:-1], dict(tile))
    return Schedule(lane, vector, tile, order, tuple(sorted(kernel.reduced)), chunks=chunks)


def _turned(kernel: Kernel, target: Target) -> Schedule | None:
    """The lane is the contiguous loop of the store, what it does not read along lies turned.

    for y by n, z by n:
      v = x[z, y], n vectors along y, transposed in registers
      out[y, z] = f(v)                              n vectors along z
    """
    if kernel.accumulates or any(extracts(stage) for stage in kernel.stages):
        return None
    used = {d for d in kernel.index_of.values() if d is not None}
    best: tuple[int, int, int] | None = None
    for lane in kernel.parallel:
        if kernel.store.coefficients[lane] != 1 or lane in used:
            continue
        across = [a for a in kernel.accesses() if a.coefficients[lane] not in (0, 1)]
        for turn in kernel.parallel:
            if turn == lane or any(a.coefficients[turn] != 1 for a in across):
                continue
            lanes = vector_of(min(kernel.extents[lane], kernel.extents[turn]), target)
            if lanes >= LEAST_SQUARE and (best is None or lanes > best[0]):
                best = (lanes, lane, turn)
    if best is None:
        return None
    lanes, lane, turn = best
    others = [d for d in kernel.parallel if d not in (lane, turn)]
    order = (*in_store_order(kernel, others), turn, lane)
    tile = ((turn, lanes),)
    chunks = chunks_of(kernel, order[:-1], dict(tile))
    return Schedule(lane, lanes, tile, order, (), turn=turn, chunks=chunks)


def _apart(kernel: Kernel, target: Target) -> Schedule | None:
    """A reduction like `window` whose results lie apart, as those of a stride's phase do.

    for y:
      for z by vector:
        v = initial
        for k, m: v += x[y + k, z + m] * w[k, m]
        out[y, 2 z], out[y, 2 z + 2], .. = the lanes of epilogue(v)
    """
    if not kernel.accumulates or not kernel.reduced or any(map(extracts, kernel.stages)):
        return None
    reads = [a for a in kernel.anchor.inputs if a is not None]
    used = {d for d in kernel.index_of.values() if d is not None}
    lanes = [
        d
        for d in kernel.parallel
        if d not in used
        and kernel.extents[d] >= 4
        and {0, 1} >= {a.coefficients[d] for a in reads} != {0}
    ]
    if not lanes:
        return None
    lane = max(lanes, key=lambda d: kernel.extents[d])
    order = (*(d for d in in_store_order(kernel, kernel.parallel) if d != lane), lane)
    reduced = tuple(sorted(kernel.reduced))
    window = prod(kernel.extents[d] for d in reduced)
    return Schedule(
        lane,
        vector_of(kernel.extents[lane], target),
        (),
        order,
        reduced,
        kernel.reduced if window <= MAX_UNROLLED else frozenset(),
        chunks=chunks_of(kernel, order[:-1], {}),
    )
