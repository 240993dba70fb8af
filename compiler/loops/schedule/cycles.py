"""The cost model of register tiles: cycles of a contraction on the core that it is compiled for.

An iteration of the reduction loads P points and Q vectors for P*Q multiply-adds. Loads overlap with
multiply-adds, and the longer of the two counts. The cost of a vector depends on the cache that
holds the vectors of a tile from one use to the next: L1, L2, or L3 and memory.

This count replaces a table of tiles, because the cache that holds the weights decides as much as
the shape does. It uses the core at hand for the target "host" (`Core` in `compiler/target.py`), and
a stated core for targets by name. `ncc tune` (`compiler/measure/tune.py`) times the cheapest tiles:
it runs the network with the n-th choice of every kernel at once.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache, cached_property, partial
from itertools import pairwise
from math import ceil, gcd, prod
from typing import TypeAlias

from ncc.compiler.loops.schedule.operands import ContractionOperands
from ncc.compiler.loops.schedule.schedule import parts_of_tile
from ncc.compiler.target import L1_WAY, Target

Share: TypeAlias = tuple[float, int, bool]
"""A number of tiles, the points of each, and whether the last of these is short."""


@dataclass(frozen=True)
class TileCycles:
    """Cycles of one tile.

    iterations   of its reduction
    loads        cycles of the loads of an iteration, which overlap with its multiply-adds
    products     cycles of the multiply-adds of an iteration
    overhead     other cycles of an iteration
    stores       cycles of storing the results
    start        cycles of starting the tile
    crowd        cycles of accumulators that overlap with nothing
    """

    iterations: int
    loads: float
    products: float
    overhead: float
    stores: float
    start: float
    crowd: float

    @cached_property
    def total(self) -> float:
        iteration = max(self.loads, self.products) + self.overhead
        return self.iterations * iteration + self.stores + self.start + self.crowd

    def parts(self) -> dict[str, float]:
        """The same by cause. The longer of loads and multiply-adds counts."""
        longer = "loads" if self.loads > self.products else "multiply-adds"
        return {
            longer: self.iterations * max(self.loads, self.products),
            "iterations": self.iterations * self.overhead,
            "stores": self.stores,
            "starts": self.start + self.crowd,
        }


class TileCost:
    """Cycles of a whole kernel by its register tile, partial tiles included."""

    def __init__(self, operands: ContractionOperands) -> None:
        kernel, lane = operands.kernel, operands.lane
        self._operands = operands
        self._points = operands.points[:2]
        self._others = (*operands.vectors[:1], lane)
        self._short = None if operands.short is None else operands.short[0]
        self._extents = {d: kernel.likely[d] for d in (*self._points, *self._others)}
        self._about = dict(kernel.about)
        if operands.vectors:
            self._extents[operands.vectors[0]] = operands.blocks
        self._trips = prod(kernel.likely[d] for d in kernel.parallel if d not in self._extents)
        self._extents[lane] = -(-kernel.likely[lane] // operands.vector)
        self._cycles = cache(partial(_tile_cycles, operands))
        self._shares = cache(self._read_shares)

    def of(self, tile: tuple[tuple[int, int], ...]) -> float:
        """Cycles of the kernel with that tile."""
        total = 0.0
        for count, divisor, cycles in self._tiles(tile):
            total += count * cycles.total / divisor
        return self._trips * total

    def parts(self, tile: tuple[tuple[int, int], ...]) -> dict[str, float]:
        """The same by cause, the largest part first."""
        found: defaultdict[str, float] = defaultdict(float)
        for count, divisor, cycles in self._tiles(tile):
            for name, part in cycles.parts().items():
                found[name] += self._trips * count * part / divisor
        return dict(sorted(found.items(), key=lambda item: -item[1]))

    def _tiles(self, tile: tuple[tuple[int, int], ...]) -> Iterator[tuple[float, int, TileCycles]]:
        """The cycles of whole and partial tiles: a count, a divisor of the count, and the cycles of
        one tile.
        """
        sizes = dict(tile)
        points = self._shares(self._points, tuple([sizes.get(d, 1) for d in self._points]))
        others = self._shares(self._others, tuple([sizes.get(d, 1) for d in self._others]))
        lines = self._operands.lines(sizes.get(self._others[-1], 1))
        for count, p, _ in points:
            for times, q, short in others:
                yield count * times, 1, self._cycles(p, q, short, lines)
            if self._operands.k_split is not None:
                yield count, self._operands.k_split.times, self._cycles(p, 1, False, lines)

    def _read_shares(self, loops: tuple[int, ...], sizes: tuple[int, ...]) -> list[Share]:
        """Whole and partial tiles along some loops."""
        shares: list[Share] = [(1, 1, False)]
        for loop, size in zip(loops, sizes, strict=True):
            along = self._about_so_many if loop in self._about else self._along
            shares = [
                (n * count, m * more, was or short)
                for n, m, was in shares
                for count, more, short in along(loop, size)
            ]
        return shares

    def _along(self, loop: int, size: int) -> Sequence[Share]:
        """Whole tiles along a loop, and the rest."""
        ends = loop == self._short
        whole = (self._extents[loop] - ends) // size
        rest = self._extents[loop] - whole * size
        return [(whole, size, False)] * (whole > 0) + [(1, rest, ends)] * (rest > 0)

    def _about_so_many(self, loop: int, size: int) -> Sequence[Share]:
        """The same for an extent that the run tells: half of it for the hint, and half for extents
        around the likely one, of which any rest is left.
        """
        sizes = parts_of_tile(size)
        whole, rest = divmod(self._about[loop], size)
        hinted = [(whole, size), (int(rest > 0), min(n for n in sizes if n >= rest))]
        around = [(max(0, self._extents[loop] - (size - 1) / 2) / size, size)]
        if len(sizes) > 1:
            around.append(((size - 1 - sizes[1]) / size, size))
        ends = pairwise([*sizes[1:], 0])
        around += [((n - smaller) / size, n) for n, smaller in ends]
        return [(count / 2, n, False) for count, n in (*hinted, *around) if count]


def _conflicts(operands: ContractionOperands, p: int) -> bool:
    """Whether the lines of p points need more ways of a set of L1 than the share of a tile."""
    if not operands.points:
        return False
    distance = 4 * abs(operands.broadcast.coefficients[operands.points[0]])
    target = operands.target
    return p * gcd(distance, L1_WAY) > target.costs.tiles.l1_share * target.core.l1_bytes


def _tile_cycles(
    operands: ContractionOperands, p: int, q: int, short: bool, lines: float
) -> TileCycles:
    """Cycles of one tile: its iterations, then the stores. short: whether its last vector is.
    lines: cache lines of a vector.

    Without loops over points, each vector is read once. If the lane is the only loop over vectors,
    all of them are read for each tile of points.
    """
    core, costs = operands.target.core, operands.target.costs.tiles
    held = 4 * operands.iterations
    again = operands.points and operands.vectors
    held *= q * operands.vector if again else operands.all_vectors
    point = costs.point_from_l2 if _conflicts(operands, p) else costs.point
    vectors = _whole_vectors(operands, q, short)
    reads = point * p + _vector_cycles(operands.target, held, lines) * vectors
    if operands.vectors and not again and held > operands.target.l2_room:
        reads += costs.stray * core.l3_line * max(0, lines * q - core.streams)
    others = core.operand * (p + q) + costs.iteration / core.multiply_adds
    taken = ceil(p * vectors) if operands.joined else p * vectors
    if short and q == 2 and not operands.joined and not operands.left_out:
        taken += costs.unlike * p
    products = max(taken, costs.latency) / core.multiply_adds
    if core.width:
        unrolled = 1 if operands.at_once is None else operands.at_once[1]
        of_points, each = operands.loads_of_points(p), operands.loads_of_a_vector
        side_by_side = min(q, operands.kernel.extents[operands.lane] // operands.vector) * each
        alone = max(each * vectors - side_by_side // 2 * 2, 0.0)
        issued = of_points + side_by_side // 2 * 2 * costs.paired + alone
        taken = operands.products(p, vectors)
        front = (taken + issued + operands.shuffles(p) + costs.counting / unrolled) / core.width
        in_l1 = held <= costs.l1_share * core.l1_bytes
        loads = of_points + each * vectors
        reads = max(loads / core.loads, 0.0 if in_l1 else reads - point * p)
        products = max(taken / core.multiply_adds, costs.depth, front)
        others = core.operand * issued
    crowd = costs.crowd * max(0, p * vectors - core.sums)
    stores = costs.store * p * vectors
    return TileCycles(operands.iterations, reads, products, others, stores, costs.start, crowd)


def _whole_vectors(operands: ContractionOperands, q: int, short: bool) -> float:
    """q vectors, the last of which may be short, as a number of whole vectors."""
    if operands.short is None:
        return q
    block, whole = operands.kernel.extents[operands.lane], operands.whole
    return q * operands.vector / whole - short * (block - operands.short[1]) / whole


def _vector_cycles(target: Target, held: int, lines: float) -> float:
    """Cycles of loading a vector, if so many bytes are loaded before it is loaded again."""
    core, costs = target.core, target.costs.tiles
    if held <= costs.l1_share * core.l1_bytes:
        return costs.vector_in_l1
    return lines * (core.l2_line if held <= target.l2_room else core.l3_line)
