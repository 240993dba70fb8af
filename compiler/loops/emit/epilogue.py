"""Writes the epilogue of each point of a tile, and its store.

    for point in tile:  memory = epilogue(accumulator)            unrolled

If the epilogue has a function of mathematics, and points are many, accumulators are spilled to the
stack. Then the long code of the function is there once, in a loop:

    spilled = accumulators
    for point in tile:  memory = epilogue(spilled[point])

Inlined for each of 28 accumulators, the epilogue was half of the code that LLVM compiled. The loop
handles two points in each iteration. Up to 16 accumulators (`Schedule.in_line`), as windows have,
stay in registers: a vector that goes through memory costs a cycle without multiply-adds, since two
units store together.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from xdsl.dialects import math
from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.bf16_split import Bf16Stores
from ncc.compiler.loops.emit.body import Body, PointPart
from ncc.compiler.loops.emit.loop_builder import memory_type
from ncc.compiler.loops.emit.position import Point, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.emit.transpose import interleaved
from ncc.dialects.operation import ops_of

_INSTRUCTIONS = (
    math.AbsFOp, math.CeilOp, math.CopySignOp, math.FloorOp, math.FmaOp, math.RoundEvenOp,
    math.RsqrtOp, math.SqrtOp, math.TruncOp,
)  # fmt: skip


class Epilogue(PointPart):
    """The operations that follow a sum, and the store."""

    def __init__(self, position: Position, reads: Reads, body: Body) -> None:
        super().__init__(position, reads, body)
        self.bf16 = Bf16Stores(position, reads, body)

    def finish(self, points: list[Point], values: Sequence[SSAValue]) -> None:
        """The epilogue and the store, for all points of a tile."""
        loop = self._rolled(values)
        if loop is None:
            self.finish_each(points, values)
        else:
            self._finish_in_loop(loop, points, values)

    def finish_each(self, points: list[Point], values: Sequence[SSAValue]) -> None:
        """The epilogue and the store of each point, unrolled; some are stored together."""
        for numbers in self._stored_together(points):
            held = [points[number] for number in numbers]
            found = []
            for point, number in zip(held, numbers, strict=True):
                with self.position.as_long_as(point):
                    found.append(self._followed(values[number], point))
            if self.schedule.joined > 1:
                self.store(self._side_by_side(found), held[0])
            elif len(held) == 2:
                self._store_pair(held, found)
            else:
                self.store(found[0], held[0])

    def _stored_together(self, points: list[Point]) -> Iterable[list[int]]:
        """The numbers of the points: two blocks of a line, or vectors side by side."""
        lane, joined = self.schedule.lane, self.schedule.joined
        if joined == 1 or lane is None:
            return self.bf16.stored_together(points)
        found: dict[object, list[int]] = {}
        for number, point in enumerate(points):
            rest = tuple(item for item in sorted(point.items()) if item[0] != lane)
            found.setdefault((rest, point[lane] // (joined * self.state.lanes)), []).append(number)
        return found.values()

    def _side_by_side(self, values: list[SSAValue]) -> SSAValue:
        """The lanes of some vectors, in order."""
        values, lanes = [self.reads.wide(value) for value in values], self.state.lanes
        while len(values) > 1:
            pairs = list(zip(values[::2], values[1::2], strict=True))
            lanes *= 2
            values = [self.builder.shuffle(*pair, range(lanes)) for pair in pairs]
        return values[0]

    def _followed(self, value: SSAValue, point: Point) -> SSAValue:
        """The value at a point after the epilogue."""
        for stage in self.kernel.epilogue:
            value = self.body.evaluate(stage, point, value)
        return value

    def _rolled(self, values: Sequence[SSAValue]) -> int | None:
        """The loop of the tile that the epilogue keeps as a loop; None if it is unrolled.

        Unrolled for many points, a function would be most of the code that LLVM compiles. For few
        points spilling costs more: accumulators go through memory, and constants of the function
        evict the operands of a window from registers, which is a sixth of a depthwise convolution's
        time.
        """
        if self.kernel.bf16_split is not None or not self.kernel.accumulates or not self._is_long:
            return None
        if len(values) <= self.schedule.in_line:
            return None
        sizes, short = self.state.sizes, self.schedule.short
        along = (self.schedule.transpose, self.schedule.interleave)
        apart = (self.schedule.lane, *along, None if short is None else short[0])
        loops = self.position.tile_loops
        longest = max((d for d in loops if d not in apart), key=sizes.__getitem__, default=None)
        vectors = all(isinstance(value.type, VectorType) for value in values)
        return longest if longest is not None and vectors and sizes[longest] > 1 else None

    @cached_property
    def _is_long(self) -> bool:
        """Whether it has a function of mathematics, of more than a few instructions."""
        ops = [op for stage in self.kernel.epilogue for op in ops_of(stage.body)]
        return any(op.name.startswith("math.") and not isinstance(op, _INSTRUCTIONS) for op in ops)

    def _finish_in_loop(self, loop: int, points: list[Point], values: Sequence[SSAValue]) -> None:
        """The same in a loop of the tile, over accumulators on the stack.

        An even loop handles two points in each iteration: then it is as fast as unrolled.
        """
        builder, size, lanes = self.builder, self.state.sizes[loop], self.state.lanes
        base, count = self.state.bases.get(loop, 0), len(points) // size
        at_once = 2 if size % 2 == 0 else 1
        spilled = builder.scratch(memory_type(self.position.accumulated, len(points) * lanes))
        pairs = zip(points, values, strict=True)
        for number, (_, value) in enumerate(sorted(pairs, key=lambda pair: pair[0][loop])):
            builder.store(value, spilled, builder.constant(number * lanes))

        def iteration(i: SSAValue) -> None:
            self.state.cache = {}
            terms, first = ([(i, 1)], base) if isinstance(base, int) else ([(base, 1), (i, 1)], 0)
            here = builder.local(builder.linear(terms, first))
            self.position.with_loop(loop, here, at_once, lambda: finish(i))

        def finish(i: SSAValue) -> None:
            here = sorted(self.position.points(), key=lambda point: point[loop])
            addresses = [
                builder.linear([(i, count * lanes)], number * lanes) for number in range(len(here))
            ]
            values = [
                builder.load(spilled, at, self.position.lanes_at(point))
                for at, point in zip(addresses, here, strict=True)
            ]
            self.finish_each(here, values)

        builder.each(0, size, at_once, iteration)

    def store(self, value: SSAValue, point: Point) -> None:
        """Store the value at a point, its bf16 parts, or both."""
        lanes = self.state.lanes if self.position.vector_points else 1
        if lanes > 1 and not isinstance(value.type, VectorType):
            value = self.builder.splat(value, self.position.lanes_at(point))
        bf16_split = self.kernel.bf16_split
        if bf16_split is not None:
            self.bf16.store_block(bf16_split, value, point)
        if bf16_split is None or not bf16_split.alone:
            self._store_value(value, point)

    def _store_pair(self, points: list[Point], values: list[SSAValue]) -> None:
        """The same for both blocks of a line."""
        bf16_split, (first, second) = self.kernel.bf16_split, map(self.reads.vector, values)
        if bf16_split is None:
            raise CompilerBug("a pair of blocks that are not stored as bf16 numbers")
        self.bf16.store_line(bf16_split, points[0], first, second)
        if not bf16_split.alone:
            self._store_value(first, points[0])
            self._store_value(second, points[1])

    def _store_value(self, value: SSAValue, point: Point) -> None:
        lanes = self.state.lanes if self.position.vector_points else 1
        target, store, lane = self.entry.args[self.kernel.store.argument], self.kernel.store, -1
        if lanes > 1 and self.schedule.lane is not None:
            lane = self.schedule.lane
        if lanes == 1 or store.coefficients[lane] == 1:
            value = self._filled_up(value, point) if lanes > 1 else value
            self.builder.store(value, target, self.reads.address(store, point))
            return
        if self.schedule.interleave is not None:
            self._store_interleaved(value, point, self.schedule.interleave)
            return
        for i in range(lanes):  # they are not contiguous
            at = self.reads.address(store, {**point, lane: point.get(lane, 0) + i})
            self.builder.store(self.builder.element(value, i), target, at)

    def _store_interleaved(self, value: SSAValue, point: Point, members: int) -> None:
        """One of the vectors that are interleaved along a loop; the last one stores them all."""
        lanes, count, store = self.state.lanes, self.kernel.extents[members], self.kernel.store
        number, (terms, constant) = self.reads.first_member(store, point, members)
        key = ("stored", terms, constant)
        self.state.cache[*key, number] = value
        found = [self.state.cache.get((*key, i)) for i in range(count)]
        vectors = [vector for vector in found if vector is not None]
        if len(vectors) < count:
            return
        target = self.entry.args[store.argument]
        for i, mixed in enumerate(interleaved(self.builder, vectors, lanes)):
            self.builder.store(mixed, target, self.builder.linear(terms, constant + i * lanes))

    def _filled_up(self, value: SSAValue, point: Point) -> SSAValue:
        """The last valid vector of a block, padded with zeros."""
        lane, short = self.schedule.lane, self.schedule.short
        if lane is None or short is None or not self.position.is_short(point):
            return value
        first, lanes = self.position.along(lane, point), self.position.lanes_at(point)
        if first + lanes < short[1]:
            return value
        zeros, rest = self.builder.constant(0.0, f32), self.kernel.extents[lane] - first
        padding = self.builder.splat(zeros, lanes)
        return self.builder.shuffle(value, padding, [min(n, 2 * lanes - 1) for n in range(rest)])
