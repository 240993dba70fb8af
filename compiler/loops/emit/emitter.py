"""The loops of a kernel by its schedule: each way of writing has a class of its own.

    ReadWriter       loops/emit/reads.py    what one point reads, and the addresses of that
    PointWriter      loops/emit/point.py    what one point computes
    FinishWriter     loops/emit/epilogue.py what follows a sum: the epilogue of each point, its
    store RowWriter        loops/emit/rows.py     sums of which the lane is reduced
    Nest             loops/emit/nest.py     chunks, tiles, and the reduced loops inside of them
      DotNest          dot.py          four int8 products a lane
      SharedVectorNest       joined.py       halves of two points in one vector
      ChannelGatherNest    selection.py    lanes of blocks, put together
      TileNest         tile_nest.py    matrix tiles
      Transform        transform.py    both sides of a small constant matrix
        FormedWeightsNest    forming.py      a sum over weights that it transforms

Each is what stands above it, and one thing more.
"""

from __future__ import annotations

from xdsl.dialects import func

from ncc.compiler.loops.emit.channel_gather import ChannelGatherNest
from ncc.compiler.loops.emit.dot import DotNest
from ncc.compiler.loops.emit.formed_weights import FormedWeightsNest
from ncc.compiler.loops.emit.k_split_nest import KSplitNest
from ncc.compiler.loops.emit.nest import Nest
from ncc.compiler.loops.emit.shared_vectors import SharedVectorNest
from ncc.compiler.loops.emit.tile_nest import TileNest
from ncc.compiler.loops.emit.transform import Transform
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.schedule import Schedule


def write(kernel: Kernel, schedule: Schedule, name: str) -> func.FuncOp:
    """The kernel as a private function in func, scf, memref, vector, arith, rt and tile."""
    return _writer(kernel, schedule)(kernel, schedule).write(name)


def chunk_count(kernel: Kernel, schedule: Schedule) -> int:
    """How many chunks the kernel is handed out in."""
    return _writer(kernel, schedule).chunk_count(kernel, schedule)


def _writer(kernel: Kernel, schedule: Schedule) -> type[Nest]:
    if schedule.tiles:
        return TileNest
    if schedule.quad is not None:
        return DotNest
    if schedule.joined:
        return SharedVectorNest
    if kernel.k_split is not None:
        return KSplitNest
    if kernel.lanes is not None:
        return ChannelGatherNest
    if schedule.panel is not None:
        return FormedWeightsNest
    return Nest if kernel.matrices is None or kernel.forms_weights else Transform
