"""How a schedule of matrix tiles divides points and vectors into groups of tiles."""

from __future__ import annotations

from math import prod

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.matrix_tiles import (
    bf16_pairs_of,
    even_rows,
    flat_points,
    is_flat,
    pitch_of,
    step_of,
)
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.dialects.size import is_open


class TilePlan:
    """The number and the size of groups and tiles.

    step: the distance of two points of a tile, counted in points of a row.
    """

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        operands = bf16_pairs_of(kernel)
        if operands is None or not schedule.tiles:
            raise CompilerBug("matrix tiles, but no contraction of bf16 pairs")
        self.operands = operands
        *self.outer, self.inner = operands.points
        self.extent = self.width = kernel.extents[self.inner]
        self.step = 1
        self.pitch = self.wrapped = None
        self.extents = {d: kernel.extents[d] for d in self.outer}
        if schedule.flat:
            self.wrapped, self.pitch = self.outer[-1], pitch_of(operands)
            height = self.extents.pop(self.wrapped)
            rows = height
            if is_open(self.width):
                rows = 1 + (height - 1) * is_flat(height, self.width, self.pitch)
                self.extents[self.wrapped] = height - (rows - 1)
            self.extent = flat_points(rows, self.width, self.pitch)
            self.step = step_of(self.width, self.pitch)
        self.most_rows = schedule.points(self.inner)
        self.rows = even_rows(self.extent) if is_open(self.extent) else self.most_rows
        self.in_row = -(-self.extent // self.rows)
        self.count = prod(self.extents.values()) * self.in_row
        self.p = schedule.tiles
        self.point_groups = -(-self.count // self.p)
        vectors = operands.vectors
        self.blocks = 1 if vectors is None else kernel.extents[vectors]
        self.q = 1 if vectors is None else schedule.points(vectors)
        self.vector_groups = -(-self.blocks // self.q)
        self.left = self.blocks % self.q
        self.points_outer = vectors is None or schedule.order[len(operands.components)] != vectors
        self.components = prod(kernel.extents[d] for d in operands.components)
