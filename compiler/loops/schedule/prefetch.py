"""Software prefetches of a contraction, for the next tiles.

Hardware prefetchers follow streams of consecutive lines, but not to where the next tile begins:

    for vectors:                                    for points:
      for points:                                     for vectors:
        for k: acc += point * vector                    for k: acc += point * vector
               to L2: some of the next vectors                 to L2: the next points
               to L1: the next points

The operand of the outer loops comes from L3 or memory, and stays in L2 until its tile begins. The
operand of the inner loops is in L2, and the very next tile reads it. Each iteration of the
reduction prefetches a line or two.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import TypeAlias

from ncc.compiler.loops.kernel.kernel import LINE, Access
from ncc.compiler.loops.schedule.operands import ContractionOperands, elements_of
from ncc.dialects.size import hint, is_open, largest, smallest

PER_STREAM = LINE // 2
"""Elements of one stream of lines that an iteration prefetches. A larger share has several streams,
since hardware prefetchers follow many at once, but run ahead only so far on each. Where the run
tells how large a share is, a stream has a line for the hint: of a larger image shares are smaller,
and each of many streams would prefetch a line again and again."""


Order: TypeAlias = tuple[int, ...]
"""Parallel loops, outermost first."""

Sizes: TypeAlias = Mapping[int, int]
"""Points of a tile along some loops; along others there is one."""


def prefetched_to_l2(
    operands: ContractionOperands, sizes: Sizes, order: Order
) -> tuple[Access, ...]:
    """Prefetches of the operand of the outer loops in each iteration, for their next tile.

    Points come from L3 or memory, a run of lines in each block, too short for hardware prefetchers.
    Every tile of vectors prefetches all of them; after the first, they are in L2.
    """
    vectors = _next_vectors(operands, sizes, order)
    if vectors:
        return vectors
    held = 4 * elements_of(operands.broadcast, operands.kernel, ())
    if held <= operands.target.l2_room:
        return ()
    return _next_points(operands, sizes, order, inside=False)


def prefetched_to_l1(
    operands: ContractionOperands, sizes: Sizes, order: Order
) -> tuple[Access, ...]:
    """Prefetches of the operand of the inner loops in each iteration, for the next tile.

    The points may be in the cache of another thread, and the runs of lines are too short for
    hardware prefetchers.
    """
    points = _next_points(operands, sizes, order, inside=True)
    return points or _next_rows(operands, sizes, order)


def _next_vectors(operands: ContractionOperands, sizes: Sizes, order: Order) -> tuple[Access, ...]:
    """The vectors of the next tile: each tile of points that uses the present ones prefetches a
    share.

    The share is spread over all iterations, since a tile multiplies faster than lines arrive. Where
    the run tells how many tiles there are, it also tells how large a share is. This is for vectors
    that are packed in panels, where all iterations of a vector are contiguous; without panels no
    stream of lines leads to the next vectors. Panels with gaps between them, as split reductions
    have, are prefetched one by one. Where the run leaves taps out, a tile has a share of each tap
    that it multiplies.
    """
    if not operands.points or not operands.vectors:
        return ()
    kernel, stream, loop = operands.kernel, operands.stream, operands.vectors[0]
    if is_open(*stream.coefficients):
        return ()
    inside = [d for d in order[order.index(loop) + 1 :] if d in operands.points]
    stride = min((c for d in kernel.reduced if (c := stream.coefficients[d])), default=0)
    count, panel = sizes.get(loop, 1), stream.coefficients[loop]
    if operands.points[0] not in inside or stride <= 0 or panel < stride * operands.iterations:
        return ()
    about = dict(kernel.about)
    extents = {d: largest(1, about.get(d, kernel.extents[d])) for d in inside}
    trips = {d: -(-n // sizes.get(d, 1)) for d, n in extents.items()}
    contiguous = [d for d in kernel.reduced if not is_open(kernel.extents[d])]
    length = prod(kernel.extents[d] for d in contiguous) * stride
    runs, together = ([count], count) if panel == length else (range(count, 2 * count), 1)
    piece = -(-together * stride // prod(trips.values()))
    most = LINE if is_open(piece) or len(runs) > 1 else PER_STREAM
    streams = -(-hint(piece) // most)
    if streams * len(runs) > operands.target.costs.schedules.most_prefetches:
        return ()
    piece = smallest(-(-piece // streams), LINE)
    coefficients = list(stream.coefficients)
    for d in contiguous:
        coefficients[d] = coefficients[d] // stride * piece
    of_stream = length // stride * piece
    share = of_stream * streams
    for d in reversed(inside):
        coefficients[d] = share // sizes.get(d, 1)
        share *= trips[d]
    return tuple(
        Access(stream.argument, stream.offset + run * panel + n * of_stream, tuple(coefficients))
        for run in runs
        for n in range(streams)
    )


def _next_points(
    operands: ContractionOperands, sizes: Sizes, order: Order, inside: bool
) -> tuple[Access, ...]:
    """The points of the next tile, if the loop that leads to them is inside that over vectors, or
    else around it. Nothing if points are not contiguous blocks of channels.

    Points are contiguous, each a line: a block of 16 channels. The 16 iterations over one block
    read the same lines, one for each point, and each iteration prefetches the line of one point of
    the next tile.
    """
    if not operands.points or operands.quad is not None:
        return ()
    kernel, broadcast = operands.kernel, operands.broadcast
    column, *rows = operands.points
    in_line = [d for d in kernel.reduced if broadcast.coefficients[d] == 1]
    blocks = len(in_line) == 1 and kernel.extents[in_line[0]] == LINE
    if not blocks or len(kernel.reduced) != 2 or broadcast.coefficients[column] != LINE:
        return ()
    whole = sizes.get(column, 1) >= kernel.extents[column]
    loop = rows[0] if whole and rows else column
    around = any(order.index(loop) < order.index(vectors) for vectors in operands.vectors[:1])
    if sizes.get(loop, 1) >= kernel.extents[loop] or around == inside:
        return ()
    coefficients = list(broadcast.coefficients)
    coefficients[in_line[0]] = LINE
    further = sizes.get(loop, 1) * broadcast.coefficients[loop]
    return (Access(broadcast.argument, broadcast.offset + further, tuple(coefficients)),)


def _next_rows(operands: ContractionOperands, sizes: Sizes, order: Order) -> tuple[Access, ...]:
    """The operands of the next row of points, if channels are planes, as in the caller's images.

    Their runs of lines are too short for hardware prefetchers, and may come from memory. The
    iterations along a row of the window share the lines of a row of the image.
    """
    if len(operands.points) != 2 or operands.quad is not None:
        return ()
    kernel, broadcast, (column, row) = operands.kernel, operands.broadcast, operands.points
    stride, pitch = broadcast.coefficients[column], broadcast.coefficients[row]
    along = [d for d in kernel.reduced if broadcast.coefficients[d] == 1 and kernel.extents[d] > 1]
    inside = order.index(row) < order.index(column) and sizes.get(row, 1) == 1
    if len(along) != 1 or not 0 < stride < LINE < pitch or not inside:
        return ()
    taps = kernel.extents[along[0]]
    span = stride * (sizes.get(column, 1) - 1) + taps
    coefficients = list(broadcast.coefficients)
    coefficients[along[0]] = min(LINE, -(-span // (taps - 1)))
    return (Access(broadcast.argument, broadcast.offset + pitch, tuple(coefficients)),)
