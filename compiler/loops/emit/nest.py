"""Writes one kernel as loops by its schedule. Decides nothing.

func.func private @name(%argument0: memref<..>, .., %first: index, %last: index)
  for chunk in [first, last):               outermost parallel loops, delinearized
    for parallel loops, tiles:              a remainder is one more copy with a smaller tile; one
                                            that is transposed overlaps its neighbour instead
      accumulators = initial values         points x vectors, in registers
      for reduced loops: accumulators = ..  carried values, rolled
      epilogue; store
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, func
from xdsl.ir import SSAValue

from ncc.compiler.loops.emit.body import Body
from ncc.compiler.loops.emit.epilogue import Epilogue
from ncc.compiler.loops.emit.position import Part, Point, Position
from ncc.compiler.loops.emit.reads import Reads
from ncc.compiler.loops.emit.rows import Rows
from ncc.compiler.loops.kernel.kernel import Kernel, Stage
from ncc.compiler.loops.schedule.schedule import Schedule, parts_of_lane


class Nest(Part):
    """The emitter of one kernel.

    reads_of: what makes its reads.
    """

    reads_of: type[Reads] = Reads

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(Position(kernel, schedule))
        self.reads = self.reads_of(self.position)
        self.body = Body(self.position, self.reads)
        self.epilogue = Epilogue(self.position, self.reads, self.body)
        self.rows = Rows(self.position, self.body)

    def write(self, name: str) -> func.FuncOp:
        """The whole function."""
        self._chunks(*self.entry.args[-2:])
        return self.builder.function(name)

    # --- parallel loops ---------------------------------------------------------------------

    def _chunks(self, first: SSAValue, last: SSAValue) -> None:
        """All that the function does: the chunks that its last two arguments say."""
        for d in self.kernel.parallel:
            self.state.sizes[d] = self.schedule.points(d)
        if self.schedule.lane is not None:
            self.state.lanes = self.schedule.vector
        self.builder.loop(first, last, 1, [], lambda chunk, _: self._chunk(chunk))

    def _chunk(self, chunk: SSAValue) -> Sequence[SSAValue]:
        loops = list(self.schedule.order[: self.schedule.chunks])
        if self.schedule.span:
            parts = parts_of_lane(self.kernel, self.schedule)
            self.state.part = self.builder.remainder(chunk, parts)
            chunk = self.builder.quotient(chunk, parts)
        self._chunk_loops(chunk, loops)
        return []

    def _chunk_loops(self, rest: SSAValue, loops: list[int]) -> None:
        """Take the innermost chunk loop's number off `rest`, then the next."""
        if not loops:
            self._parallel(list(self.schedule.order[self.schedule.chunks :]))
            return
        loop = loops.pop()
        size = self.state.sizes[loop]
        extent = self.kernel.extents[loop]
        trips = -(-extent // size)
        number = self.builder.remainder(rest, trips) if loops else self.builder.local(rest)
        rest = self.builder.quotient(rest, trips) if loops else rest
        base = number if size == 1 else self.builder.linear([(number, size)], 0)
        self.state.bases[loop] = self.builder.local(base)
        whole = self._alike(loop)
        if whole * size == extent:
            self._chunk_loops(rest, loops)
            return

        def full() -> None:
            self._chunk_loops(rest, list(loops))

        def remainder() -> None:
            for begin, count in self._last(loop):
                self.position.with_loop(loop, begin, count, full)

        if whole == 0:
            remainder()
        else:
            self.builder.branch(self.builder.equal(number, whole), remainder, full)

    def _parallel(self, loops: list[int]) -> None:
        """Parallel loops that are no chunks, outermost first, around a tile."""
        if not loops:
            self._tile()
            return
        loop, inner = loops[0], loops[1:]
        if loop == self.schedule.lane:
            if self.state.part is not None:
                self._part(loop, inner, self.state.part)
            else:
                self._lane_from(loop, inner, 0)
            return
        size, extent, whole = self.state.sizes[loop], self.kernel.extents[loop], self._alike(loop)
        self._run(loop, 0, whole, size, size, lambda: self._parallel(inner))
        if whole * size < extent:
            for begin, count in self._last(loop):
                self.position.with_loop(loop, begin, count, lambda: self._parallel(inner))

    def _alike(self, loop: int) -> int:
        """How many tiles along a loop are whole, and of whole vectors."""
        short = self.schedule.short
        ends = short is not None and short[0] == loop
        return (self.kernel.extents[loop] - ends) // self.state.sizes[loop]

    def _last(self, loop: int) -> list[tuple[int, int]]:
        """Begin and size of the tile that ends where a loop does, or of several.

        A square overlaps the one before it: what is stored again is what stands there.
        """
        extent, size = self.kernel.extents[loop], self.state.sizes[loop]
        if loop == self.schedule.transpose:
            return [(extent - size, size)]
        first = self._alike(loop) * size
        return [(first, extent - first)]

    def _lane_from(self, loop: int, inner: list[int], position: int) -> None:
        """The lane from a position on."""
        if self.schedule.transpose is None:
            self._lane(loop, inner, position)
        else:
            self._squares(loop, inner, position)

    def _squares(self, loop: int, inner: list[int], position: int) -> None:
        """Vectors along the lane of squares; the last one ends where the lane does."""
        extent, lanes = self.kernel.extents[loop], self.state.lanes
        trips = (extent - position) // lanes
        self._run(loop, position, trips, lanes, 1, lambda: self._parallel(inner))
        if extent % lanes:
            self.position.with_loop(loop, extent - lanes, 1, lambda: self._parallel(inner))

    def _part(self, loop: int, inner: list[int], part: SSAValue) -> None:
        """The whole tiles of a chunk's part of the lane; in the last one what they leave, too."""
        size, extent = self.state.sizes[loop], self.kernel.extents[loop]
        span, step = self.schedule.span, self.state.lanes * size
        whole = extent // step * step
        first, end = (self.builder.linear([(part, span)], n) for n in (0, span))
        end = self.builder.binary(arith.MinUIOp, end, self.builder.constant(whole))

        def at(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            self.position.with_loop(loop, i, size, lambda: self._parallel(inner))
            return []

        self.builder.loop(first, end, step, [], at)
        if whole < extent:
            is_last = self.builder.equal(part, parts_of_lane(self.kernel, self.schedule) - 1)
            self.builder.branch(is_last, lambda: self._lane_from(loop, inner, whole), lambda: None)

    def _lane(self, loop: int, inner: list[int], position: int) -> None:
        """Vectors of the schedule's length, as many in a tile as there are, then what is left: by
        one that ends where the lane does, if that is one in place of several, or else by halves.

        Each by itself in a tile of which some hold nothing that counts.
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
                self._run(loop, position, trips, step, points, lambda: self._parallel(inner))
                position += trips * step
            elif points > 1:
                points = max(1, (extent - position) // lanes)
            elif position and (extent - position).bit_count() > 1 and self._can_store_again:
                self.state.lanes, self.state.sizes[loop] = lanes, 1
                self.position.with_loop(loop, extent - lanes, 1, lambda: self._parallel(inner))
                break
            else:
                lanes //= 2
        self.state.lanes, self.state.sizes[loop] = full, self.schedule.points(loop)

    @property
    def _can_store_again(self) -> bool:
        """Whether a point that is computed once more comes out the same: nothing that it reads can
        have the memory that it stores to, as what is added to it may.
        """
        kernel = self.kernel
        goes_on = kernel.accumulates and kernel.initial is None
        stored = [access.coefficients for access in kernel.stores()]
        reads = [access.coefficients for stage in kernel.stages for access in stage.reads]
        return not goes_on and not any(read in stored for read in reads)

    @property
    def _ends(self) -> bool:
        """Whether a tile has the last step of a loop by which vectors are short."""
        short = self.schedule.short
        if short is None:
            return False
        return self.position.is_short({short[0]: self.state.sizes[short[0]] - 1})

    def _run(
        self, loop: int, first: int, trips: int, step: int, size: int, body: Callable[[], None]
    ) -> None:
        """`trips` steps of one loop: no loop where there is one."""
        if trips == 0:
            return
        if trips == 1:
            self.position.with_loop(loop, first, size, body)
            return

        def at(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            self.position.with_loop(loop, i, size, body)
            return []

        self.builder.loop(first, first + trips * step, step, [], at)

    # --- one tile ---------------------------------------------------------------------------

    def _tile(self) -> None:
        """All points of a tile: their sums or values, then what follows."""
        points = self.position.points()
        if not points:
            return
        self.state.cache = {}
        if self.kernel.accumulates:
            values = self._accumulate(points)
        else:
            values = [self.body.evaluate(self.kernel.anchor, point, None) for point in points]
        self.state.cache = {}
        self.epilogue.finish(points, values)
        self.state.cache = {}

    # --- reductions -------------------------------------------------------------------------

    def _accumulate(self, points: list[Point]) -> list[SSAValue]:
        """The sums of all points of a tile."""
        lane = self.schedule.lane
        if lane is not None and lane in self.kernel.reduced:
            initial = [self._initial(point) for point in points]
            self.state.cache = {}
            return self.rows.fold_rows(lane, points, initial)
        initial = [self._started_at(point) for point in points]
        self.state.cache = {}
        return self._reduce(list(self.schedule.reduced), points, initial)

    def _started_at(self, point: Point) -> SSAValue:
        """What the accumulator of a point starts from."""
        with self.position.as_long_as(point):
            return self.reads.vector(self._initial(point))

    def _on_start(self, value: SSAValue, point: Point) -> SSAValue:
        """A sum from nothing, put on top of what the result starts from."""
        if self.kernel.initial == 0.0:
            return value
        return self.builder.binary(arith.AddfOp, self.reads.vector(self._initial(point)), value)

    def _initial(self, point: Point) -> SSAValue:
        """What the result starts from at a point."""
        initial = self.kernel.initial
        if isinstance(initial, Stage):
            return self.body.evaluate(initial, point, None)
        if initial is None:
            return self.reads.read(self.kernel.store, point, self.position.vector_points)
        return self.builder.constant(initial, self.position.accumulated)

    def _reduce(
        self, loops: list[int], points: list[Point], values: list[SSAValue]
    ) -> list[SSAValue]:
        """All reduced loops around one step; the accumulators are carried."""
        if not loops:
            self.reads.prefetch()
            return [
                self._step_at(point, value) for point, value in zip(points, values, strict=True)
            ]
        loop, inner = loops[0], loops[1:]
        tail = next((t for t in self.kernel.valid_extents if t[0] == loop), None)
        if tail is None:
            extent = self._reduced_extent(loop)
            return self._reduced_loop(loop, 0, extent, inner, points, values)
        _, within, true = tail
        block = self.kernel.extents[within]
        values = self._reduced_loop(loop, 0, true // block, inner, points, values)
        if true % block:
            self.state.sizes[within] = true % block
            values = self._reduced_loop(loop, true // block, 1, inner, points, values)
            del self.state.sizes[within]
        return values

    def _step_at(self, point: Point, value: SSAValue) -> SSAValue:
        """The accumulator of a point after one more step."""
        with self.position.as_long_as(point):
            return self.body.evaluate(self.kernel.anchor, point, value)

    def _reduced_extent(self, loop: int) -> int:
        return self.state.sizes.get(loop, self.kernel.extents[loop])

    def _reduced_loop(
        self,
        loop: int,
        first: int,
        trips: int,
        inner: list[int],
        points: list[Point],
        values: list[SSAValue],
    ) -> list[SSAValue]:
        if trips == 0:
            return values
        if trips == 1 or loop in self.schedule.unroll:
            for i in range(first, first + trips):
                self.state.bases[loop] = i
                values = self._reduce(inner, points, values)
            return values

        return self.position.iterations(
            loop, first, first + trips, values, lambda held: self._reduce(inner, points, held)
        )
