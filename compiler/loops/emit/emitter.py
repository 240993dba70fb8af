"""Writes the loops of a kernel by its schedule: each strategy has one emitter.

An emitter is made of parts, which share one position. No emitter inherits from another one.

    Position        position.py        the function, where each loop is, how long vectors are
    Reads           reads.py           addresses, and the loads at them
    Body            body.py            the operations of a point: its start, an iteration, its value
    Epilogue        epilogue.py        the operations after a sum, and the store
      Bf16Stores    bf16_split.py      the store of a value as two bf16 numbers
    ParallelLoops   parallel_loops.py  chunks, and the loops over tiles inside of them

Every `KernelEmitter` has all of these. There are five:

    Nest            nest.py            parallel loops around register tiles
    Transform       transform.py       both sides of a small constant matrix
    FormedWeights   formed_weights.py  a sum over weights that it transforms
    ChannelGather   channel_gather.py  channels out of several blocks
    MatrixTiles     matrix_tiles.py    matrix tiles, and the epilogue of the tiles before

A nest has two more parts, for sums. Sums differ in their accumulators, which a nest is given:

    Rows                      rows.py            reductions along the lane
    Sums                      sums.py            the reduced loops of all others
      Accumulators            sums.py            one for each point
      DotAccumulators         dot.py             four int8 products a lane
      MatrixAccumulators      matrix_bytes.py    two points by two lanes, of eight int8 products
      SharedAccumulators      shared_vectors.py  short vectors of two points in one
      KSplitAccumulators      k_split.py         several inputs in the lanes of the last block
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial

from xdsl.dialects import func

from ncc.compiler.loops.emit.channel_gather import ChannelGather
from ncc.compiler.loops.emit.dot import DotAccumulators
from ncc.compiler.loops.emit.formed_weights import FormedWeights
from ncc.compiler.loops.emit.k_split import KSplitAccumulators
from ncc.compiler.loops.emit.kernel_emitter import KernelEmitter
from ncc.compiler.loops.emit.matrix_bytes import MatrixAccumulators
from ncc.compiler.loops.emit.matrix_tiles import MatrixTiles
from ncc.compiler.loops.emit.nest import Nest
from ncc.compiler.loops.emit.shared_vectors import SharedAccumulators
from ncc.compiler.loops.emit.transform import Transform
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy

EMITTERS: Mapping[Strategy, Callable[[Kernel, Schedule], KernelEmitter]] = {
    **dict.fromkeys(Strategy, Nest),
    Strategy.K_SPLIT: partial(Nest, accumulators=KSplitAccumulators),
    Strategy.DOT: partial(Nest, accumulators=DotAccumulators),
    Strategy.WINDOW_DOT: partial(Nest, accumulators=DotAccumulators),
    Strategy.MATRIX_BYTES: partial(Nest, accumulators=MatrixAccumulators),
    Strategy.SHARED_VECTORS: partial(Nest, accumulators=SharedAccumulators),
    Strategy.FORMED_WEIGHTS: FormedWeights,
    Strategy.TRANSFORM: Transform,
    Strategy.CHANNEL_GATHER: ChannelGather,
    Strategy.MATRIX_TILES: MatrixTiles,
}
"""The emitter of each strategy."""


def write(kernel: Kernel, schedule: Schedule, name: str) -> func.FuncOp:
    """The kernel as a private function in func, scf, memref, vector, arith, rt and tile."""
    emitter = EMITTERS[schedule.strategy](kernel, schedule)
    emitter.write()
    return emitter.builder.function(name)
