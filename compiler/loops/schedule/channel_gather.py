"""The schedule of a gather of channels among blocks (`emit/channel_gather.py`)."""

from __future__ import annotations

from ncc.compiler.loops.kernel.kernel import Kernel, Reason
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy
from ncc.compiler.target import Target

BLOCKS, ROWS, COLUMNS, LANE = range(4)
"""The loops of such a gather."""


def channel_gather(kernel: Kernel, target: Target) -> Schedule | Reason:
    """A chunk is a row of the image. Vectors are as long as blocks, also if the target's are
    shorter.
    """
    if kernel.lanes is None:
        return "it gathers no channels of blocks"
    order, vector = (ROWS, COLUMNS, BLOCKS, LANE), kernel.extents[LANE]
    return Schedule(Strategy.CHANNEL_GATHER, LANE, vector, (), order, (), chunks=1)
