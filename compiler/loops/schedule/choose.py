"""Which strategy schedules a kernel.

A strategy looks at the kernel's coefficients only. The first whose conditions hold makes the
schedule; the last always does. Those before it name the condition that does not hold, for
`ncc explain --kernel`. `emit/emitter.py` names the emitter of each.

    k_split         a contraction whose last block of weights splits k
    formed_weights  a contraction by weights that it transforms itself
    transform       the lane is contiguous; rows of a small transform at once
    channel_gather  lanes of blocks, put together in registers
    matrix_tiles    a contraction by bf16 pairs, on matrix tiles
    bf16_split      a value as two bf16 numbers, both out of one read
    dot             an int8 contraction in groups of four: one dot product a lane
    window_dot      int8 windows of each channel in groups of four
    contraction     the lane is an output or image loop; a register tile of P points x Q vectors
                    (`shared_vectors` where short vectors of two points share a whole one)
    interleaved     neighbours along the lane have those along a short loop between them
    window          the lane is a batch loop (depthwise, pooling); a tile along the image, of two
                    rows where their windows overlap
    rows            the lane is a reduced loop: a vector of partial results, folded at the end
    pointwise       the lane is the contiguous loop of the store
    gathered        as pointwise, each lane reads at computed coordinates of its own
    transposed      as pointwise, some operands contiguous along another loop
    scattered       the lane is contiguous where a reduction reads; results are stored one by one
    scalar          no lane: always right, slow
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Kernel, Reason
from ncc.compiler.loops.schedule import contraction, dot
from ncc.compiler.loops.schedule.channel_gather import channel_gather
from ncc.compiler.loops.schedule.contraction import Candidate
from ncc.compiler.loops.schedule.formed_weights import forming
from ncc.compiler.loops.schedule.interleaved import interleaved
from ncc.compiler.loops.schedule.k_split import k_split
from ncc.compiler.loops.schedule.matrix_tiles import bf16_split, tiles
from ncc.compiler.loops.schedule.pointwise import gathered, pointwise, scalar, transposed
from ncc.compiler.loops.schedule.reduction import rows, scattered, window
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.loops.schedule.schedule_text import schedule_text
from ncc.compiler.loops.schedule.transform import transform
from ncc.compiler.target import Target

STRATEGIES: tuple[tuple[Strategy, Callable[[Kernel, Target], Schedule | Reason], str], ...] = (
    (Strategy.K_SPLIT, k_split, "weights that split k"),
    (Strategy.FORMED_WEIGHTS, forming, "weights that the kernel transforms"),
    (Strategy.TRANSFORM, transform, "a separable transform"),
    (Strategy.CHANNEL_GATHER, channel_gather, "a gather of channels among blocks"),
    (Strategy.MATRIX_TILES, tiles, "products of bf16 pairs, and matrix tiles"),
    (Strategy.BF16_SPLIT, bf16_split, "a value stored as two bf16 numbers"),
    (Strategy.DOT, dot.dot, "products of bytes in groups of four"),
    (Strategy.WINDOW_DOT, dot.window_dot, "windows of bytes in groups of four"),
    (Strategy.CONTRACTION, contraction.contraction, "a sum of products, one side contiguous"),
    (Strategy.INTERLEAVED, interleaved, "a few values side by side at each step of the lane"),
    (Strategy.WINDOW, window, "a sum whose operands all move along one contiguous loop"),
    (Strategy.ROWS, rows, "a sum along a contiguous loop"),
    (Strategy.POINTWISE, pointwise, "a loop that is contiguous wherever it moves"),
    (Strategy.GATHERED, gathered, "reads at computed coordinates"),
    (Strategy.TRANSPOSED, transposed, "no sum, operands contiguous along two loops"),
    (Strategy.SCATTERED, scattered, "a sum contiguous where it reads"),
    (Strategy.SCALAR, scalar, "any kernel"),
)
"""In the order they are tried, with what each wants."""

RIVALS = 12
NEAR = 1.5
"""How many schedules of a kernel are worth timing at most, and by how much the count of cycles may
put them behind its favourite."""


def tried(kernel: Kernel, target: Target) -> Iterator[tuple[Strategy, Schedule | Reason, str]]:
    """What each strategy makes of a kernel, and what it wants; the first that fits is the last."""
    for strategy, schedule_of, wants in STRATEGIES:
        found = schedule_of(kernel, target)
        yield strategy, found, wants
        if isinstance(found, Schedule):
            return


def choose(kernel: Kernel, target: Target) -> Schedule:
    """The schedule of the first strategy that fits."""
    *_, (_, found, _) = tried(kernel, target)
    if isinstance(found, str):
        raise CompilerBug(f"a kernel that no strategy fits: {found}")
    return found


def rivals(kernel: Kernel, target: Target) -> list[Schedule]:
    """What to time: the schedule that `choose` gives, and those that come close to it."""
    chosen, near = choose(kernel, target), [one.schedule for one in cheapest_of(kernel, target)]
    return near if chosen in near else [chosen]


def cheapest_of(kernel: Kernel, target: Target) -> list[Candidate]:
    """By the count of cycles, the best first; none for a kernel whose cycles are not counted."""
    found = dot.candidates(kernel, target) or contraction.candidates(kernel, target)
    found = sorted(found, key=lambda one: one.cost)
    return [one for one in found[:RIVALS] if one.cost <= NEAR * found[0].cost]


def named(kernel: Kernel, target: Target, text: str) -> Schedule | None:
    """The one of several rivals whose text this is; None where there is no such."""
    found = (one.schedule for one in cheapest_of(kernel, target))
    return next((one for one in found if schedule_text(one) == text), None)
