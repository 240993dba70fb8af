"""Estimates cycles of sums of products, in float32 and in bf16x3 on matrix tiles.

The cost is a count of cycles of one core. Arithmetic and the stream of weights overlap: together,
cycles a and b take sqrt(a*a + b*b).

Tiles multiply whole k-tiles of 32 inputs, and sum whole blocks of 16 outputs and up to 16 points,
two by two where there are several: 48 channels cost as much as 64. Before that, numbers are split
in two parts, and sums come through the memory of tiles. Both take as long as the products, if these
are few.

A Winograd product says whether its factors are to be float32 or bfloat16 (`LinalgOp.factors`),
because the choice of its form depends on their rounding. `SplitBf16` reads that and removes it. It
estimates all other sums by itself, with the same costs.

If virtual cores share a unit for tiles, each counts as half of one (`Core.here` in
`compiler/target.py`), for any number of threads. The choice follows from the machine, so that
results do not depend on threads.
"""

from __future__ import annotations

from functools import cache
from math import hypot

from ncc.compiler.linalg.analysis.block_size import BLOCK, blocks_of, lanes_in
from ncc.compiler.linalg.reductions.split_k_over_lanes import times_folded
from ncc.compiler.target import Target, tile_cycles, tile_rows
from ncc.dialects.tile import ROWS, TILE_K

LINE = 64
"""Bytes."""

NUMBER_BYTES = 4
"""Bytes of a float32, and of its two bfloat16 parts."""


def multiply_adds(target: Target, bf16x3: bool = False) -> float:
    """Multiply-adds that contractions reach in a cycle. bf16x3: on matrix tiles."""
    core = target.core
    reached = target.costs.data_types.reached_multiply_adds * core.multiply_adds * target.lanes
    return core.tile_multiply_adds if bf16x3 else reached


def on_tiles(outputs: int, inputs: int) -> tuple[int, int]:
    """The outputs and the inputs that tiles compute for these numbers of them in a group."""
    blocks = blocks_of(outputs)
    return BLOCK * _in_pairs(blocks), TILE_K * -(-inputs // TILE_K)


def points_on_tiles(rows: int, width: int, gap: int = 0, worth: float = 1.0) -> float:
    """How many points of full tiles take as long as some rows of points.

    gap: points between two rows. A tile has points of one row, or goes on over the
    gap, if that takes at most the part `worth`.
    """
    apart = _in_full_tiles(rows, width)
    flat = _in_full_tiles(1, rows * (width + gap) - gap)
    return flat if gap == 0 or flat <= worth * apart else apart


@cache
def _in_full_tiles(rows: int, width: int) -> float:
    points = tile_rows(width, ROWS)
    tiles = _in_pairs(rows * -(-width // points))
    return ROWS * tiles * tile_cycles(points) / tile_cycles(ROWS)


def _in_pairs(count: int) -> int:
    """How many are computed, two at once, for this count."""
    return count if count == 1 else count + count % 2


def sum_cycles(weights: int, points: float, target: Target, bf16x3: bool = False) -> float:
    """The cycles of multiplying weights, each at this number of points."""
    return hypot(
        weights * points / multiply_adds(target, bf16x3),
        NUMBER_BYTES * weights / LINE * target.core.memory_line,
    )


def cycles_in_blocks(
    outputs: int, inputs: int, taps: int, points: int, target: Target, groups: int = 1
) -> float:
    """The cycles of sums in float32, in blocks of outputs, the last of which may be folded.

    outputs, inputs: of a group. taps: products of an input and an output at a point.
    """
    times = (
        times_folded(outputs, inputs, target.costs.reductions.fewest_folded) if target.folds else 1
    )
    folded = BLOCK // times
    lanes = lanes_in(outputs) - BLOCK + folded
    return sum_cycles(groups * taps * lanes * inputs, points, target)


def cycles_on_tiles(
    outputs: int,
    inputs: int,
    taps: int,
    points: tuple[int, int, int],
    target: Target,
    groups: int = 1,
    numbers: int = 0,
) -> float:
    """The same in bf16x3 on matrix tiles.

    points: rows of them, the width of a row, and the gap between two rows of the data.
    numbers: how many are split for the sums of all groups.
    """
    rows, width, _ = points
    outputs, inputs = on_tiles(outputs, inputs)
    lines = NUMBER_BYTES * (numbers + groups * outputs * rows * width) / LINE
    weights = groups * taps * outputs * inputs
    on_full_tiles = points_on_tiles(*points, target.costs.tiles.flat)
    split = lines * target.costs.data_types.split_line
    return sum_cycles(weights, on_full_tiles, target, True) + split
