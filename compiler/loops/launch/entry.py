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

from xdsl.dialects import arith, func
from xdsl.dialects.builtin import IndexType
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ncc.compiler.loops.launch.numbers import Number, Table
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
from ncc.compiler.loops.launch.values import Values
from ncc.dialects import rt
from ncc.dialects.size import in_full_tile

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
    values = Values(block, buffers, table)

    def iteration(i: SSAValue) -> None:
        if loop.is_of_tiles:
            values.set_last(i, loop.count)
        for launch in loop.launches:
            given: list[SSAValue] = []
            for argument in launch.arguments:
                further: SSAValue | None = None
                if argument.by_iteration != 0:
                    further = values.times(i, argument.by_iteration)
                elif argument.by_thread != 0:
                    further = values.times(thread, argument.by_thread)
                given.append(values.memory(argument, further))
            chunks = values.builder.constant(0), values.value(launch.chunks)
            given += [*values.told(launch), *chunks]
            values.builder.put(func.CallOp(launch.kernel, given, []))

    values.builder.each(first, last, 1, iteration)
    return values.builder.function(name)


class _Entry:
    """An entry point that is being written. `chunks`: of the launches so far, but those that the
    run tells, which count in `before`.

    `did` counts those that the thread has done since the last barrier. What no iteration changes
    stands in front of loops, in `entry`.
    """

    def __init__(self, script: Script, timestamps: Timestamps | None, trace: Trace | None) -> None:
        self.script = script
        self.entry = Block(arg_types=[LLVMPointerType(), index, index, index])
        self.buffers, self.thread, self.threads, before = self.entry.args
        self.before: SSAValue = before
        self.values = Values(self.entry, self.buffers, table_of(script))
        self.builder = self.values.builder
        self.none = self.did = self.builder.constant(0)
        self.known: dict[Argument, SSAValue] = {}
        self.chunks = 0
        self.timestamps, self.trace = timestamps, trace
        self.noted = 0

    def written(self) -> func.FuncOp:
        """The whole of the script."""
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
        self.builder.put(end)

    def _count(self, chunks: int) -> None:
        """Go on behind so many chunks."""
        if Number(chunks).is_told:
            self.before = self.values.sum(self.before, self.values.value(chunks))
        else:
            self.chunks += chunks

    def _barrier(self) -> None:
        barrier = rt.BarrierOp(self.did, self.chunks, self.buffers, self.threads, self.before)
        self.builder.put(barrier)
        self.did = self.none

    def _launch(self, launch: Launch, iteration: SSAValue | None = None) -> None:
        """A launch. iteration: that of the loop it is in."""
        given = [self._argument(argument, iteration) for argument in launch.arguments]
        given += self.values.told(launch)
        if iteration is not None and launch.is_told_iteration:
            given.append(iteration)
        self._take(launch.kernel, launch.chunks, given, launch.at_once)

    def _argument(self, argument: Argument, iteration: SSAValue | None) -> SSAValue:
        if iteration is not None and argument.by_iteration != 0:
            further = self.values.times(iteration, argument.by_iteration)
            return self.values.memory(argument, further)
        if argument.begin.is_told:
            return self.values.memory(argument)
        if argument not in self.known:
            self.known[argument] = self.values.in_front(self.values.buffer_of(argument))
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
            told = [self.values.value(number) for number in units]
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
        self.builder.put(launch)
        self.did = launch.done
        self._count(counted)

    def _loop(self, loop: LoopLaunch) -> None:
        """An scf.for in whose body each iteration counts from as many chunks later as those before
        it have.
        """
        before, begin = self.before, self.chunks

        def iteration(i: SSAValue, carried: list[SSAValue]) -> Sequence[SSAValue]:
            (self.did,) = carried
            self.before = self.values.sum(before, self.values.times(i, in_full_tile(loop.counted)))
            if loop.is_of_tiles:
                self.values.set_last(i, loop.count)
            for place, step in enumerate(loop.body):
                if isinstance(step, Launch):
                    self._launch(step, i)
                elif place == 0:
                    self._barrier_between(i)
                else:
                    self._barrier()
            self.values.is_last = None
            return [self.did]

        end = self.values.value(loop.count)
        (self.did,) = self.builder.loop(0, end, 1, [self.did], iteration)
        self.before, self.chunks = before, begin
        self._count(loop.chunks)

    def _barrier_between(self, iteration: SSAValue) -> None:
        """A barrier in front of each iteration but the first."""
        did = self.did
        later = arith.CmpiOp(iteration, self.none, "ne")
        self.builder.put(later)

        def wait() -> Sequence[SSAValue]:
            self._barrier()
            return [self.did]

        (self.did,) = self.builder.branch(later.result, wait, lambda: [did])
