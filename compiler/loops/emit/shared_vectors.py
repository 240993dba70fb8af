"""Contractions whose last block is half full: two points share a vector there.

    whole blocks      acc[p] += broadcast x[p] * w
    half a block      acc[p, p'] += (x[p], ..., x[p], x[p'], ..., x[p']) * (w, w)

The vector of both points is a shuffle of their two broadcasts. In front of the epilogue each
accumulator is split into the sums of its two points. Each lane sums the same products in the same
order as without sharing, so that results are the same bits.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import vector
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.body import Body
from ncc.compiler.loops.emit.position import Point, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.emit.sums import Accumulators
from ncc.compiler.loops.kernel.products import product_of

Held = tuple[Point] | tuple[Point, Point]
"""The points of an accumulator."""


class SharedAccumulators(Accumulators):
    """One for two points whose vectors are short, and one for each other point."""

    def __init__(self, position: Position, reads: Reads, body: Body) -> None:
        super().__init__(position, reads, body)
        pair, lane = product_of(self.kernel), self.schedule.lane
        if pair is None or lane is None:
            raise CompilerBug("shared vectors, but no product of points with vectors")
        self.broadcast, self.stream = sorted(pair, key=lambda a: a.coefficients[lane])

    def start(self, points: list[Point]) -> list[SSAValue]:
        started = [list(map(self.body.started, held)) for held in self._two_by_two(points)]
        return [one[0] if len(one) == 1 else self._side_by_side(*one) for one in started]

    def accumulate(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        pairs = zip(self._two_by_two(points), values, strict=True)
        return [self._added(held, value) for held, value in pairs]

    def finish(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        parts = [
            part
            for held, value in zip(self._two_by_two(points), values, strict=True)
            for part in zip(held, self._parted(held, value), strict=True)
        ]
        order = {id(point): n for n, point in enumerate(points)}
        return [value for _, value in sorted(parts, key=lambda part: order[id(part[0])])]

    def _two_by_two(self, points: list[Point]) -> list[Held]:
        """The points of a tile by accumulators: two of one vector of the stream share one, which
        stands where the second of them does.
        """
        found: list[Held] = []
        waiting: dict[int, Point] = {}
        for point in points:
            address = self.place_in(self.stream, point)
            if not self.position.is_short(point):
                found.append((point,))
            elif address in waiting:
                found.append((waiting.pop(address), point))
            else:
                waiting[address] = point
        return [*found, *((point,) for point in waiting.values())]

    def _side_by_side(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """Two short vectors as a whole one."""
        return self.builder.shuffle(a, b, range(self.state.lanes))

    def _parted(self, held: Held, value: SSAValue) -> Sequence[SSAValue]:
        """The sums of each point of an accumulator."""
        if len(held) == 1:
            return [value]
        half, whole = self.position.lanes_at(held[0]), self.state.lanes
        sides = range(half), range(half, whole)
        return [self.builder.shuffle(value, value, side) for side in sides]

    def _added(self, held: Held, value: SSAValue) -> SSAValue:
        """An accumulator after one more iteration."""
        if len(held) == 1:
            return self.body.accumulate(held[0], value)
        half, whole = self.position.lanes_at(held[0]), self.state.lanes
        values = (self.reads.read_single(self.broadcast, point, False) for point in held)
        x, other = map(self.reads.splat, values)
        both = self.builder.shuffle(x, other, [*range(half), *range(whole + half, 2 * whole)])
        return self.builder.add(vector.FMAOp, [both, self._twice(held[0]), value], value.type)

    def _twice(self, point: Point) -> SSAValue:
        """The short vector at a point, twice in one vector; it is loaded once in an iteration."""
        with self.position.as_long_as(point):
            short = self.reads.read_single(self.stream, point, True)
        return self.state.once(("twice", short), lambda: self._side_by_side(short, short))
