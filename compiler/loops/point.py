"""Writes what one point of a kernel computes: its reads, its bodies, the addresses of both.

A point is one element, or a vector of neighbours along the lane. What varies along the lane is
read as a vector, everything else once and spread only where it meets a vector.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial, reduce

from xdsl.dialects import arith, math, tensor, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, MemRefType, VectorType, f32, i32
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.build import LoopBuilder, index, memory_type, vector_type
from ncc.compiler.loops.kernel import Access, Kernel, Stage, extracts, varying
from ncc.compiler.loops.schedule import Schedule
from ncc.compiler.loops.transpose import deinterleaved, transposed
from ncc.dialects.operation import only_result, operands_of

Point = dict[int, int]
"""Offsets of one point of the register tile, by loop."""


@dataclass
class State:
    """Where the writer is: the base of every loop, tile sizes and vector length in force."""

    bases: dict[int, SSAValue | int] = field(default_factory=dict)
    sizes: dict[int, int] = field(default_factory=dict)
    lanes: int = 1


def kernel_types(kernel: Kernel) -> list[MemRefType[Attribute]]:
    """The memrefs of a kernel's arguments: as many elements as it can reach, at least one."""
    sizes = [1] * len(kernel.element_types)
    for access in kernel.accesses():
        reach = zip(access.coefficients, kernel.extents, strict=True)
        size = 1 + access.offset + access.told + sum(c * (n - 1) for c, n in reach if c > 0)
        if kernel.halving is not None and access is kernel.halving.store:
            size += kernel.halving.distance - kernel.halving.back
        sizes[access.argument] = max(sizes[access.argument], size)
    return [memory_type(t, n) for t, n in zip(kernel.element_types, sizes, strict=True)]


