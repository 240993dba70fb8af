"""Writes loops whose extent the run tells: the last tile is as large as all others.

    for i = 0 to n step 14:  tile of 14 at min(i, n - 14)

The last tile overlaps the one before it, and stores the same values again: one body, no remainder.
Where an extent is smaller than a tile, each loop of the kind goes point by point. A kernel that
adds to its result, or reads what it stores, must not store twice: it has smaller tiles behind the
whole ones.

    for i = 0 to n // 8 * 8 step 8:  tile of 8
    for i = .. step 4, 2, 1
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.loop_builder import index
from ncc.compiler.loops.emit.position import Part, Position
from ncc.dialects.size import is_open

Index: TypeAlias = SSAValue | int
Tile: TypeAlias = tuple[int, int]
"""The lanes of a vector, and the points along a loop."""


class OpenLoops(Part):
    """Such loops of a kernel."""

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.point_by_point = False

    @cached_property
    def can_store_again(self) -> bool:
        """Whether a point may be computed twice: it reads nothing that it stores, as a sum that
        goes on with its result does, or an operand that is added in place.
        """
        kernel = self.kernel
        goes_on = kernel.accumulates and kernel.initial is None
        stored = [access.coefficients for access in kernel.stores()]
        reads = [access.coefficients for stage in kernel.stages for access in stage.reads]
        return not goes_on and not any(read in stored for read in reads)

    def whole_or_points(self, write: Callable[[], None]) -> None:
        """The code for extents that tiles fit into, and point by point for smaller ones."""
        needed = list(self._needed()) if self.can_store_again else []
        if not needed:
            write()
            return
        fits = [self.builder.less(self.builder.constant(tile - 1), n) for n, tile in needed]
        both = reduce(partial(self.builder.binary, arith.AndIOp), fits)
        self.builder.branch(both, write, lambda: self._in_points(write))

    def _needed(self) -> Iterator[tuple[int, int]]:
        """The extents that the run tells, with what a tile takes of them."""
        for loop in self.kernel.parallel:
            tile = self.schedule.points(loop)
            tile *= self.schedule.vector if loop == self.schedule.lane else 1
            if is_open(self.kernel.extents[loop]) and tile > 1:
                yield self.kernel.extents[loop], tile

    def _in_points(self, write: Callable[[], None]) -> None:
        """A vector goes along the lane, and where it is transposed, along one more loop."""
        saved, lanes, loops = dict(self.state.sizes), self.state.lanes, self.kernel.extents
        along = (self.schedule.lane, self.schedule.transpose)
        if any(loop is not None and is_open(loops[loop]) for loop in along):
            self.state.lanes = 1
        self.state.sizes |= {d: 1 for d in self.kernel.parallel if is_open(loops[d])}
        self.point_by_point = True
        write()
        self.point_by_point = False
        self.state.sizes, self.state.lanes = saved, lanes

    def chunk(self, loop: int, number: SSAValue, body: Callable[[], None]) -> None:
        """The tile of a loop that a chunk has, by its number."""
        size, extent = self.schedule.points(loop), self.kernel.extents[loop]
        first = self.builder.local(self.builder.linear([(number, size)], 0))
        if size == 1:
            self.position.with_loop(loop, first, 1, body)
        elif self.can_store_again and not self.point_by_point:
            self.position.with_loop(loop, self.builder.limited(first, extent - size), size, body)
        else:
            behind = self.builder.linear([(number, size)], size)
            self.along(loop, first, self.builder.limited(behind, extent), body)

    def along(self, loop: int, first: Index, end: Index, body: Callable[[], None]) -> None:
        """The tiles of a loop from one index to another."""
        whole, *smaller = self._tiles(loop)
        if self.can_store_again and not self.point_by_point:
            self._overlapping(loop, first, end, whole, body)
            return
        for lanes, points in (whole, *smaller):
            step = self._step(loop, (lanes, points))
            middle = self._whole(first, end, step)
            self.state.lanes = lanes

            def at(i: SSAValue, _: list[SSAValue], points: int = points) -> Sequence[SSAValue]:
                self.position.with_loop(loop, i, points, body)
                return []

            self.builder.loop(first, middle, step, [], at)
            first = middle
        self.state.lanes = whole[0]

    def _overlapping(
        self, loop: int, first: Index, end: Index, tile: Tile, body: Callable[[], None]
    ) -> None:
        """Whole tiles, the last one where the loop ends."""
        step = self._step(loop, tile)

        def at(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            base = self.builder.limited(i, self.kernel.extents[loop] - step)
            self.position.with_loop(loop, base, tile[1], body)
            return []

        self.builder.loop(first, end, step, [], at)

    def _tiles(self, loop: int) -> list[Tile]:
        """The whole tile of a loop, and smaller ones down to one point: each is needed once at
        most, but for the first of these.
        """
        lanes, points = self.state.lanes, self.state.sizes[loop]
        if loop != self.schedule.lane:
            return [(lanes, points), *((lanes, n) for n in _halves(points))]
        vectors = [(lanes, 1)] if points > 1 else []
        return [(lanes, points), *vectors, *((n, 1) for n in _halves(lanes))]

    def _step(self, loop: int, tile: Tile) -> int:
        lanes, points = tile
        return lanes * points if loop == self.schedule.lane else points

    def _whole(self, first: Index, end: Index, step: int) -> Index:
        """The end of the whole tiles between two indices."""
        if isinstance(first, int) and isinstance(end, int):
            return first + (end - first) // step * step
        begin, behind = (self.builder.as_value(at) for at in (first, end))
        distance = self.builder.add(arith.SubiOp, [behind, begin], index)
        rest = self.builder.remainder(distance, step)
        return self.builder.local(self.builder.add(arith.SubiOp, [behind, rest], index))


def _halves(n: int) -> Iterator[int]:
    """The powers of two below n, largest first."""
    power = 1 << max(n - 1, 0).bit_length() >> 1
    while power:
        yield power
        power //= 2
