"""Writes reductions along the lane: vectors of partial results, whose lanes are combined at last.

    for outer reduced loops:
      partial = neutral elements              a vector for each point, or several of a long row
      for vectors of the row: partial = ...
      partial = ...                           the last vector of the row, in the remaining lanes
      value = value combined with all lanes of partial

The last vector of a row overlaps the one before it, and only its new lanes count. So a row is at
least as long as a vector.
"""

from __future__ import annotations

from functools import cached_property, partial, reduce

from xdsl.dialects import arith, vector
from xdsl.ir import Attribute, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.body import PointPart
from ncc.compiler.loops.emit.combining import COMBINING
from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.schedule.schedule import LONG_REDUCTION, SIDE_BY_SIDE
from ncc.dialects.size import is_open


class Rows(PointPart):
    """Such reductions."""

    def of(self, points: list[Point]) -> list[SSAValue]:
        """The results of points, over all rows."""
        *outer, lane = self.schedule.reduced
        values = [self.body.initial(point) for point in points]
        self.state.cache = {}
        return self._rows(outer, lane, points, values)

    def _rows(
        self, outer: list[int], lane: int, points: list[Point], values: list[SSAValue]
    ) -> list[SSAValue]:
        """The reduced loops around one row."""
        if not outer:
            return self._one_row(lane, points, values)
        inner = partial(self._rows, outer[1:], lane, points)
        return self.position.iterations(outer[0], 0, self.kernel.extents[outer[0]], values, inner)

    def _one_row(self, lane: int, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        """Values of points, combined with one row: first vectors of it, then their lanes. If a row
        may end anywhere, what fills no vector is taken one by one.
        """
        lanes, extent = self.schedule.vector, self.kernel.extents[lane]
        whole = extent // lanes * lanes
        self.state.lanes = lanes
        vectors = self._whole_vectors(lane, points, whole)
        accumulate = partial(self._accumulate, lane, points)
        if is_open(extent):
            values = self._with_lanes(values, vectors)
            self.state.lanes = 1
            values = self.builder.loop(whole, extent, 1, values, accumulate)
            self.state.lanes = lanes
            return values
        if not whole:
            raise CompilerBug(f"a row of {extent} elements in vectors of {lanes}")
        if whole < extent:
            last = accumulate(self.builder.constant(extent - lanes), vectors)
            taken = whole + lanes - extent
            chosen = [*range(lanes, lanes + taken), *range(taken, lanes)]
            vectors = [
                self.builder.shuffle(new, old, chosen)
                for new, old in zip(last, vectors, strict=True)
            ]
        return self._with_lanes(values, vectors)

    def _whole_vectors(self, lane: int, points: list[Point], whole: int) -> list[SSAValue]:
        """A vector of partial results for each point; a long row has several, combined at last."""
        lanes, count = self.schedule.vector, len(points)
        neutral = COMBINING[self._combine].neutral
        start = self.builder.splat(self.builder.constant(neutral, self.position.accumulated), lanes)
        # The code of any length is one code, whatever the hint: its sums have one order.
        is_long = is_open(whole) or whole >= LONG_REDUCTION * lanes
        at_once = max(1, SIDE_BY_SIDE // count) if is_long else 1

        def loop(first: int, end: int, values: list[SSAValue]) -> list[SSAValue]:
            starts = range(0, len(values) // count * lanes, lanes)
            vectors: list[Point] = [{**point, lane: at} for at in starts for point in points]
            accumulate = partial(self._accumulate, lane, vectors)
            bounds = self.builder.constant(first), self.builder.constant(end)
            return self.builder.loop(*bounds, len(starts) * lanes, values, accumulate)

        middle = whole // (at_once * lanes) * at_once * lanes
        several = loop(0, middle, [start] * (at_once * count))
        combined = partial(self.builder.binary, self._combine)
        values = [reduce(combined, several[point::count]) for point in range(count)]
        return values if middle == whole else loop(middle, whole, values)

    def _accumulate(
        self, lane: int, points: list[Point], at: SSAValue, values: list[SSAValue]
    ) -> list[SSAValue]:
        """Partial results after one more vector of each point's row, at this index."""
        self.state.bases[lane] = at
        saved, self.state.cache = self.state.cache, {}
        results = [
            self.body.evaluate(self.kernel.anchor, point, value, reduces_lane=True)
            for point, value in zip(points, values, strict=True)
        ]
        self.state.cache = saved
        return results

    @cached_property
    def _combine(self) -> type[Operation]:
        """The combining operation of the reduction."""
        combine = self.kernel.anchor.yielded.owner
        if not isinstance(combine, Operation) or type(combine) not in COMBINING:
            raise CompilerBug("a reduction that is no sum, product, maximum or minimum")
        return type(combine)

    def _with_lanes(self, values: list[SSAValue], rows: list[SSAValue]) -> list[SSAValue]:
        """Values, each combined with all lanes of a vector."""
        properties: dict[str, Attribute] = {
            "kind": vector.CombiningKindAttr(COMBINING[self._combine].across),
            "fastmath": arith.FastMathFlagsAttr("none"),
        }
        across = partial(self.builder.add, vector.ReductionOp, properties=properties)
        return [
            self.builder.binary(self._combine, value, across([row], self.position.accumulated))
            for value, row in zip(values, rows, strict=True)
        ]
