"""How many chunks a scheduled kernel is handed out in."""

from __future__ import annotations

from math import prod

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy, parts_of_lane
from ncc.compiler.loops.schedule.tile_plan import TilePlan


def chunk_count(kernel: Kernel, schedule: Schedule) -> int:
    """How many chunks the outermost loops make, and parts of the lane; a kernel without any is one
    chunk. On matrix tiles, how many groups of tiles there are.
    """
    if schedule.strategy is Strategy.MATRIX_TILES:
        plan = TilePlan(kernel, schedule)
        return plan.components * plan.point_groups * plan.vector_groups
    loops = schedule.order[: schedule.chunks]
    chunks = prod(-(-kernel.extents[d] // schedule.points(d)) for d in loops)
    return chunks * parts_of_lane(kernel, schedule)


def free_outermost(kernel: Kernel, schedule: Schedule) -> int | None:
    """The outermost loop, where the code is the same for any extent of it and only counts chunks.

    None where that loop is tiled, vectorised, clipped or not handed out, or ends amid a pair or
    with a folded block.
    """
    if not schedule.order or not schedule.chunks or schedule.tiles:
        return None
    outermost = schedule.order[0]
    whole = outermost != schedule.lane and schedule.points(outermost) == 1
    folded = None if kernel.k_split is None else kernel.k_split.outputs
    ends = outermost in kernel.clipped or outermost in (kernel.unpaired, folded)
    return outermost if whole and not ends else None
