"""Writes loops whose extent the run tells: the last tile is as large as all others.

    for i = 0 to n step 14:  tile of 14 at min(i, n - 14)

The last tile overlaps the one before it, and stores the same values again: one body, no remainder.
A kernel that adds to its result, or reads what it stores, must not do so. It has smaller tiles
behind the whole ones:

    for i = 0 to n // 8 * 8 step 8:  tile of 8
    for i = .. step 4, 2, 1

Needs: as many iterations as a tile has, where tiles overlap (`needs_of` names what must hold).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.loop_builder import index
from ncc.compiler.loops.emit.position import Part
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.dialects.size import is_open

Index: TypeAlias = SSAValue | int
Tile: TypeAlias = tuple[int, int]
"""The lanes of a vector, and the points along a loop."""


def can_store_again(kernel: Kernel) -> bool:
    """Whether a point may be computed twice: it reads nothing that it stores, as a sum that goes
    on with its result does, or an operand that is added in place.
    """
    goes_on = kernel.accumulates and kernel.initial is None
    stored = [access.coefficients for access in kernel.stores()]
    reads = [access.coefficients for stage in kernel.stages for access in stage.reads]
    return not goes_on and not any(read in stored for read in reads)


def needs_of(kernel: Kernel, schedule: Schedule) -> Iterator[tuple[int, int]]:
    """The extents of loops that the run tells, and how large they have to be for their tiles."""
    if not can_store_again(kernel):
        return
    for loop in kernel.parallel:
        extent = kernel.extents[loop]
        tile = schedule.points(loop) * (schedule.vector if loop == schedule.lane else 1)
        if is_open(extent) and tile > 1:
            yield extent, tile


class OpenLoops(Part):
    """Such loops of a kernel."""

    @cached_property
    def can_store_again(self) -> bool:
        return can_store_again(self.kernel)

    def chunk(self, loop: int, number: SSAValue, body: Callable[[], None]) -> None:
        """The tile of a loop that a chunk has, by its number."""
        size, extent = self.state.sizes[loop], self.kernel.extents[loop]
        first = self.builder.local(self.builder.linear([(number, size)], 0))
        if size == 1:
            self.position.with_loop(loop, first, 1, body)
        elif self.can_store_again:
            self.position.with_loop(loop, self.builder.limited(first, extent - size), size, body)
        else:
            behind = self.builder.linear([(number, size)], size)
            self.along(loop, first, self.builder.limited(behind, extent), body)

    def along(self, loop: int, first: Index, end: Index, body: Callable[[], None]) -> None:
        """The tiles of a loop from one index to another."""
        whole, *smaller = self._tiles(loop)
        if self.can_store_again:
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
