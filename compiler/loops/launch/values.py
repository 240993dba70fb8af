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
from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.loops.emit.loop_builder import LoopBuilder, index
from ncc.compiler.loops.launch.numbers import WORD, Number, Table
from ncc.compiler.loops.launch.script import Argument, Launch
from ncc.dialects import rt
from ncc.dialects.operation import append, only_result
from ncc.dialects.size import is_of_tile


class Values:
    """Values where the builder is: at first at the end of `front`, then in the body of a loop.

    is_last: 1 in the last iteration of this loop, if that has a smaller tile.
    """

    def __init__(self, front: Block, buffers: SSAValue, table: Table) -> None:
        self.front, self.builder = front, LoopBuilder(front)
        self.buffers, self.table = buffers, table
        self.is_last: SSAValue | None = None

    @cached_property
    def _words(self) -> SSAValue:
        return self.in_front(self.table.memory(self.buffers))

    def in_front(self, op: Operation) -> SSAValue:
        """The result of an operation in front of all loops."""
        append(self.front, op)
        return only_result(op)

    def value(self, number: int | Number) -> SSAValue:
        """A number, or what the run tells for it."""
        number = number if isinstance(number, Number) else Number(number)
        if not number.is_told:
            return self.builder.constant(number.value)
        words, at = self._words, self.builder.constant(self.table.places[number])
        if self.is_last is not None and is_of_tile(number.value):
            at = self.sum(at, self.is_last)
        return self.builder.add(memref.LoadOp, [words, at], index)

    def told(self, launch: Launch) -> list[SSAValue]:
        """What a kernel is told: where its sizes are, and its numbers."""
        sizes, further = launch.sizes, None
        if self.is_last is not None and is_of_tile(*sizes):
            further = self.times(self.is_last, WORD * len(sizes))
        row = [self._here(self.table.row(self.buffers, sizes, further))] if sizes else []
        return row + [self.value(number) for number in launch.numbers]

    def memory(self, argument: Argument, further: SSAValue | None = None) -> SSAValue:
        """Memory of a kernel. further: beyond where it begins."""
        if argument.begin.is_told:
            begin = self.value(argument.begin)
            further = begin if further is None else self.sum(begin, further)
        return self._here(self.buffer_of(argument, further))

    def buffer_of(self, argument: Argument, further: SSAValue | None = None) -> rt.BufferOp:
        """The same as an operation that stands nowhere yet."""
        offset = 0 if argument.begin.is_told else argument.offset
        return rt.BufferOp(self.buffers, argument.buffer, argument.type, offset, further)

    def set_last(self, iteration: SSAValue, count: int) -> None:
        """Tell the last of so many iterations from all others."""
        one, zero = self.builder.constant(1), self.builder.constant(0)
        end = self.builder.binary(arith.SubiOp, self.value(count), one)
        is_last = self._here(arith.CmpiOp(iteration, end, "eq"))
        self.is_last = self.builder.select(is_last, one, zero)

    def sum(self, a: SSAValue, b: SSAValue) -> SSAValue:
        return self.builder.binary(arith.AddiOp, a, b)

    def times(self, a: SSAValue, number: int) -> SSAValue:
        return self.builder.binary(arith.MuliOp, a, self.value(number))

    def _here(self, op: Operation) -> SSAValue:
        self.builder.put(op)
        return only_result(op)
