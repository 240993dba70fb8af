"""The entry point of a network: which kernels run on which memory, and where threads wait.

    func.func @run(%buffers: !llvm.ptr, %thread: index, %threads: index, %before: index) {
      %none = arith.constant 0 : index
      %x = rt.buffer %buffers[3] : memref<150528xf32>
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

On demand (`Timestamps`) the time is noted before the first kernel, and behind the last chunk of
each; of a loop, behind its last iteration.

It is kept as plain data, a script, until the function is wanted: the data says what the function
is without writing it, and which arguments of a kernel never share memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from xdsl.dialects import arith, func, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    IndexType,
    MemRefType,
    UnitAttr,
)
from xdsl.dialects.llvm import LLVMPointerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ncc.compiler.plan import elements_of
from ncc.dialects import rt
from ncc.dialects.element import dtype_of
from ncc.dialects.functions import declaration, private_function

index = IndexType()

_NOALIAS = DictionaryAttr({"llvm.noalias": UnitAttr()})
_NOTHING = DictionaryAttr({})


@dataclass(frozen=True)
class Argument:
    """Memory of a kernel: a memref that starts `offset` bytes into one of the run's buffers.

    `reach` is how many bytes of it the kernel touches. by_iteration, by_thread: how many bytes
    further it starts in the next iteration of a loop, or in the next thread.
    """

    buffer: int
    offset: int
    type: MemRefType[Attribute]
    reach: int
    by_iteration: int = 0
    by_thread: int = 0

    @property
    def span(self) -> tuple[int, int, int]:
        """The buffer, the first byte of it, and the one behind the last."""
        return self.buffer, self.offset, self.offset + self.reach

    def meets(self, other: Argument, count: int = 1) -> bool:
        """Whether the two have bytes in common, in any of so many iterations."""
        if self.buffer != other.buffer:
            return False
        gap, by = other.offset - self.offset, other.by_iteration - self.by_iteration
        if by < 0:
            return other.meets(self, count)
        first = max(0, 1 + (-other.reach - gap) // by) if by else 0
        return first < count and -other.reach < gap + first * by < self.reach


@dataclass(frozen=True)
class Launch:
    """All threads run a kernel on chunks until all are taken.

    numbers: what it is told besides. is_told_iteration: whether it is told that of its loop as
    well. at_once: chunks that count as one. sizes: the values of the kernel's own sizes.
    """

    kernel: str
    chunks: int
    arguments: tuple[Argument, ...]
    numbers: tuple[int, ...] = ()
    is_told_iteration: bool = False
    at_once: int = 1
    sizes: tuple[int, ...] = ()

    @property
    def told(self) -> int:
        """How many numbers stand behind its memory."""
        return len(self.numbers) + self.is_told_iteration

    @property
    def counted(self) -> int:
        """How many times threads can take some."""
        return -(-self.chunks // self.at_once)


@dataclass(frozen=True)
class Barrier:
    """All threads wait until the launches before are done."""


@dataclass(frozen=True)
class LoopLaunch:
    """Launches that come again, with memory further on.

    body: the first iteration. A barrier in front of all its launches stands between iterations.
    function: the name of the loop, where threads take whole iterations, and run kernels on all
    chunks; None where all threads share each launch.
    """

    count: int
    body: tuple[Launch | Barrier, ...]
    function: str | None = None

    @property
    def launches(self) -> list[Launch]:
        """Those of an iteration."""
        return [step for step in self.body if isinstance(step, Launch)]


Script: TypeAlias = tuple[Launch | LoopLaunch | Barrier, ...]


def launches_of(script: Script) -> Iterator[tuple[Launch, int]]:
    """All launches, with the number of iterations of the loop that each one is in."""
    for step in script:
        if isinstance(step, Launch):
            yield step, 1
        elif isinstance(step, LoopLaunch):
            yield from ((launch, step.count) for launch in step.launches)


@dataclass(frozen=True)
class Timestamps:
    """Where to note what the time-stamp counter of the CPU shows.

    buffer: of int64; the first is the start, then comes one a launch, when it is done. Launches
    without a barrier between them may be done in another order than they are begun in.
    """

    buffer: int


def bytes_of(type: MemRefType[Attribute]) -> int:
    """The size of a memref."""
    element = type.element_type
    return elements_of(type.get_shape()) * dtype_of(element).itemsize


def separate_arguments(script: Script) -> dict[str, tuple[bool, ...]]:
    """For each kernel, which of its arguments share no memory with another one in any launch.

    The memory planner puts values over one another, also inside one launch: a residual sum in
    place of one of its operands. LLVM may only be told `noalias` of the arguments named here.
    """
    shared: dict[str, set[int]] = {}
    counts: dict[str, int] = {}
    for launch, iterations in launches_of(script):
        counts[launch.kernel] = len(launch.arguments)
        shared.setdefault(launch.kernel, set()).update(_meeting(launch.arguments, iterations))
    return {
        name: tuple(position not in shared[name] for position in range(count))
        for name, count in counts.items()
    }


def _meeting(arguments: Sequence[Argument], iterations: int) -> Iterator[int]:
    """The positions of those that have bytes in common with another one, in any iteration.

    In the order of their first bytes, who meets any before meets the one of these that ends last.
    """
    if any(argument.by_iteration for argument in arguments):
        for (one, a), (other, b) in combinations(enumerate(arguments), 2):
            yield from (one, other) if a.meets(b, iterations) else ()
        return
    last: int | None = None
    for position in sorted(range(len(arguments)), key=lambda k: arguments[k].span):
        here = arguments[position]
        if last is None:
            last = position
            continue
        before = arguments[last]
        if before.meets(here):
            yield from (last, position)
        if before.buffer != here.buffer or before.span[2] < here.span[2]:
            last = position


def promise_separate(function: func.FuncOp, separate: Iterable[bool]) -> None:
    """Say so in the function's type: `%x: memref<8xf32> {llvm.noalias}`."""
    attributes = [_NOALIAS if apart else _NOTHING for apart in separate]
    others = len(function.function_type.inputs) - len(attributes)
    function.arg_attrs = ArrayAttr([*attributes, *[_NOTHING] * others])


