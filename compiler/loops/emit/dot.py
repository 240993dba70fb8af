"""int8 contractions by dot products: each lane takes four products a step (`rt.dot_bytes`).

    x, the operand that stands still along the lane: four bytes, in every lane
    w, the one that moves: four bytes a lane, lanes one behind the other

The operation wants x unsigned, as the kernel may read it already. Else x + 128 is, and 128 times
the sum of w is taken off at the end:

    sum of x * w = (sum of (x + 128) * w) - (sum of 128 * w)

where the second sum is one accumulator a vector of w, whatever the number of points.

Windows of each channel by itself (`window_dot`) have x along the lane, too:

    x       four neighbours in a row, a vector of channels each, transposed in registers
    w       four taps of each channel
"""

from __future__ import annotations

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseArrayBase, i8, i32, i64
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import vector_type
from ncc.compiler.loops.emit.nest import Nest
from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.kernel.products import (
    crossed_quads_of,
    quads_of,
    reads_unsigned,
)
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.dialects import rt

QUAD = 4
"""Products that one instruction adds to a lane."""

_SIGNS = -0x7F7F7F80
"""128 in each byte: x ^ 128 is x + 128 without a sign."""


class DotNest(Nest):
    """The emitter of dot products."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        crossed = crossed_quads_of(kernel)
        found = crossed or quads_of(kernel)
        if found is None:
            raise CompilerBug("a dot product of what lies in no fours")
        self.crossed = crossed is not None
        _, _, self.broadcast, self.stream = found
        self.signed = not reads_unsigned(kernel, self.broadcast)

    def _accumulate(self, points: list[Point]) -> list[SSAValue]:
        initial = [self.reads.vector(self._initial(point)) for point in points]
        self.state.cache = {}
        if not self.signed:
            return self._reduce(list(self.schedule.reduced), points, initial)
        rows = list(dict.fromkeys(map(self._row, points)))
        zero = self.builder.splat(self.builder.constant(0, i32), self.state.lanes)
        values = self._reduce(list(self.schedule.reduced), points, [*initial, *[zero] * len(rows)])
        surplus = dict(zip(rows, values[len(points) :], strict=True))
        lanes = vector_type(i32, self.state.lanes)
        flags = {"overflowFlags": arith.IntegerOverflowAttr("none")}
        return [
            self.builder.add(arith.SubiOp, [value, surplus[self._row(point)]], lanes, dict(flags))
            for point, value in zip(points, values, strict=False)
        ]

    def _row(self, point: Point) -> tuple[tuple[int, int], ...]:
        """What points have in common that read the same weights."""
        return tuple((d, n) for d, n in sorted(point.items()) if self.stream.coefficients[d])

    def _reduce(
        self, loops: list[int], points: list[Point], values: list[SSAValue]
    ) -> list[SSAValue]:
        if loops:
            return super()._reduce(loops, points, values)
        rows: dict[tuple[tuple[int, int], ...], SSAValue] = {}
        sums = [
            self._dot(
                value, self._bytes(point), rows.setdefault(self._row(point), self._fours(point))
            )
            for point, value in zip(points, values, strict=False)
        ]
        if not self.signed:
            return sums
        biased = self._bias()
        surplus = zip(values[len(points) :], rows.values(), strict=True)
        return [*sums, *(self._dot(value, biased, w) for value, w in surplus)]

    def _dot(self, total: SSAValue, x: SSAValue, w: SSAValue) -> SSAValue:
        return self.builder.add(rt.DotBytesOp, [total, x, w], total.type)

    def _fours(self, point: Point) -> SSAValue:
        """Four bytes of the weights in each lane."""
        return self._read_bytes(self.stream, point, QUAD * self.state.lanes)

    def _bytes(self, point: Point) -> SSAValue:
        """Four bytes of the data, unsigned, in every lane."""
        if self.crossed:
            return self._columns(point)
        four = self._read_bytes(self.broadcast, point, QUAD)
        key = ("bytes", four)
        if key not in self.state.cache:
            one = self.builder.add(vector.BitcastOp, [four], vector_type(i32, 1))
            spread = self.builder.splat(self._first(one), self.state.lanes)
            if self.signed:
                signs = self.builder.splat(self.builder.constant(_SIGNS, i32), self.state.lanes)
                spread = self.builder.add(arith.XOrIOp, [spread, signs], spread.type)
            self.state.cache[key] = self._as_bytes(spread)
        return self.state.cache[key]

    def _columns(self, point: Point) -> SSAValue:
        """Four neighbours of a row, the four bytes of a channel side by side."""
        lanes = self.state.lanes
        four = self._read_bytes(self.broadcast, point, QUAD * lanes)
        key = ("columns", four)
        if key not in self.state.cache:
            order = [subview * lanes + lane for lane in range(lanes) for subview in range(QUAD)]
            self.state.cache[key] = self.builder.shuffle(four, four, order)
        return self.state.cache[key]

    def _read_bytes(self, access: Access, point: Point, count: int) -> SSAValue:
        """So many bytes from where a point reads, loaded once a step."""
        subview = self.reads.subview(access, point)
        key = ("read", access.argument, subview)
        if key not in self.state.cache:
            source = self.entry.args[access.argument]
            self.state.cache[key] = self.builder.load(source, self.builder.linear(*subview), count)
        return self.state.cache[key]

    def _bias(self) -> SSAValue:
        """128 in every byte."""
        key = ("bias", self.state.lanes)
        if key not in self.state.cache:
            signs = self.builder.constant(_SIGNS, i32)
            self.state.cache[key] = self._as_bytes(self.builder.splat(signs, self.state.lanes))
        return self.state.cache[key]

    def _as_bytes(self, words: SSAValue) -> SSAValue:
        return self.builder.add(vector.BitcastOp, [words], vector_type(i8, QUAD * self.state.lanes))

    def _first(self, one: SSAValue) -> SSAValue:
        properties = {"static_position": DenseArrayBase.from_list(i64, [0])}
        return self.builder.add(vector.ExtractOp, [one], i32, dict(properties))
