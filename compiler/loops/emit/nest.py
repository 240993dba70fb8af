"""Writes a kernel as parallel loops around register tiles.

func.func private @name(%argument0: memref<..>, .., %first: index, %last: index)
  for chunks, for parallel loops:         `parallel_loops`
    accumulators = initial values         points x vectors, in registers
    for reduced loops: accumulators = ..  carried values, rolled: `sums`
    epilogue; store
"""

from __future__ import annotations

from ncc.compiler.loops.emit.kernel_emitter import KernelEmitter
from ncc.compiler.loops.emit.rows import Rows
from ncc.compiler.loops.emit.sums import Accumulators, Sums
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.schedule import Schedule


class Nest(KernelEmitter):
    """The emitter of most kernels. accumulators: the kind that its sums have."""

    def __init__(
        self, kernel: Kernel, schedule: Schedule, accumulators: type[Accumulators] = Accumulators
    ) -> None:
        super().__init__(kernel, schedule)
        parts = self.position, self.reads, self.body
        self.sums, self.rows = Sums(accumulators(*parts)), Rows(*parts)

    def write(self) -> None:
        inside = self.schedule.order[self.schedule.chunks :]
        self.loops.chunks(lambda: self.loops.nest(inside, self._tile))

    def _tile(self) -> None:
        """All points of a tile: their sums or values, then the epilogue."""
        points = self.position.points()
        if not points:
            return
        self.state.cache = {}
        if not self.kernel.accumulates:
            values = [self.body.evaluate(self.kernel.anchor, point, None) for point in points]
        elif self.schedule.lane in self.kernel.reduced:
            values = self.rows.of(points)
        else:
            values = self.sums.of(points)
        self.state.cache = {}
        self.epilogue.finish(points, values)
        self.state.cache = {}
