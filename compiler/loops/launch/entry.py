"""The entry point of a network: which kernels run on which memory, and where threads wait.

    func.func @run(%buffers: !llvm.ptr, %thread: index, %threads: index, %before: index) {
      %none = arith.constant 0 : index
      %x = rt.buffer %buffers[4] : memref<150528xf32>
      %did = rt.launch 56 of @contraction_8d04ab2c91f3(%x, %w, %y) after 0, %none,
               %buffers, %thread, %threads, %before : (...)
      rt.barrier %did until 56, %buffers, %threads, %before
      %last = scf.for %iteration = 0 to 500 iter_args(%carried = %none) {
        %x = rt.buffer %buffers[1] further %iteration * 13312 : memref<..>
        %moved = %before + %iteration * 50
        %some = rt.launch 14 of @transform_3fd0c1e2ab94(%x, .., %v) after 56, %carried,
                  %buffers, %thread, %threads, %moved : (...)
        rt.barrier %some until 70, %buffers, %threads, %moved
        %done = rt.launch 36 of @contraction_8d04ab2c91f3(%v, ..) after 70, %none, ..
        scf.yield %done
      }
      ...
      rt.end %last until 4321, %buffers, %thread, %threads, %before

Where a thread does whole iterations of a loop, a function of its own is launched in its place:

    func.func private @loop_0(%buffers: !llvm.ptr, %thread: index, %first: index, %last: index) {
      scf.for %iteration = %first to %last {
        %x = rt.buffer %buffers[1] further %iteration * 13312 : memref<..>
        %v = rt.buffer %buffers[1] further %thread * 119808 : memref<..>
        func.call @transform_3fd0c1e2ab94(%x, .., %v, 0, 14)
        func.call @contraction_8d04ab2c91f3(%v, .., 0, 36)
        ...

What a thread does beside the chunks that it takes is nothing that another one waits for, or sees.

What depends on the shapes of the inputs is loaded from the numbers of the run (`numbers.py`):

      %numbers = rt.buffer %buffers[3] : memref<9xindex>
      %chunks = memref.load %numbers[3]
      %begin = memref.load %numbers[1]
      %x = rt.buffer %buffers[1] further %begin : memref<?xf32>
      %sizes = rt.buffer %buffers[3] offset 56 : memref<2xi64>
      %did = rt.launch 0 told(%chunks) of @contraction_8d04ab2c91f3(%x, .., %sizes) after 0, ..
      %since = %before + %chunks
      ...

In a loop whose last tile is a smaller one, its numbers stand behind those of all others:

      scf.for %iteration = 0 to %count {
        %is_last = %iteration == %count - 1
        %last = arith.select %is_last, 1, 0
        %chunks = memref.load %numbers[3 + %last]
        %sizes = rt.buffer %buffers[3] offset 56 further %last * 16 : memref<2xi64>
        ..

On demand (`Timestamps`) the time is noted before the first kernel, and behind the last chunk of
each; of a loop, behind its last iteration. A `Trace` notes more: which thread does which chunks,
and when.

It is kept as plain data, a script (`script.py`), until the function is wanted.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ncc.compiler.loops.launch.numbers import WORD, Number, Table
from ncc.compiler.loops.launch.script import (
    Argument,
    Barrier,
    Launch,
    LoopLaunch,
    Script,
    Timestamps,
    Trace,
    table_of,
)
from ncc.dialects import rt
from ncc.dialects.functions import private_function
from ncc.dialects.operation import append, make, only_result
from ncc.dialects.size import in_full_tile, is_of_tile
from ncc.dialects.structured import constant

index = IndexType()


def write_run(
    script: Script, timestamps: Timestamps | None = None, trace: Trace | None = None
) -> func.FuncOp:
    """The entry point as a function; kernels are called by name, and so are private loops."""
    return _Entry(script, timestamps, trace).written()


def write_loops(script: Script) -> list[func.FuncOp]:
    """The functions of the loops whose iterations threads take."""
    loops = [step for step in script if isinstance(step, LoopLaunch)]
    table = table_of(script)
    return [_written(loop, loop.function, table) for loop in loops if loop.function is not None]


def _written(loop: LoopLaunch, name: str, table: Table) -> func.FuncOp:
    """The function that goes through some of the iterations, by one thread."""
    block = Block(arg_types=[LLVMPointerType(), index, index, index])
    buffers, thread, first, last = block.args
    one = _constant(1)
    zero = _constant(0)
    block.add_ops([zero, one])
    words = _added(block, table.memory(buffers)) if table.numbers else None
    body = Block(arg_types=[index])
    is_last: SSAValue | None = None

    def value(number: Number) -> SSAValue:
        if words is None or not number.is_told:
            return _added(body, _constant(number.value))
        at = _added(body, _constant(table.word(number)))
        return _loaded(body, words, _in_tile(body, number, at, is_last))

    if loop.is_of_tiles:
        count = value(Number(loop.count))
        is_last = _is_last(body, body.args[0], count, zero.result, one.result)
    for launch in loop.launches:
        given: list[SSAValue] = []
        for argument in launch.arguments:
            further: SSAValue | None = None
            is_moving = argument.by_iteration != 0
            by = argument.by_iteration if is_moving else argument.by_thread
            if by != 0:
                size = value(Number(by))
                further = _product(body, body.args[0] if is_moving else thread, size)
            begin = value(argument.begin) if argument.begin.is_told else None
            given.append(_memory(body, buffers, argument, further, begin))
        if launch.sizes:
            given.append(_row(body, buffers, table, launch.sizes, is_last))
        given += [value(Number(number)) for number in launch.numbers]
        chunks = value(Number(launch.chunks))
        body.add_op(func.CallOp(launch.kernel, [*given, zero.result, chunks], []))
    body.add_op(scf.YieldOp())
    block.add_ops([scf.ForOp(first, last, one, [], body), func.ReturnOp()])
    return private_function(name, block)


def _constant(number: int) -> arith.ConstantOp:
    return constant(number, index)


def _added(block: Block, op: Operation) -> SSAValue:
    """The result of an operation, at the end of a block."""
    append(block, op)
    return only_result(op)


def _sum(block: Block, a: SSAValue, b: SSAValue) -> SSAValue:
    return _added(block, make(arith.AddiOp, operands=[a, b], result_types=[index]))


def _product(block: Block, a: SSAValue, b: SSAValue) -> SSAValue:
    return _added(block, make(arith.MuliOp, operands=[a, b], result_types=[index]))


def _loaded(block: Block, words: SSAValue, at: SSAValue) -> SSAValue:
    return _added(block, make(memref.LoadOp, operands=[words, at], result_types=[index]))


def _is_last(
    block: Block, iteration: SSAValue, count: SSAValue, zero: SSAValue, one: SSAValue
) -> SSAValue:
    """1 in the last iteration, 0 in all others."""
    end = _added(block, make(arith.SubiOp, operands=[count, one], result_types=[index]))
    is_last = _added(block, arith.CmpiOp(iteration, end, "eq"))
    return _added(block, arith.SelectOp(is_last, one, zero))


def _in_tile(block: Block, number: Number, at: SSAValue, is_last: SSAValue | None) -> SSAValue:
    """The word of a number in this iteration. at: that in full tiles."""
    return at if is_last is None or not is_of_tile(number.value) else _sum(block, at, is_last)


def _row(
    block: Block,
    buffers: SSAValue,
    table: Table,
    sizes: tuple[int, ...],
    is_last: SSAValue | None,
) -> SSAValue:
    """The sizes of a kernel in this iteration."""
    further: SSAValue | None = None
    if is_last is not None and is_of_tile(*sizes):
        further = _product(block, is_last, _added(block, _constant(WORD * len(sizes))))
    return _added(block, table.row(buffers, sizes, further))


def _memory(
    block: Block,
    buffers: SSAValue,
    argument: Argument,
    further: SSAValue | None = None,
    begin: SSAValue | None = None,
) -> SSAValue:
    """Memory of a kernel. begin: where it begins, if that is told; further: beyond that."""
    offset = argument.offset if begin is None else 0
    if begin is not None:
        further = begin if further is None else _sum(block, begin, further)
    return _added(block, rt.BufferOp(buffers, argument.buffer, argument.type, offset, further))


class _Entry:
    """An entry point that is being written. `chunks`: of the launches so far, but those that the
    run tells, which count in `before`.

    `did` counts those that the thread has done since the last barrier. `block` is the body of a
    loop while that is written; what no iteration changes stands in front of the loop, in `entry`.
    `is_last` is 1 in the last iteration, if that has a smaller tile.
    """

    def __init__(self, script: Script, timestamps: Timestamps | None, trace: Trace | None) -> None:
        self.script = script
        self.entry = self.block = Block(arg_types=[LLVMPointerType(), index, index, index])
        self.buffers, self.thread, self.threads, before = self.entry.args
        self.before: SSAValue = before
        self.table = table_of(script)
        self.numbers: dict[int, SSAValue] = {}
        self.none = self.did = self._number(0)
        self.is_last: SSAValue | None = None
        self.known: dict[Argument, SSAValue] = {}
        self.chunks = 0
        self.timestamps, self.trace = timestamps, trace
        self.noted = 0

    def written(self) -> func.FuncOp:
        """The whole of the script."""
        if self.table.numbers:
            self.words = _added(self.entry, self.table.memory(self.buffers))
        self._write_steps()
        self.entry.add_op(func.ReturnOp())
        types: tuple[list[Attribute], list[Attribute]] = ([a.type for a in self.entry.args], [])
        return func.FuncOp("run", types, Region(self.entry))

    def _write_steps(self) -> None:
        if self.timestamps is not None:
            self._take(None, 1, [])  # whoever comes first notes the start
        for step in self.script:
            self.noted += not isinstance(step, Barrier)
            if isinstance(step, Barrier):
                self._barrier()
            elif isinstance(step, Launch):
                self._launch(step)
            elif step.function is not None:
                self._take(step.function, step.count, [self.buffers, self.thread])
            else:
                self._loop(step)
        end = rt.EndOp(self.did, self.chunks, self.buffers, self.thread, self.threads, self.before)
        self.block.add_op(end)

    def _number(self, number: int) -> SSAValue:
        """A number, once."""
        if number not in self.numbers:
            self.numbers[number] = _added(self.entry, _constant(number))
        return self.numbers[number]

    def _value(self, number: Number) -> SSAValue:
        """A number, or what the run tells for it: loaded here, since calls stand in between."""
        if not number.is_told:
            return self._number(number.value)
        at = self._number(self.table.word(number))
        return _loaded(self.block, self.words, _in_tile(self.block, number, at, self.is_last))

    def _times(self, iteration: SSAValue, number: int) -> SSAValue:
        return _product(self.block, iteration, self._value(Number(number)))

    def _count(self, chunks: int) -> None:
        """Go on behind so many chunks."""
        if Number(chunks).is_told:
            self.before = _sum(self.block, self.before, self._value(Number(chunks)))
        else:
            self.chunks += chunks

    def _barrier(self) -> None:
        barrier = rt.BarrierOp(self.did, self.chunks, self.buffers, self.threads, self.before)
        self.block.add_op(barrier)
        self.did = self.none

    def _launch(self, launch: Launch, iteration: SSAValue | None = None) -> None:
        """A launch. iteration: that of the loop it is in."""
        given = [self._argument(argument, iteration) for argument in launch.arguments]
        if launch.sizes:
            sizes = _row(self.block, self.buffers, self.table, launch.sizes, self.is_last)
            given.append(sizes)
        given += [self._value(Number(number)) for number in launch.numbers]
        if iteration is not None and launch.is_told_iteration:
            given.append(iteration)
        self._take(launch.kernel, launch.chunks, given, launch.at_once)

    def _argument(self, argument: Argument, iteration: SSAValue | None) -> SSAValue:
        further: SSAValue | None = None
        if iteration is not None and argument.by_iteration != 0:
            further = self._times(iteration, argument.by_iteration)
        if argument.begin.is_told:
            begin = self._value(argument.begin)
            return _memory(self.block, self.buffers, argument, further, begin)
        if further is not None:
            return _memory(self.block, self.buffers, argument, further)
        if argument not in self.known:
            self.known[argument] = _memory(self.entry, self.buffers, argument)
        return self.known[argument]

    def _take(
        self, kernel: str | None, chunks: int, arguments: Sequence[SSAValue], at_once: int = 1
    ) -> None:
        """Call the kernel on chunks as long as there are some to be taken."""
        stamp = None if self.timestamps is None else (self.timestamps.buffer, self.noted)
        trace = None if self.trace is None else (self.trace.buffer, self.noted - 1)
        thread = (self.buffers, self.thread, self.threads, self.before)
        counted, told = -(-chunks // at_once), list[SSAValue]()
        if Number(chunks).is_told:
            units = (counted,) if at_once == 1 else (counted, at_once, chunks)
            told = [self._value(Number(number)) for number in units]
            chunks, at_once = 0, 1
        launch = rt.LaunchOp(
            kernel,
            arguments,
            chunks,
            self.chunks,
            self.did,
            thread,
            stamp,
            at_once,
            told,
            trace,
        )
        self.block.add_op(launch)
        self.did = launch.done
        self._count(counted)

    def _loop(self, loop: LoopLaunch) -> None:
        """An scf.for in whose body each iteration counts from as many chunks later as those before
        it have.
        """
        before, begin, did = self.before, self.chunks, self.did
        body = Block(arg_types=[index, index])
        iteration, self.did = body.args
        self.block = body
        self.before = _sum(body, before, self._times(iteration, in_full_tile(loop.counted)))
        if loop.is_of_tiles:
            count = self._value(Number(loop.count))
            self.is_last = _is_last(body, iteration, count, self._number(0), self._number(1))
        for place, step in enumerate(loop.body):
            if isinstance(step, Launch):
                self._launch(step, iteration)
            elif place == 0:
                self._barrier_between(iteration)
            else:
                self._barrier()
        body.add_op(scf.YieldOp(self.did))
        self.block, self.is_last = self.entry, None
        zero, end, one = (self._value(Number(number)) for number in (0, loop.count, 1))
        op = scf.ForOp(zero, end, one, [did], body)
        self.block.add_op(op)
        self.before, self.did, self.chunks = before, op.results[0], begin
        self._count(loop.chunks)

    def _barrier_between(self, iteration: SSAValue) -> None:
        """A barrier in front of each iteration but the first."""
        block, did = self.block, self.did
        later = arith.CmpiOp(iteration, self.none, "ne")
        self.block = waiting = Block()
        self._barrier()
        waiting.add_op(scf.YieldOp(self.did))
        branch = scf.IfOp(later, [index], [waiting], [Block([scf.YieldOp(did)])])
        block.add_ops([later, branch])
        self.block, self.did = block, branch.results[0]
