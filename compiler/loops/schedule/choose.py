"""Which strategy schedules a kernel.

A strategy looks at the kernel's coefficients only. The first whose conditions hold makes the
schedule; the last always does. Those before it name the condition that does not hold, for
`ncc explain --kernel`. The function of a strategy shows the loops that it wants, and
`emit/emitter.py` names the emitter of each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Kernel, Reason
from ncc.compiler.loops.schedule import contraction, dot
from ncc.compiler.loops.schedule.channel_gather import channel_gather
from ncc.compiler.loops.schedule.contraction import Candidate
from ncc.compiler.loops.schedule.formed_weights import formed_weights
from ncc.compiler.loops.schedule.interleaved import interleaved
from ncc.compiler.loops.schedule.matrix_tiles import bf16_split, matrix_tiles
from ncc.compiler.loops.schedule.pointwise import gathered, pointwise, scalar, transposed
from ncc.compiler.loops.schedule.reduction import rows, scattered, window
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.loops.schedule.schedule_text import schedule_text
from ncc.compiler.loops.schedule.transform import transform
from ncc.compiler.target import Target
from ncc.dialects.element import is_wide
from ncc.dialects.operation import ops_of

STRATEGIES: tuple[tuple[Strategy, Callable[[Kernel, Target], Schedule | Reason], str], ...] = (
    (Strategy.K_SPLIT, contraction.k_split, "weights that split k"),
    (Strategy.FORMED_WEIGHTS, formed_weights, "weights that the kernel transforms"),
    (Strategy.TRANSFORM, transform, "a separable transform"),
    (Strategy.CHANNEL_GATHER, channel_gather, "a gather of channels among blocks"),
    (Strategy.MATRIX_TILES, matrix_tiles, "products of bf16 pairs, and matrix tiles"),
    (Strategy.BF16_SPLIT, bf16_split, "a value stored as two bf16 numbers"),
    (Strategy.DOT, dot.dot, "products of bytes in groups of four"),
    (Strategy.WINDOW_DOT, dot.window_dot, "windows of bytes in groups of four"),
    (Strategy.CONTRACTION, contraction.contraction, "a sum of products, one side contiguous"),
    (Strategy.INTERLEAVED, interleaved, "a few values side by side at each iteration of the lane"),
    (Strategy.WINDOW, window, "a sum whose operands all move along one contiguous loop"),
    (Strategy.ROWS, rows, "a sum along a contiguous loop"),
    (Strategy.POINTWISE, pointwise, "a loop that is contiguous wherever it moves"),
    (Strategy.GATHERED, gathered, "reads at computed coordinates"),
    (Strategy.TRANSPOSED, transposed, "no sum, operands contiguous along two loops"),
    (Strategy.SCATTERED, scattered, "a sum contiguous where it reads"),
    (Strategy.SCALAR, scalar, "any kernel"),
)
"""In the order in which they are tried, each with the kernels that it wants."""


def tried(kernel: Kernel, target: Target) -> Iterator[tuple[Strategy, Schedule | Reason, str]]:
    """The results of the strategies, up to the first that fits, and what each of them wants."""
    target = target_for(kernel, target)
    for strategy, schedule_of, wants in STRATEGIES:
        found = schedule_of(kernel, target)
        yield strategy, found, wants
        if isinstance(found, Schedule):
            return


def target_for(kernel: Kernel, target: Target) -> Target:
    """The target as a kernel sees it: with half of the lanes if it computes numbers of 64 bits."""
    computed = (r.type for s in kernel.stages for op in ops_of(s.body) for r in op.results)
    wide = any(is_wide(kind) for kind in (*kernel.element_types, *computed))
    return replace(target, lanes=max(target.lanes // 2, 1)) if wide else target


def choose(kernel: Kernel, target: Target) -> Schedule:
    """The schedule of the first strategy that fits."""
    *_, (_, found, _) = tried(kernel, target)
    if isinstance(found, str):
        raise CompilerBug(f"a kernel that no strategy fits: {found}")
    return found


def rivals(kernel: Kernel, target: Target) -> list[Schedule]:
    """The schedules to time: the one that `choose` returns, and those with nearly as few cycles."""
    chosen, near = choose(kernel, target), [one.schedule for one in cheapest_of(kernel, target)]
    return near if chosen in near else [chosen]


def cheapest_of(kernel: Kernel, target: Target) -> list[Candidate]:
    """The candidates with the fewest cycles; none for a kernel whose cycles are not counted."""
    target = target_for(kernel, target)
    found = dot.candidates(kernel, target) or contraction.candidates(kernel, target)
    found = sorted(found, key=lambda one: one.cost)
    costs = target.costs.schedules
    nearest = found[: costs.most_rivals]
    return [one for one in nearest if one.cost <= costs.rival_cycles * found[0].cost]


def named(kernel: Kernel, target: Target, text: str) -> Schedule | None:
    """The candidate with this text; None if there is none."""
    found = (one.schedule for one in cheapest_of(kernel, target))
    return next((one for one in found if schedule_text(one) == text), None)
