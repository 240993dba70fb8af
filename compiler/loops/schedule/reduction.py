"""Schedules of reductions that are no contractions: over windows, and along rows."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects.builtin import i8

from ncc.compiler.cost_model import Schedules
from ncc.compiler.loops.kernel.kernel import GATHERS, NO_SUM, PADDED, Kernel, Reason
from ncc.compiler.loops.kernel.vector_loops import can_be_lane
from ncc.compiler.loops.schedule.schedule import (
    Schedule,
    Strategy,
    chunks_of,
    in_store_order,
    short_of,
    tile_of,
    vector_of,
)
from ncc.compiler.target import Target


def window(kernel: Kernel, target: Target) -> Schedule | Reason:
    """A reduction whose operands all move along the lane: depthwise convolution, pooling, means.

    for y (by 2 if windows of two rows overlap):
      for z by 7:
        v = initial                                 a vector of channels for each point
        for k, m: v[z] += x[y + k, z + m] * w[k, m]         unrolled, if few
        out[y, z] = epilogue(v[z])
    """
    if not kernel.accumulates or not kernel.reduced:
        return NO_SUM
    moving = [d for d in kernel.parallel if any(a.coefficients[d] for a in kernel.anchor.reads)]
    lanes = [d for d in moving if can_be_lane(kernel, d)]
    if not lanes:
        return "none of the loops that its operands move along is contiguous in all of them"
    lane = max(lanes, key=lambda d: min(kernel.extents[d], target.lanes))
    return windows_along(kernel, target, lane)


def windows_along(kernel: Kernel, target: Target, lane: int, quad: int | None = None) -> Schedule:
    """The schedule of windows along a lane. quad: the reduced loop of four products, if there is
    one.
    """
    summed = [d for d in sorted(kernel.reduced) if d != quad]
    others = [d for d in in_store_order(kernel, kernel.parallel) if d != lane]
    taps = prod(kernel.extents[d] for d in summed)
    costs = target.costs.schedules
    is_small = taps <= costs.most_unrolled_taps
    unroll = frozenset(summed) if is_small else _row(kernel, summed, costs)
    vector, shortest = vector_of(kernel.extents[lane], target), target.shortest
    of_bytes = all(kernel.element_types[read.argument] == i8 for read in kernel.anchor.reads)
    if quad is None and of_bytes:
        vector = vector_of(kernel.extents[lane], target, target.byte_lanes)
        shortest = vector if vector > target.lanes else shortest
    if others:
        tile = _tile(kernel, others, unroll, target)
        if vector > target.lanes:
            tile = tile[-1:]  # a point has two registers
    else:
        tile = () if is_small else _vectors(kernel, lane, vector, costs)
    return Schedule(
        Strategy.WINDOW if quad is None else Strategy.WINDOW_DOT,
        lane,
        vector,
        tile,
        (*others, lane),
        tuple(summed),
        unroll,
        chunks=chunks_of(kernel, others, dict(tile), target.costs.threads.chunks),
        quad=quad,
        short=None if quad is not None else short_of(kernel, lane, shortest),
    )


def _tile(
    kernel: Kernel, loops: Sequence[int], unroll: frozenset[int], target: Target
) -> tuple[tuple[int, int], ...]:
    """Points of the innermost loop, and two rows of them if windows of two rows share loads.

    If results are stored as bf16 numbers, a tile has both blocks of a line instead. With few
    registers it has one row of more points if only a row of the window is unrolled: sums of a
    second row would wait for those of the first one.
    """
    inner, around = loops[-1], len(loops) > 1
    one_row = target.registers < 32 and 0 < len(unroll) < len(kernel.reduced)
    wide = one_row or target.registers >= 32 and (len(unroll) > 0 or around)
    costs = target.costs.schedules
    most = costs.most_points if wide else costs.few_points
    tile = [(inner, tile_of(kernel.extents[inner], most))]
    if kernel.bf16_split is not None and kernel.bf16_split.pairs in loops[:-1]:
        tile.insert(0, (kernel.bf16_split.pairs, 2))
    elif unroll and around and not one_row and _overlap(kernel, loops[-2]):
        tile.insert(0, (loops[-2], min(kernel.extents[loops[-2]], 2)))
    return tuple((loop, n) for loop, n in tile if n > 1)


def _vectors(
    kernel: Kernel, lane: int, vector: int, costs: Schedules
) -> tuple[tuple[int, int], ...]:
    """Neighbouring vectors, if the lane is the only parallel loop, as for sums of columns: an
    iteration loads several lines of a row, and sums do not wait for each other.
    """
    points = tile_of(kernel.extents[lane] // vector, costs.most_vectors)
    return ((lane, points),) if points > 1 else ()


def _overlap(kernel: Kernel, rows: int) -> bool:
    """Whether the windows of two rows share all rows but one."""
    reads = [access.coefficients for access in kernel.anchor.reads]
    return any(c[d] == c[rows] for c in reads if c[rows] for d in kernel.reduced)


def _row(kernel: Kernel, summed: Sequence[int], costs: Schedules) -> frozenset[int]:
    """The loop over a row of a window, if it is unrolled."""
    last = summed[-1]
    return frozenset({last}) if kernel.extents[last] <= costs.most_unrolled_row else frozenset()


def rows(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The lane is the contiguous reduced loop: one vector of partial results a row.

    for y by 4:
      v = 0                                         a vector of partial results for each row
      for k by vector: v[y] += x[y, k]
      out[y] = epilogue(initial + sum of the lanes of v[y])
    """
    if not kernel.accumulates or not kernel.reduced:
        return NO_SUM
    if kernel.valid_extents:
        return PADDED
    if kernel.indexed & kernel.reduced:
        return "it reads the index of a reduced loop"
    if kernel.anchor.extracts:
        return GATHERS
    if kernel.anchor.yielded.owner is kernel.anchor.body:
        return "it keeps the last of its operands"
    strides = {d: {a.coefficients[d] for a in kernel.anchor.reads} for d in kernel.reduced}
    lanes = [
        d for d in strides if _are_neighbours(strides[d]) and kernel.extents[d] >= target.lanes
    ]
    if not lanes:
        return f"none of its reduced loops is contiguous, with at least {target.lanes} iterations"
    lane = max(lanes, key=lambda d: kernel.extents[d])
    order = in_store_order(kernel, kernel.parallel)
    most = target.costs.schedules.few_points
    tile = tuple((d, n) for d in order[-1:] if (n := tile_of(kernel.extents[d], most)) > 1)
    reduced = (*(d for d in sorted(kernel.reduced) if d != lane), lane)
    chunks = chunks_of(kernel, order, dict(tile), target.costs.threads.chunks)
    return Schedule(Strategy.ROWS, lane, target.lanes, tile, order, reduced, chunks=chunks)


