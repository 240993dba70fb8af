"""Where an emitter is in the function of a kernel: the index of each loop, the length of vectors.

All parts of an emitter share one `Position` (see `emitter.py`).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import product

from xdsl.dialects.builtin import DYNAMIC_INDEX, MemRefType, i64
from xdsl.ir import Attribute, Block, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import LoopBuilder, index, memory_type
from ncc.compiler.loops.kernel.kernel import Access, Kernel, KSplit
from ncc.compiler.loops.kernel.own_sizes import own_sizes
from ncc.compiler.loops.schedule.chunks import coalesced_extents
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.dialects.size import is_open, largest

Point = dict[int, int]
"""Offsets of one point of the register tile, by loop."""


@dataclass
class UnrolledIterations:
    """Iterations of `Schedule.at_once`, and the points of the tile that take them.

    iteration: the one that is written. starts: where vectors of an access begin, by its elements.
    """

    points: Sequence[Point]
    count: int
    iteration: int = 0
    starts: dict[Access, Mapping[int, int]] = field(default_factory=dict)


@dataclass
class State:
    """The first index of the tile along every loop, the sizes of the tile, how many of its points
    along a loop are stored, if not all are, the length of vectors, the two loops that are one
    (`Schedule.coalesced`), if they are, with their indices at each point of the tile, the
    unrolled iterations, if there are any, the part of the lane that the chunk has, if it has not
    all of it, and the values that were read here.
    """

    bases: dict[int, SSAValue | int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    limits: dict[int, SSAValue] = field(default_factory=dict)
    lanes: int = 1
    coalesced: tuple[int, ...] = ()
    indices: Sequence[Mapping[int, SSAValue]] = ()
    unrolled: UnrolledIterations | None = None
    part: SSAValue | None = None
    cache: dict[object, SSAValue] = field(default_factory=dict)

    def once(self, key: object, make: Callable[[], SSAValue]) -> SSAValue:
        """A value that `make` writes once in an iteration of a tile."""
        found = self.cache.get(key)
        if found is None:
            found = self.cache[key] = make()
        return found


def reach_of(kernel: Kernel, argument: int) -> int:
    """How many elements of an argument a kernel reaches: up to the last that it accesses, and one
    at least.
    """
    return largest(1, *(_reach(kernel, a) for a in kernel.accesses() if a.argument == argument))


def _reach(kernel: Kernel, access: Access) -> int:
    reach = zip(access.coefficients, kernel.extents, strict=True)
    size = 1 + access.offset + access.table_reach
    size += sum(c * (n - 1) for c, n in reach if is_open(c) or c > 0)
    if access.gap is not None:
        rows = (kernel.extents[access.gap.loop] - 1) // access.gap.length
        size += access.gap.elements * rows
    held = kernel.bf16_split
    if held is not None and access is held.store:
        size += held.distance + (-held.back if kernel.unpaired is None else held.to_odd)
    return size


def is_reach_open(kernel: Kernel, argument: int) -> bool:
    """Whether the run tells how many elements of an argument a kernel reaches."""
    accesses = [a for a in kernel.accesses() if a.argument == argument]
    moving = (n for a in accesses for c, n in zip(a.coefficients, kernel.extents, strict=True) if c)
    held = kernel.bf16_split
    distances = () if held is None or held.store not in accesses else (held.distance, held.back)
    fixed = (n for a in accesses for n in (a.offset, a.table_reach, *a.coefficients))
    return is_open(*moving, *fixed, *distances)


def kernel_types(kernel: Kernel) -> list[MemRefType[Attribute]]:
    """The memrefs of a kernel's arguments, so far as it reaches."""
    return [
        memory_type(t, DYNAMIC_INDEX if is_reach_open(kernel, n) else reach_of(kernel, n))
        for n, t in enumerate(kernel.element_types)
    ]


