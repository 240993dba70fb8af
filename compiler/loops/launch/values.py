"""The numbers and the memory of a run, as values of a function that is being written.

    front    %zero = arith.constant 0 : index             constants, once each
             %numbers = rt.buffer %buffers[3] : ..        the numbers of the run
    block    %begin = memref.load %numbers[1]             what is read where it is needed
             %x = rt.buffer %buffers[1] further %begin : memref<?xf32>

Numbers are loaded again wherever they are needed, since calls stand in between.
"""

from __future__ import annotations

from functools import cached_property

from xdsl.dialects import arith, memref
from xdsl.dialects.builtin import IndexType
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.loops.launch.numbers import WORD, Number, Table
from ncc.compiler.loops.launch.script import Argument, Launch
from ncc.dialects import rt
from ncc.dialects.operation import append, make, only_result
from ncc.dialects.size import is_of_tile
from ncc.dialects.structured import constant

index = IndexType()


class Values:
    """Values at the end of `block`: at first of `front`, then of the body of a loop that is to
    stand there.

    is_last: 1 in the last iteration of this loop, if that has a smaller tile.
    """

    def __init__(self, front: Block, buffers: SSAValue, table: Table) -> None:
        self.front = self.block = front
        self.buffers, self.table = buffers, table
        self.is_last: SSAValue | None = None
        self._constants: dict[int, SSAValue] = {}

    @cached_property
    def _words(self) -> SSAValue:
        return _added(self.front, self.table.memory(self.buffers))

    def constant(self, number: int) -> SSAValue:
        """A number that is the same for all runs."""
        if number not in self._constants:
            self._constants[number] = _added(self.front, constant(number, index))
        return self._constants[number]

    def value(self, number: int | Number) -> SSAValue:
        """A number, or what the run tells for it."""
        number = number if isinstance(number, Number) else Number(number)
        if not number.is_told:
            return self.constant(number.value)
        words, at = self._words, self.constant(self.table.word(number))
        if self.is_last is not None and is_of_tile(number.value):
            at = self.sum(at, self.is_last)
        return self._added(make(memref.LoadOp, operands=[words, at], result_types=[index]))

    def told(self, launch: Launch) -> list[SSAValue]:
        """What a kernel is told: where its sizes are, and its numbers."""
        sizes, further = launch.sizes, None
        if self.is_last is not None and is_of_tile(*sizes):
            further = self.times(self.is_last, WORD * len(sizes))
        row = [self._added(self.table.row(self.buffers, sizes, further))] if sizes else []
        return row + [self.value(number) for number in launch.numbers]

    def memory(self, argument: Argument, further: SSAValue | None = None) -> SSAValue:
        """Memory of a kernel. further: beyond where it begins."""
        if argument.begin.is_told:
            begin = self.value(argument.begin)
            further = begin if further is None else self.sum(begin, further)
        return buffer_of(self.block, self.buffers, argument, further)

    def set_last(self, iteration: SSAValue, count: int) -> None:
        """Tell the last of so many iterations from all others."""
        one = self.constant(1)
        end = self._added(
            make(arith.SubiOp, operands=[self.value(count), one], result_types=[index])
        )
        is_last = self._added(arith.CmpiOp(iteration, end, "eq"))
        self.is_last = self._added(arith.SelectOp(is_last, one, self.constant(0)))

    def sum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self._added(make(arith.AddiOp, operands=[a, b], result_types=[index]))

    def times(self, a: SSAValue, number: int) -> SSAValue:
        operands = [a, self.value(number)]
        return self._added(make(arith.MuliOp, operands=operands, result_types=[index]))

    def _added(self, op: Operation) -> SSAValue:
        return _added(self.block, op)


def buffer_of(
    block: Block, buffers: SSAValue, argument: Argument, further: SSAValue | None = None
) -> SSAValue:
    """Memory of a kernel, at the end of a block."""
    offset = 0 if argument.begin.is_told else argument.offset
    return _added(block, rt.BufferOp(buffers, argument.buffer, argument.type, offset, further))


def _added(block: Block, op: Operation) -> SSAValue:
    append(block, op)
    return only_result(op)
