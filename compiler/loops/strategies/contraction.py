"""Register tiles for contractions: P points x Q vectors, the cheapest by a count of cycles.

A step of the reduction multiplies P broadcast elements of one operand (`still` along the lane)
with Q vectors of the other (`stream`): P*Q multiply-adds, P + Q reads.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod

from ncc.compiler.loops.kernel import Access, Kernel, can_be_lane
from ncc.compiler.loops.schedule import (
    LINE,
    Schedule,
    chunks_of,
    in_store_order,
    short_of,
    vector_of,
)
from ncc.compiler.loops.strategies.cycles import L2_SHARE, Cost
from ncc.compiler.loops.strategies.operands import Operands, product_of
from ncc.compiler.target import Target

EVEN_CHUNKS = 32
"""So many that one more for a thread is no loss worth mentioning; a tile is work enough for one."""

ASKED = LINE // 2
"""Elements that a step asks for of one stream of lines: a core follows several streams at once, and
brings lines of each before they are asked for, but only so many of one."""


@dataclass(frozen=True)
class Candidate:
    """A register tile for one choice of the lane, and the cycles that it is thought to take."""

    cost: float
    operands: Operands
    tile: tuple[tuple[int, int], ...]

    @property
    def schedule(self) -> Schedule:
        operands, kernel, sizes = self.operands, self.operands.kernel, dict(self.tile)
        still, stream = operands.still.coefficients, operands.stream.coefficients
        reduced = [d for d in kernel.reduced if d != operands.quad]
        order = _order(operands, sizes)
        return Schedule(
            operands.lane,
            operands.vector,
            self.tile,
            order,
            tuple(sorted(reduced, key=lambda d: (-abs(stream[d]), -abs(still[d])))),
            chunks=chunks_of(kernel, order[:-1], sizes, EVEN_CHUNKS),
            ahead=self._ahead(sizes, order) if operands.quad is None else (),
            next=_next_points(operands, sizes, order) or _next_rows(operands, sizes, order),
            quad=operands.quad,
            short=operands.short,
        )

    def _ahead(self, sizes: dict[int, int], order: tuple[int, ...]) -> tuple[Access, ...]:
        """What is brought near while a tile is computed, of the operand that is walked outside."""
        operands = self.operands
        return _vectors_ahead(operands, sizes, order) or _points_ahead(operands, sizes, order)


def contraction(kernel: Kernel, target: Target) -> Schedule | None:
    """The cheapest schedule of acc + a * b with a lane in one of the two; None for others."""
    return cheapest(candidates(kernel, target))


def cheapest(found: Sequence[Candidate]) -> Schedule | None:
    """The schedule of the candidate that costs least, the first of those that do."""
    return min(found, key=lambda one: one.cost).schedule if found else None


def candidates(kernel: Kernel, target: Target) -> list[Candidate]:
    """All schedules of acc + a * b, each lane in turn; none for anything else."""
    pair = product_of(kernel)
    if pair is None:
        return []
    found: list[Candidate] = []
    for lane in kernel.parallel:
        streams = [a for a in pair if a.coefficients[lane] == 1]
        if len(streams) == 1 and can_be_lane(kernel, lane):
            still = pair[1] if streams[0] is pair[0] else pair[0]
            operands = _operands(kernel, target, lane, streams[0], still)
            found += [*_candidates(operands, target), *_in_thirds(operands, target)]
    return found


def tiled(
    kernel: Kernel, target: Target, lane: int, stream: Access, still: Access, quad: int
) -> list[Candidate]:
    """The schedules of dot products over the loop `quad`."""
    return _candidates(_operands(kernel, target, lane, stream, still, quad), target)


def _operands(
    kernel: Kernel,
    target: Target,
    lane: int,
    stream: Access,
    still: Access,
    quad: int | None = None,
) -> Operands:
    def alone(a: Access, b: Access) -> tuple[int, ...]:
        own = [d for d in kernel.parallel if a.coefficients[d] and not b.coefficients[d]]
        return tuple(sorted(own, key=lambda d: abs(a.coefficients[d])))

    vectors = tuple(d for d in alone(stream, still) if d != lane)
    vector = vector_of(kernel.extents[lane], target)
    points = alone(still, stream)
    short = None if quad is not None else short_of(kernel, lane, target)
    return Operands(kernel, target.core, lane, vector, stream, still, points, vectors, quad, short)


def _candidates(operands: Operands, target: Target) -> list[Candidate]:
    cost = Cost(operands)
    return [Candidate(cost.of(tile), operands, tile) for tile in _tiles(operands, target)]


def _in_thirds(operands: Operands, target: Target) -> list[Candidate]:
    """One block and a half as three short vectors: what a point is read for suffices for more."""
    kernel, short, vectors = operands.kernel, operands.short, operands.vectors
    if short is None or not operands.points or vectors[:1] != short[:1]:
        return []
    if kernel.extents[short[0]] != 2 or 2 * short[1] != operands.vector:
        return []
    operands, column = replace(operands, vector=short[1]), operands.points[0]
    most = max(
        n for n in range(1, target.registers) if operands.registers(n, 3) <= target.registers
    )
    cost, around = Cost(operands), ((short[0], 2), (operands.lane, 2))
    tiles = [((column, n), *around) for n in range(2, min(most, kernel.extents[column]) + 1)]
    return [Candidate(cost.of(tile), operands, tile) for tile in tiles]


def _tiles(operands: Operands, target: Target) -> Iterator[tuple[tuple[int, int], ...]]:
    """Candidate tiles that fit the registers.

    Of points and vectors those of which there are fewer are innermost: they stay in registers while
    the others pass.
    """
    extents, points, vectors = operands.kernel.extents, operands.points, operands.vectors
    in_lane = -(-extents[operands.lane] // operands.vector)
    columns = range(1, min(extents[points[0]], 16) + 1) if points else range(1, 2)
    rows = range(1, min(extents[points[1]], 4) + 1) if len(points) > 1 else range(1, 2)
    others = range(1, min(extents[vectors[0]], 8) + 1) if vectors else range(1, 2)
    for row, column, other, lane in product(rows, columns, others, (1, 2, 3, 4, 6)):
        p, q = row * column, other * lane
        if lane > in_lane or operands.registers(p, q) > target.registers:
            continue
        if row > 1 and column < extents[points[0]]:
            continue  # rows join a tile only when it spans the whole row
        still = [(points[1], row)] if len(points) > 1 else []
        still += [(points[0], column)] if points else []
        moving = [(vectors[0], other)] if vectors else []
        moving += [(operands.lane, lane)]
        named = [*moving, *still] if p < q else [*still, *moving]
        yield tuple((loop, n) for loop, n in named if n > 1)


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
    """The points of the next tile, where vectors stay while points are walked.

    Blocks of channels at points that lie side by side: so many steps as a line has elements read
    the lines of so many points, and each asks for one of the next tile. Another thread may have
    made them, and a line in its cache is far away; the pieces are too short to be foreseen.
    """
    found = _points_of_next(operands, sizes)
    if found is None or order.index(found[0]) < order.index(operands.vectors[0]):
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
    if found is None or order.index(found[0]) > order.index(operands.vectors[0]):
        return ()
    held = 4 * _cells(operands.still, operands.kernel, ())
    return (found[1],) if held > L2_SHARE * operands.core.l2_bytes else ()


def _points_of_next(operands: Operands, sizes: dict[int, int]) -> tuple[int, Access] | None:
    """The loop that goes on to the points of the next tile, and a line of these for each step.

    None where they do not lie side by side in blocks of channels.
    """
    if not operands.points or not operands.vectors or operands.quad is not None:
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


def _order(operands: Operands, sizes: dict[int, int]) -> tuple[int, ...]:
    """The order in which the fewest bytes come from behind L2.

        vectors, points          of each vector once, of all points again for each tile of vectors
        rows, vectors, points    of each row once, of all vectors again for each row
        points, vectors          of each point once, of all vectors again for each tile of points

    "Again" costs nothing where all of them stay in L2. Where orders are equal, vectors are walked
    once if their first time, from memory, takes longer than one of the points, which were made just
    now: then they can be asked for ahead. So they are if much more is made of the points: results
    leave in one stream. Else points are, and each thread finds what it made in the layer before.
    """
    kernel, lane = operands.kernel, operands.lane
    inner = {lane, *operands.points, *operands.vectors}
    batch = in_store_order(kernel, [d for d in kernel.parallel if d not in inner])
    points, vectors = tuple(reversed(operands.points)), operands.vectors
    if not points or not vectors:
        return (*batch, *points, *vectors, lane)
    stream = 4 * operands.steps * prod(kernel.extents[d] for d in (*vectors, lane))
    still = 4 * _cells(operands.still, kernel, batch)

    def again(bytes: int, loops: Sequence[int]) -> int:
        """What is read beyond the first time where these loops stand outside."""
        times = prod(-(-kernel.extents[d] // sizes.get(d, 1)) for d in loops)
        return bytes * (times - 1) if bytes > L2_SHARE * operands.core.l2_bytes else 0

    *rows, last = points
    waits = stream * operands.core.memory_line / operands.core.l2_line
    along = max(waits, 2 * _cells(kernel.store, kernel, batch)) > still
    by_vectors = (again(still, vectors), not along, (*vectors, *points))
    by_rows = (again(stream, rows), along, (*rows, *vectors, last))
    by_points = (again(stream, points), along, (*points, *vectors))
    ways = [by_vectors, by_rows, by_points] if rows else [by_vectors, by_points]
    return (*batch, *min(ways, key=lambda way: way[:2])[2], lane)


def _cells(access: Access, kernel: Kernel, batch: Sequence[int]) -> int:
    """What an access brings near for one step of the batch.

    Cells that windows share count once; those that lie apart come with their neighbours, since
    lines are fetched in pairs.
    """
    own = [
        (abs(c), kernel.extents[d])
        for d, c in enumerate(access.coefficients)
        if c and d not in batch
    ]
    taken = prod(kernel.extents[d] for d in access.told_by if d not in batch)
    between = 1 + sum(c * (n - 1) for c, n in own) + access.told
    return min(2 * prod(n for _, n in own) * taken, between)
