"""The loops of a kernel by its schedule: each way of writing has a class of its own.

    ReadWriter       loops/reads.py    what one point reads, and the addresses of that
    PointWriter      loops/point.py    what one point computes
    FinishWriter     loops/finish.py   what follows a sum: the epilogue of each point, its store
    RowWriter        loops/rows.py     sums of which the lane is reduced
    Nest             loops/nest.py     chunks, tiles, and the reduced loops inside of them
      DotNest          dot.py          four int8 products a lane
      JoinedNest       joined.py       halves of two points in one vector
      SelectionNest    selection.py    lanes of blocks, put together
      TileNest         tile_nest.py    matrix tiles
      Transform        transform.py    both sides of a small constant matrix
        FormingNest    forming.py      a sum over weights that it transforms

Each is what stands above it, and one thing more.
"""

from __future__ import annotations

from xdsl.dialects import func

from ncc.compiler.loops.kernel import Kernel
from ncc.compiler.loops.nest import Nest
from ncc.compiler.loops.schedule import Schedule
from ncc.compiler.loops.strategies.dot import DotNest
from ncc.compiler.loops.strategies.folded import FoldedNest
from ncc.compiler.loops.strategies.forming import FormingNest
from ncc.compiler.loops.strategies.joined import JoinedNest
from ncc.compiler.loops.strategies.selection import SelectionNest
from ncc.compiler.loops.strategies.tile_nest import TileNest
from ncc.compiler.loops.strategies.transform import Transform


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
        return JoinedNest
    if kernel.folding is not None:
        return FoldedNest
    if kernel.lanes is not None:
        return SelectionNest
    if schedule.slab is not None:
        return FormingNest
    return Nest if kernel.matrices is None or kernel.forms_weights else Transform
