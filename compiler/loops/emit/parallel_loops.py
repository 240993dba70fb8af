"""Writes the parallel loops of a kernel around its tiles.

for chunk in [first, last):               outermost loops, delinearized
  for parallel loops, tiles:              a remainder is one more copy with a smaller tile; one
    body                                  that is transposed overlaps its neighbour instead

Where the run tells the extent of a loop, `open_loops` writes it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.open_loops import OpenLoops
from ncc.compiler.loops.emit.position import Part, Position
from ncc.compiler.loops.schedule.schedule import parts_of_lane
from ncc.dialects.size import is_open


class ParallelLoops(Part):
    """The parallel loops of a kernel; `body` writes the code inside."""

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.open = OpenLoops(position)

    def chunks(self, body: Callable[[], None]) -> None:
        """The chunks that the last two arguments of the function name."""
        first, last = self.entry.args[-2:]

        def write() -> None:
            self.builder.each(first, last, 1, lambda chunk: self._chunk(chunk, body))

        self.open.coalesced_or_not(lambda: self.open.squares_or_points(write))

    def _chunk(self, chunk: SSAValue, body: Callable[[], None]) -> None:
        if self.schedule.span:
            parts = parts_of_lane(self.kernel, self.schedule)
            self.state.part = self.builder.remainder(chunk, parts)
            chunk = self.builder.quotient(chunk, parts)
        self._chunk_loops(chunk, list(self.schedule.order[: self.schedule.chunks]), body)

    def _chunk_loops(self, rest: SSAValue, loops: list[int], body: Callable[[], None]) -> None:
        """Split the index of the innermost chunk loop off `rest`, then that of the next."""
        if not loops:
            body()
            return
        loop = loops.pop()
        size, extent = self.schedule.points(loop), self.position.extent(loop)
        trips = -(-extent // size)
        number = self.builder.remainder(rest, trips) if loops else self.builder.local(rest)
        rest = self.builder.quotient(rest, trips) if loops else rest
        if is_open(extent):
            self.open.chunk(loop, number, lambda: self._chunk_loops(rest, list(loops), body))
            return
        base = number if size == 1 else self.builder.linear([(number, size)], 0)
        self.state.bases[loop] = self.builder.local(base)
        whole = self._alike(loop)
        if whole * size == extent:
            self._chunk_loops(rest, loops, body)
            return

        def full() -> None:
            self._chunk_loops(rest, list(loops), body)

        def remainder() -> None:
            for begin, count in self._last(loop):
                self.position.with_loop(loop, begin, count, full)

        if whole == 0:
            remainder()
        else:
            self.builder.branch(self.builder.equal(number, whole), remainder, full)

    def nest(self, loops: Sequence[int], body: Callable[[], None]) -> None:
        """The loops inside of a chunk, outermost first."""
        if loops:
            self.loop(loops[0], lambda: self.nest(loops[1:], body))
        else:
            body()

    def loop(self, loop: int, body: Callable[[], None]) -> None:
        """One of them, over its tiles."""
        if loop == self.schedule.lane:
            if self.state.part is not None:
                self._part(loop, body, self.state.part)
            else:
                self._lane_from(loop, body, 0)
            return
        size, extent, whole = self.state.sizes[loop], self.position.extent(loop), self._alike(loop)
        if is_open(extent):
            self.open.along(loop, 0, extent, body)
            return
        self.run(loop, 0, whole, size, size, body)
        if whole * size < extent:
            for begin, count in self._last(loop):
                self.position.with_loop(loop, begin, count, body)

    def run(
        self, loop: int, first: int, trips: int, step: int, size: int, body: Callable[[], None]
    ) -> None:
        """`trips` tiles along one loop: no loop where there is one."""
        if trips == 1:
            self.position.with_loop(loop, first, size, body)
        elif trips != 0:
            self.tiles(loop, first, first + trips * step, step, size, body)

    def tiles(
        self,
        loop: int,
        first: SSAValue | int,
        end: SSAValue | int,
        step: int,
        size: int,
        body: Callable[[], None],
    ) -> None:
        """The same from one index of the loop to another."""
        at = partial(self.position.with_loop, loop, size=size, body=body)
        self.builder.each(first, end, step, at)

    # --- tiles ------------------------------------------------------------------------------

    def _alike(self, loop: int) -> int:
        """How many tiles along a loop are alike: whole, of whole vectors, and without a block that
        splits k.
        """
        short, k_split = self.schedule.short, self.kernel.k_split
        ends = loop in (short and short[0], k_split and k_split.outputs)
        return (self.position.extent(loop) - ends) // self.state.sizes[loop]

    def _last(self, loop: int) -> list[tuple[int, int]]:
        """Begin and size of the last tile along a loop, or of the last two.

        A transposed square overlaps the one before it, and stores the same values again. A block
        that splits k is a tile of its own.
        """
        extent, size = self.kernel.extents[loop], self.state.sizes[loop]
        k_split = self.kernel.k_split
        if loop == self.schedule.transpose:
            return [(extent - size, size)]
        first = self._alike(loop) * size
        if k_split is None or k_split.outputs != loop:
            return [(first, extent - first)]
        rest = [(first, extent - 1 - first)] if first < extent - 1 else []
        return [*rest, (extent - 1, 1)]

    # --- the lane ---------------------------------------------------------------------------

    def _lane_from(self, loop: int, body: Callable[[], None], position: int) -> None:
        """The vectors of the lane from a position on."""
        if is_open(self.kernel.extents[loop]):
            self.open.along(loop, position, self.kernel.extents[loop], body)
        elif self.schedule.transpose is None:
            self._lane(loop, body, position)
        else:
            self._squares(loop, body, position)

    def _squares(self, loop: int, body: Callable[[], None], position: int) -> None:
        """Transposed squares along the lane; the last one ends where the lane does."""
        extent, lanes = self.kernel.extents[loop], self.state.lanes
        trips = (extent - position) // lanes
        self.run(loop, position, trips, lanes, 1, body)
        if extent % lanes:
            self.position.with_loop(loop, extent - lanes, 1, body)

    def _part(self, loop: int, body: Callable[[], None], part: SSAValue) -> None:
        """The whole tiles of a chunk's part of the lane; the last part has the remainder, too."""
        size, extent = self.state.sizes[loop], self.kernel.extents[loop]
        span, step = self.schedule.span, self.state.lanes * size
        if is_open(extent):
            first = self.builder.local(self.builder.linear([(part, span)], 0))
            end = self.builder.limited(self.builder.linear([(part, span)], span), extent)
            self.open.along(loop, first, end, body)
            return
        whole = extent // step * step
        first, end = (self.builder.linear([(part, span)], n) for n in (0, span))
        end = self.builder.binary(arith.MinUIOp, end, self.builder.constant(whole))
        self.tiles(loop, first, end, step, size, body)
        if whole < extent:
            is_last = self.builder.equal(part, parts_of_lane(self.kernel, self.schedule) - 1)
            self.builder.branch(is_last, lambda: self._lane_from(loop, body, whole))

    def _lane(self, loop: int, body: Callable[[], None], position: int) -> None:
        """Whole tiles, then whole vectors, then the remainder: one vector that overlaps the one
        before it, if it replaces several shorter ones, or else vectors of half the length, and so
        on.

        In a tile with short vectors, each vector is a tile of its own.
        """
        extent = self.kernel.extents[loop]
        full, points = self.state.lanes, self.state.sizes[loop]
        lanes = full
        while position < extent:
            step = lanes * points
            trips = (extent - position) // step
            if trips:
                self.state.lanes, self.state.sizes[loop] = lanes, points
                trips = 1 if self._ends else trips
                self.run(loop, position, trips, step, points, body)
                position += trips * step
            elif points > 1:
                points = max(1, (extent - position) // lanes)
            elif position and (extent - position).bit_count() > 1 and self.open.can_store_again:
                self.state.lanes, self.state.sizes[loop] = lanes, 1
                self.position.with_loop(loop, extent - lanes, 1, body)
                break
            else:
                lanes //= 2
        self.state.lanes, self.state.sizes[loop] = full, self.schedule.points(loop)

    @property
    def _ends(self) -> bool:
        """Whether a tile has the last iteration of the loop whose last vectors are short."""
        short = self.schedule.short
        if short is None:
            return False
        return self.position.is_short({short[0]: self.state.sizes[short[0]] - 1})
