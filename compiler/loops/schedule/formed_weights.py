"""The schedule of a contraction that transforms its own weights (`emit/formed_weights.py`)."""

from __future__ import annotations

from dataclasses import dataclass

from ncc.compiler.loops.kernel.kernel import PADDED, Access, Kernel, Reason
from ncc.compiler.loops.kernel.transform_loops import TransformLoops
from ncc.compiler.loops.kernel.vector_loops import can_be_lane
from ncc.compiler.loops.schedule.schedule import Schedule, Strategy, tile_of, vector_of
from ncc.compiler.target import Target

BLOCKS = 2
"""Blocks of outputs in a tile: each broadcast element of the data is multiplied with both."""


@dataclass(frozen=True)
class Formed:
    """The loops of such a contraction.

    loops    the loops of the transform of the weights
    data     the operand that is multiplied with the transformed weights
    lane     the loop over outputs of a block; `blocks` is the one over blocks
    panel    the loop over inputs of a block; `input_blocks` is the one over blocks
    points   loops that only the data moves with, innermost first; only two have several iterations
    """

    loops: TransformLoops
    data: Access
    lane: int
    blocks: int
    panel: int
    input_blocks: int
    points: tuple[int, ...]

    @staticmethod
    def of(kernel: Kernel) -> Formed | Reason:
        """The loops of a contraction in whole blocks; the reason for any other kernel."""
        if not kernel.forms_weights:
            return "it transforms no weights"
        if kernel.valid_extents:
            return PADDED
        if kernel.epilogue or kernel.bf16_split is not None or kernel.initial != 0.0:
            return "its sums begin with something, or something follows them"
        loops, data = TransformLoops.of(kernel), kernel.anchor.inputs[3]
        if data is None:
            return "it computes what it multiplies with weights"
        weights, read = loops.data.coefficients, data.coefficients
        outputs = [d for d in kernel.parallel if weights[d] and not read[d]]
        inputs = [d for d in kernel.reduced if weights[d] and read[d]]
        points = [d for d in kernel.parallel if read[d] and not weights[d]]
        points = [d for d in points if d not in (loops.row, loops.column)]
        several = [d for d in points if kernel.extents[d] > 1]
        if len(outputs) != 2 or len(inputs) != 2 or len(points) < 2 or len(several) > 2:
            return "its channels are not in blocks"
        lane, blocks = sorted(outputs, key=weights.__getitem__)
        panel, input_blocks = sorted(inputs, key=weights.__getitem__)
        if weights[lane] != 1 or not can_be_lane(kernel, lane):
            return "its weights or results are not contiguous along the outputs of a block"
        by_distance = tuple(sorted(points, key=lambda d: (d not in several, read[d])))
        return Formed(loops, data, lane, blocks, panel, input_blocks, by_distance)


def formed_weights(kernel: Kernel, target: Target) -> Schedule | Reason:
    """A tile of as many points as registers allow, by vectors of two blocks if these are wide."""
    formed = Formed.of(kernel)
    if isinstance(formed, str):
        return formed
    extents, vector = kernel.extents, vector_of(kernel.extents[formed.lane], target)
    in_lane = extents[formed.lane] // vector
    count = BLOCKS if in_lane == 1 and extents[formed.blocks] % BLOCKS == 0 else 1
    most = (target.registers - 1) // (count * in_lane) - 1
    inner, outer, *broadcast = formed.points
    columns = tile_of(extents[inner], most)
    rows = tile_of(extents[outer], most // columns) if columns == extents[inner] else 1
    sizes = ((outer, rows), (inner, columns), (formed.blocks, count), (formed.lane, in_lane))
    component = formed.loops.row, formed.loops.column
    order = (formed.blocks, *component, *broadcast, outer, inner, formed.lane)
    reduced = (formed.input_blocks, formed.loops.down, formed.loops.across, formed.panel)
    tile = tuple((loop, n) for loop, n in sizes if n > 1)
    return Schedule(
        Strategy.FORMED_WEIGHTS, formed.lane, vector, tile, order, reduced, panel=formed.panel
    )
