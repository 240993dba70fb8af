"""How many chunks a scheduled kernel has for threads to share."""

from __future__ import annotations

from math import prod

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy, parts_of_lane
from ncc.compiler.loops.schedule.tile_plan import TilePlan


def chunk_count(kernel: Kernel, schedule: Schedule) -> int:
    """The chunks of the outermost loops, times the parts of the lane; a kernel without these is one
    chunk. On matrix tiles, each group of tiles is a chunk.
    """
    if schedule.strategy is Strategy.MATRIX_TILES:
        plan = TilePlan(kernel, schedule)
        return plan.components * plan.point_groups * plan.vector_groups
    loops = schedule.order[: schedule.chunks]
    chunks = prod(-(-kernel.extents[d] // schedule.points(d)) for d in loops)
    return chunks * parts_of_lane(kernel, schedule)


def free_outermost(kernel: Kernel, schedule: Schedule) -> int | None:
    """The outermost loop, if its extent changes only the number of chunks and not the code.

    None if that loop is tiled, vectorized, clipped or no chunk loop, or if its last step is half a
    pair, or splits k.
    """
    if not schedule.order or not schedule.chunks or schedule.tiles:
        return None
    outermost = schedule.order[0]
    whole = outermost != schedule.lane and schedule.points(outermost) == 1
    split = None if kernel.k_split is None else kernel.k_split.outputs
    ends = outermost in kernel.clipped or outermost in (kernel.unpaired, split)
    return outermost if whole and not ends else None
