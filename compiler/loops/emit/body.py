"""Writes the bodies of a kernel at one point, operation by operation."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property, partial, reduce

from xdsl.dialects import arith, math, tensor, vector
from xdsl.dialects.builtin import FloatAttr, IntegerAttr, f32, i32
from xdsl.dialects.linalg.ops import IndexOp, YieldOp
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import vector_type
from ncc.compiler.loops.emit.position import Part, Point, Position
from ncc.compiler.loops.emit.reads import Reads, is_vector
from ncc.compiler.loops.kernel.kernel import Access, Stage, size_ops
from ncc.compiler.loops.kernel.vector_loops import varying
from ncc.dialects.element import is_integer
from ncc.dialects.operation import only_result, operands_of, ops_of
from ncc.dialects.rt import SizeOp


class Body(Part):
    """The bodies of a kernel at its points."""

    def __init__(self, position: Position, reads: Reads) -> None:
        super().__init__(position)
        self.reads = reads
        self.moving: dict[tuple[Block, bool], set[SSAValue]] = {}
        """For each body, the values that differ from lane to lane."""
        self.bodies: dict[Block, Sequence[tuple[Operation, arith.MulfOp | None]]] = {}
        self.part = 0
        """Which part of a value is computed, if it is split into two bf16 numbers."""

    def evaluate(
        self, stage: Stage, point: Point, flight: SSAValue | None, reduces_lane: bool = False
    ) -> SSAValue:
        """The result of a body at a point; `flight` is the accumulator, or the value so far."""
        lane = self.schedule.lane
        wide = self.state.lanes > 1 and (reduces_lane or self.position.vector_points)
        moving: set[SSAValue] = set()
        if wide and lane is not None:
            vector_flight = flight is not None and is_vector(flight)
            moving = self._varying(stage, lane, vector_flight)
        values = {} if flight is None else self._in_flight(stage, flight)
        arguments: dict[SSAValue, Access | None] = dict(
            zip(stage.body.args, stage.inputs, strict=False)
        )

        def value_of(operand: SSAValue) -> SSAValue:
            value = values.get(operand)
            if value is None:
                access = arguments[operand]
                if access is None:
                    raise CompilerBug("a body that reads a value which is not there")
                value = values[operand] = self.reads.read(access, point, operand in moving)
            return value

        for op, product in self._operations(stage):
            if product is not None:
                value = self._multiply_add(op, product, value_of)
            else:
                value = self._operation(op, value_of, moving, point)
            values[only_result(op)] = value
        return value_of(stage.yielded)

    @cached_property
    def _sizes(self) -> dict[Operation, int]:
        """The numbers that bodies name."""
        return dict(zip(size_ops(self.kernel.stages), self.kernel.body_sizes, strict=True))

    def initial(self, point: Point) -> SSAValue:
        """The initial value of the result at a point."""
        initial = self.kernel.initial
        if isinstance(initial, Stage):
            return self.evaluate(initial, point, None)
        if initial is None:
            return self.reads.read(self.kernel.store, point, self.position.vector_points)
        return self.builder.constant(initial, self.position.accumulated)

    def started(self, point: Point) -> SSAValue:
        """The initial value of the accumulator of a point."""
        with self.position.as_long_as(point):
            return self.reads.vector(self.initial(point))

    def accumulate(self, point: Point, value: SSAValue) -> SSAValue:
        """The accumulator of a point after one more iteration."""
        with self.position.as_long_as(point):
            return self.evaluate(self.kernel.anchor, point, value)

    def on_start(self, value: SSAValue, point: Point) -> SSAValue:
        """The initial value of the result, plus a sum that began with zero."""
        if self.kernel.initial == 0.0:
            return value
        add = arith.AddiOp if is_integer(self.position.accumulated) else arith.AddfOp
        return self.builder.binary(add, self.reads.vector(self.initial(point)), value)

    def _in_flight(self, stage: Stage, flight: SSAValue) -> dict[SSAValue, SSAValue]:
        """The arguments of a body that are the accumulator, or the value so far."""
        args = stage.body.args
        found = [a for a, access in zip(args, stage.inputs, strict=False) if access is None]
        if len(args) > len(stage.inputs) or stage is self.kernel.anchor:
            found.append(args[-1])
        return dict.fromkeys(found, flight)

    def _varying(self, stage: Stage, lane: int, vector_flight: bool) -> set[SSAValue]:
        """The values that differ from lane to lane, computed once for all points."""
        key = (stage.body, vector_flight)
        if key not in self.moving:
            self.moving[key] = varying(stage, lane, self.kernel, vector_flight)
        return self.moving[key]

    def _operations(self, stage: Stage) -> Sequence[tuple[Operation, arith.MulfOp | None]]:
        """The operations of a body, each with the product that is fused into it."""
        known = self.bodies.get(stage.body)
        if known is None:
            exact = _coordinates(stage)
            found = [
                (op, None if op in exact else _factor(op))
                for op in ops_of(stage.body)
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
        """One operation, on vectors if one of its operands is a vector."""
        (result,) = op.results
        if isinstance(op, arith.ConstantOp):
            data = op.value
            if isinstance(data, FloatAttr | IntegerAttr):
                return self.builder.constant(data.value.data, result.type)
            raise CompilerBug(f"a body with the constant {data}")
        if isinstance(op, IndexOp):
            return self._loop_index(op.dim.value.data, point)
        if isinstance(op, SizeOp):
            return self.builder.constant(self._sizes[op])
        if isinstance(op, tensor.ExtractOp):
            return self._extract(op, value_of, moving)
        operands = [value_of(operand) for operand in operands_of(op)]
        result_type = result.type
        if isinstance(op, arith.ExtFOp) and result_type == f32:
            return self.reads.single(operands[0])
        if any([is_vector(operand) for operand in operands]):
            operands = [self.reads.wide(operand) for operand in operands]
            result_type = vector_type(result_type, self.state.lanes)
        return self.builder.add(type(op), operands, result_type, op.properties)

    def _multiply_add(
        self, op: Operation, product: arith.MulfOp, value_of: Callable[[SSAValue], SSAValue]
    ) -> SSAValue:
        """acc + a * b as one fused operation, of vectors and of scalars alike: the number of
        threads may decide which elements are in a vector, but it must not change results.
        """
        multiplied = only_result(product)
        addend = next(o for o in operands_of(op) if o is not multiplied)
        values = [value_of(operand) for operand in (*operands_of(product), addend)]
        if any([is_vector(value) for value in values]):
            values = [self.reads.wide(v) for v in values]
            return self.builder.add(vector.FMAOp, values, values[0].type)
        return self.builder.add(math.FmaOp, values, values[0].type)

    def _loop_index(self, dim: int, point: Point) -> SSAValue:
        """The index of a loop, for a body that reads it."""
        loop = self.kernel.index_of[dim]
        if loop is None:
            return self.builder.constant(self.part)
        return self.builder.plus(*self.position.index_of(loop, point))

    def _extract(
        self,
        op: tensor.ExtractOp,
        value_of: Callable[[SSAValue], SSAValue],
        moving: set[SSAValue],
    ) -> SSAValue:
        """A read at computed coordinates: a vector if the last one runs along the lane.

        A vector of coordinates has the address of each lane's element.
        """
        held = self.kernel.captured[op.tensor]
        source = self.entry.args[held.argument]
        terms: list[tuple[SSAValue, int]] = []
        apart: list[tuple[SSAValue, int]] = []
        for at, stride in zip(op.indices, held.strides, strict=True):
            value = value_of(at)
            if is_vector(value):
                apart.append((value, stride))
            else:
                terms.append((self.builder.local(value), stride))
        first = self.builder.linear(terms, 0)
        if apart:
            return self.builder.gather(source, first, self._addresses(apart))
        along = any(at in moving for at in op.indices)
        lanes = self.state.lanes if along and self.position.vector_points else 1
        return self.builder.load(source, first, lanes)

    def _addresses(self, terms: Sequence[tuple[SSAValue, int]]) -> SSAValue:
        """Addresses: the sum of vectors of coordinates, each times a stride."""
        lanes = self.state.lanes
        kind = vector_type(i32, lanes)
        found: list[SSAValue] = []
        for value, stride in terms:
            short = self.builder.add(arith.IndexCastOp, [value], kind)
            factor = self.reads.splat(self.builder.constant(stride, i32))
            found.append(self.builder.binary(arith.MuliOp, short, factor))
        return reduce(partial(self.builder.binary, arith.AddiOp), found)


class PointPart(Part):
    """A part of an emitter that reads and computes at points."""

    def __init__(self, position: Position, reads: Reads, body: Body) -> None:
        super().__init__(position)
        self.reads, self.body = reads, body


def _coordinates(stage: Stage) -> set[Operation]:
    """The operations that computed coordinates depend on.

    Each of them rounds, in vectors as in scalars: the last bit may decide a floor.
    """
    if not stage.extracts:
        return set()
    read: set[Operation] = set()
    for op in ops_of(stage.body):
        if isinstance(op, tensor.ExtractOp) or any(o.owner in read for o in op.operands):
            read.add(op)
    return {*stage.body.ops} - read


def _factor(op: Operation) -> arith.MulfOp | None:
    """The product that is fused into an addition: one that no other operation reads."""
    if not isinstance(op, arith.AddfOp):
        return None
    for operand in reversed(op.operands):
        owner = operand.owner
        if isinstance(owner, arith.MulfOp) and operand.has_one_use():
            return owner
    return None
