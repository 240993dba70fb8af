"""The loops of a kernel by its schedule: each strategy has one emitter.

An emitter is a nest, and has parts that write at one position, which all of them share:

    Position        position.py        the function, where each loop is, how long vectors are
    Reads           reads.py           addresses, and the loads at them
    Body            body.py            what one point computes
    Epilogue        epilogue.py        what follows a sum, and its store
      Bf16Stores    bf16_split.py      the store of a value as two bf16 numbers
    Rows            rows.py            sums of which the lane is reduced
    Nest            nest.py            chunks, tiles, and the reduced loops inside of them

Other nests are that one with something else in one place:

    DotNest                dot.py               four int8 products a lane
    SharedVectorNest       shared_vectors.py    short vectors of two points in one
    KSplitNest             k_split_nest.py      several inputs in the lanes of the last block
    ChannelGatherNest      channel_gather.py    lanes of blocks, put together
    TileNest               tile_nest.py         matrix tiles
    Transform              transform.py         both sides of a small constant matrix
      FormedWeightsNest    formed_weights.py    a sum over weights that it transforms
"""

from __future__ import annotations

from collections.abc import Mapping

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
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy

EMITTERS: Mapping[Strategy, type[Nest]] = {
    Strategy.K_SPLIT: KSplitNest,
    Strategy.FORMED_WEIGHTS: FormedWeightsNest,
    Strategy.TRANSFORM: Transform,
    Strategy.CHANNEL_GATHER: ChannelGatherNest,
    Strategy.MATRIX_TILES: TileNest,
    Strategy.BF16_SPLIT: Nest,
    Strategy.DOT: DotNest,
    Strategy.WINDOW_DOT: DotNest,
    Strategy.CONTRACTION: Nest,
    Strategy.SHARED_VECTORS: SharedVectorNest,
    Strategy.INTERLEAVED: Nest,
    Strategy.WINDOW: Nest,
    Strategy.ROWS: Nest,
    Strategy.POINTWISE: Nest,
    Strategy.GATHERED: Nest,
    Strategy.TRANSPOSED: Nest,
    Strategy.SCATTERED: Nest,
    Strategy.SCALAR: Nest,
}
"""What writes the loops of each strategy."""


def write(kernel: Kernel, schedule: Schedule, name: str) -> func.FuncOp:
    """The kernel as a private function in func, scf, memref, vector, arith, rt and tile."""
    return EMITTERS[schedule.strategy](kernel, schedule).write(name)
