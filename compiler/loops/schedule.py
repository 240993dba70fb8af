"""How one kernel is written: which loop is the vector, which are register tiles, in which order.

A strategy looks at the kernel's coefficients only. The first whose condition holds fills the
schedule; the last always does.

    contraction   the lane is an output or image loop; a register tile of P points x Q vectors
    window        the lane is a batch loop (depthwise, pooling); a tile along the image
    rows          the lane is a reduced loop: a vector of partial results, folded at the end
    pointwise     the lane is the contiguous loop of the store
    scalar        no lane: always right, slow
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.tensor import ExtractOp

from ncc.compiler.loops.kernel import Access, Kernel, extracts, is_argument, varying
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
    chunks   how many of the outermost loops are handed out to threads
    """

    lane: int | None
    vector: int
    tile: tuple[tuple[int, int], ...]
    order: tuple[int, ...]
    reduced: tuple[int, ...]
    unroll: frozenset[int] = frozenset()
    chunks: int = 1

    def points(self, loop: int) -> int:
        return dict(self.tile).get(loop, 1)


CHUNKS_WANTED = 16
MAX_UNROLLED = 9


def choose(kernel: Kernel, target: Target) -> Schedule:
    """The schedule of the first strategy that fits."""
    for strategy in (_contraction, _window, _rows, _pointwise):
        schedule = strategy(kernel, target)
        if schedule is not None:
            return schedule
    return scalar(kernel)


def scalar(kernel: Kernel) -> Schedule:
    """Plain loops in the order of the store: right for every kernel."""
    order = _by_store(kernel, kernel.parallel)
    return Schedule(
        None, 1, (), order, tuple(sorted(kernel.reduced)), chunks=_chunks(kernel, order, {})
    )


def can_be_lane(kernel: Kernel, lane: int) -> bool:
    """Whether a parallel loop's neighbours can share a vector: contiguous or uniform accesses."""
    if kernel.store.coefficients[lane] != 1:
        return False
    if any(a.coefficients[lane] not in (0, 1) for a in kernel.accesses()):
        return False
    return all(_extracts_allow(kernel, lane, i) for i in range(len(kernel.stages)))


def _extracts_allow(kernel: Kernel, lane: int, position: int) -> bool:
    """Computed coordinates may vary along the lane only as the last index by itself."""
    stage = kernel.stages[position]
    values = varying(stage, lane, kernel, flight_varies=True)
    for op in stage.body.ops:
        if isinstance(op, IndexOp) and op.results[0] in values:
            if any(not isinstance(use.operation, ExtractOp) for use in op.results[0].uses):
                return False
    for op in extracts(stage):
        moving = [i for i, at in enumerate(op.indices) if at in values]
        if not moving:
            continue
        last = op.indices[-1]
        alone = (
            moving == [len(op.indices) - 1] and getattr(last.owner, "name", "") == "linalg.index"
        )
        if not alone or kernel.captured[op.tensor].strides[-1] != 1:
            return False
    return True


# --- contraction ------------------------------------------------------------------------------


def _product(kernel: Kernel) -> tuple[Access, Access] | None:
    """The two accesses of acc + a * b, if that is the anchor."""
    if not kernel.accumulates or not kernel.reduced:
        return None
    op = kernel.anchor.yielded.owner
    if not isinstance(op, arith.AddfOp):
        return None
    accumulator = kernel.anchor.body.args[-1]
    others = [o for o in op.operands if o is not accumulator]
    factor = others[0].owner if len(others) == 1 else None
    if not isinstance(factor, arith.MulfOp):
        return None
    numbers = [is_argument(o, kernel.anchor.body) for o in factor.operands]
    if numbers[0] is None or numbers[1] is None:
        return None
    a, b = kernel.anchor.inputs[numbers[0]], kernel.anchor.inputs[numbers[1]]
    return None if a is None or b is None else (a, b)


def _contraction(kernel: Kernel, target: Target) -> Schedule | None:
    pair = _product(kernel)
    if pair is None:
        return None
    best: tuple[float, Schedule] | None = None
    for lane in kernel.parallel:
        streams = [a for a in pair if a.coefficients[lane] == 1]
        if len(streams) != 1 or not can_be_lane(kernel, lane):
            continue
        still = pair[1] if streams[0] is pair[0] else pair[0]
        found = _tiled(kernel, target, lane, streams[0], still)
        if best is None or found[0] < best[0]:
            best = found
    return best[1] if best is not None else None


