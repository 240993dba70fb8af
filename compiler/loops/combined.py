"""Writes combinations by a small constant matrix as loops: the sides of Strassen's product.

    out[rows] = sum over columns of m[rows, columns] * data[columns]

at every point of the other loops. What is combined is read (`Combine`), or summed on the spot
(`CombineSums`): then a register tile of sums over products is taken for each column in turn, kept
on the stack, and stored in combinations. A sum goes on from an earlier one that has the first
columns of all its rows, so that few are added behind: by `Plan`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import Matrix
from ncc.compiler.loops.arithmetic import ArithmeticNest
from ncc.compiler.loops.build import index, memory_type
from ncc.compiler.loops.combination import combine
from ncc.compiler.loops.kernel import Combination, Kernel, can_be_lane
from ncc.compiler.loops.nest import Nest
from ncc.compiler.loops.point import Point
from ncc.compiler.loops.schedule import Schedule, chunks_of, in_store_order, tile_of, vector_of
from ncc.compiler.target import Target

MOST_UNROLLED = 9
"""Cells of a window that are written out, so that neighbouring points share their reads."""


def in_registers(kernel: Kernel) -> bool:
    """Whether all that is combined at a point is read there, or summed over a window of its own."""
    loops = set(kernel.parallel) - set(_combination(kernel).rows)
    reads = [a for a in kernel.anchor.inputs if a is not None]
    return any(all(a.coefficients[d] for d in loops) for a in reads)


def combined(kernel: Kernel, target: Target) -> Schedule | None:
    """All rows at a few points of a row, the lane a contiguous loop if there is one."""
    if kernel.combination is None or not in_registers(kernel):
        return None
    rows, columns = kernel.combination.rows, kernel.combination.columns
    others = [d for d in kernel.parallel if d not in rows]
    lanes = [d for d in others if can_be_lane(kernel, d)]
    lane = max(lanes, key=lambda d: kernel.extents[d], default=None)
    order = in_store_order(kernel, [d for d in others if d != lane])
    reduced = tuple(sorted(kernel.reduced - set(columns)))
    tile = [(d, kernel.extents[d]) for d in rows]
    if reduced and order:
        most = (target.registers - 4) // prod(kernel.extents[d] for d in columns)
        tile.append((order[-1], tile_of(kernel.extents[order[-1]], most)))
    chunks = chunks_of(kernel, order, dict(tile))
    window = prod(kernel.extents[d] for d in reduced)
    unroll = frozenset(reduced if window <= MOST_UNROLLED else reduced[-1:])
    if lane is None:
        return Schedule(None, 1, tuple(tile), order, reduced, unroll, chunks=chunks)
    vector = vector_of(kernel.extents[lane], target)
    return Schedule(lane, vector, tuple(tile), (*order, lane), reduced, unroll, chunks=chunks)


def _combination(kernel: Kernel) -> Combination:
    if kernel.combination is None:
        raise CompilerBug("a kernel that combines nothing")
    return kernel.combination


def _point(kernel: Kernel, loops: Sequence[int], number: int) -> Point:
    """The loops of the number-th row or column, the last loop fastest."""
    found: Point = {}
    for loop in reversed(loops):
        number, found[loop] = divmod(number, kernel.extents[loop])
    return found


class Combine(ArithmeticNest):
    """The nest whose tile is all rows at some points, in registers."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        self.combination = _combination(kernel)

    def _tile(self) -> None:
        self.cache = {}
        matrix, rows = self.combination.matrix, self.combination.rows
        loops = [d for d, _ in self.schedule.tile if d not in rows]
        ranges = [range(self.state.sizes[d]) for d in loops]
        spots: list[Point] = [dict(zip(loops, at, strict=True)) for at in product(*ranges)]
        columns = [_point(self.kernel, self.combination.columns, k) for k in range(len(matrix[0]))]
        values = self._values([{**column, **spot} for column in columns for spot in spots])
        for k, spot in enumerate(spots):
            data = values[k :: len(spots)]
            results = combine(matrix, range(len(matrix)), data.__getitem__, self)
            for row, value in enumerate(results):
                point = {**_point(self.kernel, rows, row), **spot}
                for stage in self.kernel.epilogue:
                    value = self._evaluate(stage, point, value)
                self._store(value, point)
        self.cache = {}

    def _values(self, points: Sequence[Point]) -> list[SSAValue]:
        """What is combined: read, or summed and what follows on the sums."""
        if not self.schedule.reduced:
            data = self.kernel.anchor.inputs[1]
            if data is None:
                raise CompilerBug("a combination reads its matrix, then its data")
            return [self._read(data, point, self._vector_points) for point in points]
        values = self._accumulate(list(points))
        self.cache = {}
        for stage in self.combination.stages:
            values = [
                self._evaluate(stage, point, value)
                for point, value in zip(points, values, strict=True)
            ]
        return values


