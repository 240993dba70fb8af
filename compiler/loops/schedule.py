"""How one kernel is written: which loop is the vector, which are register tiles, in which order.

`strategies` chooses, `nest` writes; here is what they agree on.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from ncc.compiler.loops.kernel import Access, Kernel
from ncc.compiler.target import Target


@dataclass(frozen=True)
class Schedule:
    """Decisions for one kernel.

    lane     the loop whose neighbours share a vector, or None
    vector   elements of a vector
    tile     (loop, points), outermost first: points of a tile are unrolled and live in registers;
             the lane's points are vectors
    order    parallel loops, outermost first
    reduced  reduced loops, outermost first
    unroll   reduced loops without a loop: their window's reads are shared
    turn     a loop along which operands lie whose lane does not: squares of lane x turn are read
             along it and transposed in registers
    chunks   how many of the outermost loops are handed out to threads
    quad     the reduced loop of the four products that a lane of a dot product takes in
    prefetch_l2, prefetch_l1
             elements that every step of the reduction, or each tile without one, prefetches: for a
             later tile, and for the next one
    tiles    how many matrix tiles of points are summed at once; 0 without matrix tiles
    flat     whether rows of a matrix tile go on behind the end of a row of points, with the next
    short    (loop, elements): at the last step of the loop only so many elements of the lane count;
             no vector goes on behind them, and zeros are stored there, which nobody reads
    joined   whether short vectors of two points are summed in one
    slab     the reduced loop for whose steps weights are transformed, to be multiplied with points
    """

    lane: int | None
    vector: int
    tile: tuple[tuple[int, int], ...]
    order: tuple[int, ...]
    reduced: tuple[int, ...]
    unroll: frozenset[int] = frozenset()
    turn: int | None = None
    chunks: int = 1
    prefetch_l2: tuple[Access, ...] = ()
    prefetch_l1: tuple[Access, ...] = ()
    quad: int | None = None
    tiles: int = 0
    flat: bool = False
    short: tuple[int, int] | None = None
    joined: bool = False
    slab: int | None = None

    def points(self, loop: int) -> int:
        return dict(self.tile).get(loop, 1)


LINE = 16
"""Elements of a cache line."""

CHUNKS_WANTED = 16
"""Of a kernel: enough for several threads, of which one may be late."""


def vector_of(extent: int, target: Target) -> int:
    """The widest vector of the target that the loop fills, a power of two."""
    vector = target.lanes
    while vector > max(extent, 1):
        vector //= 2
    return max(vector, 1)


def short_of(kernel: Kernel, lane: int, target: Target, shortest: int) -> tuple[int, int] | None:
    """The loop over blocks of the lane whose last one a short vector holds as far as it counts.

    shortest: elements of the shortest vectors that are worth it.
    """
    if kernel.extents[lane] != target.lanes:
        return None
    left_out = target.lanes - shortest
    for outer, inner, true in kernel.tails:
        whole = kernel.extents[outer] * kernel.extents[inner]
        if inner == lane and 0 < left_out <= whole - true:
            return outer, shortest
    return None


def tile_of(extent: int, most: int) -> int:
    """A tile of at most `most` points: one that divides, if it is not too small."""
    best = max(n for n in range(1, min(extent, most) + 1) if extent % n == 0)
    return best if 2 * best >= min(extent, most) else min(extent, most)


def in_store_order(kernel: Kernel, loops: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(loops, key=lambda d: -abs(kernel.store.coefficients[d])))


def chunks_of(
    kernel: Kernel, loops: Sequence[int], sizes: dict[int, int], wanted: int = CHUNKS_WANTED
) -> int:
    """How many of these outer loops give every thread something to do.

    loops: outermost first, and without the lane, which is never split.
    """
    count, trips = 0, 1
    for loop in loops:
        count += 1
        trips *= -(-kernel.extents[loop] // sizes.get(loop, 1))
        if trips >= wanted:
            break
    return count
