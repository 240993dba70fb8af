"""Software prefetches of a contraction: what the next tiles read.

Hardware prefetchers follow streams of consecutive lines, but not to where the next tile begins:

    for vectors:                                    for points:
      for points:                                     for vectors:
        for steps: acc += point * vector                for steps: acc += point * vector
                   to L2: some of the next vectors                 to L2: the next points
                   to L1: the next points

The operand of the outer loops comes from L3 or memory, and stays in L2 until its tile begins; that
of the inner loops is in L2, and is read by the very next tile. Each step of the reduction
prefetches a line or two.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TypeAlias

from ncc.compiler.loops.kernel.kernel import LINE, Access
from ncc.compiler.loops.schedule.cycles import L2_SHARE
from ncc.compiler.loops.schedule.operands import ContractionOperands, cells

PER_STREAM = LINE // 2
"""Elements that a step prefetches of one stream of lines. A share that is larger is made of several
streams: hardware prefetchers follow many at once, and run ahead on each, but only so far."""

MOST_STREAMS = 32
"""So many prefetches a step are more than it waits for."""


Order: TypeAlias = tuple[int, ...]
"""Parallel loops, outermost first."""

Sizes: TypeAlias = Mapping[int, int]
"""Points of a tile along some loops; along others there is one."""


def prefetched_to_l2(
    operands: ContractionOperands, sizes: Sizes, order: Order
) -> tuple[Access, ...]:
    """What a step prefetches of the operand of the outer loops, for their next tile."""
    return _next_vectors(operands, sizes, order) or _next_points_to_l2(operands, sizes, order)


def prefetched_to_l1(
    operands: ContractionOperands, sizes: Sizes, order: Order
) -> tuple[Access, ...]:
    """What a step prefetches of the operand of the inner loops, for the next tile."""
    return _next_points_to_l1(operands, sizes, order) or _next_rows(operands, sizes, order)


def _next_vectors(operands: ContractionOperands, sizes: Sizes, order: Order) -> tuple[Access, ...]:
    """The vectors of the next tile, a share of them by each tile of points that meets the present
    ones.

    The share is spread over all steps: prefetched at once, it would come more slowly than a tile
    multiplies. This is for vectors that are packed in panels, all steps of a vector side by side;
    without panels no stream of lines leads to the next ones. Panels with gaps between them, as
    those of halves of sums have, are prefetched one by one.
    """
    if not operands.points or not operands.vectors:
        return ()
    kernel, stream, loop = operands.kernel, operands.stream, operands.vectors[0]
    inside = [d for d in order[order.index(loop) + 1 :] if d in operands.points]
    step = min((c for d in kernel.reduced if (c := stream.coefficients[d])), default=0)
    count, panel = sizes.get(loop, 1), stream.coefficients[loop]
    if operands.points[0] not in inside or step <= 0 or panel < step * operands.steps:
        return ()
    trips = {d: -(-kernel.extents[d] // sizes.get(d, 1)) for d in inside}
    length = operands.steps * step
    runs, together = ([count], count) if panel == length else (range(count, 2 * count), 1)
    piece = -(-together * step // prod(trips.values()))
    streams = -(-piece // (PER_STREAM if len(runs) == 1 else LINE))
    if streams * len(runs) > MOST_STREAMS:
        return ()
    piece = -(-piece // streams)
    coefficients = list(stream.coefficients)
    for d in kernel.reduced:
        coefficients[d] = coefficients[d] // step * piece
    share = length // step * piece * streams
    for d in reversed(inside):
        coefficients[d] = share // sizes.get(d, 1)
        share *= trips[d]
    return tuple(
        Access(stream.argument, stream.offset + run * panel + first, tuple(coefficients))
        for run in runs
        for first in range(0, length // step * piece * streams, length // step * piece)
    )


def _next_points_to_l1(
    operands: ContractionOperands, sizes: Sizes, order: Order
) -> tuple[Access, ...]:
    """The points of the next tile, where loops over points are inside those over vectors.

    Points lie side by side, each a line: a block of 16 channels. The 16 steps over one block read
    the same lines, one a point, and each prefetches the line of one point of the next tile. Another
    thread may have made them, so that they are in its cache; the runs of lines are too short for
    hardware prefetchers.
    """
    found = _points_of_next(operands, sizes)
    outside = operands.vectors[:1]
    if found is None or any(order.index(found[0]) < order.index(loop) for loop in outside):
        return ()
    return (found[1],)


def _next_points_to_l2(
    operands: ContractionOperands, sizes: Sizes, order: Order
) -> tuple[Access, ...]:
    """The points of the next tile, where loops over vectors are inside those over points.

    They come from L3 or memory, a run of lines in each block, too short for hardware prefetchers.
    Every tile of vectors prefetches all of them; after the first, they are in L2.
    """
    found = _points_of_next(operands, sizes)
    inside = operands.vectors[:1]
    if found is None or not any(order.index(found[0]) < order.index(loop) for loop in inside):
        return ()
    held = 4 * cells(operands.broadcast, operands.kernel, ())
    return (found[1],) if held > L2_SHARE * operands.core.l2_bytes else ()


def _points_of_next(operands: ContractionOperands, sizes: Sizes) -> tuple[int, Access] | None:
    """The loop that goes on to the points of the next tile, and a line of these for each step.

    None where they do not lie side by side in blocks of channels.
    """
    if not operands.points or operands.quad is not None:
        return None
    kernel, broadcast = operands.kernel, operands.broadcast
    column, *rows = operands.points
    in_line = [d for d in kernel.reduced if broadcast.coefficients[d] == 1]
    blocks = len(in_line) == 1 and kernel.extents[in_line[0]] == LINE
    if not blocks or len(kernel.reduced) != 2 or broadcast.coefficients[column] != LINE:
        return None
    whole = sizes.get(column, 1) >= kernel.extents[column]
    loop = rows[0] if whole and rows else column
    if sizes.get(loop, 1) >= kernel.extents[loop]:
        return None
    coefficients = list(broadcast.coefficients)
    coefficients[in_line[0]] = LINE
    further = sizes.get(loop, 1) * broadcast.coefficients[loop]
    return loop, Access(broadcast.argument, broadcast.offset + further, tuple(coefficients))


def _next_rows(operands: ContractionOperands, sizes: Sizes, order: Order) -> tuple[Access, ...]:
    """What the next row of points reads of planes, as an image of the caller's has them.

    The pieces of its rows are too short for hardware prefetchers, and may come from memory. The
    steps along a row of the window share the lines that a tile reads of a row of the image.
    """
    if len(operands.points) != 2 or operands.quad is not None:
        return ()
    kernel, broadcast, (column, row) = operands.kernel, operands.broadcast, operands.points
    stride, pitch = broadcast.coefficients[column], broadcast.coefficients[row]
    along = [d for d in kernel.reduced if broadcast.coefficients[d] == 1 and kernel.extents[d] > 1]
    inside = order.index(row) < order.index(column) and sizes.get(row, 1) == 1
    if len(along) != 1 or not 0 < stride < LINE < pitch or not inside:
        return ()
    steps = kernel.extents[along[0]]
    span = stride * (sizes.get(column, 1) - 1) + steps
    coefficients = list(broadcast.coefficients)
    coefficients[along[0]] = min(LINE, -(-span // (steps - 1)))
    return (Access(broadcast.argument, broadcast.offset + pitch, tuple(coefficients)),)
