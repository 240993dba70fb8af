"""Loops of independent iterations as vectors: `rt.lanes` of an `rt.code`.

    rt.lanes 0 to 37 { ^bb0(%i): x[j, %i] = f(x[j, %i], s[j]) }
        ->  scf.for %i = 0 to 32 step 16 { the body on vectors of 16 }
            the body on one vector at 32, with a mask for 5 lanes

Values that are the same in all lanes stay scalars; an operation with a vector broadcasts them. An
index that is read lane by lane is an i64 there. If a loop is known to be shorter than a vector, its
vectors have the next power of two as length. If it is known to be a few vectors long, it is
unrolled. An `rt.reduce` combines its values in the lanes of one vector, and these lanes at the end.
A long one uses four vectors, since each iteration would wait for the one before.

Needs: a body of arithmetic, whose accesses move with the lane in the last index or not at all.
Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xdsl.dialects import arith, memref, scf, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, f64, i1, i64
from xdsl.ir import Attribute, Block, Operation, OpResult, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.loop_builder import vector_type
from ncc.compiler.loops.schedule.schedule import LONG_REDUCTION, SIDE_BY_SIDE
from ncc.compiler.target import Target
from ncc.dialects.code import LanesOp, ReduceOp, ReduceReturnOp
from ncc.dialects.element import number
from ncc.dialects.operation import NOTHING, make, only_result, ops_of
from ncc.dialects.scalar import flags_of

index = IndexType()

MOST_UNROLLED = 8
"""The most vectors of a loop that is unrolled."""


@dataclass(frozen=True)
class Reduction:
    """How to combine two vectors, how the lanes of one vector, and the neutral element."""

    operation: type[Operation]
    across: vector.CombiningKindFlag
    neutral: float

    @property
    def flags(self) -> dict[str, Attribute]:
        """The properties of the operation."""
        return dict(flags_of(self.operation))


REDUCTIONS = {
    "add": Reduction(arith.AddfOp, vector.CombiningKindFlag.ADD, 0.0),
    "max": Reduction(arith.MaxnumfOp, vector.CombiningKindFlag.MAXNUMF, float("-inf")),
}


def widen(body: Block, target: Target) -> None:
    """Replace every `rt.lanes` and `rt.reduce` in the block by vectors of the target."""
    for op in list(body.walk()):
        if isinstance(op, LanesOp | ReduceOp):
            _Lanes(op, target).write()
            _block_of(op).erase_op(op)


class _Lanes:
    """One loop, while its vectors are inserted in front of it."""

    def __init__(self, op: LanesOp | ReduceOp, target: Target) -> None:
        self.op = op
        first, last = _constant(op.first), _constant(op.last)
        self.count = None if first is None or last is None else max(last - first, 0)
        wide = any(r.type == f64 for inner in op.body.block.ops for r in inner.results)
        self.width = max(target.lanes // 2, 1) if wide else target.lanes
        while self.count is not None and self.width >= 2 * max(self.count, 1):
            self.width //= 2
        self.spread: dict[SSAValue, SSAValue] = {}
        self.reduction = REDUCTIONS[op.combine.data] if isinstance(op, ReduceOp) else None
        self.neutral = (
            []
            if self.reduction is None
            else [self.wide(self._constant(self.reduction.neutral, op.results[0].type))]
        )

    def write(self) -> None:
        """Whole vectors, then the rest in one vector with a mask."""
        combined = self.neutral
        rest = None if self.count is None else self.count % self.width
        if self.count == 0:
            pass
        elif rest == 0:
            combined = self._whole(self.op.last, combined)
        else:
            width = self._constant(self.width, index)
            count = self._before(arith.SubiOp, [self.op.last, self.op.first], index)
            left = self._before(arith.RemUIOp, [count, width], index)
            end = self._before(arith.SubiOp, [self.op.last, left], index)
            if self.count is None or self.count > self.width:
                combined = self._whole(end, combined)
            mask = self._before(vector.CreateMaskOp, [left], vector_type(i1, self.width))
            combined = self._inserted(_Body(self, mask), end, combined)
        if isinstance(self.op, ReduceOp) and self.reduction is not None:
            kind = {"kind": vector.CombiningKindAttr(self.reduction.across)}
            operands = [*combined, self.op.initial]
            total = self._before(vector.ReductionOp, operands, self.op.result.type, kind)
            self.op.result.replace_all_uses_with(total)

    def _whole(self, end: SSAValue, combined: list[SSAValue]) -> list[SSAValue]:
        """The vectors up to `end`: in a loop, unless they are known to be few."""
        start = _constant(self.op.first)
        if self.count is None or start is None or self.count // self.width > MOST_UNROLLED:
            return self._loops(end, combined)
        for position in range(self.count // self.width):
            at = self._constant(start + position * self.width, index)
            combined = self._inserted(_Body(self, None), at, combined)
        return combined

    def _loops(self, end: SSAValue, combined: list[SSAValue]) -> list[SSAValue]:
        """The vectors up to `end` in a loop. A long reduction combines several of them side by
        side, and the remaining ones in a second loop.
        """
        few = self.count is not None and self.count // self.width < LONG_REDUCTION
        how = self.reduction
        if how is None or few:
            return self._loop(self.op.first, end, combined)
        count = self._before(arith.SubiOp, [end, self.op.first], index)
        together = self._constant(SIDE_BY_SIDE * self.width, index)
        left = self._before(arith.RemUIOp, [count, together], index)
        middle = self._before(arith.SubiOp, [end, left], index)
        several = self._loop(self.op.first, middle, combined * SIDE_BY_SIDE)
        while len(several) > 1:
            pairs = zip(several[: len(several) // 2], several[len(several) // 2 :], strict=True)
            several = [self._before(how.operation, [a, b], a.type, how.flags) for a, b in pairs]
        return self._loop(middle, end, several)

    def _inserted(self, body: _Body, at: SSAValue, combined: list[SSAValue]) -> list[SSAValue]:
        """One vector, in front of the loop that is replaced."""
        made, combined = body.write(at, combined)
        for op in made:
            self._insert(op)
        return combined

    def _loop(self, first: SSAValue, end: SSAValue, combined: list[SSAValue]) -> list[SSAValue]:
        """A loop from `first` to `end`: one vector an iteration, or one for each partial result."""
        types = [value.type for value in combined]
        block = Block(arg_types=[index, *types])
        at: SSAValue = block.args[0]
        before: list[SSAValue] = list(block.args[1:])
        vectors = max(len(types), 1)
        step = self._constant(vectors * self.width, index)
        results: list[SSAValue] = []
        for position in range(vectors):
            if position:
                further = arith.AddiOp(at, self._constant(self.width, index))
                block.add_op(further)
                at = further.result
            made, result = _Body(self, None).write(at, before[position : position + 1])
            block.add_ops(made)
            results += result
        block.add_op(scf.YieldOp(*results))
        bounds = [first, end, step]
        loop = make(
            scf.ForOp, operands=[*bounds, *combined], result_types=types, regions=[Region(block)]
        )
        self._insert(loop)
        return list(loop.results)

    def _constant(self, value: float, kind: Attribute) -> SSAValue:
        return self._before(arith.ConstantOp, [], kind, {"value": number(value, kind)})

    def wide(self, value: SSAValue) -> SSAValue:
        """A value from outside of the loop in every lane; it is broadcast once."""
        if value not in self.spread:
            number = value
            if isinstance(value.type, IndexType):
                number = self._before(arith.IndexCastOp, [value], i64)
            kind = vector_type(number.type, self.width)
            self.spread[value] = self._before(vector.BroadcastOp, [number], kind)
        return self.spread[value]

    def _before(
        self,
        operation: type[Operation],
        operands: Sequence[SSAValue],
        kind: Attribute,
        properties: Mapping[str, Attribute] = NOTHING,
    ) -> SSAValue:
        """One operation in front of the loop."""
        op = make(operation, operands=operands, result_types=[kind], properties=properties)
        self._insert(op)
        return only_result(op)

    def _insert(self, op: Operation) -> None:
        _block_of(self.op).insert_op_before(op, self.op)


class _Body:
    """The body of a loop on one vector; `mask` keeps some of its lanes."""

    def __init__(self, lanes: _Lanes, mask: SSAValue | None) -> None:
        self.lanes = lanes
        self.mask = mask
        self.made: list[Operation] = []
        self.values: dict[SSAValue, SSAValue] = {}
        self.moving: set[SSAValue] = set()

    def write(
        self, start: SSAValue, combined: list[SSAValue]
    ) -> tuple[list[Operation], list[SSAValue]]:
        """The operations for the vector whose first lane is `start`, and the results so far."""
        body = self.lanes.op.body.block
        self.values[body.args[0]] = start
        self.moving.add(body.args[0])
        for op in ops_of(body):
            match op:
                case memref.LoadOp():
                    self._load(op)
                case memref.StoreOp():
                    self._store(op)
                case ReduceReturnOp():
                    combined = [self._combine(combined[0], op.value)]
                case _:
                    self._operation(op)
        return self.made, combined

    def _combine(self, before: SSAValue, given: SSAValue) -> SSAValue:
        """The result so far, combined with that of this vector."""
        reduction = self.lanes.reduction
        if reduction is None:
            raise CompilerBug("a value is returned, and nothing combines it")
        value = self._wide(given)
        product = value.owner
        multiplied = isinstance(product, arith.MulfOp) and product is self.made[-1]
        if multiplied and self.mask is None and reduction.operation is arith.AddfOp:
            a, b = self.made.pop().operands
            return self._add(vector.FMAOp, [a, b, before], value.type)
        if self.mask is not None:
            chosen = [self.mask, value, self.lanes.neutral[0]]
            value = self._add(arith.SelectOp, chosen, value.type)
        return self._add(reduction.operation, [before, value], value.type, reduction.flags)

    def _add(
        self,
        operation: type[Operation],
        operands: Sequence[SSAValue],
        kind: Attribute,
        properties: Mapping[str, Attribute] = NOTHING,
    ) -> SSAValue:
        """One more operation of the body."""
        op = make(operation, operands=operands, result_types=[kind], properties=properties)
        self.made.append(op)
        return only_result(op)

    def _value(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def _wide(self, value: SSAValue) -> SSAValue:
        """A value as a vector."""
        if value not in self.values:
            return self.lanes.wide(value)
        found = self.values[value]
        if isinstance(found.type, VectorType):
            return found
        if isinstance(found.type, IndexType):
            found = self._add(arith.IndexCastOp, [found], i64)
        kind = vector_type(found.type, self.lanes.width)
        return self._add(vector.BroadcastOp, [found], kind)

    # --- memory -----------------------------------------------------------------------------

    def _moves(self, indices: list[SSAValue]) -> bool:
        """Whether an access is a vector: its last index moves with the lane, no other does."""
        moving = [at in self.moving for at in indices]
        if any(moving[:-1]):
            raise CompilerBug("lanes that are not neighbours in memory")
        return moving[-1]

    def _load(self, op: memref.LoadOp) -> None:
        source, *indices = op.operands
        at = [source, *(self._value(index) for index in indices)]
        (result,) = op.results
        kind = vector_type(result.type, self.lanes.width)
        if not self._moves(indices):
            self.values[result] = self._add(memref.LoadOp, at, result.type)
        elif self.mask is None:
            self.values[result] = self._add(vector.LoadOp, at, kind)
        else:
            zero = self._add(arith.ConstantOp, [], result.type, {"value": number(0, result.type)})
            zeros = self._add(vector.BroadcastOp, [zero], kind)
            self.values[result] = self._add(vector.MaskedLoadOp, [*at, self.mask, zeros], kind)

    def _store(self, op: memref.StoreOp) -> None:
        value, target, *indices = op.operands
        if not self._moves(indices):
            raise CompilerBug("all lanes write to one address")
        at = [target, *(self._value(index) for index in indices)]
        stored = self._wide(value)
        if self.mask is None:
            self.made.append(make(vector.StoreOp, operands=[stored, *at]))
        else:
            self.made.append(make(vector.MaskedStoreOp, operands=[*at, self.mask, stored]))

    # --- arithmetic -------------------------------------------------------------------------

    def _operation(self, op: Operation) -> None:
        (result,) = op.results
        if any(operand in self.moving for operand in op.operands):
            self._note_index(op)
        operands = [self._value(operand) for operand in op.operands]
        kind = result.type
        if any(isinstance(operand.type, VectorType) for operand in operands):
            if isinstance(op, arith.IndexCastOp):  # in vectors, an index is an i64
                (self.values[result],) = operands
                return
            kind = i64 if isinstance(kind, IndexType) else kind
            operands = [self._wide(operand) for operand in op.operands]
            kind = vector_type(kind, self.lanes.width)
        self.values[result] = self._add(type(op), operands, kind, op.properties)

    def _note_index(self, op: Operation) -> None:
        """Note that an index moves with the lane, by one from lane to lane."""
        moving = [operand in self.moving for operand in op.operands]
        if moving not in ([True, False], [False, True]) or not (
            isinstance(op, arith.AddiOp) or (isinstance(op, arith.SubiOp) and moving[0])
        ):
            raise CompilerBug(f"{op.name} of the index of a lane")
        self.moving.add(op.results[0])


def _block_of(op: Operation) -> Block:
    block = op.parent
    if block is None:
        raise CompilerBug("a loop of lanes outside of any block")
    return block


def _constant(value: SSAValue) -> int | None:
    """An index that is known at compile time."""
    op = value.op if isinstance(value, OpResult) else None
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None
