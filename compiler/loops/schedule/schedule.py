"""The schedule of one kernel: its vectorized loop, its register tile, the order of its loops.

Strategies choose it (`choose.py`), and emitters write loops by it.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from math import prod

from ncc.compiler.cost_model import Threads
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.target import Target
from ncc.dialects.size import hint, is_open


class Strategy(Enum):
    """The strategy that made a schedule; it decides the emitter of its loops."""

    K_SPLIT = "k_split"
    FORMED_WEIGHTS = "formed_weights"
    TRANSFORM = "transform"
    CHANNEL_GATHER = "channel_gather"
    MATRIX_TILES = "matrix_tiles"
    BF16_SPLIT = "bf16_split"
    DOT = "dot"
    MATRIX_BYTES = "matrix_bytes"
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
             the loop along which operands are contiguous that are strided along the lane: squares
             of both loops are loaded along it and transposed in registers
    interleave
             the short loop whose elements are between neighbours along the lane: its vectors are
             loaded together and deinterleaved, or interleaved and stored
    chunks   how many of the outermost loops are split among threads
    quad     the reduced loop of the four products of a lane of a dot product
    signed   whether dot products take both factors with signs
    prefetch_l2, prefetch_l1
             accesses that every iteration of the reduction prefetches: for a later tile, and for
             the next one
    tiles    how many matrix tiles of points are summed at once; 0 without matrix tiles
    flat     whether a matrix tile goes on from the end of a row of points to the next row; where
             the run tells how long rows are, those do for which that is cheaper
    short    (loop, elements): at the last iteration of the loop, only so many elements of the lane
             are computed, by one shorter vector or by fewer whole ones; zeros are stored behind
             them
    panel    the reduced loop whose weights are transformed in L1 before they are multiplied
    span     elements of the lane in a chunk, in whole tiles; 0 if a chunk has all of them
    at_once  (reduced loop, iterations): so many iterations of the innermost reduced loop are
             unrolled. They load one vector of neighbours along it, and each multiplies by one
             element
    joined   vectors side by side along the lane that are stored together
    coalesced
             (column, row): two loops over points whose extents the run tells. Where it finds few
             columns, they are one loop, whose tiles go on from the end of a row to the next row
    small    whether they are one loop for all images, as in a kernel for images of few points
    unprefetched
             tiles of so few points of this loop prefetch nothing
    in_line  the most accumulators that do not spill before a function of the epilogue: more of them
             are spilled, and a loop over them has the code of the function once
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
    signed: bool = False
    tiles: int = 0
    flat: bool = False
    short: tuple[int, int] | None = None
    panel: int | None = None
    span: int = 0
    at_once: tuple[int, int] | None = None
    joined: int = 1
    coalesced: tuple[int, int] | None = None
    small: bool = False
    unprefetched: int = 0
    in_line: int = 16

    def points(self, loop: int) -> int:
        """The points of a tile along a loop."""
        return dict(self.tile).get(loop, 1)


SIDE_BY_SIDE, LONG_REDUCTION = 4, 16
"""Vectors of partial results of a long reduction, so that an iteration does not wait for the one
before, and how many vectors make a reduction long.
"""


def vector_of(extent: int, target: Target, longest: int = 0) -> int:
    """The longest vector that the loop fills, a power of two, up to that of the target, unless
    longer ones are meant.
    """
    vector = longest or target.lanes
    while vector > max(extent, 1):
        vector //= 2
    return max(vector, 1)


def short_of(kernel: Kernel, lane: int, shortest: int) -> tuple[int, int] | None:
    """`Schedule.short` for a lane: the loop over blocks, and how many elements of the last one
    count.

    shortest: elements of the shortest vectors that pay.
    """
    for outer, inner, true in kernel.valid_extents:
        left_out = (kernel.extents[outer] * kernel.extents[inner] - true) // shortest * shortest
        if inner == lane and left_out:
            return outer, kernel.extents[lane] - left_out
    return None


def tile_of(extent: int, most: int) -> int:
    """A tile of at most `most` points: the largest divisor, unless it is too small."""
    best = max(n for n in range(1, min(extent, most) + 1) if extent % n == 0)
    return best if 2 * best >= min(extent, most) else min(extent, most)


def parts_of_tile(points: int, parts: int = 3) -> list[int]:
    """The sizes of tiles at the end of a loop whose extent the run tells: all points of a whole
    tile, two thirds, one third, and one point.
    """
    sizes = {(2 * points * part + parts) // (2 * parts) for part in range(1, parts + 1)}
    return sorted({*sizes - {0}, 1}, reverse=True)


def thirds_of_tile(points: int) -> list[int]:
    """The sizes of tiles of which each has about two thirds of the points of the one before."""
    return [points] if points == 1 else [points, *thirds_of_tile((2 * points + 1) // 3)]


def in_store_order(kernel: Kernel, loops: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(loops, key=lambda d: -abs(kernel.store.coefficients[d])))


def chunks_of(kernel: Kernel, loops: Sequence[int], sizes: dict[int, int], wanted: int) -> int:
    """How many of these loops must be chunk loops to make as many chunks as are wanted.

    loops: outermost first, without the lane. Threads share parts of the lane if all other loops
    make too few chunks (`with_lane_parted`).
    """
    count, trips = 0, 1
    for loop in loops:
        count += 1
        trips *= -(-kernel.likely[loop] // sizes.get(loop, 1))
        if trips >= wanted:
            break
    return count


def with_lane_parted(kernel: Kernel, schedule: Schedule, costs: Threads) -> Schedule:
    """The schedule with parts of the lane as chunks, if all loops around the lane make fewer than
    half of the chunks that are wanted.

    It stays as it is if vectors are interleaved or have several lengths, or if a loop is clipped.
    """
    lane, around = schedule.lane, schedule.order[:-1]
    if lane is None or schedule.order[-1:] != (lane,) or schedule.chunks < len(around):
        return schedule
    forms = (schedule.interleave, schedule.short, kernel.matrices, kernel.lanes)
    if any(form is not None for form in forms) or schedule.tiles or kernel.clipped:
        return schedule
    chunks = prod(-(-kernel.extents[d] // schedule.points(d)) for d in around)
    if 2 * hint(chunks) >= costs.chunks:
        return schedule
    tile = schedule.vector * schedule.points(lane)
    tiles, work = hint(kernel.extents[lane]) // tile, hint(prod(kernel.extents)) // hint(chunks)
    parts = min(-(-costs.chunks // hint(chunks)), work // costs.least_part, tiles)
    return replace(schedule, span=-(-tiles // parts) * tile) if parts > 1 else schedule


def parts_of_lane(kernel: Kernel, schedule: Schedule) -> int:
    """How many chunks share the lane; the last one has the remainder of whole tiles, too."""
    if schedule.lane is None or not schedule.span:
        return 1
    tile = schedule.vector * schedule.points(schedule.lane)
    if is_open(kernel.extents[schedule.lane]):
        return -(-kernel.extents[schedule.lane] // schedule.span)
    return -(-(kernel.extents[schedule.lane] // tile * tile) // schedule.span)
