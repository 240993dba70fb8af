"""int8 contractions by matrix products (`rt.matrix_bytes`): two points by two lanes an instruction.

    x, the broadcast operand: eight bytes of a point, and eight of another one
    w, the other one: eight bytes for each lane, lanes one behind the other

Two points p and q whose vectors have lanes 0 to 3 have two accumulators: p0 p1 q0 q1, and
p2 p3 q2 q3. They stand where those of p and q would, and the same shuffle makes one form of the
other. A point that is left over is multiplied as both points of a pair.
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
from ncc.compiler.loops.kernel.products import OCTET, match_quads
from ncc.dialects import rt

LOWER, UPPER = (0, 1, 4, 5), (2, 3, 6, 7)
"""Halves of two vectors, side by side."""


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

    def step(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        sums: list[SSAValue] = []
        for number, (p, q) in enumerate(self._pairs(points)):
            x = self._data(p, q)
            for half, total in enumerate(values[2 * number : 2 * number + 2]):
                w = self.reads.neighbours(self.stream, self._from_lane(p, 2 * half), 2 * OCTET)
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
        waiting: dict[int, Point] = {}
        found: list[tuple[Point, Point]] = []
        for point in points:
            row = sum(self.stream.coefficients[loop] * n for loop, n in point.items())
            if row in waiting:
                found.append((waiting.pop(row), point))
            else:
                waiting[row] = point
        return [*found, *((point, point) for point in waiting.values())]

    def _from_lane(self, point: Point, first: int) -> Point:
        """The point at a lane of a vector."""
        lane = self.schedule.lane
        assert lane is not None
        return {**point, lane: point.get(lane, 0) + first}

    def _data(self, p: Point, q: Point) -> SSAValue:
        """The bytes of two points."""
        bytes = [self._of_point(point) for point in (p, q)]

        def together() -> SSAValue:
            (a, at), (b, other) = bytes
            wide = vector_type(i64, 2)
            a, b = (self.builder.add(vector.BitcastOp, [one], wide) for one in (a, b))
            both = self.builder.shuffle(a, b, [at, 2 + other])
            return self.builder.add(vector.BitcastOp, [both], bytes[0][0].type)

        return self.state.once(("pair", *bytes), together)

    def _of_point(self, point: Point) -> tuple[SSAValue, int]:
        """A vector that has the bytes of a point, and in which half."""
        found = self.reads.lane_of_steps(self.broadcast, point, 2, OCTET)
        if found is not None:
            return found
        eight = self.reads.neighbours(self.broadcast, point, OCTET)
        twice = [*range(OCTET), *range(OCTET)]
        both = partial(self.builder.shuffle, eight, eight, twice)
        return self.state.once(("twice", eight), both), 0
