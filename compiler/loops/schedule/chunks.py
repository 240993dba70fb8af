"""How many chunks a scheduled kernel is handed out in."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy, parts_of_lane
from ncc.compiler.loops.schedule.tile_plan import TilePlan
from ncc.dialects.size import largest, smallest


def chunk_count(kernel: Kernel, schedule: Schedule) -> int:
    """How many chunks the outermost loops make, and parts of the lane; a kernel without any is one
    chunk. On matrix tiles, how many groups of tiles there are.
    """
    if schedule.strategy is Strategy.MATRIX_TILES:
        plan = TilePlan(kernel, schedule)
        return plan.components * plan.point_groups * plan.vector_groups
    chunks = _tiles(kernel.extents, schedule)
    if schedule.coalesced is not None:
        one = is_coalesced(kernel, schedule)
        chunks = (1 - one) * chunks + one * _tiles(coalesced_extents(kernel, schedule), schedule)
    return chunks * parts_of_lane(kernel, schedule)


def _tiles(extents: Sequence[int], schedule: Schedule) -> int:
    """The tiles of the outermost loops."""
    loops = schedule.order[: schedule.chunks]
    return prod(-(-extents[d] // schedule.points(d)) for d in loops)


def is_coalesced(kernel: Kernel, schedule: Schedule) -> int:
    """1 where the loops over columns and rows are one, since a row has fewer columns than two
    tiles, or since the kernel is for small images; else 0.
    """
    if schedule.coalesced is None or schedule.small:
        return int(schedule.small)
    column, _ = schedule.coalesced
    return smallest(1, (2 * schedule.points(column) - 1) // largest(1, kernel.extents[column]))


def coalesced_extents(kernel: Kernel, schedule: Schedule) -> tuple[int, ...]:
    """The extents of all loops where that over columns goes over all points of the image."""
    extents = list(kernel.extents)
    if schedule.coalesced is not None:
        column, row = schedule.coalesced
        extents[column], extents[row] = extents[column] * extents[row], 1
    return tuple(extents)


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
