"""Contractions whose last block of outputs is folded: several inputs share its lanes.

    whole blocks      acc[p] += broadcast x[p, k] * w[k]
    the last one      acc[p] += (x[p, 2 k], x[p, 2 k + 1], x[p, 2 k], ...) * v[k]       two at once

What neighbouring lanes have summed is added up in front of the epilogue. The last block has tiles
of its own: their sums take fewer steps.
"""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.nest import Nest
from ncc.compiler.loops.emit.position import Point, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.emit.transpose import unfolded
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.schedule.schedule import Schedule


class KSplitReads(Reads):
    """Reads that spread several inputs over the lanes of the last block."""

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        if self.kernel.k_split is None:
            raise CompilerBug("a folded block of a kernel without one")
        self.k_split = self.kernel.k_split
        self.last_block = self.kernel.extents[self.k_split.outputs] - 1

    @property
    def is_last_block(self) -> bool:
        """Whether the tile is of the last block."""
        return self.state.bases.get(self.k_split.outputs, 0) == self.last_block

    def read(self, access: Access, point: Point, lane_moves: bool) -> SSAValue:
        """Of the last block, several inputs at once, each in all of its lanes."""
        inputs, times = self.k_split.inputs, self.k_split.times
        if lane_moves or not self.is_last_block or access.coefficients[inputs] != 1:
            return super().read(access, point, lane_moves)
        coefficients = list(access.coefficients)
        coefficients[inputs] = times
        subview = self.subview(replace(access, coefficients=tuple(coefficients)), point)
        key = ("folded", access.argument, subview)
        if key not in self.state.cache:
            source, at = self.entry.args[access.argument], self.builder.linear(*subview)
            held = self.builder.load(source, at, times)
            lanes = [lane % times for lane in range(self.state.lanes)]
            self.state.cache[key] = self.builder.shuffle(held, held, lanes)
        return self.state.cache[key]


class KSplitNest(Nest):
    """The emitter of a kernel whose last block splits k."""

    reads: KSplitReads
    reads_of = KSplitReads

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        self.k_split, self.last = self.reads.k_split, self.reads.last_block

    def _alike(self, loop: int) -> int:
        if loop != self.k_split.outputs:
            return super()._alike(loop)
        return self.last // self.state.sizes[loop]

    def _last(self, loop: int) -> list[tuple[int, int]]:
        if loop != self.k_split.outputs:
            return super()._last(loop)
        first = self._alike(loop) * self.state.sizes[loop]
        rest = [(first, self.last - first)] if first < self.last else []
        return [*rest, (self.last, 1)]

    def _accumulate(self, points: list[Point]) -> list[SSAValue]:
        """Of each output of the last block, what its lanes have summed from nothing."""
        if not self.reads.is_last_block:
            return super()._accumulate(points)
        lanes, times = self.state.lanes, self.k_split.times
        zeros = self.builder.splat(self.builder.constant(0.0, f32), lanes)
        sums = self._reduce(list(self.schedule.reduced), points, [zeros] * len(points))
        self.state.cache = {}
        outputs = [unfolded(self.builder, value, lanes, times) for value in sums]
        starts = zip(outputs, points, strict=True)
        return [self._on_start(value, point) for value, point in starts]

    def _reduced_extent(self, loop: int) -> int:
        is_split = self.reads.is_last_block and loop == self.k_split.inputs
        at_once = self.k_split.times if is_split else 1
        return super()._reduced_extent(loop) // at_once