def write_run(script: Script, timestamps: Timestamps | None = None) -> func.FuncOp:
    """The entry point as a function; kernels are called by name, and so are private loops."""
    return _Entry(script, timestamps).written()


def write_loops(script: Script) -> list[func.FuncOp]:
    """The functions of the loops whose iterations threads take."""
    loops = [step for step in script if isinstance(step, LoopLaunch)]
    return [_written(loop, loop.function) for loop in loops if loop.function is not None]


def _written(loop: LoopLaunch, name: str) -> func.FuncOp:
    """The function that goes through some of the iterations, by one thread."""
    block = Block(arg_types=[LLVMPointerType(), index, index, index])
    buffers, thread, first, last = block.args
    one = arith.ConstantOp.from_int_and_width(1, index)
    zero = arith.ConstantOp.from_int_and_width(0, index)
    body = Block(arg_types=[index])
    for launch in loop.launches:
        given: list[SSAValue] = []
        for argument in launch.arguments:
            further: SSAValue | None = None
            if by := argument.by_iteration or argument.by_thread:
                size = arith.ConstantOp.from_int_and_width(by, index)
                moved = arith.MuliOp(body.args[0] if argument.by_iteration else thread, size)
                body.add_ops([size, moved])
                further = moved.result
            given.append(_memory(body, buffers, argument, further))
        chunks = arith.ConstantOp.from_int_and_width(launch.chunks, index)
        body.add_ops([chunks, func.CallOp(launch.kernel, [*given, zero.result, chunks.result], [])])
    body.add_op(scf.YieldOp())
    block.add_ops([zero, one, scf.ForOp(first, last, one, [], body), func.ReturnOp()])
    return private_function(name, block)


def _memory(
    block: Block, buffers: SSAValue, argument: Argument, further: SSAValue | None = None
) -> SSAValue:
    op = rt.BufferOp(buffers, argument.buffer, argument.type, argument.offset, further)
    block.add_op(op)
    return op.memref


