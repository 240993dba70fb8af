"""What the tiles of a contraction ask to be brought near before it is read.

A core foresees lines that follow each other, but not where the next tile begins:

    for vectors:                                    for points:
      for points:                                     for vectors:
        for steps: acc += point * vector                for steps: acc += point * vector
                   ahead: some of the next vectors                 ahead: the next points
                   next: the next points

Ahead comes from behind L2 and waits there, next comes into L1. Every step asks for little.
"""

from __future__ import annotations

from math import prod

from ncc.compiler.loops.kernel import Access
from ncc.compiler.loops.schedule import LINE
from ncc.compiler.loops.strategies.cycles import L2_SHARE
from ncc.compiler.loops.strategies.operands import Operands, cells

ASKED = LINE // 2
"""Elements that a step asks for of one stream of lines: a core follows several streams at once, and
brings lines of each before they are asked for, but only so many of one."""


def asked_ahead(
    operands: Operands, sizes: dict[int, int], order: tuple[int, ...]
) -> tuple[Access, ...]:
    """What is brought near while a tile is computed, of the operand that is walked outside."""
    return _vectors_ahead(operands, sizes, order) or _points_ahead(operands, sizes, order)


def asked_next(
    operands: Operands, sizes: dict[int, int], order: tuple[int, ...]
) -> tuple[Access, ...]:
    """What the next tile reads, of the operand that is walked inside."""
    return _next_points(operands, sizes, order) or _next_rows(operands, sizes, order)


def _vectors_ahead(
    operands: Operands, sizes: dict[int, int], order: tuple[int, ...]
) -> tuple[Access, ...]:
    """The vectors of the next tile, where points walk through the present ones in the meantime.

    Every tile of points asks for its share, a piece at each step: asked for all at once, they come
    slower than a tile multiplies them. Vectors that are not packed in panels, all steps of one side
    by side, have no next ones that a stream of lines would bring. Panels that lie apart are asked
    for one by one: those of halves of sums do.
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
    streams = -(-piece // (ASKED if len(runs) == 1 else LINE))
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


def _next_points(
    operands: Operands, sizes: dict[int, int], order: tuple[int, ...]
) -> tuple[Access, ...]:
    """The points of the next tile, where vectors stay while points are walked, or are but one.

    Blocks of channels at points that lie side by side: so many steps as a line has elements read
    the lines of so many points, and each asks for one of the next tile. Another thread may have
    made them, and a line in its cache is far away; the pieces are too short to be foreseen.
    """
    found = _points_of_next(operands, sizes)
    outside = operands.vectors[:1]
    if found is None or any(order.index(found[0]) < order.index(loop) for loop in outside):
        return ()
    return (found[1],)


def _points_ahead(
    operands: Operands, sizes: dict[int, int], order: tuple[int, ...]
) -> tuple[Access, ...]:
    """The points of the next tile, where they stay while vectors are walked.

    They come from behind L2, a piece of each block: too short to be foreseen. Every tile of vectors
    asks for all of them again, which finds them there.
    """
    found = _points_of_next(operands, sizes)
    inside = operands.vectors[:1]
    if found is None or not any(order.index(found[0]) < order.index(loop) for loop in inside):
        return ()
    held = 4 * cells(operands.still, operands.kernel, ())
    return (found[1],) if held > L2_SHARE * operands.core.l2_bytes else ()


def _points_of_next(operands: Operands, sizes: dict[int, int]) -> tuple[int, Access] | None:
    """The loop that goes on to the points of the next tile, and a line of these for each step.

    None where they do not lie side by side in blocks of channels.
    """
    if not operands.points or operands.quad is not None:
        return None
    kernel, still = operands.kernel, operands.still
    column, *rows = operands.points
    in_line = [d for d in kernel.reduced if still.coefficients[d] == 1]
    blocks = len(in_line) == 1 and kernel.extents[in_line[0]] == LINE
    if not blocks or len(kernel.reduced) != 2 or still.coefficients[column] != LINE:
        return None
    whole = sizes.get(column, 1) >= kernel.extents[column]
    loop = rows[0] if whole and rows else column
    if sizes.get(loop, 1) >= kernel.extents[loop]:
        return None
    coefficients = list(still.coefficients)
    coefficients[in_line[0]] = LINE
    further = sizes.get(loop, 1) * still.coefficients[loop]
    return loop, Access(still.argument, still.offset + further, tuple(coefficients))


def _next_rows(
    operands: Operands, sizes: dict[int, int], order: tuple[int, ...]
) -> tuple[Access, ...]:
    """What the next row of points reads of planes, as an image lies that the caller has.

    Its pieces of rows are too short to be foreseen, and come from far away. The steps along a
    window's row share the lines that a tile reads of a row of the image.
    """
    if len(operands.points) != 2 or operands.quad is not None:
        return ()
    kernel, still, (column, row) = operands.kernel, operands.still, operands.points
    stride, pitch = still.coefficients[column], still.coefficients[row]
    along = [d for d in kernel.reduced if still.coefficients[d] == 1 and kernel.extents[d] > 1]
    inside = order.index(row) < order.index(column) and sizes.get(row, 1) == 1
    if len(along) != 1 or not 0 < stride < LINE < pitch or not inside:
        return ()
    steps = kernel.extents[along[0]]
    span = stride * (sizes.get(column, 1) - 1) + steps
    coefficients = list(still.coefficients)
    coefficients[along[0]] = min(LINE, -(-span // (steps - 1)))
    return (Access(still.argument, still.offset + pitch, tuple(coefficients)),)
