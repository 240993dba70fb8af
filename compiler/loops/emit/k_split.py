"""Contractions whose last block of outputs splits k: several inputs share its lanes.

    whole blocks      acc[p] += broadcast x[p, k] * w[k]
    the last one      acc[p] += (x[p, 2 k], x[p, 2 k + 1], x[p, 2 k], ...) * v[k]       two at once

The lanes of one output are added up in front of the epilogue. The last block has tiles of its own:
their sums take fewer iterations.
"""

from __future__ import annotations

from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.emit.sums import Accumulators
from ncc.compiler.loops.emit.transpose import unfolded


class KSplitAccumulators(Accumulators):
    """In the last block each lane has a part of a sum, which begins with zero."""

    def start(self, points: list[Point]) -> list[SSAValue]:
        if self.position.k_split is None:
            return super().start(points)
        zeros = self.builder.splat(self.builder.constant(0.0, f32), self.state.lanes)
        return [zeros] * len(points)

    def iterations_at_once(self, loop: int) -> int:
        k_split = self.position.k_split
        return k_split.times if k_split is not None and loop == k_split.inputs else 1

    def finish(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        k_split = self.position.k_split
        if k_split is None:
            return values
        lanes, times = self.state.lanes, k_split.times
        outputs = [unfolded(self.builder, value, lanes, times) for value in values]
        starts = zip(outputs, points, strict=True)
        return [self.body.on_start(value, point) for value, point in starts]
