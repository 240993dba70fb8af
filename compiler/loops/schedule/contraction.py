"""Register blocking of contractions: tiles of P points x Q vectors, whose sums stay in registers.

An iteration of the reduction broadcasts P elements of one operand, which does not move along the
lane, and multiplies each with Q vectors of the other one (`stream`): P*Q multiply-adds for P + Q
loads. The cost model counts the cycles of all tiles that fit the registers, and the cheapest one is
the schedule.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import f32

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Access, Kernel, Reason
from ncc.compiler.loops.kernel.products import match_product
from ncc.compiler.loops.kernel.vector_loops import can_be_lane
from ncc.compiler.loops.schedule.cycles import TileCost
from ncc.compiler.loops.schedule.operands import ContractionOperands, Quad, elements_of
from ncc.compiler.loops.schedule.prefetch import prefetched_to_l1, prefetched_to_l2
from ncc.compiler.loops.schedule.schedule import (
    Schedule,
    chunks_of,
    in_store_order,
    short_of,
    vector_of,
)
from ncc.compiler.target import Target
from ncc.dialects.size import is_open


class Candidate(NamedTuple):
    """A register tile for one choice of the lane, and its estimated cycles."""

    cost: float
    operands: ContractionOperands
    tile: tuple[tuple[int, int], ...]

    @property
    def parts(self) -> dict[str, float]:
        """The same cycles, by cause."""
        return TileCost(self.operands).parts(self.tile)

    @property
    def schedule(self) -> Schedule:
        operands, kernel, sizes = self.operands, self.operands.kernel, dict(self.tile)
        broadcast, stream = operands.broadcast.coefficients, operands.stream.coefficients
        quad = None if operands.quad is None else operands.quad.loop
        reduced = [d for d in kernel.reduced if d != quad]
        order = _order(operands, sizes)
        schedule = Schedule(
            operands.strategy,
            operands.lane,
            operands.vector,
            self.tile,
            order,
            tuple(sorted(reduced, key=lambda d: (-abs(stream[d]), -abs(broadcast[d])))),
            chunks=chunks_of(kernel, order[:-1], sizes, operands.target.costs.threads.even_chunks),
            quad=quad,
            short=operands.short,
            at_once=operands.at_once,
            signed=operands.quad is not None and operands.quad.signed,
            joined=operands.stored_together(sizes.get(operands.lane, 1)),
        )
        return _prefetching(schedule, operands)


def _prefetching(schedule: Schedule, operands: ContractionOperands) -> Schedule:
    """The schedule with its prefetches."""
    sizes, order = dict(schedule.tile), schedule.order
    to_l2 = prefetched_to_l2(operands, sizes, order) if operands.quad is None else ()
    to_l1 = () if operands.target.core.width else prefetched_to_l1(operands, sizes, order)
    return replace(schedule, prefetch_l2=to_l2, prefetch_l1=to_l1)


def with_prefetches(kernel: Kernel, target: Target, schedule: Schedule) -> Schedule:
    """The schedule of a contraction with the prefetches of another kernel, which has other strides
    and the same loops.
    """
    lanes = _lanes(kernel)
    for lane, stream, broadcast in () if isinstance(lanes, str) else lanes:
        if lane == schedule.lane:
            return _prefetching(schedule, _operands(kernel, target, lane, stream, broadcast))
    return replace(schedule, prefetch_l2=(), prefetch_l1=())


def contraction(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The cheapest schedule of acc + a * b, where one operand is contiguous along the lane."""
    lanes = _lanes(kernel)
    return lanes if isinstance(lanes, str) else cheapest(candidates(kernel, target))


