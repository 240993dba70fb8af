"""A contraction by weights that it transforms itself: Winograd's, where they are read from memory.

    acc[o, a, b, t] += (m[a, k] * m[b, l] * w[o, i, k, l]) * v[i, a, b, t]     over i, k and l

Transformed weights are a multiple of plain ones, and where tiles are few it is their way from
memory that takes the time. So each thread transforms those of some channels, a block of i by some
of o, one row a at a time, and multiplies all tiles with them while they are in L1:

    for blocks of o:                            handed out
      acc = 0                                   in memory
      for blocks of i:
        for a:
          u[b, i', o'] = row a of the transform of w
          for b, tiles of t:                    acc in registers, over i'
            acc += u[b, i', o'] * v[i, a, b, t]

Meanwhile it prefetches the weights of the next block of i, some at each place (a, b): all at once,
they would be more lines than a core can have on their way.

The weights come from memory as the file has them, a quarter of the size of F(4)'s. The sum over
channels and the transform of the weights are one exact generic.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import prod

from xdsl.dialects import vector
from xdsl.dialects.builtin import f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import memory_type
from ncc.compiler.loops.emit.reads import Point
from ncc.compiler.loops.emit.transform import Transform, TransformLoops
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.kernel.schedule import LINE, Schedule, tile_of, vector_of
from ncc.compiler.loops.kernel.vector_loops import can_be_lane
from ncc.compiler.loops.schedule.combination import combine
from ncc.compiler.target import Target
from ncc.dialects.element import dtype_of

BLOCKS = 2
"""Blocks of outputs at a time: each element of the data is multiplied with both."""


@dataclass(frozen=True)
class Formed:
    """The loops of such a contraction.

    loops    those of the transform of the weights
    data     what is multiplied with the transformed weights
    lane     outputs of a block, and `blocks` the blocks
    panel     inputs of a block, and `steps` the blocks
    points   what only the data moves with, innermost first; behind two, of one step
    """

    loops: TransformLoops
    data: Access
    lane: int
    blocks: int
    panel: int
    steps: int
    points: tuple[int, ...]

    @staticmethod
    def of(kernel: Kernel) -> Formed | None:
        """The loops of a contraction in whole blocks; None for any other kernel."""
        plain = not kernel.valid_extents and not kernel.epilogue and kernel.bf16_split is None
        if not kernel.forms_weights or not plain or kernel.initial != 0.0:
            return None
        loops, data = TransformLoops.of(kernel), kernel.anchor.inputs[3]
        if data is None:
            return None
        weights, read = loops.data.coefficients, data.coefficients
        outputs = [d for d in kernel.parallel if weights[d] and not read[d]]
        inputs = [d for d in kernel.reduced if weights[d] and read[d]]
        points = [d for d in kernel.parallel if read[d] and not weights[d]]
        points = [d for d in points if d not in (loops.row, loops.column)]
        several = [d for d in points if kernel.extents[d] > 1]
        if len(outputs) != 2 or len(inputs) != 2 or len(points) < 2 or len(several) > 2:
            return None
        lane, blocks = sorted(outputs, key=weights.__getitem__)
        panel, steps = sorted(inputs, key=weights.__getitem__)
        if weights[lane] != 1 or not can_be_lane(kernel, lane):
            return None
        by_distance = tuple(sorted(points, key=lambda d: (d not in several, read[d])))
        return Formed(loops, data, lane, blocks, panel, steps, by_distance)


def forming(kernel: Kernel, target: Target) -> Schedule | None:
    """As many points as registers hold sums of, for vectors of two blocks where they are wide."""
    formed = Formed.of(kernel)
    if formed is None:
        return None
    extents, vector = kernel.extents, vector_of(kernel.extents[formed.lane], target)
    in_lane = extents[formed.lane] // vector
    count = BLOCKS if in_lane == 1 and extents[formed.blocks] % BLOCKS == 0 else 1
    most = (target.registers - 1) // (count * in_lane) - 1
    inner, outer, *broadcast = formed.points
    columns = tile_of(extents[inner], most)
    rows = tile_of(extents[outer], most // columns) if columns == extents[inner] else 1
    sizes = ((outer, rows), (inner, columns), (formed.blocks, count), (formed.lane, in_lane))
    subviews = formed.loops.row, formed.loops.column
    order = (formed.blocks, *subviews, *broadcast, outer, inner, formed.lane)
    reduced = (formed.steps, formed.loops.down, formed.loops.across, formed.panel)
    tile = tuple((loop, n) for loop, n in sizes if n > 1)
    return Schedule(formed.lane, vector, tile, order, reduced, panel=formed.panel)


class FormedWeightsNest(Transform):
    """The writer of one kernel with a panel."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        super().__init__(kernel, schedule)
        formed = Formed.of(kernel)
        if formed is None:
            raise CompilerBug("weights are transformed for what is no contraction by them")
        self.formed = formed
        self.columns = kernel.extents[self.loops.column]
        self.across = schedule.points(formed.blocks) * kernel.extents[formed.lane]
        # A line more than all vectors of one place: places are stored to other sets of L1.
        self.pitch = kernel.extents[formed.panel] * self.across + LINE
        self.weights = self.builder.scratch(memory_type(f32, self.columns * self.pitch))
        self.at_tile: Callable[[], None] = self._clear

    def _chunk_loops(self, rest: SSAValue, loops: list[int]) -> None:
        """The blocks of outputs of a chunk, and then all that is made of them."""
        if loops:
            super()._chunk_loops(rest, loops)
            return
        row, column, *points = self.schedule.order[1:]
        self.at_tile = self._clear
        self._parallel([row, column, *points])
        self.at_tile = self._sum

        def at_column() -> None:
            self._prefetch_weights()
            self._parallel(points)

        def step(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            self.state.bases[self.formed.steps] = i
            for number in range(len(self.first)):
                self._form(number)
                self.state.bases[row] = number
                self._run(column, 0, self.columns, 1, 1, at_column)
            return []

        self.builder.loop(0, self.kernel.extents[self.formed.steps], 1, [], step)

    def _tile(self) -> None:
        self.cache = {}
        self.at_tile()
        self.cache = {}

    def _clear(self) -> None:
        """Sums begin with zeros."""
        zero = self._vector(self.builder.constant(0.0, f32))
        for point in self._points():
            self._store(zero, point)

    # --- weights ----------------------------------------------------------------------------

    def _form(self, row: int) -> None:
        """One row of the transform, of all weights of a panel."""

        def step(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            self.state.bases[self.formed.panel] = i
            for first in range(0, self.across, self.state.lanes):
                self.cache = {}
                self._form_vector(row, first, i)
            return []

        self.builder.loop(0, self.kernel.extents[self.formed.panel], 1, [], step)
        self.cache = {}

    def _form_vector(self, row: int, first: int, i: SSAValue) -> None:
        """The row of the outputs from `first`."""
        loops = self.loops
        block, lane = divmod(first, self.kernel.extents[self.formed.lane])
        outputs = {self.formed.blocks: block, self.formed.lane: lane}

        def down(across: int) -> SSAValue:
            def weight(down: int) -> SSAValue:
                point = {**outputs, loops.down: down, loops.across: across}
                return self._read_single(loops.data, point, self._vector_points)

            (value,) = combine(self.first, [row], weight, self)
            return value

        made = combine(self.second, range(self.columns), down, self)
        for column, value in enumerate(made):
            at = self.builder.linear([(i, self.across)], column * self.pitch + first)
            self.builder.store(value, self.weights, at)

    def _prefetch_weights(self) -> None:
        """Prefetch weights of the next panel: the share of one place (a, b)."""
        weights, formed = self.loops.data, self.formed
        row, column = (self.state.bases[d] for d in (self.loops.row, self.loops.column))
        inside = (self.loops.down, self.loops.across, formed.panel, formed.lane)
        length = prod(self.kernel.extents[d] for d in inside)
        if weights.coefficients[formed.steps] != length or not isinstance(row, int):
            return
        line = 4 * LINE // dtype_of(self.kernel.element_types[weights.argument]).itemsize
        lines = -(-length // (line * len(self.first) * self.columns))
        for block in range(self.schedule.points(formed.blocks)):
            self.state.bases |= dict.fromkeys(inside, 0)
            terms, first = self._subview(weights, {formed.blocks: block, formed.steps: 1})
            first += row * self.columns * lines * line
            if isinstance(column, int):
                first += column * lines * line
            else:
                terms = (*terms, (column, lines * line))
            for number in range(lines):
                at = self.builder.linear(terms, first + number * line)
                self.builder.prefetch(self.entry.args[weights.argument], at, l1=True)

    # --- products ---------------------------------------------------------------------------

    def _sum(self) -> None:
        """What a panel adds to one tile of points."""
        points = self._points()
        held = [self._read(self.kernel.store, point, self._vector_points) for point in points]

        def step(i: SSAValue, sums: list[SSAValue]) -> Sequence[SSAValue]:
            self.state.bases[self.formed.panel] = i
            self.cache = {}
            return [self._added(point, i, value) for point, value in zip(points, sums, strict=True)]

        sums = self.builder.loop(0, self.kernel.extents[self.formed.panel], 1, held, step)
        for point, value in zip(points, sums, strict=True):
            self._store(value, point)

    def _added(self, point: Point, i: SSAValue, total: SSAValue) -> SSAValue:
        """The sum of a point and one more product."""
        value = self._vector(self._read(self.formed.data, point, False))
        weight = self._formed_at(point, i)
        return self.builder.add(vector.FMAOp, [value, weight, total], total.type)

    def _formed_at(self, point: Point, i: SSAValue) -> SSAValue:
        """The transformed weights that a point is multiplied with, read once a step."""
        formed, column = self.formed, self.state.bases[self.loops.column]
        first = point.get(formed.blocks, 0) * self.kernel.extents[formed.lane]
        first += point.get(formed.lane, 0)
        key = ("formed", first)
        if key not in self.cache:
            terms = [(i, self.across)]
            if isinstance(column, int):
                at = self.builder.linear(terms, first + column * self.pitch)
            else:
                at = self.builder.linear([*terms, (column, self.pitch)], first)
            self.cache[key] = self.builder.load(self.weights, at, self.state.lanes)
        return self.cache[key]