class _Entry:
    """An entry point that is being written. `chunks`: of the launches so far.

    `did` counts those that the thread has done since the last barrier. `block` is the body of a
    loop while that is written; what no iteration changes stands in front of the loop, in `entry`.
    """

    def __init__(self, script: Script, timestamps: Timestamps | None) -> None:
        self.script = script
        self.entry = self.block = Block(arg_types=[LLVMPointerType(), index, index, index])
        self.buffers, self.thread, self.threads, before = self.block.args
        self.before: SSAValue = before
        self.numbers: dict[int, SSAValue] = {}
        self.none = self.did = self._number(0)
        self.known: dict[Argument, SSAValue] = {}
        self.chunks = 0
        self.timestamps = timestamps
        self.stamped = 0

    def written(self) -> func.FuncOp:
        """The whole of the script."""
        if self.timestamps is not None:
            self._take(None, 1, [])  # whoever comes first notes the start
        for step in self.script:
            self.stamped += not isinstance(step, Barrier)
            if isinstance(step, Barrier):
                self._barrier()
            elif isinstance(step, Launch):
                self._launch(step)
            elif step.function is not None:
                self._take(step.function, step.count, [self.buffers, self.thread])
            else:
                self._loop(step)
        end = rt.EndOp(self.did, self.chunks, self.buffers, self.thread, self.threads, self.before)
        self.block.add_ops([end, func.ReturnOp()])
        types: tuple[list[Attribute], list[Attribute]] = ([a.type for a in self.block.args], [])
        return func.FuncOp("run", types, Region(self.block))

    def _number(self, number: int) -> SSAValue:
        """A number, once."""
        if number not in self.numbers:
            op = arith.ConstantOp.from_int_and_width(number, index)
            self.entry.add_op(op)
            self.numbers[number] = op.result
        return self.numbers[number]

    def _times(self, iteration: SSAValue, number: int) -> SSAValue:
        op = arith.MuliOp(iteration, self._number(number))
        self.block.add_op(op)
        return op.result

    def _barrier(self) -> None:
        barrier = rt.BarrierOp(self.did, self.chunks, self.buffers, self.threads, self.before)
        self.block.add_op(barrier)
        self.did = self.none

    def _launch(self, launch: Launch, iteration: SSAValue | None = None) -> None:
        """A launch. iteration: that of the loop it is in."""
        given: list[SSAValue] = []
        for argument in launch.arguments:
            if iteration is not None and argument.by_iteration:
                further = self._times(iteration, argument.by_iteration)
                given.append(_memory(self.block, self.buffers, argument, further))
                continue
            if argument not in self.known:
                self.known[argument] = _memory(self.entry, self.buffers, argument)
            given.append(self.known[argument])
        given += [self._number(number) for number in launch.numbers]
        if iteration is not None and launch.is_told_iteration:
            given.append(iteration)
        self._take(launch.kernel, launch.chunks, given, launch.at_once)

    def _take(
        self, kernel: str | None, chunks: int, arguments: Sequence[SSAValue], at_once: int = 1
    ) -> None:
        """Call the kernel on chunks as long as there are some to be taken."""
        stamp = None if self.timestamps is None else (self.timestamps.buffer, self.stamped)
        thread = (self.buffers, self.thread, self.threads, self.before)
        launch = rt.LaunchOp(
            kernel, arguments, chunks, self.chunks, self.did, thread, stamp, at_once
        )
        self.block.add_op(launch)
        self.did = launch.done
        self.chunks += launch.counted

    def _loop(self, loop: LoopLaunch) -> None:
        """An scf.for in whose body each iteration counts from as many chunks later as those before
        it have.
        """
        before, begin, did = self.before, self.chunks, self.did
        size = sum(launch.counted for launch in loop.launches)
        body = Block(arg_types=[index, index])
        iteration, self.did = body.args
        self.block = body
        passed = arith.AddiOp(before, self._times(iteration, size))
        body.add_op(passed)
        self.before = passed.result
        for place, step in enumerate(loop.body):
            if isinstance(step, Launch):
                self._launch(step, iteration)
            elif place == 0:
                self._barrier_between(iteration)
            else:
                self._barrier()
        body.add_op(scf.YieldOp(self.did))
        zero, end, one = (self._number(number) for number in (0, loop.count, 1))
        op = scf.ForOp(zero, end, one, [did], body)
        self.block = self.entry
        self.block.add_op(op)
        self.before, self.did = before, op.results[0]
        self.chunks = begin + loop.count * size

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


def declarations(script: Script) -> list[func.FuncOp]:
    """The kernels of a script as functions that another module defines."""
    kernels = {launch.kernel: launch for launch, _ in launches_of(script)}
    return [
        declaration(
            name, [*(a.type for a in launch.arguments), *[index] * launch.told, index, index]
        )
        for name, launch in kernels.items()
    ]