@dataclass(frozen=True)
class Plan:
    """In which order sums are taken and put together.

    starts   for each column, the column whose sum its own goes on from, or None
    first    the first column that completes a row; so does each behind it
    rows     the rows that they complete, in order
    others   for each of these, the column whose sum is added, or None
    """

    starts: tuple[int | None, ...]
    first: int
    rows: tuple[int, ...]
    others: tuple[int | None, ...]

    @staticmethod
    def of(matrix: Matrix) -> Plan:
        """For a matrix of zeros and ones, each row of which is two sums at most.

        Where all rows that a column is in have the same columns before it, its sum goes on from
        the largest that these hold.
        """
        rows = [{k for k, factor in enumerate(row) if factor} for row in matrix]
        if any(factor not in (0.0, 1.0) for row in matrix for factor in row):
            raise CompilerBug("sums are combined by zeros and ones")
        held: list[set[int]] = []
        starts: list[int | None] = []
        for column in range(len(matrix[0])):
            before = [frozenset(k for k in row if k < column) for row in rows if column in row]
            common = before[0] if len(set(before)) == 1 else frozenset()
            start = _largest(held, common)
            starts.append(start)
            held.append({column} | (set() if start is None else held[start]))
        parts = [_parts(held, row) for row in rows]
        order = sorted(range(len(rows)), key=lambda row: max(parts[row]))
        first = len(held) - len(rows)
        if [max(parts[row]) for row in order] != list(range(first, len(held))):
            raise CompilerBug("the last columns complete a row each")
        if any(len(part) > 2 for part in parts):
            raise CompilerBug("a row is two sums at most")
        others = [min(parts[row]) if len(parts[row]) > 1 else None for row in order]
        return Plan(tuple(starts), first, tuple(order), tuple(others))


def _parts(held: Sequence[set[int]], row: set[int]) -> list[int]:
    """The columns whose sums make a row."""
    left, taken = set(row), []
    while left:
        part = _largest(held, left)
        if part is None:
            raise CompilerBug("a row that no sums make")
        taken.append(part)
        left -= held[part]
    return taken


def _largest(held: Sequence[set[int]], within: set[int] | frozenset[int]) -> int | None:
    """The number of the largest set inside another one."""
    inside = [k for k, columns in enumerate(held) if columns <= within]
    return max(inside, key=lambda k: len(held[k]), default=None)


