"""int8 contractions by matrix products (`rt.matrix_bytes`): two points by two lanes an instruction.

    x, the broadcast operand: eight bytes of a point, and eight of another one
    w, the other one: eight bytes for each lane, lanes one behind the other

Two points p and q whose vectors have lanes 0 to 3 have two accumulators: p0 p1 q0 q1, and
p2 p3 q2 q3. They stand where those of p and q would, and the same shuffle makes one form of the
other. A point that is left over is multiplied as both points of a pair.

One load of a point often has the bytes of two iterations. Both forms of a pair are then made at
once, since they take as many registers as what was loaded, and are dropped behind these iterations:
the sums of a tile leave no register for more. Fences keep weights from being loaded early, for that
reason.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from xdsl.dialects import vector
from xdsl.dialects.builtin import i64
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.body import Body
from ncc.compiler.loops.emit.loop_builder import vector_type
from ncc.compiler.loops.emit.position import Point, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.emit.sums import Accumulators
from ncc.compiler.loops.kernel.products import match_quads
from ncc.compiler.target import OCTET
from ncc.dialects import rt

LOWER, UPPER = (0, 1, 4, 5), (2, 3, 6, 7)
"""Halves of two vectors, side by side."""

HALVES = 2
"""Points whose bytes of one iteration fill a vector, and iterations whose bytes of one point do."""


class MatrixAccumulators(Accumulators):
    """Two for each pair of points."""

    def __init__(self, position: Position, reads: Reads, body: Body) -> None:
        super().__init__(position, reads, body)
        found = match_quads(self.kernel)
        if isinstance(found, str):
            raise CompilerBug(f"no kernel for matrix products of bytes: {found}")
        _, _, self.broadcast, self.stream = found

    def start(self, points: list[Point]) -> list[SSAValue]:
        started = self.body.started
        pairs = (self._halves(started(p), started(q)) for p, q in self._pairs(points))
        return [half for halves in pairs for half in halves]

    def between_iterations(self, iteration: int) -> None:
        if iteration % HALVES == 0:
            self.state.cache = {}

    def accumulate(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        sums: list[SSAValue] = []
        row = None
        for p, q in self._pairs(points):
            if row != (row := self.place_in(self.stream, p)):
                self.builder.fence()
            x = self._data(p, q)
            for half in range(HALVES):
                w = self.reads.neighbours(self.stream, self._from_lane(p, 2 * half), 2 * OCTET)
                total = values[len(sums)]
                sums.append(self.builder.add(rt.MatrixBytesOp, [total, x, w], total.type))
        return sums

    def finish(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        found: dict[int, SSAValue] = {}
        for number, (p, q) in enumerate(self._pairs(points)):
            of_p, of_q = self._halves(*values[2 * number : 2 * number + 2])
            found |= {id(q): of_q, id(p): of_p}
        return [found[id(point)] for point in points]

    def _halves(self, a: SSAValue, b: SSAValue) -> Sequence[SSAValue]:
        """The lower halves of two vectors, and the upper ones."""
        return [self.builder.shuffle(a, b, lanes) for lanes in (LOWER, UPPER)]

    def _pairs(self, points: list[Point]) -> list[tuple[Point, Point]]:
        """Points with the same weights, two by two."""
        rows: dict[int, list[Point]] = {}
        for point in points:
            rows.setdefault(self.place_in(self.stream, point), []).append(point)
        return [
            (row[first], row[min(first + 1, len(row) - 1)])
            for row in rows.values()
            for first in range(0, len(row), 2)
        ]

    def _from_lane(self, point: Point, first: int) -> Point:
        """The point at a lane of a vector."""
        lane = self.schedule.lane
        assert lane is not None
        return {**point, lane: point.get(lane, 0) + first}

    def _data(self, p: Point, q: Point) -> SSAValue:
        """The bytes of two points."""
        (a, at), (b, other) = (self._of_point(point) for point in (p, q))
        if at == other:
            return [self._together(a, half, b, half) for half in range(HALVES)][at]
        return self._together(a, at, b, other)

    def _together(self, a: SSAValue, of_a: int, b: SSAValue, of_b: int) -> SSAValue:
        """A half of one vector, and behind it a half of another one."""

        def together() -> SSAValue:
            wide = vector_type(i64, HALVES)
            x, y = (self.builder.add(vector.BitcastOp, [one], wide) for one in (a, b))
            both = self.builder.shuffle(x, y, [of_a, HALVES + of_b])
            return self.builder.add(vector.BitcastOp, [both], a.type)

        return self.state.once(("pair", a, of_a, b, of_b), together)

    def _of_point(self, point: Point) -> tuple[SSAValue, int]:
        """A vector that has the bytes of a point, and in which half."""
        found = self.reads.lane_of_iterations(self.broadcast, point, HALVES, OCTET)
        if found is not None:
            return found
        eight = self.reads.neighbours(self.broadcast, point, OCTET)
        twice = [*range(OCTET), *range(OCTET)]
        both = partial(self.builder.shuffle, eight, eight, twice)
        return self.state.once(("twice", eight), both), 0
