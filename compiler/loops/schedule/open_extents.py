"""Schedules of kernels whose extents the run tells: chosen for the hint, and right for any size."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from ncc.compiler.cost_model import CostModel, Schedules
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.kernel.own_sizes import changed
from ncc.compiler.loops.schedule.choose import choose
from ncc.compiler.loops.schedule.contraction import with_prefetches
from ncc.compiler.loops.schedule.matrix_tiles import matrix_tiles
from ncc.compiler.loops.schedule.operands import elements_of
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy, chunks_of
from ncc.compiler.target import Target
from ncc.dialects.size import Size, by_hint, hint, is_open, most_of


def for_the_hint(kernel: Kernel, costs: Schedules) -> Kernel:
    """The kernel with numbers in place of sizes, for whoever chooses a schedule."""
    long = costs.long_extent
    if not kernel.is_open:
        return kernel
    opened = [(d, hint(n)) for d, n in enumerate(kernel.extents) if is_open(n)]
    extents = tuple(
        max(hint(n), _at_least(n, long) if d in kernel.reduced else long) if is_open(n) else n
        for d, n in enumerate(kernel.extents)
    )
    told = [(d, n) for d, n in opened if d not in kernel.reduced]
    is_used = all(n > 1 for _, n in told)  # else it may be a part for images that the hint is not
    about = tuple((d, n * is_used) for d, n in told)
    short = [n for n in extents if n < long]
    stride = partial(_stride, kernel, short, long)
    return replace(changed(kernel, stride), extents=extents, about=about)


def _at_least(extent: int, long: int) -> int:
    """How long the loop of a sum is taken to be: those over taps have a largest extent."""
    most = most_of(extent)
    return long if most is None else min(long, most)


def _stride(kernel: Kernel, short: Sequence[int], long: int, size: Size) -> int:
    """A number for a stride that the run tells: its hint, but none by which loops look contiguous,
    or as long as the short loop between two elements, where they are so for the hint alone.

    short: the extents of short loops, also of those that the run tells.
    """
    strides = [n for access in kernel.accesses() for n in access.coefficients]
    fixed = {-1, 0, 1, *short, *(n for n in (*strides, *kernel.extents) if not is_open(n))}
    number = hint(size)
    while number in fixed:
        number += long if number >= 0 else -long
    return number


def for_any_size(kernel: Kernel, schedule: Schedule, target: Target) -> Schedule:
    """A schedule that was chosen for the hint. The run tells the strides of its prefetches, and
    among how many tiles the next vectors are shared.
    """
    if not kernel.is_open:
        return schedule
    open_arguments = {a.argument for a in kernel.accesses() if is_open(*a.coefficients)}
    if schedule.strategy is Strategy.MATRIX_TILES:
        return _on_matrix_tiles(kernel, target)
    coalesced = _coalesced(kernel, schedule)
    is_small = coalesced is not None and _is_of_one(kernel, *coalesced)
    schedule = replace(schedule, coalesced=coalesced, small=is_small)
    if coalesced is not None and is_small:
        return _for_small_images(kernel, schedule, coalesced, target)
    prefetched = {access.argument for access in (*schedule.prefetch_l2, *schedule.prefetch_l1)}
    if not prefetched & open_arguments and not schedule.prefetch_l2:
        return schedule
    hinted = for_the_hint(kernel, target.costs.schedules)
    about = tuple((d, kernel.extents[d]) for d, _ in hinted.about)
    strided = replace(kernel, extents=hinted.extents, about=about)
    with by_hint():
        return with_prefetches(strided, target, schedule)


def _on_matrix_tiles(kernel: Kernel, target: Target) -> Schedule:
    """The schedule for sizes themselves: the run cuts points into tiles."""
    schedule = matrix_tiles(kernel, target)
    if isinstance(schedule, str):
        raise CompilerBug(f"matrix tiles at sizes that only the run knows: {schedule}")
    return schedule


def _for_small_images(
    kernel: Kernel, schedule: Schedule, coalesced: tuple[int, int], target: Target
) -> Schedule:
    """The schedule with the tile and the order that suit small images, whose points are along one
    loop.
    """
    schedule = replace(schedule, prefetch_l2=(), prefetch_l1=())
    column, row = coalesced
    hinted = for_the_hint(kernel, target.costs.schedules)
    extents = tuple(1 if d == row else n for d, n in enumerate(hinted.extents))
    about = ((column, target.costs.schedules.small_points),)
    small = replace(hinted, extents=extents, about=about)
    found = choose(small, target)
    alike = (found.strategy, found.lane, found.vector)
    if alike != (schedule.strategy, schedule.lane, schedule.vector):
        return schedule
    schedule = replace(schedule, tile=found.tile)
    weights = [a for a in small.anchor.reads if not any(a.coefficients[d] for d in coalesced)]
    if 4 * sum(elements_of(a, small, ()) for a in weights) > target.l2_room:
        return _with_next_vectors(kernel, small, schedule, coalesced, target)
    return _by_points(small, schedule, (row, column), target.costs)


def _with_next_vectors(
    kernel: Kernel, hinted: Kernel, schedule: Schedule, coalesced: tuple[int, int], target: Target
) -> Schedule:
    """The schedule with prefetches of the next vectors, in tiles of more than a few points.

    Those tiles of the image share them: which share a tile has, its first point tells, counted from
    the first row on.
    """
    if schedule.strategy is not Strategy.CONTRACTION:
        return schedule
    column, row = coalesced
    columns, few = kernel.extents[column], target.costs.schedules.unprefetched_points
    extents = tuple(
        kernel.extents[d] if d in kernel.reduced else n for d, n in enumerate(hinted.extents)
    )
    about = ((column, columns * kernel.extents[row] - few), (row, 1))
    with by_hint():
        found = with_prefetches(replace(kernel, extents=extents, about=about), target, schedule)
    vectors = [a for a in found.prefetch_l2 if a.coefficients[schedule.order[-1]]]
    to_l2 = tuple(_moving(a, row, a.coefficients[column] * columns) for a in vectors)
    return replace(schedule, prefetch_l2=to_l2, unprefetched=few if to_l2 else 0)


def _moving(access: Access, loop: int, step: int) -> Access:
    """The access with another step along a loop."""
    coefficients = (step if d == loop else n for d, n in enumerate(access.coefficients))
    return replace(access, coefficients=tuple(coefficients))


def _by_points(
    kernel: Kernel, schedule: Schedule, points: tuple[int, int], costs: CostModel
) -> Schedule:
    """The schedule with the loops over points outermost, for weights that stay in L2: each thread
    finds in its cache the points that it has written, and a line of them may be long.
    """
    order = (*points, *(d for d in schedule.order if d not in points))
    chunks = chunks_of(kernel, order[:-1], dict(schedule.tile), costs.threads.even_chunks)
    return replace(schedule, order=order, chunks=chunks)


def _coalesced(kernel: Kernel, schedule: Schedule) -> tuple[int, int] | None:
    """The loops over columns and rows of `Schedule.coalesced`, for a sum of products whose tile has
    points along one loop of the image. The run tells how many columns there are, and maybe rows.
    """
    if schedule.strategy not in (Strategy.CONTRACTION, Strategy.DOT):
        return None
    loops = [d for d in schedule.order if d != schedule.lane]
    opened = [d for d in loops if is_open(kernel.extents[d])]
    if not opened:
        return None
    column = opened[-1]
    image = [d for d in loops[: loops.index(column)] if _move_alike(kernel, d, column)]
    rows = opened[:-1] or image[-1:]
    gaps = {access.gap.loop for access in kernel.accesses() if access.gap is not None}
    if len(rows) != 1 or not {*rows, column}.isdisjoint(kernel.clipped | gaps):
        return None
    few = schedule.points(rows[0]) == 1 and schedule.points(column) > 1
    return (column, rows[0]) if few else None


def _move_alike(kernel: Kernel, loop: int, other: int) -> bool:
    """Whether two loops move along the same operands, as those over an image do."""
    return all(bool(a.coefficients[loop]) == bool(a.coefficients[other]) for a in kernel.accesses())


def _is_of_one(kernel: Kernel, column: int, row: int) -> bool:
    """Whether a kernel is for one row by its hint, or for one column where the number of rows is
    known. Parts for small images have such a hint.
    """
    extents = kernel.extents
    return hint(extents[row] if is_open(extents[row]) else extents[column]) <= 1
