"""Which strategy writes a kernel.

A strategy looks at the kernel's coefficients only. The first whose condition holds fills the
schedule; the last always does.

    folded        a contraction whose last block of weights is folded (`folded` writes it)
    forming       a contraction by weights that it transforms itself (`forming` writes it)
    transform     the lane is contiguous; rows of a small transform at once (`transform` writes it)
    selection     lanes of blocks, put together in registers (`selection` writes it)
    tiles         a contraction by halves of bfloat16, on matrix tiles (`tiles` writes it)
    halving       a value in halves of bfloat16, both out of one read
    dot           an int8 contraction in fours: one dot product a lane (`dot` writes it)
    window_dot    int8 windows of each channel in fours (`dot` writes them)
    contraction   the lane is an output or image loop; a register tile of P points x Q vectors
                  (`joined` writes it where short vectors share a whole one)
    interleaved   neighbours along the lane have those along a short loop between them
    window        the lane is a batch loop (depthwise, pooling); a tile along the image, of two rows
                  where their windows overlap
    rows          the lane is a reduced loop: a vector of partial results, folded at the end
    pointwise     the lane is the contiguous loop of the store
    gathered      as pointwise, each lane reads at computed coordinates of its own
    transposed    as pointwise, some operands contiguous along another loop
    scattered     the lane is contiguous where a reduction reads; results are stored one by one
    scalar        no lane: always right, slow
"""

from __future__ import annotations

from ncc.compiler.loops.emit import dot
from ncc.compiler.loops.emit.channel_gather import gather
from ncc.compiler.loops.emit.formed_weights import forming
from ncc.compiler.loops.emit.k_split_nest import folded
from ncc.compiler.loops.emit.transform import transform
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.schedule import Schedule
from ncc.compiler.loops.schedule import contraction
from ncc.compiler.loops.schedule.interleaved import interleaved
from ncc.compiler.loops.schedule.matrix_tiles import bf16_split, tiles
from ncc.compiler.loops.schedule.pointwise import gathered, pointwise, scalar, transposed
from ncc.compiler.loops.schedule.reduction import rows, scattered, window
from ncc.compiler.target import Target

STRATEGIES = (
    folded,
    forming,
    transform,
    gather,
    tiles,
    bf16_split,
    dot.dot,
    dot.window_dot,
    contraction.contraction,
    interleaved,
    window,
    rows,
    pointwise,
    gathered,
    transposed,
    scattered,
)
"""In the order they are tried."""

RIVALS = 12
NEAR = 1.5
"""How many schedules of a kernel are worth timing at most, and by how much the count of cycles may
put them behind its favourite."""


def choose(kernel: Kernel, target: Target) -> Schedule:
    """The schedule of the first strategy that fits."""
    for strategy in STRATEGIES:
        schedule = strategy(kernel, target)
        if schedule is not None:
            return schedule
    return scalar(kernel)


def rivals(kernel: Kernel, target: Target) -> list[Schedule]:
    """What to time: the schedule that `choose` gives, and those that come close to it."""
    chosen, near = choose(kernel, target), _cheapest(kernel, target)
    return near if chosen in near else [chosen]


def named(kernel: Kernel, target: Target, text: str) -> Schedule | None:
    """The one of several rivals whose text this is; None where there is no such."""
    return next((one for one in _cheapest(kernel, target) if str(one) == text), None)


def _cheapest(kernel: Kernel, target: Target) -> list[Schedule]:
    """By the count of cycles, the best first; none for a kernel whose cycles are not counted."""
    found = dot.candidates(kernel, target) or contraction.candidates(kernel, target)
    found = sorted(found, key=lambda one: one.cost)
    return [one.schedule for one in found[:RIVALS] if one.cost <= NEAR * found[0].cost]
