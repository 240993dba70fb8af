"""Contractions whose last block is half full: two points share a vector there.

    whole blocks      acc[p] += broadcast x[p] * w
    half a block      acc[p, p'] += (x[p], ..., x[p], x[p'], ..., x[p']) * (w, w)

The vector of both points is shuffled from their two broadcasts. In front of the epilogue each
accumulator is split into the sums of its two points. Each lane sums what it would alone: results
are the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.nest import Nest
from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.products import product_of
from ncc.compiler.loops.schedule.schedule import Schedule

Cell = tuple[Point] | tuple[Point, Point]
"""What an accumulator is of: a point, or two whose vectors are short."""


class SharedVectorNest(Nest):
    """The emitter of a contraction whose short vectors share whole ones."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        pair, lane = product_of(kernel), schedule.lane
        if pair is None or lane is None:
            raise CompilerBug("vectors are joined of what is no product of points with vectors")
        self.broadcast, self.stream = sorted(pair, key=lambda a: a.coefficients[lane])
        self.cells: list[Cell] = []

    def _accumulate(self, points: list[Point]) -> list[SSAValue]:
        self.cells = self._two_by_two(points)
        initial = [self._begun(cell) for cell in self.cells]
        self.state.cache = {}
        values = self._reduce(list(self.schedule.reduced), points, initial)
        parts = [
            part
            for cell, value in zip(self.cells, values, strict=True)
            for part in zip(cell, self._parted(cell, value), strict=True)
        ]
        order = {id(point): n for n, point in enumerate(points)}
        return [value for _, value in sorted(parts, key=lambda part: order[id(part[0])])]

    def _two_by_two(self, points: list[Point]) -> list[Cell]:
        """The points of a tile, where the second of two short vectors stands: of the same vector
        of the stream.
        """
        cells: list[Cell] = []
        waiting: dict[int, Point] = {}
        for point in points:
            subview = sum(self.stream.coefficients[loop] * n for loop, n in point.items())
            if not self.position.is_short(point):
                cells.append((point,))
            elif subview in waiting:
                cells.append((waiting.pop(subview), point))
            else:
                waiting[subview] = point
        return [*cells, *((point,) for point in waiting.values())]

    def _begun(self, cell: Cell) -> SSAValue:
        """What the accumulator of a cell starts from."""
        values = [self._started_at(point) for point in cell]
        return values[0] if len(values) == 1 else self._side_by_side(*values)

    def _side_by_side(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Two short vectors as a whole one."""
        return self.builder.shuffle(a, b, range(self.state.lanes))

    def _parted(self, cell: Cell, value: SSAValue) -> Sequence[SSAValue]:
        """The sums of each point of a cell."""
        if len(cell) == 1:
            return [value]
        half, whole = self.position.lanes_at(cell[0]), self.state.lanes
        sides = range(half), range(half, whole)
        return [self.builder.shuffle(value, value, side) for side in sides]

    def _reduce(
        self, loops: list[int], points: list[Point], values: list[SSAValue]
    ) -> list[SSAValue]:
        if loops:
            return super()._reduce(loops, points, values)
        self.reads.prefetch()
        return [self._added(cell, value) for cell, value in zip(self.cells, values, strict=True)]

    def _added(self, cell: Cell, value: SSAValue) -> SSAValue:
        """The accumulator of a cell after one more step."""
        if len(cell) == 1:
            return self._step_at(cell[0], value)
        half, whole = self.position.lanes_at(cell[0]), self.state.lanes
        values = (self.reads.read_single(self.broadcast, point, False) for point in cell)
        x, other = map(self.reads.splat, values)
        both = self.builder.shuffle(x, other, [*range(half), *range(whole + half, 2 * whole)])
        return self.builder.add(vector.FMAOp, [both, self._twice(cell[0]), value], value.type)

    def _twice(self, point: Point) -> SSAValue:
        """The short vector at a point in both halves of a whole one, read once a step."""
        with self.position.as_long_as(point):
            short = self.reads.read_single(self.stream, point, True)
        key = ("twice", short)
        if key not in self.state.cache:
            self.state.cache[key] = self._side_by_side(short, short)
        return self.state.cache[key]
