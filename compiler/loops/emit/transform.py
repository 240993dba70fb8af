"""Writes a separable transform as loops: the two sides of Winograd's convolution.

    out[a, b] = sum over k and l of m[a, k] * n[b, l] * data[k, l]

for small constant matrices, at every point of the other loops. Columns are transformed first
(t[a, l] = sum of m[a, k] * data[k, l]), then the rows of t, for a few a at a time so that t stays
in registers. Products with the matrices become the additions of `combination`; one by the matrix
that is a one, of windows of one row or column, is no product.

Points beyond the tails of the result are neither computed nor written.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.nest import Nest
from ncc.compiler.loops.emit.reads import Point
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.kernel.schedule import Schedule, chunks_of, in_store_order, vector_of
from ncc.compiler.loops.kernel.vector_loops import can_be_lane
from ncc.compiler.loops.schedule.combination import combine, together
from ncc.compiler.target import Target


@dataclass(frozen=True)
class TransformLoops:
    """The loops of one transform, and how its data is read.

    out[row, column] = sum of m[row, down] * n[column, across] * data[down, across]
    """

    row: int
    column: int
    down: int
    across: int
    data: Access

    @staticmethod
    def of(kernel: Kernel) -> TransformLoops:
        """The loops by the inputs of the anchor: m and n, then the data."""
        first, second, data = kernel.anchor.inputs[:3]
        if first is None or second is None or data is None:
            raise CompilerBug("a separable transform reads its matrices, then its data")
        (row, down), (column, across) = _pair(kernel, first), _pair(kernel, second)
        return TransformLoops(row, column, down, across, data)


def _pair(kernel: Kernel, matrix: Access) -> tuple[int, int]:
    """The result's loop and the reduced loop that index the matrix."""
    used = {d for d, factor in enumerate(matrix.coefficients) if factor}
    outer, inner = used - kernel.reduced, used & kernel.reduced
    if len(outer) != 1 or len(inner) != 1:
        raise CompilerBug("a matrix of a transform has one result loop and one reduced loop")
    return outer.pop(), inner.pop()


def clips_of(kernel: Kernel) -> list[tuple[int, int, int]]:
    """The tails that end amid a tile. Tiles of one column are all whole, and may share a vector."""
    extents = kernel.extents
    return [tail for tail in kernel.valid_extents if tail[2] < extents[tail[0]] * extents[tail[1]]]


def transform(kernel: Kernel, target: Target) -> Schedule | None:
    """A few rows of results at once; the lane is a contiguous loop, or there is none.

    So many rows that their columns of data stay in registers, but two, which share most work. No
    more where results are stored in halves, those of two blocks of channels together.
    """
    if kernel.matrices is None or kernel.forms_weights:
        return None
    loops = TransformLoops.of(kernel)
    beside = () if kernel.bf16_split is None else ((kernel.bf16_split.pairs, 2),)
    most = 2 if beside else max(2, (target.registers - 4) // kernel.extents[loops.across])
    rows = min(most, kernel.extents[loops.row])
    tile = ((loops.row, rows), (loops.column, kernel.extents[loops.column]), *beside)
    others = [d for d in kernel.parallel if d not in (loops.row, loops.column)]
    lanes = [d for d in others if loops.data.coefficients[d] == 1 and can_be_lane(kernel, d)]
    lane = max(lanes, key=lambda d: kernel.extents[d], default=None)
    order = in_store_order(kernel, [d for d in others if d != lane])
    clipped = {outer for outer, _, _ in kernel.valid_extents}
    whole = next((i for i, d in enumerate(order) if d in clipped), len(order))
    chunks = min(whole, chunks_of(kernel, order, dict(tile)))
    reduced = tuple(sorted(kernel.reduced))
    if lane is None:
        return Schedule(None, 1, tile, order, reduced, chunks=chunks)
    vector = vector_of(kernel.extents[lane], target)
    return Schedule(lane, vector, tile, (*order, lane), reduced, chunks=chunks)


class Transform(Nest):
    """The nest whose tile is all results of one place."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        if kernel.matrices is None:
            raise CompilerBug("a transform without matrices")
        self.first, self.second = kernel.matrices
        self.loops = TransformLoops.of(kernel)
        self.clips = {outer: (inner, true) for outer, inner, true in clips_of(kernel)}
        self.kept = {d: kernel.extents[d] for d in (self.loops.row, self.loops.column)}

    def _parallel(self, loops: list[int]) -> None:
        """A loop over tiles ends where the result does, maybe with a partial tile."""
        if not loops or loops[0] not in self.clips:
            super()._parallel(loops)
            return
        loop, inner = loops[0], loops[1:]
        point, true = self.clips[loop]
        size = self.kept[point]
        self._run(loop, 0, true // size, 1, 1, lambda: self._parallel(inner))
        if true % size:
            self.kept[point] = true % size
            self._with(loop, true // size, 1, lambda: self._parallel(inner))
            self.kept[point] = size

    def _tile(self) -> None:
        rows, beside = range(self.kept[self.loops.row]), self._beside()
        for group in together(self.first, rows, self.schedule.points(self.loops.row)):
            self.cache = {}
            down = [
                [self._down(group, across, subview) for across in range(len(self.second[0]))]
                for subview in beside
            ]
            for position, row in enumerate(group):
                across = [[values[position] for values in found] for found in down]
                self._row(row, beside, across)
        self.cache = {}

    def _row(self, row: int, beside: Sequence[Point], across: Sequence[Sequence[SSAValue]]) -> None:
        """A row of results at places side by side: the rest of the transform, what follows it."""
        columns = range(self.kept[self.loops.column])
        points: list[Point] = []
        values: list[SSAValue] = []
        for subview, transformed in zip(beside, across, strict=True):
            here = [
                {**subview, self.loops.row: row, self.loops.column: column} for column in columns
            ]
            results = combine(self.second, columns, transformed.__getitem__, self)
            points += here
            values += map(self._on_start, results, here)
        self._finish_each(points, values)

    def _beside(self) -> list[Point]:
        """The places of a tile: both blocks of a pair where results are stored in halves."""
        bf16_split = self.kernel.bf16_split
        if bf16_split is None:
            return [{}]
        return [{bf16_split.pairs: block} for block in range(self.state.sizes[bf16_split.pairs])]

    def _down(self, rows: Sequence[int], across: int, subview: Point) -> list[SSAValue]:
        """Some rows of the transform of one column of the data."""

        def data(down: int) -> SSAValue:
            point = {**subview, self.loops.down: down, self.loops.across: across}
            return self._read(self.loops.data, point, self._vector_points)

        return combine(self.first, rows, data, self)

    # --- arithmetic of combinations ---------------------------------------------------------

    def add(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.binary(arith.AddfOp, a, b)

    def subtract(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.binary(arith.SubfOp, a, b)

    def scale(self, factor: float, a: SSAValue) -> SSAValue:
        return self.builder.binary(arith.MulfOp, self._constant(factor), a)

    def multiply_add(self, factor: float, a: SSAValue, b: SSAValue) -> SSAValue:
        if not isinstance(a.type, VectorType):
            return self.add(self.scale(factor, a), b)
        return self.builder.add(vector.FMAOp, [self._constant(factor), a, b], a.type)

    def _constant(self, factor: float) -> SSAValue:
        return self._vector(self.builder.constant(factor, f32))
