"""Writes what a point of a kernel reads: addresses, and the loads at them.

A point is one element, or a vector of neighbours along the lane. What varies along the lane is
read as a vector: at once where neighbours lie side by side, else element by element, or by vectors
along another loop that are transposed or taken apart in registers. Everything else is read once and
spread only where it meets a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field

from xdsl.dialects import arith
from xdsl.dialects.builtin import MemRefType, VectorType, f32
from xdsl.ir import Attribute, Block, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import LoopBuilder, index, memory_type, vector_type
from ncc.compiler.loops.emit.transpose import deinterleaved, transposed
from ncc.compiler.loops.kernel.kernel import Access, Kernel
from ncc.compiler.loops.schedule.schedule import Schedule

Point = dict[int, int]
"""Offsets of one point of the register tile, by loop."""


@dataclass
class State:
    """Where the writer is: the base of every loop, tile sizes and vector length in force, and the
    part of the lane where a chunk has no more of it.
    """

    bases: dict[int, SSAValue | int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    lanes: int = 1
    part: SSAValue | None = None


def kernel_types(kernel: Kernel) -> list[MemRefType[Attribute]]:
    """The memrefs of a kernel's arguments: as many elements as it can reach, at least one."""
    sizes = [1] * len(kernel.element_types)
    for access in kernel.accesses():
        reach = zip(access.coefficients, kernel.extents, strict=True)
        size = 1 + access.offset + access.table_reach + sum(c * (n - 1) for c, n in reach if c > 0)
        held = kernel.bf16_split
        if held is not None and access is held.store:
            size += held.distance + (-held.back if kernel.unpaired is None else held.beside)
        sizes[access.argument] = max(sizes[access.argument], size)
    return [memory_type(t, n) for t, n in zip(kernel.element_types, sizes, strict=True)]


