"""The schedule of a separable transform (`emit/transform.py`)."""

from __future__ import annotations

from ncc.compiler.loops.kernel.kernel import Kernel, Reason
from ncc.compiler.loops.kernel.transform_loops import TransformLoops
from ncc.compiler.loops.kernel.vector_loops import can_be_lane
from ncc.compiler.loops.schedule.schedule import (
    Schedule,
    Strategy,
    chunks_of,
    in_store_order,
    vector_of,
)
from ncc.compiler.target import Target


def transform(kernel: Kernel, target: Target) -> Schedule | Reason:
    """A few rows of results at once; the lane is a contiguous loop, or there is none.

    The columns of data of these rows stay in registers. There are at least two rows, which share
    most work, and only two if results are stored as bf16 numbers, for both blocks of a line.
    """
    if kernel.matrices is None:
        return "it is no separable transform"
    if kernel.forms_weights:
        return "it multiplies what it transforms"
    loops = TransformLoops.of(kernel)
    beside = () if kernel.bf16_split is None else ((kernel.bf16_split.pairs, 2),)
    most = 2 if beside else max(2, (target.registers - 4) // kernel.extents[loops.across])
    rows = min(most, kernel.extents[loops.row])
    tile = ((loops.row, rows), (loops.column, kernel.extents[loops.column]), *beside)
    others = [d for d in kernel.parallel if d not in (loops.row, loops.column)]
    lanes = [d for d in others if loops.data.coefficients[d] == 1 and can_be_lane(kernel, d)]
    lane = max(lanes, key=lambda d: kernel.extents[d], default=None)
    order = in_store_order(kernel, [d for d in others if d != lane])
    clipped = {outer for outer, _, _ in kernel.valid_extents}
    whole = next((i for i, d in enumerate(order) if d in clipped), len(order))
    chunks = min(whole, chunks_of(kernel, order, dict(tile), target.costs.threads.chunks))
    reduced = tuple(sorted(kernel.reduced))
    vector = 1 if lane is None else vector_of(kernel.extents[lane], target)
    order = order if lane is None else (*order, lane)
    return Schedule(Strategy.TRANSFORM, lane, vector, tile, order, reduced, chunks=chunks)
