"""Writes the sums of a tile: reduced loops that carry accumulators in registers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TypeAlias

from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.body import PointPart
from ncc.compiler.loops.emit.position import Part, Point, UnrolledIterations
from ncc.compiler.loops.kernel.kernel import Access
from ncc.dialects.size import is_open

Iteration: TypeAlias = Callable[[list[SSAValue]], list[SSAValue]]
"""The accumulators after one iteration."""


class Accumulators(PointPart):
    """One accumulator for each point. Subclasses have other numbers of them."""

    def start(self, points: list[Point]) -> list[SSAValue]:
        """The initial values of the accumulators of these points."""
        return [self.body.started(point) for point in points]

    def iterations_at_once(self, loop: int) -> int:
        """How many iterations of a reduced loop one iteration of the code does."""
        return 1

    def accumulate(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        """The accumulators after one more iteration."""
        return [
            self.body.accumulate(point, value) for point, value in zip(points, values, strict=True)
        ]

    def between_iterations(self, iteration: int) -> None:
        """Part an unrolled iteration from those before it: points of the next vectors are not
        loaded earlier, since their registers are taken.
        """
        if iteration % self.state.lanes == 0:
            self.builder.fence()

    def finish(self, points: list[Point], values: list[SSAValue]) -> list[SSAValue]:
        """The sums of the points."""
        return values

    @staticmethod
    def place_in(stream: Access, point: Point) -> int:
        """Where the weights of a point are, from those of the tile on."""
        return sum(stream.coefficients[loop] * n for loop, n in point.items())


class Sums(Part):
    """The reduced loops of a tile."""

    def __init__(self, accumulators: Accumulators) -> None:
        super().__init__(accumulators.position)
        self.accumulators = accumulators
        self.points: list[Point] = []

    def of(self, points: list[Point]) -> list[SSAValue]:
        """The sums of all points of a tile."""
        values = self.accumulators.start(points)
        self.points = points
        self.state.cache = {}
        accumulate = partial(self.accumulators.accumulate, points)
        values = self._nest(self.schedule.reduced, values, accumulate)
        self.state.cache = {}
        return self.accumulators.finish(points, values)

    def _nest(
        self, loops: Sequence[int], values: list[SSAValue], inner: Iteration
    ) -> list[SSAValue]:
        """All reduced loops around one iteration, outermost first."""
        if not loops:
            self.accumulators.reads.prefetch()
            return inner(values)
        loop, extents, sizes = loops[0], self.kernel.extents, self.state.sizes
        inner = partial(self._nest, loops[1:], inner=inner)
        tail = next((t for t in self.kernel.valid_extents if t[0] == loop), None)
        if tail is None:
            trips = sizes.get(loop, extents[loop]) // self.accumulators.iterations_at_once(loop)
            return self._loop(loop, 0, trips, values, inner)
        _, within, true = tail
        whole, rest = divmod(true, extents[within])
        values = self._loop(loop, 0, whole, values, inner)
        if rest:
            sizes[within] = rest
            values = self._loop(loop, whole, 1, values, inner)
            del sizes[within]
        return values

    def _loop(
        self, loop: int, first: int, trips: int, values: list[SSAValue], inner: Iteration
    ) -> list[SSAValue]:
        """One of them, unrolled if the schedule says so, or by several iterations at once."""
        if is_open(trips):
            return self.position.iterations(loop, first, first + trips, values, inner)
        at_once = self.schedule.at_once
        if at_once is not None and at_once[0] == loop:
            return self._at_once(loop, first, trips, at_once[1], values, inner)
        if trips > 1 and loop not in self.schedule.unroll:
            return self.position.iterations(loop, first, first + trips, values, inner)
        for i in range(first, first + trips):
            self.state.bases[loop] = i
            values = inner(values)
        return values

    def _at_once(
        self,
        loop: int,
        first: int,
        trips: int,
        count: int,
        values: list[SSAValue],
        inner: Iteration,
    ) -> list[SSAValue]:
        """The innermost of them, by so many iterations at once; the last may be fewer."""
        if trips > count:
            last = first + trips // count * count
            several = partial(self._unrolled, count, inner)
            values = self.position.iterations(loop, first, last, values, several, count)
            first, trips = last, trips % count
        self.state.bases[loop] = first
        return self._unrolled(trips, inner, values)

    def _unrolled(self, count: int, inner: Iteration, values: list[SSAValue]) -> list[SSAValue]:
        """So many iterations of it, one behind the other."""
        self.state.unrolled = UnrolledIterations(self.points, count)
        for iteration in range(count):
            if iteration:
                self.accumulators.between_iterations(iteration)
            self.state.unrolled.iteration = iteration
            values = inner(values)
        self.state.unrolled = None
        return values
