"""Writes what follows the accumulation of a tile: the epilogue of each point, and its store.

    for point in tile:  memory = epilogue(accumulator)            unrolled

Where the epilogue has a function of mathematics, and points are many, accumulators are spilled to
the stack, so that its long code is there once, in a loop:

    spilled = accumulators
    for point in tile:  memory = epilogue(spilled[point])
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import product

from xdsl.dialects import math
from xdsl.dialects.builtin import VectorType, bf16, f32
from xdsl.ir import Attribute, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.build import memory_type
from ncc.compiler.loops.kernel import Halving
from ncc.compiler.loops.point import PointWriter
from ncc.compiler.loops.reads import Point
from ncc.compiler.loops.transpose import interleaved

IN_LINE = 16
"""Accumulators that need not be spilled: so many leave registers for the function."""

_INSTRUCTIONS = (
    math.AbsFOp, math.CeilOp, math.CopySignOp, math.FloorOp, math.FmaOp, math.RoundEvenOp,
    math.RsqrtOp, math.SqrtOp, math.TruncOp,
)  # fmt: skip


def is_function(op: Operation) -> bool:
    """Whether an operation becomes more than a few instructions: a function of mathematics."""
    return op.name.startswith("math.") and not isinstance(op, _INSTRUCTIONS)


class FinishWriter(PointWriter):
    """The writer of what follows an accumulation."""

    def _with(self, loop: int, base: SSAValue | int, size: int, body: Callable[[], None]) -> None:
        """Run `body` with another base and tile of one loop."""
        old_base, old_size = self.state.bases.get(loop), self.state.sizes[loop]
        self.state.bases[loop], self.state.sizes[loop] = base, size
        body()
        self.state.sizes[loop] = old_size
        if old_base is not None:
            self.state.bases[loop] = old_base

    def _points(self) -> list[Point]:
        """The points of a tile, but for those that hold nothing that counts."""
        loops = [d for d, _ in self.schedule.tile if d not in self.kernel.reduced]
        ranges = [range(0, self.state.sizes[d] * self._step(d), self._step(d)) for d in loops]
        points = [dict(zip(loops, offsets, strict=True)) for offsets in product(*ranges)]
        return [point for point in points if not self._is_left_out(point)]

    def _is_left_out(self, point: Point) -> bool:
        """Whether a vector lies wholly behind the elements of the lane that count."""
        lane, short = self.schedule.lane, self.schedule.short
        if lane is None or short is None or not self._is_short(point):
            return False
        return self._along(lane, point) >= short[1]

    def _along(self, lane: int, point: Point) -> int:
        """Where the vector at a point begins, in a tile that has short ones."""
        base = self.state.bases.get(lane, 0)
        if not isinstance(base, int):
            raise CompilerBug("a short vector in a loop along the lane")
        return base + point.get(lane, 0)

    def _step(self, loop: int) -> int:
        return self.state.lanes if loop == self.schedule.lane else 1

    @property
    def _accumulated(self) -> Attribute:
        """The type of the accumulators; what is stored may be of another one."""
        return self.kernel.anchor.yielded.type

    def _finish(self, points: list[Point], values: Sequence[SSAValue]) -> None:
        """The epilogue and the store, for all points of a tile."""
        loop = self._in_turn(values)
        if loop is None:
            self._finish_each(points, values)
        else:
            self._finish_in_turn(loop, points, values)

    def _finish_each(self, points: list[Point], values: Sequence[SSAValue]) -> None:
        """The epilogue and the store of each point, unrolled."""
        for point, value in zip(points, values, strict=True):
            with self._as_long_as(point):
                value = self._followed(value, point)
            self._store(value, point)

    def _followed(self, value: SSAValue, point: Point) -> SSAValue:
        """What the epilogue makes of the value at a point."""
        for stage in self.kernel.epilogue:
            value = self._evaluate(stage, point, value)
        return value

    def _in_turn(self, values: Sequence[SSAValue]) -> int | None:
        """The loop of the tile whose points are finished in turn, where a function is long.

        Unrolled for many points, it would be most of what LLVM compiles. For few points spilling
        costs more: accumulators go through memory, and constants of the function evict from
        registers what a window reads, which is a sixth of a depthwise convolution's time.
        """
        if self.kernel.halving is not None or not self.kernel.accumulates or not self._is_long:
            return None
        if len(values) <= IN_LINE:
            return None
        sizes, short = self.state.sizes, self.schedule.short
        along = (self.schedule.transpose, self.schedule.interleave)
        apart = (self.schedule.lane, *along, None if short is None else short[0])
        loops = [d for d, _ in self.schedule.tile if d not in self.kernel.reduced]
        longest = max((d for d in loops if d not in apart), key=sizes.__getitem__, default=None)
        vectors = all(isinstance(value.type, VectorType) for value in values)
        return longest if longest is not None and vectors and sizes[longest] > 1 else None

    @cached_property
    def _is_long(self) -> bool:
        return any(is_function(op) for stage in self.kernel.epilogue for op in stage.body.ops)

    def _finish_in_turn(self, loop: int, points: list[Point], values: Sequence[SSAValue]) -> None:
        """The same in a loop along one of the tile, over accumulators on the stack.

        Two points an iteration where that divides: then it is as fast as unrolled.
        """
        builder, size, lanes = self.builder, self.state.sizes[loop], self.state.lanes
        base, beside = self.state.bases.get(loop, 0), len(points) // size
        at_once = 2 if size % 2 == 0 else 1
        spilled = builder.scratch(memory_type(self._accumulated, len(points) * lanes))
        pairs = zip(points, values, strict=True)
        for place, (_, value) in enumerate(sorted(pairs, key=lambda pair: pair[0][loop])):
            builder.store(value, spilled, builder.constant(place * lanes))

        def step(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            self.cache = {}
            terms, first = ([(i, 1)], base) if isinstance(base, int) else ([(base, 1), (i, 1)], 0)
            here = builder.local(builder.linear(terms, first))
            self._with(loop, here, at_once, lambda: finish(i))
            return []

        def finish(i: SSAValue) -> None:
            here = sorted(self._points(), key=lambda point: point[loop])
            places = [
                builder.linear([(i, beside * lanes)], place * lanes) for place in range(len(here))
            ]
            values = [
                builder.load(spilled, at, self._lanes_at(point))
                for at, point in zip(places, here, strict=True)
            ]
            self._finish_each(here, values)

        builder.loop(0, size, at_once, [], step)

    def _store(self, value: SSAValue, point: Point) -> None:
        """The value at a point, and its halves, as far as they are wanted."""
        lanes = self.state.lanes if self._vector_points else 1
        if lanes > 1 and not isinstance(value.type, VectorType):
            value = self.builder.splat(value, self._lanes_at(point))
        if self.kernel.halving is not None:
            self._store_halves(self.kernel.halving, value, point)
            if self.kernel.halving.alone:
                return
        target, store, lane = self.entry.args[self.kernel.store.argument], self.kernel.store, -1
        if lanes > 1 and self.schedule.lane is not None:
            lane = self.schedule.lane
        if lanes == 1 or store.coefficients[lane] == 1:
            value = self._filled_up(value, point) if lanes > 1 else value
            self.builder.store(value, target, self._address(store, point))
            return
        if self.schedule.interleave is not None:
            self._store_interleaved(value, point, self.schedule.interleave)
            return
        for i in range(lanes):  # they do not lie side by side
            at = self._address(store, {**point, lane: point.get(lane, 0) + i})
            self.builder.store(self.builder.element(value, i), target, at)

    def _store_interleaved(self, value: SSAValue, point: Point, members: int) -> None:
        """One of the vectors that are interleaved along a loop: all are stored with the last."""
        lanes, count, store = self.state.lanes, self.kernel.extents[members], self.kernel.store
        number, (terms, constant) = self._first_member(store, point, members)
        key = ("stored", terms, constant)
        self.cache[*key, number] = value
        found = [self.cache.get((*key, i)) for i in range(count)]
        vectors = [vector for vector in found if vector is not None]
        if len(vectors) < count:
            return
        target = self.entry.args[store.argument]
        for i, mixed in enumerate(interleaved(self.builder, vectors, lanes)):
            self.builder.store(mixed, target, self.builder.linear(terms, constant + i * lanes))

    def _filled_up(self, value: SSAValue, point: Point) -> SSAValue:
        """The last vector that counts of a block, with zeros behind it."""
        lane, short = self.schedule.lane, self.schedule.short
        if lane is None or short is None or not self._is_short(point):
            return value
        first, lanes = self._along(lane, point), self._lanes_at(point)
        if first + lanes < short[1]:
            return value
        zeros, rest = self.builder.constant(0.0, f32), self.kernel.extents[lane] - first
        beside = self.builder.splat(zeros, lanes)
        return self.builder.shuffle(value, beside, [min(n, 2 * lanes - 1) for n in range(rest)])

    def _store_halves(self, halving: Halving, value: SSAValue, point: Point) -> None:
        target = self.entry.args[halving.store.argument]
        at = self._address(halving.store, point)
        base, offset = self.state.bases.get(halving.pairs, 0), point.get(halving.pairs, 0)
        if isinstance(base, int):
            terms, back = [(at, 1)], (base + offset) % 2 * halving.back
        elif self.state.sizes.get(halving.pairs, 1) % 2 == 0:
            terms, back = [(at, 1)], offset % 2 * halving.back
        else:
            odd = self.builder.remainder(self.builder.linear([(base, 1)], offset), 2)
            terms, back = [(at, 1), (odd, -halving.back)], 0
        for self.half in range(2):
            half = self._evaluate(halving.stage, point, value)
            distance = self.half * halving.distance - back
            self.builder.store(half, target, self.builder.linear(terms, distance))
        if self.kernel.unpaired is not None:
            self._complete_pair(halving, at, base, offset)

    def _complete_pair(
        self, halving: Halving, at: SSAValue, base: SSAValue | int, offset: int
    ) -> None:
        """Zeros beside the last block, which has no other to be a pair with."""
        last = self.kernel.extents[halving.pairs] - 1

        def fill() -> None:
            zeros = self.builder.constant(0.0, bf16)
            if self._vector_points:
                zeros = self.builder.splat(zeros, self.state.lanes)
            for which in range(2):
                to = self.builder.linear([(at, 1)], which * halving.distance + halving.beside)
                self.builder.store(zeros, self.entry.args[halving.store.argument], to)

        if isinstance(base, int):
            if base + offset == last:
                fill()
        elif self.state.sizes.get(halving.pairs, 1) % 2:  # else both of a pair are in the tile
            is_last = self.builder.equal(self.builder.linear([(base, 1)], offset), last)
            self.builder.branch(is_last, fill, lambda: None)