def _tiled(
    kernel: Kernel, target: Target, lane: int, stream: Access, still: Access
) -> tuple[float, Schedule]:
    """The cheapest register tile for one lane: points of `still` x vectors of `stream`."""
    points = [d for d in kernel.parallel if still.coefficients[d] and not stream.coefficients[d]]
    vectors = [d for d in kernel.parallel if stream.coefficients[d] and not still.coefficients[d]]
    points = sorted(points, key=lambda d: abs(still.coefficients[d]))
    others = sorted((d for d in vectors if d != lane), key=lambda d: abs(stream.coefficients[d]))
    vector = _vector(kernel.extents[lane], target)
    best: tuple[float, tuple[tuple[int, int], ...]] | None = None
    for tile in _tiles(kernel, points[:2], others[:1], lane, vector, target):
        sizes = dict(tile)
        p = prod(sizes.get(d, 1) for d in points)
        q = prod(sizes.get(d, 1) for d in vectors)
        if p * q + min(p, q) + 1 > target.registers:
            continue
        cost = _tile_cost(kernel, sizes, lane, vector, p, q)
        if best is None or cost < best[0]:
            best = (cost, tile)
    if best is None:
        best = (float("inf"), ())
    order = _contraction_order(kernel, lane, points, others, still, dict(best[1]))
    reduced = _by_stride(kernel, sorted(kernel.reduced), still, stream)
    chunks = _chunks(kernel, order, dict(best[1]))
    return best[0], Schedule(lane, vector, best[1], order, reduced, chunks=chunks)


