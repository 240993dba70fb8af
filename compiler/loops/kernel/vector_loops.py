"""Finds loops whose neighbours can share a vector: contiguous, gathered, or interleaved."""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import IndexOp
from xdsl.dialects.tensor import ExtractOp
from xdsl.ir import SSAValue

from ncc.compiler.loops.kernel.kernel import Kernel, Stage
from ncc.compiler.target import MOST_INTERLEAVED
from ncc.dialects.operation import ops_of
from ncc.dialects.size import hint, is_open

LARGEST_OFFSET = 2**31 - 1
"""The largest offset of an element that is gathered, in int32."""

NO_LANE = "none of its parallel loops is contiguous wherever it moves"
"""Why a kernel has no lane by `can_be_lane`."""


def varying(stage: Stage, lane: int, kernel: Kernel, flight_varies: bool) -> set[SSAValue]:
    """The values of a body that differ from lane to lane."""
    values: set[SSAValue] = set()
    for argument, access in zip(stage.body.args, stage.inputs, strict=False):
        if access is not None and access.coefficients[lane]:
            values.add(argument)
        elif access is None and flight_varies:
            values.add(argument)
    if len(stage.body.args) > len(stage.inputs) and flight_varies:
        values.add(stage.body.args[-1])
    for op in ops_of(stage.body):
        by_index = isinstance(op, IndexOp) and kernel.index_of[op.dim.value.data] == lane
        if by_index or any(operand in values for operand in op.operands):
            values.update(op.results)
    return values


def can_be_lane(kernel: Kernel, lane: int) -> bool:
    """Whether a parallel loop's neighbours can share a vector: contiguous or uniform accesses."""
    if kernel.store.coefficients[lane] != 1:
        return False
    if any(a.coefficients[lane] not in (0, 1) for a in kernel.accesses()):
        return False
    return all(_extracts_allow(kernel, lane, stage) for stage in kernel.stages)


def can_gather(kernel: Kernel, lane: int) -> bool:
    """Whether a parallel loop's neighbours can share a vector that is gathered.

    Offsets are int32, within one element of the outermost coordinate. The coordinates themselves
    need not be contiguous: they are loaded one by one, for all channels.
    """
    if kernel.accumulates or kernel.store.coefficients[lane] != 1:
        return False
    if lane in kernel.indexed or not any(stage.extracts for stage in kernel.stages):
        return False
    for stage in kernel.stages:
        values = varying(stage, lane, kernel, flight_varies=True)
        for op in stage.extracts:
            held = kernel.captured[op.tensor]
            near = op.indices[0] not in values and held.strides[0] < LARGEST_OFFSET
            if not near or kernel.element_types[held.argument] != f32:
                return False
    return True


def interleaved_loops(kernel: Kernel) -> tuple[int, int] | None:
    """A parallel loop, and a short one whose elements are between its neighbours in some accesses.
    All other accesses are contiguous along the first loop. None if there are no such loops.
    """
    by_tables = any(access.table is not None for access in kernel.accesses())
    gathered = any(stage.extracts for stage in kernel.stages)
    if by_tables or gathered or kernel.bf16_split is not None:
        return None
    fixed = kernel.indexed | kernel.clipped
    loops = [d for d in range(len(kernel.extents)) if d not in fixed]
    pairs = ((lane, members) for members in loops for lane in loops)
    return next((pair for pair in pairs if _interleaves(kernel, *pair)), None)


def _interleaves(kernel: Kernel, lane: int, members: int) -> bool:
    """Whether some accesses have just the elements of one loop between neighbours of the other."""
    count = kernel.extents[members]
    if is_open(count):
        return False
    if not 2 <= count <= MOST_INTERLEAVED or hint(kernel.extents[lane]) <= count:
        return False
    if kernel.store.coefficients[lane] == 0:  # as for every reduced loop
        return False
    apart = [a for a in kernel.accesses() if a.coefficients[lane] not in (0, 1)]
    return bool(apart) and all(
        (a.coefficients[lane], a.coefficients[members]) == (count, 1)
        and kernel.element_types[a.argument] == f32
        for a in apart
    )


def _extracts_allow(kernel: Kernel, lane: int, stage: Stage) -> bool:
    """Computed coordinates may vary along the lane only as the last index by itself."""
    values = varying(stage, lane, kernel, flight_varies=True)
    for op in ops_of(stage.body):
        if isinstance(op, IndexOp) and op.result in values:
            if not all(isinstance(use.operation, ExtractOp) for use in op.result.uses):
                return False
    for op in stage.extracts:
        *outer, last = op.indices
        if any(at in values for at in outer):
            return False
        side_by_side = kernel.captured[op.tensor].strides[-1] == 1
        if last in values and not (side_by_side and isinstance(last.owner, IndexOp)):
            return False
    return True
