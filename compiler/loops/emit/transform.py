"""Writes a separable transform as loops: the two sides of Winograd's convolution.

    out[a, b] = sum over k and l of m[a, k] * n[b, l] * data[k, l]

for small constant matrices, at every point of the other loops. The kernel transforms columns first
(t[a, l] = sum of m[a, k] * data[k, l]), then the rows of t, for a few a at a time, so that t stays
in registers. `combination` turns products with the matrices into a few additions. A matrix of one
row and one column, as windows of one row have, is a one and needs no product.

Points beyond the valid extents of the result are neither computed nor stored. Where the run tells
these, there are two pieces of code: one for whole tiles, and one that asks for each row and column
of a tile whether it is stored.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import VectorType, f32, i1
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.combination import combine, together
from ncc.compiler.loops.emit.kernel_emitter import KernelEmitter
from ncc.compiler.loops.emit.position import Part, Point, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.transform_loops import TransformLoops
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.dialects.size import hint, is_open


def clips_of(kernel: Kernel) -> list[tuple[int, int, int]]:
    """The valid extents that end amid a tile. Tiles of one column are all whole."""
    found = []
    for outer, inner, true in kernel.valid_extents:
        whole = kernel.extents[outer] * kernel.extents[inner]
        if is_open(whole, true) and true != whole or hint(true) < hint(whole):
            found.append((outer, inner, true))
    return found


class VectorArithmetic(Part):
    """Combinations as operations on vectors, or on numbers where there is no lane."""

    def __init__(self, position: Position, reads: Reads) -> None:
        super().__init__(position)
        self.reads = reads

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
        return self.reads.vector(self.builder.constant(factor, f32))


class Transform(KernelEmitter):
    """The emitter of a separable transform, whose register tile is one tile of Winograd's."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        self.transform = TransformLoops.of(kernel)
        self.arithmetic = VectorArithmetic(self.position, self.reads)
        self.clips = {outer: (inner, true) for outer, inner, true in clips_of(kernel)}
        self.told = [d for d in schedule.order if d in self.clips and is_open(self.clips[d][1])]
        """The loops whose ends the run tells, outermost first."""
        self.ends: dict[int, SSAValue] = {}
        """For a loop within a tile, how much of a tile around it is stored."""
        self.whole: SSAValue | None = None
        """Whether the tiles that these loops are at are whole; None where they surely are."""
        kept = self.transform.row, self.transform.column
        self.state.sizes |= {d: kernel.extents[d] for d in kept}

    def write(self) -> None:
        self.loops.chunks(lambda: self._nest(self.schedule.order[self.schedule.chunks :]))

    def _nest(self, loops: Sequence[int]) -> None:
        """The loops inside of a chunk, outermost first."""
        if not loops:
            self._tile()
            return
        loop = self._clipped if loops[0] in self.clips else self.loops.loop
        loop(loops[0], lambda: self._nest(loops[1:]))

    def _clipped(self, loop: int, body: Callable[[], None]) -> None:
        """A loop over tiles ends where the result does, maybe with a partial tile."""
        if loop in self.told:
            self._ending_anywhere(loop, body)
            return
        kept, true = self.clips[loop]
        whole, rest = divmod(true, self.kernel.extents[kept])

        def partial_tile() -> None:
            self.position.with_loop(kept, 0, rest, body)

        self.loops.run(loop, 0, whole, 1, 1, body)
        if rest:
            self.position.with_loop(loop, whole, 1, partial_tile)

    def _ending_anywhere(self, loop: int, body: Callable[[], None]) -> None:
        """A loop whose last tile may be partial, as the run tells. The innermost of these loops
        goes through whole tiles, then through partial ones, which have code of their own.
        """
        kept, true = self.clips[loop]
        size, tiles = self.kernel.extents[kept], self.kernel.extents[loop]
        around = self.whole

        def end_here() -> SSAValue:
            tile = self.builder.plus(self.state.bases[loop])
            return self.builder.local(self.builder.linear([(tile, -size)], true))

        def partial_tile() -> None:
            self.state.limits = {**self.ends, kept: end_here()}
            body()
            self.state.limits = {}

        def any_tile() -> None:
            end = self.ends[kept] = end_here()
            whole = self._is_within(size - 1, end)
            both = around and self.builder.add(arith.AndIOp, [around, whole], i1)
            self.whole = both or whole
            body()
            del self.ends[kept]
            self.whole = around

        if loop != self.told[-1]:
            self.loops.tiles(loop, 0, tiles, 1, 1, any_tile)
        else:
            whole = self.builder.constant(true // size)
            if around is not None:
                none = self.builder.constant(0)
                whole = self.builder.select(around, whole, none)
            self.loops.tiles(loop, 0, whole, 1, 1, body)
            self.loops.tiles(loop, whole, tiles, 1, 1, partial_tile)

    def _is_within(self, place: int, end: SSAValue) -> SSAValue:
        """Whether an element is stored."""
        return self.builder.below(self.builder.constant(place), end)

    def _tile(self) -> None:
        rows, blocks = range(self.state.sizes[self.transform.row]), self._blocks()
        for group in together(self.transform.m, rows, self.schedule.points(self.transform.row)):
            self.state.cache = {}
            down = [
                [self._down(group, across, block) for across in range(len(self.transform.n[0]))]
                for block in blocks
            ]
            for position, row in enumerate(group):
                across = [[values[position] for values in found] for found in down]
                self._row(row, blocks, across)
        self.state.cache = {}

    def _row(self, row: int, blocks: Sequence[Point], across: Sequence[Sequence[SSAValue]]) -> None:
        """A row of the results of neighbouring tiles: the transform of a row of t, and the
        epilogue.
        """
        if row and self.transform.row in self.state.limits:
            within = self._is_within(row, self.state.limits[self.transform.row])
            self._where(within, lambda: self._points_of(row, blocks, across))
        else:
            self._points_of(row, blocks, across)

    def _points_of(
        self, row: int, blocks: Sequence[Point], across: Sequence[Sequence[SSAValue]]
    ) -> None:
        """The same of a row that is stored, at least its first column."""
        columns = range(self.state.sizes[self.transform.column])
        end = self.state.limits.get(self.transform.column)
        points: list[Point] = []
        values: list[SSAValue] = []
        for block, transformed in zip(blocks, across, strict=True):
            here = [
                {**block, self.transform.row: row, self.transform.column: column}
                for column in columns
            ]
            results = combine(self.transform.n, columns, transformed.__getitem__, self.arithmetic)
            points += here
            values += results if end is not None else map(self.body.on_start, results, here)
        if end is None:
            self.epilogue.finish_each(points, values)
            return
        for point, value in zip(points, values, strict=True):
            column, finish = point[self.transform.column], partial(self._finish, point, value)
            self._where(self._is_within(column, end), finish) if column else finish()

    def _finish(self, point: Point, value: SSAValue) -> None:
        """The initial value, the epilogue and the store of a point."""
        self.epilogue.finish_each([point], [self.body.on_start(value, point)])

    def _where(self, condition: SSAValue, body: Callable[[], None]) -> None:
        """Code that runs if a condition holds; what it loads is not known behind it."""
        saved, self.state.cache = self.state.cache, {}
        self.builder.branch(condition, body)
        self.state.cache = saved

    def _blocks(self) -> list[Point]:
        """Blocks that are computed together: two if results are stored as bf16 numbers."""
        bf16_split = self.kernel.bf16_split
        if bf16_split is None:
            return [{}]
        return [{bf16_split.pairs: n} for n in range(self.state.sizes[bf16_split.pairs])]

    def _down(self, rows: Sequence[int], across: int, block: Point) -> list[SSAValue]:
        """Some rows of the transform of one column of the data."""

        def data(down: int) -> SSAValue:
            point = {**block, self.transform.down: down, self.transform.across: across}
            return self.reads.read(self.transform.data, point, self.position.vector_points)

        return combine(self.transform.m, rows, data, self.arithmetic)