def _are_neighbours(strides: set[int]) -> bool:
    """Whether some operands are contiguous along a loop, and the others do not move with it."""
    return 1 in strides and strides <= {0, 1}


def scattered(kernel: Kernel, target: Target) -> Schedule | Reason:
    """A reduction like `window` whose results are strided, as in phases of transposed convolutions.

    for y:
      for z by vector:
        v = initial
        for k, m: v += x[y + k, z + m] * w[k, m]
        out[y, 2 z], out[y, 2 z + 2], .. = the lanes of epilogue(v)
    """
    if not kernel.accumulates or not kernel.reduced:
        return NO_SUM
    if any(stage.extracts for stage in kernel.stages):
        return GATHERS
    strides = {d: {a.coefficients[d] for a in kernel.anchor.reads} for d in kernel.parallel}
    found = [d for d in strides if _are_neighbours(strides[d]) and d not in kernel.indexed]
    costs = target.costs.schedules
    lanes = [d for d in found if kernel.extents[d] >= costs.fewest_scattered]
    if not lanes:
        return "its operands are contiguous along no loop of the result that is long enough"
    lane = max(lanes, key=lambda d: kernel.extents[d])
    order = (*(d for d in in_store_order(kernel, kernel.parallel) if d != lane), lane)
    reduced = tuple(sorted(kernel.reduced))
    taps = prod(kernel.extents[d] for d in reduced)
    return Schedule(
        Strategy.SCATTERED,
        lane,
        vector_of(kernel.extents[lane], target),
        (),
        order,
        reduced,
        kernel.reduced if taps <= costs.most_unrolled_taps else frozenset(),
        chunks=chunks_of(kernel, order[:-1], {}, target.costs.threads.chunks),
    )