class ReadWriter:
    """The function of one kernel, the place in it that is written, and what was read there."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        self.kernel = kernel
        self.schedule = schedule
        types: list[Attribute] = list(kernel_types(kernel))
        self.entry = Block(arg_types=[*types, index, index])
        self.builder = LoopBuilder(self.entry)
        self.state = State()
        self.cache: dict[object, SSAValue] = {}

    @property
    def _vector_points(self) -> bool:
        """Whether the points are vectors: the lane is parallel and wider than one element."""
        return self.schedule.lane not in self.kernel.reduced and self.state.lanes > 1

    def _lanes_at(self, point: Point) -> int:
        """Elements of the vector at a point: fewer where the schedule says so."""
        short = self.schedule.short
        if short is None or not self._is_short(point):
            return self.state.lanes
        return min(short[1], self.state.lanes)

    def _is_short(self, point: Point) -> bool:
        """Whether the vector at a point is short.

        Only tiles that are written apart, for the end of a loop, have such: they know where it is.
        """
        if self.schedule.short is None:
            return False
        loop, _ = self.schedule.short
        base = self.state.bases.get(loop, 0)
        last = self.kernel.extents[loop] - 1
        return isinstance(base, int) and base + point.get(loop, 0) == last

    @contextmanager
    def _as_long_as(self, point: Point) -> Iterator[None]:
        """Have vectors as long as the one at a point."""
        whole, self.state.lanes = self.state.lanes, self._lanes_at(point)
        yield
        self.state.lanes = whole

    def _iterations(
        self,
        loop: int,
        first: int,
        last: int,
        carried: Sequence[SSAValue],
        iteration: Callable[[list[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """A loop of the kernel, by `turn(carried)`; what is read in a turn is read again in the
        next.
        """

        def body(i: SSAValue, values: list[SSAValue]) -> Sequence[SSAValue]:
            self.state.bases[loop] = i
            saved, self.cache = self.cache, {}
            results = iteration(values)
            self.cache = saved
            return results

        return self.builder.loop(first, last, 1, carried, body)

    # --- reads ---------------------------------------------------------------------------------

    def _address(self, access: Access, point: Point) -> SSAValue:
        return self.builder.linear(*self._subview(access, point))

    def _subview(
        self, access: Access, point: Point
    ) -> tuple[tuple[tuple[SSAValue, int], ...], int]:
        """The address as values with their factors, and a constant."""
        terms: list[tuple[SSAValue, int]] = []
        constant = access.offset
        for loop, coefficient in access.moves:
            base = self.state.bases.get(loop, 0)
            constant += coefficient * point.get(loop, 0)
            if isinstance(base, int):
                constant += coefficient * base
            else:
                terms.append((base, coefficient))
        if access.table is not None:
            number = self._read(access.table.at, point, False)
            terms.append((self.builder.local(number), 1))
        return tuple(terms), constant

    def _read(self, access: Access, point: Point, lane_moves: bool) -> SSAValue:
        """The element or vector of an access at a point, read once a tile step."""
        lane = self.schedule.lane
        if lane_moves and lane is not None and access.coefficients[lane] != 1:
            if self.schedule.interleave is not None:
                return self._read_interleaved(access, point, self.schedule.interleave)
            if self.schedule.transpose is None:
                return self._read_strided(access, point, lane)
            return self._read_transposed(access, point, lane)
        subview = self._subview(access, point)
        lanes = self.state.lanes if lane_moves else 1
        key = (access.argument, subview, lanes)
        found = self.cache.get(key)
        if found is None:
            source = self.entry.args[access.argument]
            found = self.cache[key] = self.builder.load(
                source, self.builder.linear(*subview), lanes
            )
        return found

    def _prefetch(self) -> None:
        """The prefetches of one step."""
        to_l2, to_l1 = self.schedule.prefetch_l2, self.schedule.prefetch_l1
        for accesses, l1 in ((to_l2, False), (to_l1, True)):
            for access in accesses:
                source = self.entry.args[access.argument]
                self.builder.prefetch(source, self._address(access, {}), l1)

    def _read_strided(self, access: Access, point: Point, lane: int) -> SSAValue:
        """A vector of elements that do not lie side by side."""
        source = self.entry.args[access.argument]
        first = point.get(lane, 0)
        elements = [
            self.builder.load(source, self._address(access, {**point, lane: first + i}), 1)
            for i in range(self.state.lanes)
        ]
        value = self.builder.splat(elements[0], self.state.lanes)
        for i, element in enumerate(elements[1:], 1):
            value = self.builder.with_element(value, element, i)
        return value

    def _read_transposed(self, access: Access, point: Point, lane: int) -> SSAValue:
        """One column of a square that is loaded by rows, along the loop that `transpose` names."""
        along, lanes = self.schedule.transpose, self.state.lanes
        if along is None or self.state.sizes[along] != lanes:
            raise CompilerBug("a strided vector without a square around it")
        rest = tuple((d, o) for d, o in sorted(point.items()) if d != along)
        key = ("transposed", access, rest)
        if (*key, 0) not in self.cache:
            source = self.entry.args[access.argument]
            rows = [
                self.builder.load(
                    source, self._address(access, {**point, along: 0, lane: i}), lanes
                )
                for i in range(lanes)
            ]
            for i, column in enumerate(transposed(self.builder, rows)):
                self.cache[*key, i] = column
        return self.cache[*key, point[along]]

    def _read_interleaved(self, access: Access, point: Point, members: int) -> SSAValue:
        """One of the vectors that are interleaved along a loop: they are read and split once."""
        lanes, count = self.state.lanes, self.kernel.extents[members]
        number, (terms, constant) = self._first_member(access, point, members)
        key = ("interleaved", access.argument, terms, constant, lanes)
        if (*key, 0) not in self.cache:
            source = self.entry.args[access.argument]
            vectors = [
                self.builder.load(source, self.builder.linear(terms, constant + i * lanes), lanes)
                for i in range(count)
            ]
            for i, member in enumerate(deinterleaved(self.builder, vectors, lanes)):
                self.cache[*key, i] = member
        return self.cache[*key, number]

    def _first_member(
        self, access: Access, point: Point, members: int
    ) -> tuple[int, tuple[tuple[tuple[SSAValue, int], ...], int]]:
        """Which of the interleaved vectors a point has, and the place of the first of them."""
        base = self.state.bases.get(members, 0)
        if not isinstance(base, int):
            raise CompilerBug("interleaved vectors of a loop that is not unrolled")
        return base + point.get(members, 0), self._subview(access, {**point, members: -base})

    # --- widening ---------------------------------------------------------------------------

    def _vector(self, value: SSAValue) -> SSAValue:
        """A value as wide as the accumulators are."""
        return self._wide(value) if self._vector_points else value

    def _read_single(self, access: Access, point: Point, lane_moves: bool) -> SSAValue:
        """An element or vector of an access as float32, where it is narrower."""
        return self._single(self._read(access, point, lane_moves))

    def _single(self, value: SSAValue) -> SSAValue:
        """A number or vector of them as float32, widened once a tile step."""
        kind = value.type
        element = kind.element_type if isinstance(kind, VectorType) else kind
        if element == f32:
            return value
        found = self.cache.get(("single", value))
        if found is None:
            shape = kind.get_shape() if isinstance(kind, VectorType) else ()
            wide = vector_type(f32, *shape) if shape else f32
            found = self.cache["single", value] = self.builder.add(arith.ExtFOp, [value], wide)
        return found

    def _wide(self, value: SSAValue) -> SSAValue:
        """A value as a vector."""
        return value if is_vector(value) else self._splat(value)

    def _splat(self, value: SSAValue) -> SSAValue:
        key = ("splat", value, self.state.lanes)
        found = self.cache.get(key)
        if found is None:
            found = self.cache[key] = self.builder.splat(value, self.state.lanes)
        return found


def is_vector(value: SSAValue) -> bool:
    return type(value.type) is VectorType