class PointWriter:
    """The function of one kernel, the place in it that is written, and what was read there."""

    def __init__(self, kernel: Kernel, schedule: Schedule) -> None:
        self.kernel = kernel
        self.schedule = schedule
        types: list[Attribute] = list(kernel_types(kernel))
        self.entry = Block(arg_types=[*types, index, index])
        self.builder = LoopBuilder(self.entry)
        self.state = State()
        self.cache: dict[object, SSAValue] = {}
        self.moving: dict[tuple[Block, bool], set[SSAValue]] = {}
        self.bodies: dict[Block, Sequence[tuple[Operation, arith.MulfOp | None]]] = {}
        self.half = 0

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

    # --- reads ---------------------------------------------------------------------------------

    def _address(self, access: Access, point: Point) -> SSAValue:
        return self.builder.linear(*self._place(access, point))

    def _place(self, access: Access, point: Point) -> tuple[tuple[tuple[SSAValue, int], ...], int]:
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
        place = self._place(access, point)
        lanes = self.state.lanes if lane_moves else 1
        key = (access.argument, place, lanes)
        found = self.cache.get(key)
        if found is None:
            source = self.entry.args[access.argument]
            found = self.cache[key] = self.builder.load(source, self.builder.linear(*place), lanes)
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
        return base + point.get(members, 0), self._place(access, {**point, members: -base})

    def _vector(self, value: SSAValue) -> SSAValue:
        """A value as wide as the accumulators are."""
        return self._wide(value) if self._vector_points else value

    # --- bodies -----------------------------------------------------------------------------

    def _evaluate(
        self, stage: Stage, point: Point, flight: SSAValue | None, folding: bool = False
    ) -> SSAValue:
        """What a body computes at a point; `flight` is the accumulator or the value so far."""
        lane = self.schedule.lane
        wide = self.state.lanes > 1 and (folding or self._vector_points)
        moving: set[SSAValue] = set()
        if wide and lane is not None:
            vector_flight = flight is not None and _is_vector(flight)
            moving = self._varying(stage, lane, vector_flight)
        values: dict[SSAValue, SSAValue] = {}
        if flight is not None and len(stage.body.args) > len(stage.inputs):
            values[stage.body.args[-1]] = flight
        arguments: dict[SSAValue, Access] = {}
        for argument, access in zip(stage.body.args, stage.inputs, strict=False):
            if access is not None:
                arguments[argument] = access
            elif flight is not None:
                values[argument] = flight
        if flight is not None and stage is self.kernel.anchor:
            values[stage.body.args[-1]] = flight

        def value_of(operand: SSAValue) -> SSAValue:
            value = values.get(operand)
            if value is None:
                value = self._read(arguments[operand], point, operand in moving)
                values[operand] = value
            return value

        for op, product in self._operations(stage):
            if product is not None:
                value = self._multiply_add(op, product, value_of)
            else:
                value = self._operation(op, value_of, moving, point)
            values[only_result(op)] = value
        return value_of(stage.yielded)

    def _varying(self, stage: Stage, lane: int, vector_flight: bool) -> set[SSAValue]:
        """What `varying` says, asked once instead of for every point."""
        key = (stage.body, vector_flight)
        if key not in self.moving:
            self.moving[key] = varying(stage, lane, self.kernel, vector_flight)
        return self.moving[key]

    def _operations(self, stage: Stage) -> Sequence[tuple[Operation, arith.MulfOp | None]]:
        """The operations of a body, each with the product that it takes in, which is no step."""
        known = self.bodies.get(stage.body)
        if known is None:
            exact = _places_and_weights(stage)
            found = [
                (op, None if op in exact else _factor(op))
                for op in stage.body.ops
                if not isinstance(op, YieldOp)
            ]
            products = {product for _, product in found}
            known = [(op, product) for op, product in found if op not in products]
            self.bodies[stage.body] = known
        return known

    def _operation(
        self,
        op: Operation,
        value_of: Callable[[SSAValue], SSAValue],
        moving: set[SSAValue],
        point: Point,
    ) -> SSAValue:
        (result,) = op.results
        if isinstance(op, arith.ConstantOp):
            data = op.value
            if isinstance(data, FloatAttr | IntegerAttr):
                return self.builder.constant(data.value.data, result.type)
            raise CompilerBug(f"a body with the constant {data}")
        if isinstance(op, IndexOp):
            return self._loop_index(op.dim.value.data, point)
        if isinstance(op, tensor.ExtractOp):
            return self._extract(op, value_of, moving)
        operands = [value_of(operand) for operand in operands_of(op)]
        result_type = result.type
        if isinstance(op, arith.ExtFOp) and result_type == f32:
            return self._single(operands[0])
        if any([_is_vector(operand) for operand in operands]):
            operands = [self._wide(operand) for operand in operands]
            result_type = vector_type(result_type, self.state.lanes)
        return self.builder.add(type(op), operands, result_type, op.properties)

    def _read_single(self, access: Access, point: Point, lane_moves: bool) -> SSAValue:
        """The same as float32, where it is narrower."""
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
        return value if _is_vector(value) else self._splat(value)

    def _splat(self, value: SSAValue) -> SSAValue:
        key = ("splat", value, self.state.lanes)
        found = self.cache.get(key)
        if found is None:
            found = self.cache[key] = self.builder.splat(value, self.state.lanes)
        return found

    def _multiply_add(
        self, op: Operation, product: arith.MulfOp, value_of: Callable[[SSAValue], SSAValue]
    ) -> SSAValue:
        """acc + a * b as one fused operation, of vectors and of numbers alike: which cells are in a
        vector may depend on the number of threads, what they become does not.
        """
        multiplied = only_result(product)
        addend = next(o for o in operands_of(op) if o is not multiplied)
        values = [value_of(operand) for operand in (*operands_of(product), addend)]
        if any([_is_vector(value) for value in values]):
            values = [self._wide(v) for v in values]
            return self.builder.add(vector.FMAOp, values, values[0].type)
        return self.builder.add(math.FmaOp, values, values[0].type)

    def _loop_index(self, dim: int, point: Point) -> SSAValue:
        loop = self.kernel.index_of[dim]
        if loop is None:
            return self.builder.constant(self.half)
        base = self.state.bases.get(loop, 0)
        offset = point.get(loop, 0)
        if isinstance(base, int):
            return self.builder.constant(base + offset)
        return self.builder.linear([(base, 1)], offset)

    def _extract(
        self,
        op: tensor.ExtractOp,
        value_of: Callable[[SSAValue], SSAValue],
        moving: Mapping[SSAValue, object] | set[SSAValue],
    ) -> SSAValue:
        """A read at computed coordinates: a vector when the last one runs along the lane.

        A vector of coordinates says for each lane where its element lies.
        """
        held = self.kernel.captured[op.tensor]
        source = self.entry.args[held.argument]
        terms: list[tuple[SSAValue, int]] = []
        apart: list[tuple[SSAValue, int]] = []
        for at, stride in zip(op.indices, held.strides, strict=True):
            value = value_of(at)
            if _is_vector(value):
                apart.append((value, stride))
            else:
                terms.append((self.builder.local(value), stride))
        first = self.builder.linear(terms, 0)
        if apart:
            return self.builder.gather(source, first, self._places(apart))
        along = any(at in moving for at in op.indices)
        lanes = self.state.lanes if along and self._vector_points else 1
        return self.builder.load(source, first, lanes)

    def _places(self, terms: Sequence[tuple[SSAValue, int]]) -> SSAValue:
        """The sum of vectors of coordinates, each times a stride."""
        lanes = self.state.lanes
        kind = vector_type(i32, lanes)
        found: list[SSAValue] = []
        for value, stride in terms:
            short = self.builder.add(arith.IndexCastOp, [value], kind)
            factor = self._splat(self.builder.constant(stride, i32))
            found.append(self.builder.binary(arith.MuliOp, short, factor))
        return reduce(partial(self.builder.binary, arith.AddiOp), found)


def _is_vector(value: SSAValue) -> bool:
    return type(value.type) is VectorType


def _places_and_weights(stage: Stage) -> set[Operation]:
    """What is computed before elements are read at computed coordinates.

    It is rounded step by step, in vectors as in scalars: a floor may hang on the last bit.
    """
    if not extracts(stage):
        return set()
    read: set[Operation] = set()
    for op in stage.body.ops:
        if isinstance(op, tensor.ExtractOp) or any(o.owner in read for o in op.operands):
            read.add(op)
    return {*stage.body.ops} - read


def _factor(op: Operation) -> arith.MulfOp | None:
    """The product that an addition takes in, if nobody else reads it."""
    if not isinstance(op, arith.AddfOp):
        return None
    for operand in reversed(op.operands):
        owner = operand.owner
        if isinstance(owner, arith.MulfOp) and operand.has_one_use():
            return owner
    return None