class CombineSums(Nest):
    """The nest whose tile is all rows of a register tile of sums."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        self.combination = _combination(kernel)
        self.plan = Plan.of(self.combination.matrix)
        self.columns = len(self.plan.starts)
        (self.column,) = self.combination.columns
        tails = (t for t in kernel.tails if t[1] in self.combination.rows)
        self.clip = next(tails, None)
        self.size = prod(n for _, n in schedule.tile) * schedule.vector
        self.sums = self.builder.scratch(memory_type(f32, (self.columns + 1) * self.size))

    def _chunks_between(self, first: SSAValue, last: SSAValue) -> None:
        """One more tile of sums is zero: what columns without a start go on from."""
        self.state.lanes = self.schedule.vector
        zero = self._vector(self.builder.constant(0.0, f32))
        for at in range(0, self.size, self.schedule.vector):
            self.builder.store(zero, self.sums, self._at(self.builder.constant(self.columns), at))
        super()._chunks_between(first, last)

    def _tile(self) -> None:
        points = self._points()
        starts = [self.columns if k is None else k for k in self.plan.starts]
        reduced = [d for d in self.schedule.reduced if d != self.column]

        def sum(column: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            self.cache = {}
            self.state.bases[self.column] = column
            initial = self._got(_chosen(self, column, starts), points)
            values = self._reduce(reduced, points, initial)
            self._put(column, values)
            incomplete = self.builder.less(column, self.plan.first)
            self.builder.branch(
                incomplete, lambda: None, lambda: self._store_row(column, points, values)
            )
            return []

        self.builder.loop(self.builder.constant(0), self._count(), 1, [], sum)
        self.cache = {}

    def _store_row(
        self, column: SSAValue, points: Sequence[Point], values: Sequence[SSAValue]
    ) -> None:
        """The row that the sum of a column completes: now, while the next sum is taken."""
        self.cache = {}
        rows = self.plan.rows
        places = [_point(self.kernel, self.combination.rows, row) for row in rows]
        unused = [self.columns] * self.plan.first
        for loop in self.combination.rows:
            table = [0] * self.plan.first + [place[loop] for place in places]
            self.state.bases[loop] = _chosen(self, column, table)
        others = [self.columns if k is None else k for k in self.plan.others]
        more = self._got(_chosen(self, column, unused + others), points)
        for point, value, other in zip(points, values, more, strict=True):
            value = self.builder.binary(arith.AddfOp, value, other)
            for stage in self.kernel.epilogue:
                value = self._evaluate(stage, point, value)
            self._store(value, point)
        for loop in self.combination.rows:
            del self.state.bases[loop]

    def _count(self) -> SSAValue:
        """How many columns are summed: where rows are cut off, those that the others are made of.

        Such columns come first.
        """
        if self.clip is None:
            return self.builder.constant(self.columns)
        _, inner, true = self.clip
        kept = true % self.kernel.extents[inner]
        places = [_point(self.kernel, self.combination.rows, row) for row in self.plan.rows]
        whole = sum(place[inner] < kept for place in places)
        return self._unless_clipped(self.columns, self.plan.first + whole)

    def _unless_clipped(self, whole: int, partly: int) -> SSAValue:
        """One number, and another one where rows of the result are cut off."""
        if self.clip is None:
            raise CompilerBug("nothing is cut off")
        outer, inner, true = self.clip
        base = self.state.bases.get(outer, 0)
        last = true // self.kernel.extents[inner]
        if isinstance(base, int):
            return self.builder.constant(partly if base == last else whole)
        numbers = [self.builder.constant(n) for n in (partly, whole)]
        is_last = self.builder.equal(base, last)
        return self.builder.local(self.builder.add(arith.SelectOp, [is_last, *numbers], index))

    def _at(self, column: SSAValue, offset: int) -> SSAValue:
        return self.builder.linear([(column, self.size)], offset)

    def _got(self, column: SSAValue, points: Sequence[Point]) -> list[SSAValue]:
        """The sums of a column."""
        lanes = self.state.lanes if self._vector_points else 1
        return [
            self.builder.load(self.sums, self._at(column, k * lanes), lanes)
            for k in range(len(points))
        ]

    def _put(self, column: SSAValue, values: Sequence[SSAValue]) -> None:
        lanes = self.state.lanes if self._vector_points else 1
        for k, value in enumerate(values):
            self.builder.store(value, self.sums, self._at(column, k * lanes))


def _chosen(nest: Nest, number: SSAValue, table: Sequence[int]) -> SSAValue:
    """table[number]"""
    b = nest.builder
    found = b.constant(table[-1])
    for k, value in enumerate(table[:-1]):
        if value != table[-1]:
            chosen = [b.equal(number, k), b.constant(value), found]
            found = b.local(b.add(arith.SelectOp, chosen, index))
    return b.local(found)
