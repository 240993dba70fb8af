"""A contraction that transforms its own weights: Winograd's, if weights come from memory.

    acc[o, a, b, t] += (m[a, k] * m[b, l] * w[o, i, k, l]) * v[i, a, b, t]     over i, k and l

Transformed weights are several times as large as plain ones. If tiles are few, most of the time
goes into reading weights from memory. So each thread transforms the weights of a block of i by some
blocks of o, one row a at a time, and multiplies all tiles with them while they are in L1:

    for blocks of o:                            handed out
      acc = 0                                   in memory
      for blocks of i:
        for a:
          u[b, i', o'] = row a of the transform of w
          for b, tiles of t:                    acc in registers, over i'
            acc += u[b, i', o'] * v[i, a, b, t]

Where the run tells how many tiles there are, register tiles have several sizes (`open_loops.py`),
and nothing is transformed for a strip without tiles: small images are convolved directly.

Meanwhile it prefetches the weights of the next block of i, some at each (a, b): a core cannot have
that many lines on their way at once.

Memory holds the weights as the file has them, a quarter of the size of F(4)'s. The sum over
channels and the transform of the weights are one exact generic.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod

from xdsl.dialects import vector
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.combination import combine
from ncc.compiler.loops.emit.kernel_emitter import KernelEmitter
from ncc.compiler.loops.emit.loop_builder import memory_type
from ncc.compiler.loops.emit.position import Point
from ncc.compiler.loops.emit.transform import VectorArithmetic
from ncc.compiler.loops.kernel.kernel import LINE, Kernel
from ncc.compiler.loops.schedule.formed_weights import Formed
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.dialects.element import dtype_of
from ncc.dialects.size import is_open


class FormedWeights(KernelEmitter):
    """The emitter of a kernel that transforms its weights."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        formed = Formed.of(kernel)
        if isinstance(formed, str):
            raise CompilerBug(f"weights are transformed for what is no contraction: {formed}")
        self.formed, self.transform = formed, formed.loops
        self.arithmetic = VectorArithmetic(self.position, self.reads)
        self.columns = kernel.extents[self.transform.column]
        self.across = schedule.points(formed.blocks) * kernel.extents[formed.lane]
        # One line more than all vectors of a column: other columns use other sets of L1.
        self.pitch = kernel.extents[formed.panel] * self.across + LINE
        self.weights = self.builder.scratch(memory_type(f32, self.columns * self.pitch))

    def write(self) -> None:
        points = prod(self.kernel.extents[d] for d in self.formed.points)
        if not is_open(points):
            self.loops.chunks(self._chunk)
            return
        some = self.builder.less(self.builder.constant(0), points)
        self.builder.branch(some, lambda: self.loops.chunks(self._chunk))

    def _chunk(self) -> None:
        """The outputs of some blocks."""
        row, column, *points = self.schedule.order[1:]
        self.loops.nest([row, column, *points], self._clear)

        def at_column() -> None:
            self._prefetch_weights()
            self.loops.nest(points, self._sum)

        def iteration(_: SSAValue) -> None:
            for number in range(len(self.transform.m)):
                self._form(number)
                self.state.bases[row] = number
                self.loops.run(column, 0, self.columns, 1, 1, at_column)

        self.position.each_iteration(self.formed.input_blocks, iteration)

    def _clear(self) -> None:
        """Store zeros: sums begin with them."""
        self.state.cache = {}
        zero = self.reads.vector(self.builder.constant(0.0, f32))
        for point in self.position.points():
            self.epilogue.store(zero, point)
        self.state.cache = {}

    # --- weights ----------------------------------------------------------------------------

    def _form(self, row: int) -> None:
        """One row of the transform, for all weights of a panel."""

        def iteration(i: SSAValue) -> None:
            for first in range(0, self.across, self.state.lanes):
                self.state.cache = {}
                self._form_vector(row, first, i)

        self.position.each_iteration(self.formed.panel, iteration)
        self.state.cache = {}

    def _form_vector(self, row: int, first: int, i: SSAValue) -> None:
        """The row of the outputs from `first`."""
        loops = self.transform
        block, lane = divmod(first, self.kernel.extents[self.formed.lane])
        outputs = {self.formed.blocks: block, self.formed.lane: lane}

        def down(across: int) -> SSAValue:
            def weight(down: int) -> SSAValue:
                point = {**outputs, loops.down: down, loops.across: across}
                return self.reads.read_single(loops.data, point, self.position.vector_points)

            (value,) = combine(self.transform.m, [row], weight, self.arithmetic)
            return value

        made = combine(self.transform.n, range(self.columns), down, self.arithmetic)
        for column, value in enumerate(made):
            at = self.builder.linear([(i, self.across)], column * self.pitch + first)
            self.builder.store(value, self.weights, at)

    def _prefetch_weights(self) -> None:
        """Prefetch a share of the weights of the next panel, at one (a, b)."""
        weights, formed = self.transform.data, self.formed
        row, column = (self.state.bases[d] for d in (self.transform.row, self.transform.column))
        if not isinstance(row, int):
            return
        line = 4 * LINE // dtype_of(self.kernel.element_types[weights.argument]).itemsize
        starts, lines = self._share(row, line)
        for block in range(self.schedule.points(formed.blocks)):
            self.state.bases |= dict.fromkeys(self._inside, 0)
            terms, first = self.reads.linear_form(
                weights, {formed.blocks: block, formed.input_blocks: 1}
            )
            terms = (*terms, (self.builder.plus(column), lines * line))
            for start in starts:
                for number in range(lines):
                    at = self.builder.linear(terms, first + start + number * line)
                    self.builder.prefetch(self.entry.args[weights.argument], at, l1=True)

    def _share(self, row: int, line: int) -> tuple[Sequence[int], int]:
        """Where the prefetches of a row a begin in a panel, and how many lines each has in a column
        b. Rows share out the whole panel where it is contiguous, else its taps.
        """
        weights, loops, extents = self.transform.data, self.transform, self.kernel.extents
        rows = len(loops.m)
        length = prod(extents[d] for d in self._inside)
        if weights.coefficients[self.formed.input_blocks] == length:
            lines = -(-length // (line * rows * self.columns))
            return [row * self.columns * lines * line], lines
        down, across = (
            range(0, extents[d] * weights.coefficients[d], weights.coefficients[d])
            for d in (loops.down, loops.across)
        )
        taps = [one + other for one in down for other in across]
        length //= len(taps)
        each = -(-len(taps) // rows)
        return taps[row * each : (row + 1) * each], -(-length // (line * self.columns))

    @property
    def _inside(self) -> tuple[int, ...]:
        """The loops over the weights of a panel, of a block of o."""
        return self.transform.down, self.transform.across, self.formed.panel, self.formed.lane

    # --- products ---------------------------------------------------------------------------

    def _sum(self) -> None:
        """Add the products of a panel to one tile of points."""
        self.state.cache = {}
        points, vectors = self.position.points(), self.position.vector_points
        held = [self.reads.read(self.kernel.store, point, vectors) for point in points]

        def iteration(i: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            self.state.bases[self.formed.panel] = i
            self.state.cache = {}
            return [self._added(point, i, value) for point, value in zip(points, sums, strict=True)]

        sums = self.builder.loop(0, self.kernel.extents[self.formed.panel], 1, held, iteration)
        for point, value in zip(points, sums, strict=True):
            self.epilogue.store(value, point)
        self.state.cache = {}

    def _added(self, point: Point, i: SSAValue, total: SSAValue) -> SSAValue:
        """The sum of a point and one more product."""
        value = self.reads.vector(self.reads.read(self.formed.data, point, False))
        weight = self._formed_at(point, i)
        return self.builder.add(vector.FMAOp, [value, weight, total], total.type)

    def _formed_at(self, point: Point, i: SSAValue) -> SSAValue:
        """The transformed weights of a point, loaded once in an iteration."""
        formed, column = self.formed, self.state.bases[self.transform.column]
        first = point.get(formed.blocks, 0) * self.kernel.extents[formed.lane]
        first += point.get(formed.lane, 0)
        terms = [(i, self.across), (self.builder.plus(column), self.pitch)]

        def load() -> SSAValue:
            at = self.builder.linear(terms, first)
            return self.builder.load(self.weights, at, self.state.lanes)

        return self.state.once(("formed", first), load)