def k_split(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The same for weights that split k, which no other strategy can read (`emit/k_split.py`)."""
    if kernel.k_split is None:
        return "its weights do not split k"
    found = contraction(kernel, target)
    if isinstance(found, str):
        raise CompilerBug(f"weights that split k, of what is no contraction: {found}")
    return found


def cheapest(found: Sequence[Candidate]) -> Schedule | Reason:
    """The schedule of the first candidate with the lowest cost."""
    if not found:
        return "no tile of it fits the registers"
    return min(found, key=lambda one: one.cost).schedule


def candidates(kernel: Kernel, target: Target) -> list[Candidate]:
    """All schedules of acc + a * b, for each lane; none for any other kernel."""
    found: list[Candidate] = []
    lanes = _lanes(kernel)
    for lane, stream, broadcast in () if isinstance(lanes, str) else lanes:
        operands = _operands(kernel, target, lane, stream, broadcast)
        found += [*_candidates(operands, target), *_in_thirds(operands, target)]
    return found


def _lanes(kernel: Kernel) -> list[tuple[int, Access, Access]] | Reason:
    """The loops along which one operand is contiguous, this operand, and the one to broadcast."""
    pair = match_product(kernel)
    if isinstance(pair, str):
        return pair
    found: list[tuple[int, Access, Access]] = []
    for lane in kernel.parallel:
        streams = [a for a in pair if a.coefficients[lane] == 1]
        if len(streams) == 1:
            found.append((lane, streams[0], pair[1] if streams[0] is pair[0] else pair[0]))
    if not found:
        return "neither of its operands alone is contiguous along a loop of the result"
    found = [one for one in found if can_be_lane(kernel, one[0])]
    if not found:
        return "its result, or what it adds, is not contiguous along with one operand"
    inputs = None if kernel.k_split is None else kernel.k_split.inputs
    found = [one for one in found if inputs is None or one[2].coefficients[inputs] == 1]
    return found or "its data is not contiguous along the inputs of a block"


def tiled(
    kernel: Kernel, target: Target, lane: int, stream: Access, broadcast: Access, quad: Quad
) -> list[Candidate]:
    """The schedules of dot products."""
    return _candidates(_operands(kernel, target, lane, stream, broadcast, quad), target)


def _operands(
    kernel: Kernel,
    target: Target,
    lane: int,
    stream: Access,
    broadcast: Access,
    quad: Quad | None = None,
) -> ContractionOperands:
    def alone(a: Access, b: Access) -> tuple[int, ...]:
        own = [d for d in kernel.parallel if a.coefficients[d] and not b.coefficients[d]]
        return tuple(sorted(own, key=lambda d: abs(a.coefficients[d])))

    vectors = tuple(d for d in alone(stream, broadcast) if d != lane)
    vector = vector_of(kernel.extents[lane], target)
    points = alone(broadcast, stream)
    short = None if quad is not None else short_of(kernel, lane, target.shortest_factor)
    if not points and vector < kernel.extents[lane]:
        short = None  # a whole cache line is loaded anyway
    operands = ContractionOperands(
        kernel, target, lane, vector, vector, stream, broadcast, points, vectors, quad, short
    )
    return replace(operands, at_once=_at_once(operands, target))


def _at_once(operands: ContractionOperands, target: Target) -> tuple[int, int] | None:
    """`Schedule.at_once`, if the target multiplies by any element of a vector, and the elements of
    the broadcast operand are contiguous along the innermost reduced loop. A long loop has whole
    vectors at once.
    """
    kernel, broadcast, quad = operands.kernel, operands.broadcast, operands.quad
    loop, element = operands.innermost, kernel.element_types[broadcast.argument]
    if not target.by_element or loop is None or kernel.k_split is not None:
        return None
    if broadcast.table is not None or loop in kernel.indexed:
        return None
    if operands.vector < target.lanes or is_open(kernel.extents[loop]):
        return None
    if quad is None:
        fits = element == f32 and broadcast.coefficients[loop] == 1
    else:
        count = kernel.extents[quad.loop]
        fits = quad.signed and not quad.in_pairs and broadcast.coefficients[loop] == count
    return (loop, min(kernel.extents[loop], target.costs.schedules.most_at_once)) if fits else None


def _candidates(operands: ContractionOperands, target: Target) -> list[Candidate]:
    cost = TileCost(operands)
    return [Candidate(cost.of(tile), operands, tile) for tile in _tiles(operands, target)]


def _in_thirds(operands: ContractionOperands, target: Target) -> list[Candidate]:
    """A block and a half as three vectors of half the length: three multiply-adds a broadcast."""
    kernel, short, vectors = operands.kernel, operands.short, operands.vectors
    if short is None or operands.joined or not operands.points or vectors[:1] != short[:1]:
        return []
    if kernel.extents[short[0]] != 2 or 2 * short[1] != operands.vector:
        return []
    operands, column = replace(operands, vector=short[1]), operands.points[0]
    most = max(
        n for n in range(1, target.registers) if operands.registers(n, 3) <= target.registers
    )
    cost, around = TileCost(operands), ((short[0], 2), (operands.lane, 2))
    tiles = [((column, n), *around) for n in range(2, min(most, kernel.extents[column]) + 1)]
    return [Candidate(cost.of(tile), operands, tile) for tile in tiles]


def _tiles(operands: ContractionOperands, target: Target) -> Iterator[tuple[tuple[int, int], ...]]:
    """Candidate tiles that fit the registers.

    If points are fewer than vectors, they are the inner loop of the unrolled tile, or else vectors
    are: the fewer ones stay in registers, the others are loaded one after another. With several
    iterations at once, points stay in registers anyway.
    """
    extents, points, vectors = operands.kernel.extents, operands.points, operands.vectors
    in_lane, left_out = -(-extents[operands.lane] // operands.vector), operands.left_out
    ends = operands.short is not None and vectors[:1] == operands.short[:1]
    # A tile has the vectors of whole blocks, or the valid ones of the last block.
    lanes = [n for n in (1, 2, 3, 4, 6) if (n == in_lane if left_out else n <= in_lane)]
    columns = range(1, min(extents[points[0]], 16) + 1) if points else range(1, 2)
    rows = range(1, min(extents[points[1]], 4) + 1) if len(points) > 1 else range(1, 2)
    others = range(1, min(max(operands.blocks, 1), 8) + 1) if vectors else range(1, 2)
    for row, column in product(rows, columns):
        if row > 1 and column < extents[points[0]]:
            continue  # rows join a tile only when it spans the whole row
        for other, lane in product(others, lanes):
            p, q = row * column, other * lane
            if ends and other == extents[vectors[0]]:
                q -= left_out
            if operands.registers(p, q) > target.registers:
                continue
            broadcast = [(points[1], row)] if len(points) > 1 else []
            broadcast += [(points[0], column)] if points else []
            moving = [(vectors[0], other)] if vectors else []
            moving += [(operands.lane, lane)]
            inside = p < q or operands.at_once is not None
            named = [*moving, *broadcast] if inside else [*broadcast, *moving]
            yield tuple((loop, n) for loop, n in named if n > 1)


def _order(operands: ContractionOperands, sizes: dict[int, int]) -> tuple[int, ...]:
    """The order of the loops over tiles with the least traffic from beyond L2.

        vectors, points          reads vectors once, all points again for each tile of vectors
        rows, vectors, points    reads points once, all vectors again for each row of points
        points, vectors          reads points once, all vectors again for each tile of points

    Reading again costs nothing if all of it stays in L2. Among orders of the same cost, vectors are
    outermost if loading them from memory takes longer than loading the points, which the layer
    before has just written: then vectors can be prefetched. They are also outermost if there are
    many more results than points, since the results of one vector are stored as one stream. Else
    points are outermost, and each thread finds in its cache the points that it has written.
    """
    kernel, lane = operands.kernel, operands.lane
    inner = {lane, *operands.points, *operands.vectors}
    batch = in_store_order(kernel, [d for d in kernel.parallel if d not in inner])
    points, vectors = tuple(reversed(operands.points)), operands.vectors
    if not points or not vectors:
        return (*batch, *points, *vectors, lane)
    core, room = operands.target.core, operands.target.l2_room
    stream = 4 * operands.iterations * prod(kernel.likely[d] for d in (*vectors, lane))
    broadcast = 4 * elements_of(operands.broadcast, kernel, batch)

    def again(bytes: int, loops: Sequence[int]) -> int:
        """Bytes that are read again, if these loops are the outer ones."""
        times = prod(-(-kernel.likely[d] // sizes.get(d, 1)) for d in loops)
        return bytes * (times - 1) if bytes > room else 0

    *rows, last = points
    waits = stream * core.memory_line / core.l2_line
    along = max(waits, 2 * elements_of(kernel.store, kernel, batch)) > broadcast
    by_vectors = (again(broadcast, vectors), not along, (*vectors, *points))
    by_rows = (again(stream, rows), along, (*rows, *vectors, last))
    by_points = (again(stream, points), along, (*points, *vectors))
    ways = [by_vectors, by_rows, by_points] if rows else [by_vectors, by_points]
    return (*batch, *min(ways, key=lambda way: way[:2])[2], lane)
