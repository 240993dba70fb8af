"""int8 contractions by dot products: each lane takes four products at once (`rt.dot_bytes`).

    x, the broadcast operand: four bytes, in every lane
    w, the other one: four bytes for each lane, lanes one behind the other

The instruction reads x as unsigned bytes. If x is signed, the kernel adds 128 to it, and subtracts
128 times the sum of w at the end:

    sum of x * w = (sum of (x + 128) * w) - (sum of 128 * w)

The second sum is one accumulator for each vector of w, whatever the number of points. There is none
if the target takes both factors with their signs (`Schedule.signed`).

Depthwise windows (`window_dot`) have x along the lane, too:

    x       four neighbours in a row, a vector of channels each, transposed in registers
    w       four taps of each channel
"""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import UnitAttr, i8, i32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.body import Body
from ncc.compiler.loops.emit.loop_builder import vector_type
from ncc.compiler.loops.emit.position import Point, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.emit.sums import Accumulators
from ncc.compiler.loops.kernel.products import match_quads, reads_unsigned
from ncc.compiler.loops.schedule.schedule import Strategy
from ncc.compiler.target import QUAD
from ncc.dialects import rt
from ncc.dialects.operation import NOTHING

_SIGNS = -0x7F7F7F80
"""128 in each byte: x ^ 128 is x + 128 without a sign."""


class DotAccumulators(Accumulators):
    """One for each point, and one for each vector of w: the sum that is subtracted."""

    def __init__(self, position: Position, reads: Reads, body: Body) -> None:
        super().__init__(position, reads, body)
        self.crossed = self.schedule.strategy is Strategy.WINDOW_DOT
        found = match_quads(self.kernel, self.crossed)
        if isinstance(found, str):
            raise CompilerBug(f"no kernel for dot products: {found}")
        _, _, self.broadcast, self.stream = found
        self.signed = not reads_unsigned(self.kernel, self.broadcast) and not self.schedule.signed

    def start(self, points: list[Point]) -> list[SSAValue]:
        initial = super().start(points)
        if not self.signed:
            return initial
        zero = self.builder.splat(self.builder.constant(0, i32), self.state.lanes)
        return [*initial, *[zero] * len(set(self._rows(points)))]

    def accumulate(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        rows: dict[int, SSAValue] = {}
        sums = [
            self._dot(value, self._data_bytes(point), rows.setdefault(row, self._weights(point)))
            for row, point, value in zip(self._rows(points), points, values, strict=False)
        ]
        if not self.signed:
            return sums
        biased = self.state.once("bias", lambda: self._as_bytes(self._bias()))
        surplus = zip(values[len(points) :], rows.values(), strict=True)
        return [*sums, *(self._dot(value, biased, w) for value, w in surplus)]

    def finish(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        if not self.signed:
            return values
        rows = self._rows(points)
        surplus = dict(zip(dict.fromkeys(rows), values[len(points) :], strict=True))
        return [
            self.builder.binary(arith.SubiOp, value, surplus[row])
            for row, value in zip(rows, values, strict=False)
        ]

    def _rows(self, points: list[Point]) -> list[int]:
        """For each point a number that is equal for points that read the same weights."""
        return [self.place_in(self.stream, point) for point in points]

    def _dot(self, total: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        properties = {"signed": UnitAttr()} if self.schedule.signed else NOTHING
        return self.builder.add(rt.DotBytesOp, [total, x, w], total.type, properties)

    def _weights(self, point: Point) -> SSAValue:
        """Four bytes of the weights in each lane."""
        return self.reads.neighbours(self.stream, point, QUAD * self.state.lanes)

    def _data_bytes(self, point: Point) -> SSAValue:
        """Four bytes of the data, as the instruction reads them, in every lane."""
        if self.crossed:
            return self._columns(point)
        lanes = self.state.lanes
        found = self.reads.lane_of_iterations(self.broadcast, point, lanes, QUAD)
        if found is not None:
            (held, lane), count = found, lanes
        else:
            held, lane, count = self.reads.neighbours(self.broadcast, point, QUAD), 0, 1

        def spread() -> SSAValue:
            read = self.builder.add(vector.BitcastOp, [held], vector_type(i32, count))
            words = self.builder.splat(self.builder.element(read, lane), lanes)
            if self.signed:
                words = self.builder.add(arith.XOrIOp, [words, self._bias()], words.type)
            return self._as_bytes(words)

        return self.state.once(("bytes", held, lane), spread)

    def _columns(self, point: Point) -> SSAValue:
        """Four neighbours of a row, the four bytes of a channel side by side."""
        lanes = self.state.lanes
        four = self.reads.neighbours(self.broadcast, point, QUAD * lanes)
        order = [tap * lanes + lane for lane in range(lanes) for tap in range(QUAD)]
        return self.state.once(("columns", four), lambda: self.builder.shuffle(four, four, order))

    def _bias(self) -> SSAValue:
        """128 in every byte, as a vector of words."""
        return self.builder.splat(self.builder.constant(_SIGNS, i32), self.state.lanes)

    def _as_bytes(self, words: SSAValue) -> SSAValue:
        return self.builder.add(vector.BitcastOp, [words], vector_type(i8, QUAD * self.state.lanes))
