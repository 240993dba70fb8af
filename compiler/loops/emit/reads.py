"""Writes the loads of a point of a kernel, and their addresses.

A point is one element, or a vector of neighbours along the lane. An access that moves along the
lane is a vector. If its elements are contiguous, it is one load; else it is loaded element by
element, or by vectors along another loop, which are transposed or deinterleaved in registers. All
other accesses load one element, and an operation with a vector broadcasts it. In a block that
splits k, several elements share the lanes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial

from xdsl.dialects import arith
from xdsl.dialects.builtin import VectorType, f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import LinearForm, vector_type
from ncc.compiler.loops.emit.position import Part, Point, UnrolledIterations
from ncc.compiler.loops.emit.transpose import deinterleaved, transposed
from ncc.compiler.loops.kernel.kernel import LINE, Access, Gap, KSplit
from ncc.compiler.loops.kernel.vectors_over import vectors_over
from ncc.dialects.size import is_open


class Reads(Part):
    """The loads of points."""

    def address(self, access: Access, point: Point) -> SSAValue:
        return self.builder.linear(*self.linear_form(access, point))

    def linear_form(self, access: Access, point: Point) -> LinearForm:
        """The address as values with their factors, and a constant."""
        terms: list[tuple[SSAValue, int]] = []
        constant = access.offset
        for loop, coefficient in access.moves:
            base, further = self.position.index_of(loop, point)
            if isinstance(base, int):
                further += base
            else:
                terms.append((base, coefficient))
            if further:  # a product with a size takes its time
                constant += coefficient * further
        if self.state.unrolled is not None:
            constant += self._further(access) * self.state.unrolled.iteration
        if access.table is not None:
            number = self.read(access.table.at, point, False)
            terms.append((self.builder.local(number), 1))
        if access.gap is not None:
            row, _ = self._row_and_column(access.gap, point.get(access.gap.loop, 0))
            terms.append((row, access.gap.elements))
        return tuple(terms), constant

    def _row_and_column(self, gap: Gap, further: int) -> tuple[SSAValue, SSAValue]:
        """Where a point is, so many points behind the first of the tile. Only the first is divided:
        the others count on from the one before.
        """
        builder, first = self.builder, self.state.bases.get(gap.loop, 0)
        once = partial(self._once_in_tile, first, gap.loop, further)
        if further == 0:
            at = builder.plus(first)
            row = once("row", lambda: builder.quotient(at, gap.length))
            return row, once("column", lambda: builder.remainder(at, gap.length))
        row, column = self._row_and_column(gap, further - 1)

        behind = once("behind", lambda: builder.plus(column, 1))
        ends = once("ends", lambda: builder.equal(behind, gap.length))
        next_row = once("row", lambda: builder.select(ends, builder.plus(row, 1), row))
        zero = builder.constant(0)
        return next_row, once("column", lambda: builder.select(ends, zero, behind))

    def _once_in_tile(
        self, first: SSAValue | int, loop: int, further: int, key: str, make: Callable[[], SSAValue]
    ) -> SSAValue:
        return self.state.once((key, first, loop, further), lambda: self.builder.local(make()))

    def read(self, access: Access, point: Point, lane_moves: bool) -> SSAValue:
        """The element or vector of an access at a point, loaded once in an iteration of a tile."""
        lane = self.schedule.lane
        if lane_moves and lane is not None and access.coefficients[lane] != 1:
            if self.schedule.interleave is not None:
                return self._read_interleaved(access, point, self.schedule.interleave)
            if self.schedule.transpose is None:
                return self._read_strided(access, point, lane)
            return self._read_transposed(access, point, lane)
        k_split = None if lane_moves else self.position.k_split
        if k_split is not None and access.coefficients[k_split.inputs] == 1:
            return self._read_split(access, point, k_split)
        if not lane_moves and self.state.lanes > 1 and self._further(access) == 1:
            found = self.lane_of_iterations(access, point, self.state.lanes)
            if found is not None:
                return self.state.once(("lane", *found), lambda: self.builder.element(*found))
        return self.neighbours(access, point, self.state.lanes if lane_moves else 1)

    def neighbours(self, access: Access, point: Point, count: int) -> SSAValue:
        """Contiguous elements from that of a point on, loaded once in an iteration of a tile."""
        source, form = self.entry.args[access.argument], self.linear_form(access, point)

        def load() -> SSAValue:
            return self.builder.load(source, self.builder.linear(*form), count)

        return self.state.once((access.argument, form, count), load)

    def lane_of_iterations(
        self, access: Access, point: Point, lanes: int, unit: int = 1
    ) -> tuple[SSAValue, int] | None:
        """The vector that has an element of an access for this iteration and for other unrolled
        ones, and the lane of the element; None if no such vector has it.

        lanes: of the vector. unit: elements of a lane.
        """
        unrolled = self.state.unrolled
        if unrolled is None:
            return None
        terms, place = self.linear_form(access, point)
        if access not in unrolled.starts:
            unrolled.starts[access] = vectors_over(self._places(access, unrolled), lanes, unit)
        start = unrolled.starts[access].get(place)
        if start is None:
            return None
        source = self.entry.args[access.argument]

        def load() -> SSAValue:
            return self.builder.load(source, self.builder.linear(terms, start), unit * lanes)

        vector = self.state.once((access.argument, terms, start, unit * lanes), load)
        return vector, (place - start) // unit

    def _places(self, access: Access, unrolled: UnrolledIterations) -> set[int]:
        """The constants of all addresses of an access, at all points and iterations."""
        further = self._further(access)
        now = further * unrolled.iteration
        first = [self.linear_form(access, point)[1] - now for point in unrolled.points]
        return {place + further * n for place in first for n in range(unrolled.count)}

    def _further(self, access: Access) -> int:
        """How many elements an access moves with an unrolled iteration."""
        at_once = None if self.state.unrolled is None else self.schedule.at_once
        return 0 if at_once is None else access.coefficients[at_once[0]]

    def prefetch(self) -> None:
        """The prefetches of one iteration; of unrolled iterations, one for each line."""
        if self._is_of_few_points():
            return
        to_l2, to_l1 = self.schedule.prefetch_l2, self.schedule.prefetch_l1
        for accesses, l1 in ((to_l2, False), (to_l1, True)):
            for access in accesses:
                if self._begins_line(access):
                    source = self.entry.args[access.argument]
                    self.builder.prefetch(source, self.address(access, {}), l1)

    def _is_of_few_points(self) -> bool:
        """Whether the tile is too small to prefetch (`Schedule.unprefetched`)."""
        few, coalesced = self.schedule.unprefetched, self.schedule.coalesced
        return coalesced is not None and self.state.sizes[coalesced[0]] <= few

    def _begins_line(self, access: Access) -> bool:
        """Whether an iteration may not be on the line of the one before, which is unrolled, too."""
        iteration = 0 if self.state.unrolled is None else self.state.unrolled.iteration
        further = self._further(access)
        if iteration == 0 or is_open(further):
            return True
        return iteration * further // LINE > (iteration - 1) * further // LINE

    def _read_split(self, access: Access, point: Point, k_split: KSplit) -> SSAValue:
        """Several inputs in one vector, each in the lanes that it has."""
        coefficients, times = list(access.coefficients), k_split.times
        coefficients[k_split.inputs] = times
        held = self.neighbours(replace(access, coefficients=tuple(coefficients)), point, times)
        lanes = [lane % times for lane in range(self.state.lanes)]
        return self.state.once(("split", held), lambda: self.builder.shuffle(held, held, lanes))

    def _read_strided(self, access: Access, point: Point, lane: int) -> SSAValue:
        """A vector of elements that are not contiguous."""
        source = self.entry.args[access.argument]
        first = point.get(lane, 0)
        elements = [
            self.builder.load(source, self.address(access, {**point, lane: first + i}), 1)
            for i in range(self.state.lanes)
        ]
        value = self.builder.splat(elements[0], self.state.lanes)
        for i, element in enumerate(elements[1:], 1):
            value = self.builder.with_element(value, element, i)
        return value

    def _read_transposed(self, access: Access, point: Point, lane: int) -> SSAValue:
        """One column of a square that is loaded by rows, along the loop `Schedule.transpose`."""
        along, lanes = self.schedule.transpose, self.state.lanes
        if along is None or self.state.sizes[along] != lanes:
            raise CompilerBug("a strided vector without a square around it")
        rest = tuple((d, o) for d, o in sorted(point.items()) if d != along)
        key = ("transposed", access, rest)
        if (*key, 0) not in self.state.cache:
            source = self.entry.args[access.argument]
            rows = [
                self.builder.load(source, self.address(access, {**point, along: 0, lane: i}), lanes)
                for i in range(lanes)
            ]
            for i, column in enumerate(transposed(self.builder, rows)):
                self.state.cache[*key, i] = column
        return self.state.cache[*key, point[along]]

    def _read_interleaved(self, access: Access, point: Point, members: int) -> SSAValue:
        """One of the vectors that are interleaved along a loop; all are loaded together."""
        lanes, count = self.state.lanes, self.kernel.extents[members]
        number, (terms, constant) = self.first_member(access, point, members)
        key = ("interleaved", access.argument, terms, constant, lanes)
        if (*key, 0) not in self.state.cache:
            source = self.entry.args[access.argument]
            vectors = [
                self.builder.load(source, self.builder.linear(terms, constant + i * lanes), lanes)
                for i in range(count)
            ]
            for i, member in enumerate(deinterleaved(self.builder, vectors, lanes)):
                self.state.cache[*key, i] = member
        return self.state.cache[*key, number]

    def first_member(self, access: Access, point: Point, members: int) -> tuple[int, LinearForm]:
        """Which of the interleaved vectors a point has, and the address of the first of them."""
        base = self.state.bases.get(members, 0)
        if not isinstance(base, int):
            raise CompilerBug("interleaved vectors of a loop that is not unrolled")
        return base + point.get(members, 0), self.linear_form(access, {**point, members: -base})

    # --- widening ---------------------------------------------------------------------------

    def vector(self, value: SSAValue) -> SSAValue:
        """A value as wide as the accumulators."""
        return self.wide(value) if self.position.vector_points else value

    def read_single(self, access: Access, point: Point, lane_moves: bool) -> SSAValue:
        """An element or vector of an access as float32."""
        return self.single(self.read(access, point, lane_moves))

    def single(self, value: SSAValue) -> SSAValue:
        """A number or vector as float32; it is widened once in an iteration of a tile."""
        kind = value.type
        element = kind.element_type if isinstance(kind, VectorType) else kind
        if element == f32:
            return value
        wide = vector_type(f32, *kind.get_shape()) if isinstance(kind, VectorType) else f32
        extend = partial(self.builder.add, arith.ExtFOp, [value], wide)
        return self.state.once(("single", value), extend)

    def wide(self, value: SSAValue) -> SSAValue:
        """A value as a vector."""
        return value if is_vector(value) else self.splat(value)

    def splat(self, value: SSAValue) -> SSAValue:
        lanes = self.state.lanes
        return self.state.once(("splat", value, lanes), lambda: self.builder.splat(value, lanes))


def is_vector(value: SSAValue) -> bool:
    return type(value.type) is VectorType
