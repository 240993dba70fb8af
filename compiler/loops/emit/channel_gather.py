"""Writes a gather of channels as loops: blocks of channels out of other blocks.

    out[j, y, x, n] = data[l // 16, y, x, l % 16],  l = lanes[16 * j + n]

At each point of the image, the kernel reads the blocks that hold the channels of a result, and
shuffles them in registers: one shuffle for each block but the first. A few results at a time share
what they read.
"""

from __future__ import annotations

from functools import partial

from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.kernel_emitter import KernelEmitter
from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.kernel.kernel import Access
from ncc.compiler.loops.schedule.channel_gather import BLOCKS, COLUMNS, LANE

TOGETHER = 8
"""Blocks of results at a point that are stored before the next point."""

PAIR = 2
"""Blocks that are stored together: as bf16 numbers they fill a line."""


class ChannelGather(KernelEmitter):
    """The emitter of such a gather."""

    def write(self) -> None:
        self.loops.chunks(self._row)

    def _row(self) -> None:
        extents = self.kernel.extents
        for first in range(0, extents[BLOCKS], TOGETHER):
            group = range(first, min(first + TOGETHER, extents[BLOCKS]))
            self.loops.run(COLUMNS, 0, extents[COLUMNS], 1, 1, partial(self._point, group))

    def _point(self, group: range) -> None:
        self.state.cache = {}
        for first in group[::PAIR]:
            pair = range(first, min(first + PAIR, group.stop))
            points: list[Point] = [{BLOCKS: block} for block in pair]
            self.epilogue.finish_each(points, [self._together(block) for block in pair])
        self.state.cache = {}

    def _together(self, block: int) -> SSAValue:
        """One block of the result at a point."""
        size, among = self.kernel.extents[LANE], self.kernel.lanes or ()
        lanes = among[block * size : (block + 1) * size]
        first, *others = dict.fromkeys(lane // size for lane in lanes)
        value, taken = self._block(first), {first}
        mask = [lane % size for lane in lanes]
        if not others and mask != list(range(size)):
            return self.builder.shuffle(value, value, mask)
        for other in others:
            mask = [m + size * (lane // size == other) for m, lane in zip(mask, lanes, strict=True)]
            value = self.builder.shuffle(value, self._block(other), mask)
            taken.add(other)
            mask = [n if lane // size in taken else lane % size for n, lane in enumerate(lanes)]
        return value

    def _block(self, number: int) -> SSAValue:
        """A block of the data at the point, read once for all results."""
        (held,) = self.kernel.captured.values()
        first, *others = held.strides
        access = Access(held.argument, number * first, (0, *others))
        return self.reads.neighbours(access, {}, self.kernel.extents[LANE])
