"""The schedule of one kernel: which loop is vectorized, what is blocked in registers, loop order.

Strategies choose it (`choose.py`), emitters write loops by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.target import Target


class Strategy(Enum):
    """Which strategy made a schedule, and so which emitter writes its loops."""

    K_SPLIT = "k_split"
    FORMED_WEIGHTS = "formed_weights"
    TRANSFORM = "transform"
    CHANNEL_GATHER = "channel_gather"
    MATRIX_TILES = "matrix_tiles"
    BF16_SPLIT = "bf16_split"
    DOT = "dot"
    WINDOW_DOT = "window_dot"
    CONTRACTION = "contraction"
    SHARED_VECTORS = "shared_vectors"
    INTERLEAVED = "interleaved"
    WINDOW = "window"
    ROWS = "rows"
    POINTWISE = "pointwise"
    GATHERED = "gathered"
    TRANSPOSED = "transposed"
    SCATTERED = "scattered"
    SCALAR = "scalar"


@dataclass(frozen=True)
class Schedule:
    """Decisions for one kernel.

    strategy the strategy that made it
    lane     the vectorized loop, or None
    vector   elements of a vector
    tile     (loop, points), outermost first: the register blocking. Points of a tile are unrolled,
             and their results are in registers; the lane's points are vectors
    order    parallel loops, outermost first
    reduced  reduced loops, outermost first
    unroll   reduced loops that are unrolled, so that points of a tile share loads
    transpose
             the loop along which operands are contiguous that are not so along the lane: squares
             of both loops are loaded along it and transposed in registers
    interleave
             the loop whose steps lie between neighbours along the lane where these do not lie side
             by side: its vectors are loaded together and taken apart, or interleaved and stored
    chunks   how many of the outermost loops are parallel: threads share their iterations
    quad     the reduced loop of the four products that a lane of a dot product takes in
    prefetch_l2, prefetch_l1
             elements that every step of the reduction prefetches: for a later tile, and for the
             next one
    tiles    how many matrix tiles of points are summed at once; 0 without matrix tiles
    flat     whether a matrix tile goes on from the end of a row of points to the next row
    short    (loop, elements): at the last step of the loop, vectors hold only so many elements of
             the lane: one vector that is shorter, or fewer whole ones; zeros are stored behind
             them, which nobody reads
    panel     the reduced loop whose weights are transformed in L1 before they are multiplied
    span     elements of the lane in a chunk, whole tiles of it; 0 where a chunk has all of them
    in_line  the most accumulators of which each has code for a function behind the sum: more are
             spilled, for a loop over them
    """

    strategy: Strategy
    lane: int | None
    vector: int
    tile: tuple[tuple[int, int], ...]
    order: tuple[int, ...]
    reduced: tuple[int, ...]
    unroll: frozenset[int] = frozenset()
    transpose: int | None = None
    interleave: int | None = None
    chunks: int = 1
    prefetch_l2: tuple[Access, ...] = ()
    prefetch_l1: tuple[Access, ...] = ()
    quad: int | None = None
    tiles: int = 0
    flat: bool = False
    short: tuple[int, int] | None = None
    panel: int | None = None
    span: int = 0
    in_line: int = 16

    def points(self, loop: int) -> int:
        return dict(self.tile).get(loop, 1)


SIDE_BY_SIDE, LONG_REDUCTION = 4, 16
"""Vectors of partial results of a long reduction, so that a step does not wait for the one before;
how many vectors are long."""

CHUNKS_WANTED = 16
"""Chunks of a kernel: enough for several threads to share evenly, even if one comes late."""

LEAST_PART = 4096
"""Steps of a chunk that is a part of the lane, on the average: to hand it out costs little."""


def vector_of(extent: int, target: Target) -> int:
    """The widest vector of the target that the loop fills, a power of two."""
    vector = target.lanes
    while vector > max(extent, 1):
        vector //= 2
    return max(vector, 1)


def short_of(kernel: Kernel, lane: int, shortest: int) -> tuple[int, int] | None:
    """The loop over blocks whose last one shorter or fewer vectors hold, and their elements.

    shortest: elements of the shortest vectors that are worth it.
    """
    for outer, inner, true in kernel.valid_extents:
        left_out = (kernel.extents[outer] * kernel.extents[inner] - true) // shortest * shortest
        if inner == lane and left_out:
            return outer, kernel.extents[lane] - left_out
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
    """How many of these outer loops must be parallel to make as many chunks as are wanted.

    loops: outermost first, and without the lane, of which threads share parts where all other loops
    are too few (`with_lane_parted`).
    """
    count, trips = 0, 1
    for loop in loops:
        count += 1
        trips *= -(-kernel.extents[loop] // sizes.get(loop, 1))
        if trips >= wanted:
            break
    return count


def with_lane_parted(kernel: Kernel, schedule: Schedule) -> Schedule:
    """The schedule by which threads also share parts of the lane, where all loops around it make
    fewer than half of the chunks that are wanted.

    Not where vectors are taken apart or have other lengths, nor where only the run knows how far a
    loop goes.
    """
    lane, around = schedule.lane, schedule.order[:-1]
    if lane is None or schedule.order[-1:] != (lane,) or schedule.chunks < len(around):
        return schedule
    forms = (schedule.interleave, schedule.short, kernel.matrices, kernel.lanes)
    if any(form is not None for form in forms) or schedule.tiles or kernel.clipped:
        return schedule
    chunks = prod(-(-kernel.extents[d] // schedule.points(d)) for d in around)
    if 2 * chunks >= CHUNKS_WANTED:
        return schedule
    tile = schedule.vector * schedule.points(lane)
    tiles, steps = kernel.extents[lane] // tile, prod(kernel.extents) // chunks
    parts = min(-(-CHUNKS_WANTED // chunks), steps // LEAST_PART, tiles)
    return replace(schedule, span=-(-tiles // parts) * tile) if parts > 1 else schedule


def parts_of_lane(kernel: Kernel, schedule: Schedule) -> int:
    """How many chunks share the lane: what whole tiles leave of it is in the last one."""
    if schedule.lane is None or not schedule.span:
        return 1
    tile = schedule.vector * schedule.points(schedule.lane)
    return -(-(kernel.extents[schedule.lane] // tile * tile) // schedule.span)
