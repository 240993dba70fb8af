"""A launch: the chunks of a kernel, taken and done until none are left.

    %done = rt.launch 56 of @k(%x, %y) after 123, %did, %buffers, %thread, %threads, %before
    ->  %done = llvm.call @ncc.launch.2(%state, %before, 123, 56, %thread, %threads, %did,
                                        @k, %x, %y)

The loop is a function for each number of arguments (memory, and numbers). Nearly all operations of
an entry point are launches, and they take none of its time, so small code matters.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from xdsl.dialects import llvm
from xdsl.dialects.builtin import IndexType, i64
from xdsl.ir import Attribute, Block, Region, SSAValue

from ncc.compiler.llvm.formulas.math import Library
from ncc.compiler.llvm.llvm_builder import POINTER, LlvmBuilder, element_pointer, function_op
from ncc.compiler.llvm.lowering import memory
from ncc.compiler.llvm.lowering.function import Function
from ncc.dialects import rt

TAKE = "ncc_take"
"""The name of this function in the runtime's text."""


def lower_launch(function: Function, op: rt.LaunchOp) -> None:
    """A call of the loop."""
    builder, library = function.builder, function.library
    arguments, told = list(op.arguments), function.values(op.told)
    state = memory.buffer_pointer(function, op.buffers, 0)
    after, counted = (builder.constant(number, i64) for number in (op.after.value.data, op.counted))
    passed = [state, function.value(op.before), after, told[0] if told else counted]
    passed += function.values([op.thread, op.threads, op.did])
    name = "ncc.launch"
    if op.timestamp is not None:
        name += ".timestamped"
        buffer, index = op.timestamp.get_values()
        table = memory.buffer_pointer(function, op.buffers, buffer)
        passed.append(function.addresses.step(table, index, i64, builder.root))
    if op.trace is not None:
        name += ".traced"
        buffer, step = op.trace.get_values()
        passed.append(memory.buffer_pointer(function, op.buffers, buffer))
        before_the_run = builder.entry.args[3]  # loops move on the `before` of a launch
        passed += [builder.constant(step, i64), before_the_run]
    units = told[1:]
    if op.at_once is not None:
        units = [builder.constant(n.value.data, i64) for n in (op.at_once, op.chunks)]
    together = bool(units)
    if together:
        name += ".together"
        passed += units
    if op.callee is not None:
        numbers = sum(isinstance(argument.type, IndexType) for argument in arguments)
        name += f".{len(arguments) - numbers}" + (f".{numbers}" if numbers else "")
        passed.append(builder.address_of(op.callee))
        passed += memory.passed(function, arguments)
    types = [value.type for value in passed]
    noted = op.timestamp is not None, op.trace is not None
    calling = op.callee is not None
    library.define(name, lambda: _loop(name, types, library, noted, calling, together))
    function.bind(op.done, builder.call(name, passed, [i64])[0])


def _now(builder: LlvmBuilder) -> SSAValue:
    return builder.intrinsic("llvm.readcyclecounter", [], i64)


class _Trace(NamedTuple):
    """The records of a trace, the number of the step, and the chunks of all runs before."""

    table: SSAValue
    step: SSAValue
    before: SSAValue

    def note(
        self, builder: LlvmBuilder, chunks: Sequence[SSAValue], thread: SSAValue, begun: SSAValue
    ) -> None:
        """Fill the record of the first of some chunks. chunks: it, and the one behind the last."""
        first, next = (builder.binary(llvm.SubOp, n, self.before) for n in chunks)
        word = builder.binary(llvm.MulOp, first, builder.constant(rt.TRACE_WORDS, i64))
        for number, value in enumerate((self.step, thread, next, begun, _now(builder))):
            place = builder.binary(llvm.AddOp, word, builder.constant(number, i64))
            pointer = builder.result(element_pointer(self.table, place, i64))
            memory.store(builder, value, pointer)


def _loop(
    name: str,
    types: list[Attribute],
    library: Library,
    noted: tuple[bool, bool],
    calling: bool,
    together: bool,
) -> llvm.FuncOp:
    """While there are chunks: call the kernel on them, note the time. Returns how many are done.

    noted: whether there are timestamps, and a trace. together: whether each unit is several chunks,
    the last one up to the number of chunks.
    """
    entry = Block(arg_types=types)
    taking, working, leaving = Block(arg_types=[i64]), Block(), Block()
    builder = LlvmBuilder(entry, library.target)
    library.declare(TAKE, [POINTER, i64, i64, i64, i64], i64)
    state, before, after, chunks, thread, threads, did, *others = entry.args
    timestamped, traced = noted
    timestamp = others.pop(0) if timestamped else None
    trace = _Trace(*(others.pop(0) for _ in range(3))) if traced else None
    at_once, most = (others.pop(0), others.pop(0)) if together else (None, None)
    begin = builder.binary(llvm.AddOp, before, after)
    builder.branch(taking, [did])

    builder.scope.block = taking
    (taken,) = builder.call(TAKE, [state, begin, chunks, thread, threads], [i64])
    low = builder.constant((1 << 32) - 1, i64)
    first = builder.binary(llvm.AndOp, taken, low)
    last = builder.binary(llvm.LShrOp, taken, builder.constant(32, i64))
    some = builder.compare("ne", first, last)
    builder.branch_if(some, working, [], leaving, [])

    builder.scope.block = working
    begun = _now(builder) if trace is not None else None
    if calling:
        kernel, *arguments = others
        from_, to = first, last
        if at_once is not None and most is not None:
            from_, end = (builder.binary(llvm.MulOp, n, at_once) for n in (first, last))
            to = builder.select(builder.compare("slt", end, most), end, most)
        builder.call_pointer(kernel, [*arguments, from_, to])
    if timestamp is not None:
        memory.store(builder, _now(builder), timestamp)
    if trace is not None and begun is not None:
        chunks_done = [builder.binary(llvm.AddOp, begin, n) for n in (first, last)]
        trace.note(builder, chunks_done, thread, begun)
    size = builder.binary(llvm.SubOp, last, first)
    builder.branch(taking, [builder.binary(llvm.AddOp, taking.args[0], size)])

    builder.scope.block = leaving
    builder.emit(llvm.ReturnOp.create(operands=taking.args))
    return function_op(
        name, types, i64, Region([entry, taking, working, leaving]), is_internal=True
    )