class Position:
    """The function of one kernel, its builder, and the state of the emitter."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        self.kernel = kernel
        self.schedule = schedule
        types: list[Attribute] = list(kernel_types(kernel))
        count = own_sizes(kernel, schedule)
        told: list[Attribute] = [memory_type(i64, count)] if count else []
        self.entry = Block(arg_types=[*types, *told, index, index])
        self.builder = LoopBuilder(self.entry, self.entry.args[len(types)] if count else None)
        self.state = State(
            sizes={d: schedule.points(d) for d in kernel.parallel},
            lanes=1 if schedule.lane is None else schedule.vector,
        )

    @property
    def vector_points(self) -> bool:
        """Whether the points are vectors: the lane is parallel and wider than one element."""
        return self.schedule.lane not in self.kernel.reduced and self.state.lanes > 1

    @property
    def k_split(self) -> KSplit | None:
        """How the tile splits k, if it is of the last block of outputs."""
        k_split = self.kernel.k_split
        if k_split is None:
            return None
        last = self.kernel.extents[k_split.outputs] - 1
        return k_split if self.state.bases.get(k_split.outputs, 0) == last else None

    def lanes_at(self, point: Point) -> int:
        """Elements of the vector at a point: fewer if it is short."""
        short = self.schedule.short
        if short is None or not self.is_short(point):
            return self.state.lanes
        return min(short[1], self.state.lanes)

    def is_short(self, point: Point) -> bool:
        """Whether the vector at a point is short.

        Only a tile at the end of a loop has short vectors, and its index is known.
        """
        if self.schedule.short is None:
            return False
        loop, _ = self.schedule.short
        base = self.state.bases.get(loop, 0)
        last = self.kernel.extents[loop] - 1
        return isinstance(base, int) and base + point.get(loop, 0) == last

    @contextmanager
    def as_long_as(self, point: Point) -> Iterator[None]:
        """In a `with` block, vectors are as long as the one at a point."""
        whole, self.state.lanes = self.state.lanes, self.lanes_at(point)
        yield
        self.state.lanes = whole

    def iterations(
        self,
        loop: int,
        first: int,
        last: int,
        carried: Sequence[SSAValue],
        iteration: Callable[[list[SSAValue]], Sequence[SSAValue]],
        step: int = 1,
    ) -> list[SSAValue]:
        """A loop of the kernel; `iteration(carried)` writes an iteration, which uses no value that
        was read outside of it.
        """

        def body(i: SSAValue, values: list[SSAValue]) -> Sequence[SSAValue]:
            self.state.bases[loop] = i
            saved, self.state.cache = self.state.cache, {}
            results = iteration(values)
            self.state.cache = saved
            return results

        return self.builder.loop(first, last, step, carried, body)

    def each_iteration(self, loop: int, body: Callable[[SSAValue], None]) -> None:
        """A loop of the kernel that carries no values."""

        def iteration(i: SSAValue) -> None:
            self.state.bases[loop] = i
            body(i)

        self.builder.each(0, self.kernel.extents[loop], 1, iteration)

    def with_loop(
        self, loop: int, base: SSAValue | int, size: int, body: Callable[[], None]
    ) -> None:
        """Run `body` with another base and tile of one loop."""
        old_base, old_size = self.state.bases.get(loop), self.state.sizes[loop]
        indices = self.state.indices
        self.state.bases[loop], self.state.sizes[loop] = base, size
        self.state.indices = self._coalesced_indices(loop, base, size) or indices
        body()
        self.state.indices = indices
        self.state.sizes[loop] = old_size
        if old_base is not None:
            self.state.bases[loop] = old_base

    def _coalesced_indices(
        self, loop: int, base: SSAValue | int, size: int
    ) -> list[Mapping[int, SSAValue]]:
        """Row and column of each point of a tile, if its loop goes over all points of an image.
        Points behind the last one are the last one again.
        """
        if not self.state.coalesced or loop != self.state.coalesced[0]:
            return []
        column, row = self.state.coalesced
        first, last = self.builder.plus(base), self.extent(column) - 1
        columns, found = self.kernel.extents[column], list[Mapping[int, SSAValue]]()
        for number in range(size):
            at = self.builder.limited(self.builder.plus(first, number), last)
            of_row, in_row = self.builder.quotient(at, columns), self.builder.remainder(at, columns)
            found.append({row: of_row, column: in_row})
        return found

    def extent(self, loop: int) -> int:
        """How far a loop goes."""
        if self.state.coalesced:
            return coalesced_extents(self.kernel, self.schedule)[loop]
        return self.kernel.extents[loop]

    def index_of(self, loop: int, point: Point) -> tuple[SSAValue | int, int]:
        """The index of a loop at a point: a base, and how far behind it the point is."""
        if self.state.indices and loop in self.state.coalesced:
            column, _ = self.state.coalesced
            return self.state.indices[point.get(column, 0)][loop], 0
        return self.state.bases.get(loop, 0), point.get(loop, 0)

    @property
    def tile_loops(self) -> list[int]:
        """The parallel loops along which a tile has points, outermost first."""
        return [d for d, _ in self.schedule.tile if d not in self.kernel.reduced]

    def points(self) -> list[Point]:
        """The points of a tile, without those in the padding of a block."""
        loops = self.tile_loops
        ranges = [range(0, self.state.sizes[d] * self._step(d), self._step(d)) for d in loops]
        points = [dict(zip(loops, offsets, strict=True)) for offsets in product(*ranges)]
        return [point for point in points if not self._is_left_out(point)]

    def _is_left_out(self, point: Point) -> bool:
        """Whether a vector is wholly in the padding of a block."""
        lane, short = self.schedule.lane, self.schedule.short
        if lane is None or short is None or not self.is_short(point):
            return False
        return self.along(lane, point) >= short[1]

    def along(self, lane: int, point: Point) -> int:
        """The first element of the vector at a point, in a tile with short vectors."""
        base = self.state.bases.get(lane, 0)
        if not isinstance(base, int):
            raise CompilerBug("a short vector in a loop along the lane")
        return base + point.get(lane, 0)

    def _step(self, loop: int) -> int:
        return self.state.lanes if loop == self.schedule.lane else 1

    @property
    def accumulated(self) -> Attribute:
        """The type of the accumulators; stored values may have another one."""
        return self.kernel.anchor.yielded.type


class Part:
    """A part of an emitter: it writes at the position that all parts share."""

    def __init__(self, position: Position) -> None:
        self.position = position
        self.kernel, self.schedule = position.kernel, position.schedule
        self.entry, self.builder, self.state = position.entry, position.builder, position.state
