"""Writes a contraction of bf16 pairs on matrix tiles (`tile.multiply`) as loops by its schedule.

The kernel sums P tiles of points by Q of vectors at once, at most four (`tile_products`), and
stores them to a buffer. Epilogues are software-pipelined: while it sums the next group, every
iteration finishes some rows of the buffer of the group before. It finishes a few rows at a time
between products of tiles, where they cost next to nothing. Many rows together would cost time: the
next product would be beyond the reorder buffer.

Flat tiles go on from the end of a row of points to the next row, over the border of a padded plane
between them. Sums of the border are not stored. The points of a single column, which only the run
knows, are a row apart.

Where the run tells how many points there are, it tells the rows of a tile, too: as many as divide
the points evenly.

The last tile of a row of points overlaps the one before it, and so do the last blocks of vectors.
The last group of tiles is filled up with copies of its last tile. Results that are computed twice
are stored once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from itertools import product
from math import prod
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.ir import Operation, SSAValue

from ncc.compiler.loops.emit.kernel_emitter import KernelEmitter
from ncc.compiler.loops.emit.loop_builder import memory_type
from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.emit.tile_products import products_of
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.schedule.matrix_tiles import BF16_BYTES, VECTOR
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.loops.schedule.tile_plan import TilePlan
from ncc.dialects import tile
from ncc.dialects.size import is_open, largest
from ncc.dialects.tile import TILE_K

SUM_BYTES = 4
TILE = tile.ROWS * VECTOR
"""Sums of one tile."""

ROWS_BETWEEN = 4
"""Rows that are finished between two products."""


class _Tile(NamedTuple):
    """One tile of points: the base of each of their loops, and the first row to be stored."""

    bases: dict[int, SSAValue]
    first: SSAValue


class _Group(NamedTuple):
    """The tiles that are summed at once: those of points, the first block of vectors, and the
    component, as the index of each of its loops.
    """

    tiles: Sequence[_Tile]
    vectors: SSAValue
    component: dict[int, SSAValue]


class MatrixTiles(KernelEmitter):
    """The emitter of a contraction on matrix tiles."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        self.plan = TilePlan(kernel, schedule)
        self.operands = self.plan.operands
        self.sums = self.builder.scratch(memory_type(f32, self.plan.p * self.plan.q * TILE))
        iterations = largest(1, prod(kernel.extents[d] for d in self.operands.k_loops))
        self.rows_per_iteration = (self.plan.most_rows + iterations - 1) // iterations
        self.iteration: SSAValue = self.builder.constant(0)

    def write(self) -> None:
        first, last = self.entry.args[-2:]
        self.builder.put(tile.ConfigureOp(self.builder.constant(self.plan.rows)))
        carried = self._carried(self._nothing())
        left = self._uncarried(self.builder.loop(first, last, 1, carried, self._sum_chunk))
        end = self.builder.constant(self.plan.rows)
        for position, held in enumerate(left.tiles):
            self._follow_rows(left, position, held.first, end)
        self.builder.put(tile.ReleaseOp())

    # --- chunks -------------------------------------------------------------------------------

    def _sum_chunk(self, chunk: SSAValue, carried: list[SSAValue]) -> Sequence[SSAValue]:
        """The sums of one group, and between them the epilogue of the group before."""
        before = self._uncarried(carried)
        group = self._group(chunk)
        self._sum(group, before)
        return self._carried(group)

    def _group(self, chunk: SSAValue) -> _Group:
        """The tiles of a chunk."""
        plan, builder = self.plan, self.builder
        component: dict[int, SSAValue] = {}
        if self.operands.components:
            groups = plan.vector_groups * plan.point_groups
            extents = {d: self.kernel.extents[d] for d in self.operands.components}
            component = self._numbers(builder.quotient(chunk, groups), extents)
            chunk = builder.remainder(chunk, groups)
        inner = plan.vector_groups if plan.points_outer else plan.point_groups
        outside, inside = builder.quotient(chunk, inner), builder.remainder(chunk, inner)
        points, vectors = (outside, inside) if plan.points_outer else (inside, outside)
        self.iteration = points
        base = builder.local(builder.linear([(vectors, plan.q)], 0))
        if plan.left:
            base = self._least(base, plan.blocks - plan.q)
        return _Group([self._tile_of(points, k) for k in range(plan.p)], base, component)

    def _numbers(self, number: SSAValue, extents: Mapping[int, int]) -> dict[int, SSAValue]:
        """The index of each of the loops, outermost first, by the number of the iteration."""
        found: dict[int, SSAValue] = {}
        for loop, extent in reversed(tuple(extents.items())):
            found[loop] = self.builder.remainder(number, extent)
            number = self.builder.quotient(number, extent)
        return found

    def _nothing(self) -> _Group:
        """The group before the first one: tiles with nothing to store."""
        zero, rows = self.builder.constant(0), self.builder.constant(self.plan.rows)
        held = _Tile(dict.fromkeys(self.operands.points, zero), rows)
        return _Group([held] * self.plan.p, zero, dict.fromkeys(self.operands.components, zero))

    def _carried(self, group: _Group) -> list[SSAValue]:
        """A group as the values that a loop carries."""
        values = [group.vectors, *(group.component[d] for d in self.operands.components)]
        for held in group.tiles:
            values += [held.bases[d] for d in self.operands.points]
            values.append(held.first)
        return values

    def _uncarried(self, values: Sequence[SSAValue]) -> _Group:
        local = iter([self.builder.local(value) for value in values])
        vectors = next(local)
        component = {d: next(local) for d in self.operands.components}
        tiles: list[_Tile] = []
        for _ in range(self.plan.p):
            bases = {d: next(local) for d in self.operands.points}
            tiles.append(_Tile(bases, next(local)))
        return _Group(tiles, vectors, component)

    def _tile_of(self, group: SSAValue, position: int) -> _Tile:
        """The tile at a position of a group; beyond the last one, the last one with nothing to
        store.
        """
        plan, builder = self.plan, self.builder
        number = builder.local(builder.linear([(group, plan.p)], position))
        at = number if plan.count % plan.p == 0 else self._least(number, plan.count - 1)
        column = builder.remainder(at, plan.in_row)
        bases = self._numbers(builder.quotient(at, plan.in_row), plan.extents)
        begin = builder.local(builder.linear([(column, plan.rows)], 0))
        first: SSAValue = begin
        if plan.extent % plan.rows:
            begin = self._least(begin, plan.extent - plan.rows)
        bases[plan.inner] = builder.local(builder.linear([(begin, plan.step)], 0))
        if plan.wrapped is not None:
            bases.setdefault(plan.wrapped, builder.constant(0))
        terms = [(first, 1), (begin, -1)] if first is not begin else []
        if at is not number:
            terms += [(number, plan.rows), (at, -plan.rows)]
        skipped = builder.linear(terms, 0) if terms else builder.constant(0)
        return _Tile(bases, builder.local(skipped))

    def _least(self, value: SSAValue, most: int) -> SSAValue:
        builder = self.builder
        found = builder.add(arith.MinUIOp, [value, builder.constant(most)], value.type)
        return builder.local(found)

    # --- sums ---------------------------------------------------------------------------------

    def _sum(self, group: _Group, before: _Group) -> None:
        """Store the sums of a group in the buffer, over those of the group before."""
        for number in range(self.plan.p * self.plan.q):
            self.builder.put(tile.ZeroOp(number))
        self._reduce(list(self.operands.k_loops), group, before)
        for number in range(self.plan.p * self.plan.q):
            at, distance = map(self.builder.constant, (number * TILE, VECTOR * SUM_BYTES))
            self.builder.put(tile.StoreOp(number, self.sums, at, distance))

    def _reduce(self, loops: list[int], group: _Group, before: _Group) -> None:
        if not loops:
            products, between = list(self._products(group)), self._between(before)
            if self.schedule.prefetch_l2:
                between.insert(0, partial(self._prefetch_weights, group))
            for number, op in enumerate(products):
                self.builder.put(op)
                done, due = (n * (len(between) + 1) // len(products) for n in (number, number + 1))
                for follow in between[done:due]:
                    follow()
            return
        self.position.each_iteration(loops[0], lambda _: self._reduce(loops[1:], group, before))

    def _prefetch_weights(self, group: _Group) -> None:
        """Prefetch the group's share of the weights of the next blocks, for the same iteration."""
        groups, lines = largest(1, self.plan.point_groups), 2 * tile.ROWS
        self._begin(group, group.vectors)
        share = -(-lines // groups)
        for access, block in product(self.schedule.prefetch_l2, range(self.plan.q)):
            point = {} if self.operands.vectors is None else {self.operands.vectors: block}
            at = self.builder.local(self.reads.address(access, point))
            terms = [(at, 1), (self.iteration, share * TILE_K)]
            self._prefetch_lines(self.entry.args[access.argument], terms, share)

    def _prefetch_lines(
        self, memory: SSAValue, terms: list[tuple[SSAValue, int]], count: int
    ) -> None:
        """Prefetch so many lines, one behind the other."""

        def prefetch(line: SSAValue) -> None:
            self.builder.prefetch(memory, self.builder.linear([*terms, (line, TILE_K)], 0))

        if is_open(count):
            self.builder.each(0, count, 1, prefetch)
            return
        for line in range(count):
            self.builder.prefetch(memory, self.builder.linear(terms, line * TILE_K))

    # --- one iteration ------------------------------------------------------------------------

    def _products(self, group: _Group) -> Iterator[Operation]:
        """Loads and products of 32 numbers."""
        self._begin(group, group.vectors)
        points = partial(self._load_points, group)
        return products_of(self.plan.p, self.plan.q, points, self._load_vectors)

    def _load_points(self, group: _Group, number: int, which: int, position: int) -> Operation:
        """A tile whose rows are points."""
        access = (self.operands.high, self.operands.low)[which]
        saved = dict(self.state.bases)
        self.state.bases.update(group.tiles[position].bases)
        at = self.reads.address(access, {})
        self.state.bases = saved
        between = access.coefficients[self.plan.inner] * self.plan.step
        distance = self.builder.constant(between * BF16_BYTES)
        return tile.LoadOp(number, self.entry.args[access.argument], at, distance)

    def _load_vectors(self, number: int, which: int, block: int) -> Operation:
        """A tile of weights for the block of outputs."""
        access = (self.operands.weights, self.operands.rest)[which]
        vectors = self.operands.vectors
        at = self.reads.address(access, {} if vectors is None else {vectors: block})
        distance = self.builder.constant(tile.ROW_BYTES)
        return tile.LoadOp(number, self.entry.args[access.argument], at, distance)

    def _begin(self, group: _Group, block: SSAValue | int) -> None:
        """Let addresses of weights and results begin at a block of vectors of a group."""
        self.state.bases.update(group.component)
        if self.operands.vectors is not None:
            self.state.bases[self.operands.vectors] = block

    # --- what follows -------------------------------------------------------------------------

    def _between(self, group: _Group) -> list[Callable[[], None]]:
        """The parts of the same epilogue that one iteration of the next group writes: a few rows
        each, of one tile after the other.
        """
        rows = self.rows_per_iteration
        portions = 1 if is_open(rows) else -(-rows // ROWS_BETWEEN)
        return [
            partial(self._follow_some, group, position, portion, portions)
            for position in range(self.plan.p)
            for portion in range(portions)
        ]

    def _follow_some(self, group: _Group, position: int, portion: int, portions: int) -> None:
        """One portion of those rows, of one tile."""
        builder, number = self.builder, 1
        terms: list[tuple[SSAValue, int]] = []
        for loop in reversed(self.operands.k_loops):
            base = self.state.bases[loop]
            if isinstance(base, SSAValue):
                terms.append((base, number * self.rows_per_iteration))
            number *= self.kernel.extents[loop]
        begin, end = (
            builder.local(builder.linear(terms, self.rows_per_iteration * n // portions))
            for n in (portion, portion + 1)
        )
        least = group.tiles[position].first
        first = builder.local(builder.add(arith.MaxUIOp, [begin, least], begin.type))
        self._follow_rows(group, position, first, self._least(end, self.plan.rows))

    def _follow_rows(self, group: _Group, position: int, first: SSAValue, last: SSAValue) -> None:
        """The epilogue at some points of one tile, for the blocks that no other group stores."""
        plan, vectors = self.plan, self.operands.vectors
        end = plan.blocks - plan.q

        def follow(blocks: range, base: SSAValue | int) -> None:
            self._begin(group, base)
            if vectors is not None:
                self.state.sizes[vectors] = len(blocks)
            self._follow_each(group.tiles[position], position * plan.q, blocks, first, last)

        if not plan.left:
            return follow(range(plan.q), group.vectors)
        self.builder.branch(
            self.builder.equal(group.vectors, end),
            lambda: follow(range(plan.q - plan.left, plan.q), end),
            lambda: follow(range(plan.q), group.vectors),
        )

    def _follow_each(
        self, held: _Tile, number: int, blocks: range, first: SSAValue, last: SSAValue
    ) -> None:
        """The epilogue at points of a tile. number: that of the sums of the first block."""

        def row(i: SSAValue) -> None:
            saved = dict(self.state.bases)
            self.state.bases.update(held.bases)
            point = self.builder.linear([(held.bases[self.plan.inner], 1), (i, self.plan.step)], 0)
            point = self.state.bases[self.plan.inner] = self.builder.local(point)

            self._unless_between_rows(held, point, lambda: self._follow(i, number, blocks))
            self.state.bases = saved

        self.builder.each(first, last, 1, row)

    def _unless_between_rows(self, held: _Tile, at: SSAValue, follow: Callable[[], None]) -> None:
        """The epilogue at an index, unless it is between two rows of points."""
        plan, builder = self.plan, self.builder
        if plan.wrapped is None or plan.pitch is None:
            return follow()
        row, column = self._row_and_column(at, plan.pitch)
        if plan.wrapped in plan.extents:
            row = builder.local(builder.linear([(held.bases[plan.wrapped], 1), (row, 1)], 0))
        self.state.bases[plan.wrapped] = row
        self.state.bases[plan.inner] = column
        if plan.pitch == plan.width:
            return follow()
        builder.branch(builder.less(column, plan.width), follow)

    def _row_and_column(self, at: SSAValue, pitch: int) -> Sequence[SSAValue]:
        """The row of an index, and its column. Where the run tells how long rows are, a division
        takes time, and the points of most tiles are in one row.
        """
        builder = self.builder

        def divided() -> Sequence[SSAValue]:
            return builder.quotient(at, pitch), builder.remainder(at, pitch)

        if not is_open(pitch):
            return divided()
        is_first = builder.less(at, pitch)
        found = builder.branch(is_first, lambda: (builder.constant(0), at), divided)
        return [builder.local(value) for value in found]

    def _follow(self, row: SSAValue, number: int, blocks: range) -> None:
        """The epilogue at one point, for 16 outputs of each block."""
        self.state.cache = {}
        vectors = self.operands.vectors
        points: list[Point] = [{} if vectors is None else {vectors: block} for block in blocks]
        sums = [
            self.builder.load(
                self.sums, self.builder.linear([(row, VECTOR)], (number + block) * TILE), VECTOR
            )
            for block in blocks
        ]
        starts = zip(sums, points, strict=True)
        self.epilogue.finish_each(
            points, [self.body.on_start(value, point) for value, point in starts]
        )
        self.state.cache = {}
