"""Writes loops whose extent the run tells: tiles of a few sizes, each with code of its own.

    for i = 0; while more than 3 are left; step 6:    tile of 6 at min(i, n - 6)
    for i = ..; while more than 1 are left; step 3:   tile of 3 at min(i, n - 3)
    for i = ..; while one is left:                    one point

A tile that reaches beyond the end moves back: it overlaps the one before, and stores the same
values again. It does so if more points are left than the next smaller size has: then the points at
the end take one tile of about their number. A size that is larger than the extent is left out.

A kernel that adds to its result, or reads what it stores, must not store twice: there each size is
for whole tiles. Within a smaller tile of one loop, which is rare, other loops have fewer sizes.

Tiles lie along columns. Where rows are short, tiles of a sum of products go on from the end of a
row to the next one: the loops over rows and columns are one, and each point has an address of its
own. So tiles of small images are full, and read weights once for all their points. Points of a tile
that are behind the last one are the last one again. Both kinds of tiles have code of their own; a
sum that only small images need has tiles of the second kind.

A square that is transposed has one size along both of its loops: where an image is smaller than
that, loops go point by point.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import cached_property, partial, reduce
from typing import TypeAlias

from xdsl.dialects import arith
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.position import Part, Position
from ncc.compiler.loops.schedule.chunks import is_coalesced
from ncc.compiler.loops.schedule.schedule import parts_of_tile, thirds_of_tile
from ncc.dialects.size import is_open

Index: TypeAlias = SSAValue | int
Tile: TypeAlias = tuple[int, int]
"""The lanes of a vector, and the points along a loop."""

FEW_LANES = 4
"""The lanes of the vectors of a loop that is shorter than a whole one."""

FEW_POINTS = 6
"""Tiles of so many points have halves, larger ones thirds: that is less code, and as fast."""


class OpenLoops(Part):
    """Such loops of a kernel."""

    def __init__(self, position: Position) -> None:
        super().__init__(position)
        self.in_smaller_tile = False

    @cached_property
    def can_store_again(self) -> bool:
        """Whether a point may be computed twice: it reads nothing that it stores, as a sum that
        goes on with its result does, one that is in memory between panels of weights, or an operand
        that is added in place.
        """
        kernel = self.kernel
        goes_on = kernel.accumulates and kernel.initial is None or kernel.forms_weights
        return not goes_on and not kernel.in_place()

    def coalesced_or_not(self, write: Callable[[], None]) -> None:
        """The code for tiles that go on to the next row, and for those of one row; for kernels
        without such tiles once.
        """
        if self.schedule.coalesced is None:
            write()
            return
        one = is_coalesced(self.kernel, self.schedule)
        if not is_open(one):
            self._coalesced(write)
            return
        condition = self.builder.equal(self.builder.constant(one), 1)
        self.builder.branch(condition, partial(self._coalesced, write), write)

    def _coalesced(self, write: Callable[[], None]) -> None:
        self.state.coalesced = self.schedule.coalesced or ()
        write()
        self.state.coalesced = ()

    def squares_or_points(self, write: Callable[[], None]) -> None:
        """The code for squares, and point by point where they do not fit. Kernels without squares
        are written once.
        """
        lane, along = self.schedule.lane, self.schedule.transpose
        sides = [self.kernel.extents[d] for d in (lane, along) if d is not None]
        told = [side for side in sides if is_open(side)]
        if along is None or not told:
            write()
        elif not self.can_store_again:
            self._in_points(write)
        else:
            below = self.builder.constant(self.schedule.vector - 1)
            fits = [self.builder.less(below, side) for side in told]
            both = reduce(partial(self.builder.binary, arith.AndIOp), fits)
            self.builder.branch(both, write, lambda: self._in_points(write))

    def _in_points(self, write: Callable[[], None]) -> None:
        saved, self.state.lanes = dict(self.state.sizes), 1
        self.state.sizes |= {d: 1 for d in self.kernel.parallel if is_open(self.kernel.extents[d])}
        write()
        self.state.sizes, self.state.lanes = saved, self.schedule.vector

    def chunk(self, loop: int, number: SSAValue, body: Callable[[], None]) -> None:
        """The tile of a loop that a chunk has, by its number."""
        size, extent = self.schedule.points(loop), self.position.extent(loop)
        first = self.builder.local(self.builder.linear([(number, size)], 0))
        if size == 1:
            self.position.with_loop(loop, first, 1, body)
            return
        behind = self.builder.linear([(number, size)], size)
        self.along(loop, first, self.builder.limited(behind, extent), body)

    def along(self, loop: int, first: Index, end: Index, body: Callable[[], None]) -> None:
        """The tiles of a loop from one index to another."""
        saved = self.state.lanes, self.in_smaller_tile
        for tile, least in self._tiles(loop):
            self.state.lanes = tile[0]
            first = self._alike(loop, first, end, tile, least, body)
            self.in_smaller_tile = True
        self.state.lanes, self.in_smaller_tile = saved

    def _alike(
        self, loop: int, first: Index, end: Index, tile: Tile, least: int, body: Callable[[], None]
    ) -> SSAValue:
        """The tiles of one size, as long as at least so many points are left; where they end."""
        step, extent = self._step(loop, tile), self.position.extent(loop)
        begin = self.builder.plus(first)
        stop = self.builder.local(self.builder.plus(end, 1 - least))
        moves_back = least < step and loop not in self.state.coalesced
        if moves_back:
            fits = self.builder.less(self.builder.constant(step - 1), extent)
            stop = self.builder.select(fits, stop, begin)

        def at(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            base = self.builder.limited(i, extent - step) if moves_back else i
            self.position.with_loop(loop, base, tile[1], body)
            return [self.builder.plus(i, step)]

        (behind,) = self.builder.loop(begin, stop, step, [begin], at)
        return self.builder.local(behind)

    def _tiles(self, loop: int) -> Iterator[tuple[Tile, int]]:
        """The tiles of a loop, the largest first and one point at last, each with the fewest points
        left for which it is taken.
        """
        if self.schedule.transpose is not None:
            yield (self.state.lanes, self.state.sizes[loop]), 1
            return
        is_lane = loop == self.schedule.lane
        tiles = list(self._vectors(loop) if is_lane else self._points(loop))
        for tile, smaller in zip(tiles, [*tiles[1:], None], strict=True):
            least = self._step(loop, tile)
            if self.can_store_again and is_lane:
                least -= tile[0] - 1
            elif self.can_store_again:
                least = 1 if smaller is None else 1 + self._step(loop, smaller)
            yield tile, least

    def _vectors(self, loop: int) -> Iterator[Tile]:
        """Several vectors, one, a shorter one, and single elements."""
        lanes, points = self.state.lanes, self.state.sizes[loop]
        if points > 1:
            yield lanes, points
        yield lanes, 1
        if lanes > FEW_LANES:
            yield FEW_LANES, 1
        if lanes > 1:
            yield 1, 1

    def _points(self, loop: int) -> Iterator[Tile]:
        """The sizes of tiles, without one of a single point for columns that can be coalesced with
        rows, if points can be stored twice: a short row goes on to the next one, and a longer row
        has room for any tile.
        """
        coalesced = self.schedule.coalesced
        is_column = coalesced is not None and loop == coalesced[0]
        for points in self._sizes(self.state.sizes[loop], is_column):
            if points > 1 or not is_column or not self.can_store_again:
                yield self.state.lanes, points

    def _sizes(self, whole: int, is_column: bool) -> list[int]:
        """The numbers of points of the tiles that follow one another, the largest first.

        All points of a tile, two thirds, one third, and one point; of few points all, half of them
        and one. Columns that can be coalesced with rows have thirds in a kernel for small images,
        and halves in all others.

        Where points cannot be stored twice, a tile of one point waits for its sums as long as a
        larger one does, so that each size is half of the one before. Tiles of Winograd are few:
        there each size is two thirds of the one before.
        """
        if self.kernel.forms_weights:
            return thirds_of_tile(whole)
        if not self.can_store_again and not self.in_smaller_tile:
            return [whole >> times for times in range(whole.bit_length())]
        in_halves = is_column and not self.schedule.small
        few = self.in_smaller_tile or whole <= FEW_POINTS or in_halves
        return parts_of_tile(whole, 2 if few else 3)

    def _step(self, loop: int, tile: Tile) -> int:
        lanes, points = tile
        return lanes * points if loop == self.schedule.lane else points
