"""Contractions of bf16 pairs for matrix tiles: which kernels they are, and their schedules.

    x, along points   (.., 2, 32): a row of a tile is 32 numbers of one point
    w, along vectors  (.., 2, 16, 16, 2): a tile is 32 numbers of 16 outputs, in pairs

`emit/matrix_tiles.py` writes their loops.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16

from ncc.compiler.cost_model import FLAT_TENTHS
from ncc.compiler.linalg.analysis.linalg_op import uncast
from ncc.compiler.loops.kernel.kernel import (
    GATHERS,
    NO_SUM,
    PADDED,
    Access,
    Kernel,
    Reason,
    is_argument,
)
from ncc.compiler.loops.kernel.vector_loops import NO_LANE, can_be_lane
from ncc.compiler.loops.schedule.schedule import (
    Schedule,
    Strategy,
    chunks_of,
    in_store_order,
    vector_of,
)
from ncc.compiler.target import Target, tile_cycles, tile_hundredths, tile_rows
from ncc.dialects import tile
from ncc.dialects.operation import ops_of
from ncc.dialects.size import hint, is_never_below, is_open, largest, smallest
from ncc.dialects.tile import TILE_K

PAIR = 2
"""Inputs that lie side by side in a tile of weights."""

VECTOR = 16
"""Outputs of a tile."""

NOT_IN_TILES = f"its weights are not in tiles of {VECTOR} outputs by {TILE_K} inputs in pairs"
NO_PAIRS = "it sums no products of bf16 pairs"

BF16_BYTES = 2
"""Bytes of a bfloat16."""


@dataclass(frozen=True)
class Bf16Contraction:
    """The accesses of a contraction of bf16 pairs, and its loops.

    high, low        both parts of the operand that moves along points
    weights, rest    both parts of the operand that moves along vectors
    lane             the loop over 16 outputs; `vectors` over blocks of them, if there are several
    points           loops of the points, innermost last
    k_loops          reduced loops outside of the 32 numbers, outermost first
    components       loops that move both: each has points and weights of its own
    """

    high: Access
    low: Access
    weights: Access
    rest: Access
    lane: int
    vectors: int | None
    points: tuple[int, ...]
    k_loops: tuple[int, ...]
    components: tuple[int, ...]


def bf16_pairs_of(kernel: Kernel) -> Bf16Contraction | None:
    """The accesses and loops of a kernel that sums products of bf16 pairs; None for any other."""
    found = _match(kernel)
    return None if isinstance(found, str) else found


def _match(kernel: Kernel) -> Bf16Contraction | Reason:
    """The same, with the reason for any other kernel."""
    accesses = _factors(kernel)
    if isinstance(accesses, str):
        return accesses
    high, low, weights, rest = accesses
    lanes = [d for d in kernel.parallel if weights.coefficients[d] == PAIR]
    pairs = [d for d in kernel.reduced if weights.coefficients[d] == PAIR * VECTOR]
    members = [d for d in kernel.reduced if weights.coefficients[d] == 1]
    if not (len(lanes) == len(pairs) == len(members) == 1):
        return NOT_IN_TILES
    (lane,), (pair,), (member,) = lanes, pairs, members
    inside = [(lane, VECTOR, 0), (pair, TILE_K // PAIR, PAIR), (member, PAIR, 1)]
    if any(kernel.extents[d] != n or high.coefficients[d] != c for d, n, c in inside):
        return NOT_IN_TILES
    outer = [d for d in kernel.parallel if d != lane]
    components = [d for d in outer if weights.coefficients[d] and high.coefficients[d]]
    vectors = [d for d in outer if weights.coefficients[d] and d not in components]
    points = [d for d in outer if not weights.coefficients[d]]
    if len(vectors) > 1 or not points or any(high.coefficients[d] for d in vectors):
        return "it has no loop over points, or several over blocks of outputs"
    points.sort(key=lambda d: -hint(high.coefficients[d]))
    k_loops = [d for d in kernel.reduced if d not in (pair, member)]
    k_loops.sort(key=lambda d: -hint(high.coefficients[d]))
    return Bf16Contraction(
        high,
        low,
        weights,
        rest,
        lane,
        next(iter(vectors), None),
        tuple(points),
        tuple(k_loops),
        tuple(components),
    )


def _factors(kernel: Kernel) -> tuple[Access, Access, Access, Access] | Reason:
    """high x, low x, high w, low w of acc + (high * high + high * low + low * high)."""
    if not kernel.accumulates:
        return NO_SUM
    if kernel.valid_extents:
        return PADDED
    if kernel.captured:
        return GATHERS
    body = kernel.anchor.body
    pairs: list[tuple[Access, Access]] = []
    for op in ops_of(body):
        if isinstance(op, arith.MulfOp):
            numbers = [is_argument(uncast(operand), body) for operand in op.operands]
            inputs = dict(enumerate(kernel.anchor.inputs))  # without the accumulator
            found = [inputs.get(n) for n in numbers if n is not None]
            if len(found) != 2 or found[0] is None or found[1] is None:
                return "it computes what it multiplies"
            pairs.append((found[0], found[1]))
        elif not isinstance(op, arith.ExtFOp | arith.AddfOp) and op is not body.last_op:
            return NO_PAIRS
    if len(pairs) != 3:
        return NO_PAIRS
    (high, weights), (again, rest), (low, same) = pairs
    if high != again or weights != same:
        return NO_PAIRS
    if any(kernel.element_types[a.argument] != bf16 for a in (high, low, weights, rest)):
        return NO_PAIRS
    return high, low, weights, rest


# --- the schedule -----------------------------------------------------------------------------


def matrix_tiles(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The schedule of a contraction of bf16 pairs, on a target with matrix tiles."""
    found = _match(kernel) if target.tiles else "the target has no matrix tiles"
    if isinstance(found, str):
        return found
    inner = found.points[-1]
    flat, rows, count = _cut(kernel, found, target)
    blocks = 1 if found.vectors is None else kernel.extents[found.vectors]
    p, q = _tall_or_square(kernel, found, count, blocks, target)
    sizes = [(inner, rows), *([] if found.vectors is None else [(found.vectors, q)])]
    vectors = () if found.vectors is None else (found.vectors,)
    held, read = (_bytes_of(access, kernel, found) for access in (found.weights, found.high))
    share = target.core.l2_bytes // 2
    most_read = target.costs.schedules.most_read_again * read
    points_outer = 2 * held <= share and held < most_read
    order = (*found.points, *vectors) if points_outer else (*vectors, *found.points)
    return Schedule(
        Strategy.MATRIX_TILES,
        found.lane,
        VECTOR,
        tuple((loop, n) for loop, n in sizes if n > 1),
        (*found.components, *order, found.lane),
        found.k_loops,
        chunks=len(order) + len(found.components),
        prefetch_l2=_next_weights(kernel, found, target, q, -(-count // p))
        if not points_outer
        else (),
        tiles=p,
        flat=flat,
    )


def _bytes_of(access: Access, kernel: Kernel, found: Bf16Contraction) -> int:
    """Bytes of an operand, of one component."""
    loops = [d for d, _ in access.moves if d not in found.components]
    return BF16_BYTES * hint(prod(kernel.extents[d] for d in loops))


def _next_weights(
    kernel: Kernel, found: Bf16Contraction, target: Target, q: int, iterations: int
) -> tuple[Access, ...]:
    """Prefetches of the weights of the next blocks, while tiles of points use the present ones.

    There are none if all weights stay in L2, or if groups of points are so many that a share is
    less than a line.
    """
    if found.vectors is None:
        return ()
    block = found.weights.coefficients[found.vectors]
    held = BF16_BYTES * block * kernel.extents[found.vectors]
    room = BF16_BYTES * block * q <= target.core.l2_bytes // 2
    few = iterations <= target.costs.schedules.most_prefetching_groups
    if held <= target.core.l2_bytes or not room or not few:
        return ()
    return (replace(found.weights, offset=found.weights.offset + q * block),)


def bf16_split(kernel: Kernel, target: Target) -> Schedule | Reason:
    """The schedule of a kernel that splits values into bf16 numbers: both parts from one load."""
    which = [*kernel.indexed]
    lanes = [d for d in kernel.parallel if can_be_lane(kernel, d)]
    if kernel.element_types[kernel.store.argument] != bf16:
        return "it stores no bf16 numbers"
    if kernel.accumulates or len(which) != 1 or kernel.extents[which[0]] != 2:
        return "it does more than to split a value in two"
    if not lanes:
        return NO_LANE
    lane = max(lanes, key=lambda d: kernel.extents[d])
    rest = in_store_order(kernel, [d for d in kernel.parallel if d not in (lane, *which)])
    others, side = rest[:-1], rest[-1:]
    sizes = {which[0]: 2} | {d: 2 if kernel.extents[d] == 2 else 1 for d in side}
    sizes[lane] = 2 if kernel.extents[lane] >= 2 * target.lanes else 1
    order = (*others, *side, *which, lane)
    chunks = chunks_of(kernel, others, sizes, target.costs.threads.chunks)
    vector = vector_of(kernel.extents[lane], target)
    points = tuple((d, n) for d, n in sizes.items() if n > 1)
    return Schedule(Strategy.BF16_SPLIT, lane, vector, points, order, (), chunks=chunks)


def pitch_of(found: Bf16Contraction) -> int:
    """The distance of two rows, counted in points."""
    *_, outer, inner = (found.high.coefficients[d] for d in found.points)
    return outer // inner


def step_of(width: int, pitch: int) -> int:
    """The distance of two points of flat tiles: a single column has none between two rows."""
    return largest(1, pitch * smallest(1, 2 - width))


def flat_points(height: int, width: int, pitch: int) -> int:
    """The points of tiles that go on from row to row, up to the last point of the last row."""
    return -(-(pitch * (height - 1) + width) // step_of(width, pitch))


def is_flat(height: int, width: int, pitch: int) -> int:
    """1 where tiles that go on from row to row are cheaper, for rows that the run tells: tiles of
    short rows have few points. Else 0.
    """
    apart, flat = _even_cycles(height, width), _even_cycles(1, flat_points(height, width, pitch))
    return smallest(1, FLAT_TENTHS * apart // largest(1, 10 * flat))


def _even_cycles(times: int, extent: int) -> int:
    """The same as `_pairs_cycles`, in hundredths, for the fewest tiles of so many points."""
    rows = even_rows(extent)
    pairs = (times * -(-extent // rows) + 1) // 2
    return 2 * pairs * tile_hundredths(rows)


def _cut(kernel: Kernel, found: Bf16Contraction, target: Target) -> tuple[bool, int, int]:
    """Whether tiles are flat, their rows, and how many there are. Where the run tells that, these
    are the most rows, and the tiles for the hint; then the run tells which rows are flat.
    """
    *outer, extent = (kernel.extents[d] for d in found.points)
    flat, points = False, (prod(outer), extent)
    strides = [found.high.coefficients[d] for d in found.points[-2:]]
    in_rows = len(strides) == 2 and not strides[0] % strides[1]
    if in_rows and is_never_below(pitch_of(found), extent):
        image = outer[-1], extent, pitch_of(found)
        whole = prod(outer[:-1]), flat_points(*image)
        worth = target.costs.tiles.flat
        pays = _pairs_cycles(*_tiles(*whole)) <= worth * _pairs_cycles(*_tiles(*points))
        if is_open(extent):
            pays = hint(is_flat(*image)) == 1
        flat, points = pays or is_open(extent), whole if pays else points
    rows, count = _tiles(*points)
    return flat, tile.ROWS if is_open(points[-1]) else rows, count


def _tiles(times: int, extent: int) -> tuple[int, int]:
    """The rows of the tiles of so many rows of points, for the hint, and how many there are."""
    rows = tile_rows(max(1, hint(extent)), tile.ROWS)
    return rows, max(1, hint(times) * -(-hint(extent) // rows))


def _pairs_cycles(rows: int, count: int) -> float:
    """Cycles of a product with each tile, two by two."""
    return 2 * -(-count // 2) * tile_cycles(rows)


def even_rows(extent: int) -> int:
    """The rows of the fewest tiles that hold so many points. Code for any number of points computes
    it: so no tile has a row beyond the last point, however few there are.
    """
    tiles = largest(1, -(-extent // tile.ROWS))
    return largest(1, -(-extent // tiles))


def _tall_or_square(
    kernel: Kernel, found: Bf16Contraction, count: int, blocks: int, target: Target
) -> tuple[int, int]:
    """Tiles of points and of vectors that are summed at once.

    Two by two need the fewest loads. If weights are larger than L2 and points are few, four tiles
    of points load each weight once.
    """
    k_tiles = hint(prod(kernel.extents[d] for d in found.k_loops))
    weights = TILE_K * VECTOR * 2 * BF16_BYTES * k_tiles
    tall = weights * blocks > target.core.l2_bytes and count <= 4
    if blocks == 1 or tall:
        return min(count, 4), 1
    return min(count, 2), 2