def _tiles(
    kernel: Kernel,
    points: Sequence[int],
    others: Sequence[int],
    lane: int,
    vector: int,
    target: Target,
) -> Iterator[tuple[tuple[int, int], ...]]:
    """Candidate tiles, points outermost."""
    in_lane = -(-kernel.extents[lane] // vector)
    p0 = range(1, min(kernel.extents[points[0]], 16) + 1) if points else range(1, 2)
    p1 = range(1, min(kernel.extents[points[1]], 4) + 1) if len(points) > 1 else range(1, 2)
    q0 = range(1, min(kernel.extents[others[0]], 8) + 1) if others else range(1, 2)
    q1 = [q for q in (1, 2, 3, 4, 6) if q <= in_lane]
    for a, b, c, d in product(p0, p1, q0, q1):
        if b > 1 and a < kernel.extents[points[0]]:
            continue  # rows join a tile only when it spans the whole row
        if a * b * c * d >= target.registers:
            continue
        named = [(points[1], b)] if len(points) > 1 else []
        named += [(points[0], a)] if points else []
        named += [(others[0], c)] if others else []
        yield tuple((loop, n) for loop, n in [*named, (lane, d)] if n > 1)


def _tile_cost(
    kernel: Kernel, sizes: dict[int, int], lane: int, vector: int, p: int, q: int
) -> float:
    """Cycles of the whole parallel space: multiply-adds, reads of a step, and loop overhead."""
    cost = 1.0
    full: dict[int, int] = {lane: vector}
    # A tile of p x q costs p*q multiply-adds; p broadcasts and q loads share other ports, but
    # fewer than eight accumulators leave the adder waiting for itself.
    step = max(p * q, 0.6 * (p + q), 8 if p * q < 8 else 0) + 0.15 * (p + q) + 1.0
    for d in kernel.parallel:
        size = sizes.get(d, 1) * full.get(d, 1)
        cost *= -(-kernel.extents[d] // size)
    waste = prod(1.0 + 0.15 * (kernel.extents[d] % n != 0) for d, n in sizes.items() if d != lane)
    return cost * step * waste


def _contraction_order(
    kernel: Kernel,
    lane: int,
    points: Sequence[int],
    others: Sequence[int],
    still: Access,
    sizes: dict[int, int],
) -> tuple[int, ...]:
    """Which of the two operands is streamed once: the weights stay when they are small."""
    batch = [d for d in kernel.parallel if d != lane and d not in points and d not in others]
    batch = list(_by_store(kernel, batch))
    rows = list(reversed(points))
    steps = prod(kernel.extents[d] for d in kernel.reduced)
    vectors = prod(kernel.extents[d] for d in others) * kernel.extents[lane]
    stream_bytes = 4 * steps * vectors
    if stream_bytes <= HALF_L2 and rows:
        return (*batch, *rows[:-1], *others, *rows[-1:], lane)
    return (*batch, *others, *rows, lane)


HALF_L2 = 512 * 1024


# --- window, rows, pointwise ------------------------------------------------------------------


def _window(kernel: Kernel, target: Target) -> Schedule | None:
    """A reduction whose lane moves every operand: depthwise convolution, pooling, means."""
    if not kernel.accumulates or not kernel.reduced:
        return None
    lanes = [d for d in kernel.parallel if can_be_lane(kernel, d)]
    reads = [a for a in kernel.anchor.inputs if a is not None and any(a.coefficients)]
    lanes = [d for d in lanes if any(a.coefficients[d] for a in reads)]
    if not lanes:
        return None
    lane = max(lanes, key=lambda d: min(kernel.extents[d], target.lanes))
    vector = _vector(kernel.extents[lane], target)
    others = [d for d in _by_store(kernel, kernel.parallel) if d != lane]
    window = prod(kernel.extents[d] for d in kernel.reduced)
    unroll = frozenset(kernel.reduced) if window <= MAX_UNROLLED else _innermost(kernel)
    tile: list[tuple[int, int]] = []
    if others:
        most = 7 if target.registers >= 32 else 4
        loop = others[-1]
        if not unroll and len(others) == 1:
            most = 4
        tile.append((loop, _divisor(kernel.extents[loop], most)))
    tile = [(loop, n) for loop, n in tile if n > 1]
    order = (*others, lane)
    reduced = tuple(sorted(kernel.reduced))
    chunks = _chunks(kernel, order, dict(tile))
    return Schedule(lane, vector, tuple(tile), order, reduced, unroll, chunks)


def _innermost(kernel: Kernel) -> frozenset[int]:
    last = max(kernel.reduced)
    return frozenset({last}) if kernel.extents[last] <= 7 else frozenset()


def _rows(kernel: Kernel, target: Target) -> Schedule | None:
    """The lane is the contiguous reduced loop: one vector of partial results a row."""
    if not kernel.accumulates or not kernel.reduced or kernel.tails:
        return None
    if any(d in kernel.reduced for d in kernel.index_of.values() if d is not None):
        return None
    reads = [a for a in kernel.anchor.inputs if a is not None]
    lanes = [
        d
        for d in kernel.reduced
        if all(a.coefficients[d] in (0, 1) for a in reads)
        and any(a.coefficients[d] == 1 for a in reads)
        and kernel.extents[d] >= target.lanes
    ]
    if not lanes or extracts(kernel.anchor) or kernel.anchor.yielded.owner is kernel.anchor.body:
        return None
    lane = max(lanes, key=lambda d: kernel.extents[d])
    order = _by_store(kernel, kernel.parallel)
    tile = tuple((d, n) for d in order[-1:] if (n := _divisor(kernel.extents[d], 4)) > 1)
    reduced = (*(d for d in sorted(kernel.reduced) if d != lane), lane)
    chunks = _chunks(kernel, order, dict(tile))
    return Schedule(lane, target.lanes, tile, order, reduced, chunks=chunks)


def _pointwise(kernel: Kernel, target: Target) -> Schedule | None:
    lanes = [d for d in kernel.parallel if can_be_lane(kernel, d)]
    if not lanes:
        return None
    lane = max(lanes, key=lambda d: kernel.extents[d])
    vector = _vector(kernel.extents[lane], target)
    order = (*(d for d in _by_store(kernel, kernel.parallel) if d != lane), lane)
    wide = kernel.extents[lane] >= 4 * vector
    tile = ((lane, 2),) if wide and not kernel.accumulates else ()
    chunks = _chunks(kernel, order, dict(tile))
    return Schedule(lane, vector, tile, order, tuple(sorted(kernel.reduced)), chunks=chunks)


# --- shared -----------------------------------------------------------------------------------


def _vector(extent: int, target: Target) -> int:
    """The widest vector of the target that the loop fills, a power of two."""
    vector = target.lanes
    while vector > max(extent, 1):
        vector //= 2
    return max(vector, 1)


def _divisor(extent: int, most: int) -> int:
    """A tile of at most `most` points: one that divides, if it is not too small."""
    best = max(n for n in range(1, min(extent, most) + 1) if extent % n == 0)
    return best if 2 * best >= min(extent, most) else min(extent, most)


def _by_store(kernel: Kernel, loops: Sequence[int]) -> tuple[int, ...]:
    return tuple(sorted(loops, key=lambda d: -abs(kernel.store.coefficients[d])))


def _by_stride(
    kernel: Kernel, loops: Sequence[int], still: Access, stream: Access
) -> tuple[int, ...]:
    """Reduced loops in the order in which the stream lies in memory."""
    return tuple(
        sorted(loops, key=lambda d: (-abs(stream.coefficients[d]), -abs(still.coefficients[d])))
    )


def _chunks(kernel: Kernel, order: Sequence[int], sizes: dict[int, int]) -> int:
    """How many outer loops give every thread something to do; the lane is never split."""
    count, trips = 0, 1
    for loop in order[:-1]:
        count += 1
        trips *= -(-kernel.extents[loop] // sizes.get(loop, 1))
        if trips >= CHUNKS_WANTED:
            break
    return count
