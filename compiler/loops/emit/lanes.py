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

from collections.abc import Callable, Sequence

from xdsl.dialects import arith, memref, vector
from xdsl.dialects.builtin import IndexType, IntegerAttr, VectorType, f64, i1, i64
from xdsl.ir import Block, Operation, OpResult, SSAValue
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.combining import COMBINING
from ncc.compiler.loops.emit.loop_builder import LoopBuilder, vector_type
from ncc.compiler.loops.schedule.schedule import LONG_REDUCTION, SIDE_BY_SIDE
from ncc.compiler.target import Target
from ncc.dialects.code import LanesOp, ReduceOp, ReduceReturnOp
from ncc.dialects.operation import make, ops_of

MOST_UNROLLED = 8
"""The most vectors of a loop that is unrolled."""

_COMBINES: dict[str, type[Operation]] = {"add": arith.AddfOp, "max": arith.MaxnumfOp}
"""The operation of each way to combine that `rt.reduce` has."""


def widen(body: Block, target: Target) -> None:
    """Replace every `rt.lanes` and `rt.reduce` in the block by vectors of the target."""
    for op in list(body.walk()):
        if isinstance(op, LanesOp | ReduceOp):
            _Lanes(op, target).write()


class _Lanes:
    """One loop, while its vectors are written; they go in front of it."""

    def __init__(self, op: LanesOp | ReduceOp, target: Target) -> None:
        self.op, self.front = op, Block()
        self.builder = LoopBuilder(self.front)
        self.first = first = _constant(op.first)
        last = _constant(op.last)
        self.count = None if first is None or last is None else max(last - first, 0)
        wide = any(r.type == f64 for inner in op.body.block.ops for r in inner.results)
        self.width = max(target.lanes // 2, 1) if wide else target.lanes
        while self.count is not None and self.width >= 2 * max(self.count, 1):
            self.width //= 2
        self.combine = _COMBINES[op.combine.data] if isinstance(op, ReduceOp) else None
        self.spread: dict[SSAValue, SSAValue] = {}
        """Values from outside of the loop in every lane."""
        self.values: dict[SSAValue, SSAValue] = {}
        self.moving: set[SSAValue] = set()
        self.mask: SSAValue | None = None
        """Of one vector: its values, the indices that move with the lane, and its mask, if it
        has one.
        """

    def write(self) -> None:
        """Whole vectors, then the rest in one vector with a mask."""
        builder, op = self.builder, self.op
        combined = [] if self.combine is None else [self._neutral(self.combine)]
        if self.count is not None and self.count % self.width == 0:
            combined = self._whole(op.last, combined)
        else:
            left = builder.remainder(self._distance(op.first, op.last), self.width)
            end = self._distance(left, op.last)
            if self.count is None or self.count > self.width:
                combined = self._whole(end, combined)
            mask = builder.add(vector.CreateMaskOp, [left], vector_type(i1, self.width))
            combined = self._vector(end, combined, mask)
        if isinstance(op, ReduceOp) and self.combine is not None:
            kind = {"kind": vector.CombiningKindAttr(COMBINING[self.combine].across)}
            operands = [*combined, op.initial]
            total = builder.add(vector.ReductionOp, operands, op.result.type, kind)
            op.result.replace_all_uses_with(total)
        Rewriter.inline_block(self.front, InsertPoint.before(op))
        Rewriter.erase_op(op)

    def _neutral(self, combine: type[Operation]) -> SSAValue:
        """The neutral element in every lane."""
        kind = self.op.results[0].type
        return self._wide(self.builder.constant(COMBINING[combine].neutral, kind))

    def _distance(self, first: SSAValue, last: SSAValue) -> SSAValue:
        return self.builder.binary(arith.SubiOp, last, first)

    def _whole(self, end: SSAValue, combined: list[SSAValue]) -> list[SSAValue]:
        """The vectors up to `end`: in a loop, unless they are known to be few."""
        if self.count is None or self.first is None or self.count // self.width > MOST_UNROLLED:
            return self._loops(end, combined)
        for position in range(self.count // self.width):
            at = self.builder.constant(self.first + position * self.width)
            combined = self._vector(at, combined)
        return combined

    def _loops(self, end: SSAValue, combined: list[SSAValue]) -> list[SSAValue]:
        """The vectors up to `end` in a loop. A long reduction combines several of them side by
        side, and the remaining ones in a second loop.
        """
        few = self.count is not None and self.count // self.width < LONG_REDUCTION
        if self.combine is None or few:
            return self._loop(self.op.first, end, combined)
        count, together = self._distance(self.op.first, end), SIDE_BY_SIDE * self.width
        middle = self._distance(self.builder.remainder(count, together), end)
        several = self._loop(self.op.first, middle, combined * SIDE_BY_SIDE)
        while len(several) > 1:
            pairs = zip(several[: len(several) // 2], several[len(several) // 2 :], strict=True)
            several = [self.builder.binary(self.combine, a, b) for a, b in pairs]
        return self._loop(middle, end, several)

    def _loop(self, first: SSAValue, end: SSAValue, combined: list[SSAValue]) -> list[SSAValue]:
        """A loop from `first` to `end`: one vector an iteration, or one for each partial result."""
        vectors = max(len(combined), 1)

        def iteration(i: SSAValue, before: list[SSAValue]) -> Sequence[SSAValue]:
            results: list[SSAValue] = []
            for position in range(vectors):
                at = self.builder.plus(i, position * self.width)
                results += self._vector(at, before[position : position + 1])
            return results

        return self.builder.loop(first, end, vectors * self.width, combined, iteration)

    # --- one vector -------------------------------------------------------------------------

    def _vector(
        self, start: SSAValue, combined: list[SSAValue], mask: SSAValue | None = None
    ) -> list[SSAValue]:
        """The body for the vector whose first lane is `start`; returns the results so far. mask:
        keeps some of its lanes.
        """
        body = self.op.body.block
        self.values, self.moving, self.mask = {body.args[0]: start}, {body.args[0]}, mask
        for op in ops_of(body):
            match op:
                case memref.LoadOp():
                    self._load(op)
                case memref.StoreOp():
                    self._store(op)
                case ReduceReturnOp():
                    combined = [self._combined(combined[0], op.value)]
                case _:
                    self._operation(op)
        return combined

    def _combined(self, before: SSAValue, given: SSAValue) -> SSAValue:
        """The result so far, combined with that of this vector."""
        if self.combine is None:
            raise CompilerBug("a value is returned, and nothing combines it")
        value = self._wide(given)
        product, sums = value.owner, self.mask is None and self.combine is arith.AddfOp
        if sums and isinstance(product, arith.MulfOp) and product.next_op is None:
            a, b = product.operands
            total = self.builder.add(vector.FMAOp, [a, b, before], value.type)
            Rewriter.erase_op(product)
            return total
        if self.mask is not None:
            value = self.builder.select(self.mask, value, self._neutral(self.combine))
        return self.builder.binary(self.combine, before, value)

    def _value(self, value: SSAValue) -> SSAValue:
        return self.values.get(value, value)

    def _wide(self, value: SSAValue) -> SSAValue:
        """A value as a vector; one from outside of the loop is broadcast once, in front of it."""
        found = self.values.get(value)
        if found is not None:
            is_vector = isinstance(found.type, VectorType)
            return found if is_vector else self._broadcast(found, self.builder.add)
        if value not in self.spread:
            self.spread[value] = self._broadcast(value, self.builder.at_head)
        return self.spread[value]

    def _broadcast(self, value: SSAValue, add: Callable[..., SSAValue]) -> SSAValue:
        """A value in every lane; `add` places the operations."""
        if isinstance(value.type, IndexType):
            value = add(arith.IndexCastOp, [value], i64)
        return add(vector.BroadcastOp, [value], vector_type(value.type, self.width))

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
        kind = vector_type(result.type, self.width)
        if not self._moves(indices):
            self.values[result] = self.builder.add(memref.LoadOp, at, result.type)
        elif self.mask is None:
            self.values[result] = self.builder.add(vector.LoadOp, at, kind)
        else:
            zeros = self._wide(self.builder.constant(0, result.type))
            self.values[result] = self.builder.add(
                vector.MaskedLoadOp, [*at, self.mask, zeros], kind
            )

    def _store(self, op: memref.StoreOp) -> None:
        value, target, *indices = op.operands
        if not self._moves(indices):
            raise CompilerBug("all lanes write to one address")
        at = [target, *(self._value(index) for index in indices)]
        stored = self._wide(value)
        if self.mask is None:
            self.builder.put(make(vector.StoreOp, operands=[stored, *at]))
        else:
            self.builder.put(make(vector.MaskedStoreOp, operands=[*at, self.mask, stored]))

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
            operands = [self._wide(operand) for operand in op.operands]
            kind = vector_type(i64 if isinstance(kind, IndexType) else kind, self.width)
        self.values[result] = self.builder.add(type(op), operands, kind, op.properties)

    def _note_index(self, op: Operation) -> None:
        """Note that an index moves with the lane, by one from lane to lane."""
        moving = [operand in self.moving for operand in op.operands]
        if moving not in ([True, False], [False, True]) or not (
            isinstance(op, arith.AddiOp) or (isinstance(op, arith.SubiOp) and moving[0])
        ):
            raise CompilerBug(f"{op.name} of the index of a lane")
        self.moving.add(op.results[0])


def _constant(value: SSAValue) -> int | None:
    """An index that is known at compile time."""
    op = value.op if isinstance(value, OpResult) else None
    if isinstance(op, arith.ConstantOp) and isinstance(op.value, IntegerAttr):
        return op.value.value.data
    return None
