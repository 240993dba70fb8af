"""The entry point of a network: which kernels run on which memory, and where threads wait.

    func.func @run(%buffers: !llvm.ptr, %thread: index, %threads: index, %before: index) {
      %none = arith.constant 0 : index
      %x = rt.buffer %buffers[3] : memref<150528xf32>
      %did = rt.launch 56 of @contraction_8d04ab2c91f3(%x, %w, %y) after 0, %none,
               %buffers, %thread, %threads, %before : (...)
      rt.barrier %did until 56, %buffers, %threads, %before
      scf.for %step = 0 to 500 {
        %moved = %before + %step * 2
        %done = rt.launch 2 of @code_15dd6a1b0c4e(.., %step) after 56, %none,
                  %buffers, %thread, %threads, %moved : (...)
        rt.barrier %done until 58, %buffers, %threads, %moved
      }
      ...
      rt.end %last until 4321, %buffers, %thread, %threads, %before

Where threads share rounds of several kernels, a function of its own is launched in their place:

    func.func private @rounds_0(%buffers: !llvm.ptr, %thread: index, %first: index, %last: index) {
      scf.for %round = %first to %last {
        %x = rt.buffer %buffers[1] further %round * 13312 : memref<..>
        %v = rt.buffer %buffers[1] further %thread * 119808 : memref<..>
        func.call @transform_3fd0c1e2ab94(%x, .., %v, 0, 14)
        func.call @contraction_8d04ab2c91f3(%v, .., 0, 36)
        ...

What a thread does beside the chunks that it takes is nothing that another one waits for, or sees.

On demand (`Timestamps`) the time is noted before the first kernel, and behind the last chunk of
each.

It is kept as plain data, a script, until the function is wanted: the data says what the function
is without writing it, and which arguments of a kernel never share memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
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

    `reach` is how many bytes of it the kernel touches.
    """

    buffer: int
    offset: int
    type: MemRefType[Attribute]
    reach: int

    @property
    def span(self) -> tuple[int, int, int]:
        """The buffer, the first byte of it, and the one behind the last."""
        return self.buffer, self.offset, self.offset + self.reach

    def meets(self, other: Argument) -> bool:
        """Whether the two have bytes in common."""
        return (
            self.buffer == other.buffer
            and self.offset < other.offset + other.reach
            and other.offset < self.offset + self.reach
        )


@dataclass(frozen=True)
class Launch:
    """All threads run a kernel on chunks until all are taken.

    numbers: what it is told besides. steps: how often, one after another, if it is told which.
    at_once: chunks that count as one.
    """

    kernel: str
    chunks: int
    arguments: tuple[Argument, ...]
    numbers: tuple[int, ...] = ()
    steps: int | None = None
    at_once: int = 1

    @property
    def told(self) -> int:
        """How many numbers stand behind its memory."""
        return len(self.numbers) + (self.steps is not None)


Distances: TypeAlias = tuple[tuple[int, ...], ...]
"""Bytes, for each argument of each launch."""


@dataclass(frozen=True)
class RoundsLaunch:
    """All threads go through rounds until all are taken: in each, through kernels in order, through
    all chunks of each.

    first: those of the first round. by_round, by_thread: how much further arguments are in the next
    round, or in the next thread.
    """

    name: str
    count: int
    first: tuple[Launch, ...]
    by_round: Distances
    by_thread: Distances

    def round(self, number: int) -> Iterator[Launch]:
        """The launches of one round, of the first thread."""
        for launch, distances in zip(self.first, self.by_round, strict=True):
            yield replace(
                launch,
                arguments=tuple(
                    replace(argument, offset=argument.offset + number * distance)
                    for argument, distance in zip(launch.arguments, distances, strict=True)
                ),
            )


@dataclass(frozen=True)
class Barrier:
    """All threads wait until the launches before are done."""


Script: TypeAlias = tuple[Launch | RoundsLaunch | Barrier, ...]


def launches_of(script: Script) -> Iterator[Launch]:
    """All launches, those of each round as well."""
    for step in script:
        if isinstance(step, Launch):
            yield step
        elif isinstance(step, RoundsLaunch):
            for number in range(step.count):
                yield from step.round(number)


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
    for launch in launches_of(script):
        counts[launch.kernel] = len(launch.arguments)
        shared.setdefault(launch.kernel, set()).update(_meeting(launch.arguments))
    return {
        name: tuple(position not in shared[name] for position in range(count))
        for name, count in counts.items()
    }


def _meeting(arguments: Sequence[Argument]) -> Iterator[int]:
    """The positions of those that have bytes in common with another one.

    In the order of their first bytes, who meets any before meets the one of these that ends last.
    """
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
    """The entry point as a function; kernels are called by name, and so are rounds."""
    return _Entry(script, timestamps).written()


def write_rounds(script: Script) -> list[func.FuncOp]:
    """The functions that go through the rounds of a script."""
    return [_written(step) for step in script if isinstance(step, RoundsLaunch)]


def _written(rounds: RoundsLaunch) -> func.FuncOp:
    """The function that goes through some of the rounds, by one thread."""
    block = Block(arg_types=[LLVMPointerType(), index, index, index])
    buffers, thread, first, last = block.args
    one = arith.ConstantOp.from_int_and_width(1, index)
    zero = arith.ConstantOp.from_int_and_width(0, index)
    body = Block(arg_types=[index])
    kernels = zip(rounds.first, rounds.by_round, rounds.by_thread, strict=True)
    for launch, by_round, by_thread in kernels:
        given: list[SSAValue] = []
        for argument, by, apart in zip(launch.arguments, by_round, by_thread, strict=True):
            further: SSAValue | None = None
            if by or apart:
                size = arith.ConstantOp.from_int_and_width(by or apart, index)
                moved = arith.MuliOp(body.args[0] if by else thread, size)
                body.add_ops([size, moved])
                further = moved.result
            op = rt.BufferOp(buffers, argument.buffer, argument.type, argument.offset, further)
            body.add_op(op)
            given.append(op.memref)
        chunks = arith.ConstantOp.from_int_and_width(launch.chunks, index)
        body.add_ops([chunks, func.CallOp(launch.kernel, [*given, zero.result, chunks.result], [])])
    body.add_op(scf.YieldOp())
    loop = scf.ForOp(first, last, one, [], body)
    block.add_ops([zero, one, loop, func.ReturnOp()])
    return private_function(rounds.name, block)


class _Entry:
    """An entry point that is being written. `chunks`: of the launches so far.

    `did` counts those that the thread has done since the last barrier.
    """

    def __init__(self, script: Script, timestamps: Timestamps | None) -> None:
        self.script = script
        self.block = Block(arg_types=[LLVMPointerType(), index, index, index])
        self.buffers, self.thread, self.threads, before = self.block.args
        self.before: SSAValue = before
        self.numbers: dict[int, SSAValue] = {}
        self.none = self.did = self._number(0)
        self.chunks = 0
        self.timestamps = timestamps
        self.stamped = 0

    def written(self) -> func.FuncOp:
        """The whole of the script."""
        known: dict[Argument, SSAValue] = {}
        if self.timestamps is not None:
            self._launch(None, 1, [])  # whoever comes first notes the start
        for step in self.script:
            if isinstance(step, Barrier):
                self._barrier()
                continue
            if isinstance(step, RoundsLaunch):
                self._launch(step.name, step.count, [self.buffers, self.thread])
                continue
            for argument in step.arguments:
                if argument not in known:
                    known[argument] = self._memory(argument.buffer, argument.type, argument.offset)
            given = [known[argument] for argument in step.arguments]
            given += [self._number(number) for number in step.numbers]
            if step.steps is None:
                self._launch(step.kernel, step.chunks, given, step.at_once)
            else:
                self._launch_steps(step.kernel, step.chunks, given, step.steps)
        end = rt.EndOp(self.did, self.chunks, self.buffers, self.thread, self.threads, self.before)
        self.block.add_ops([end, func.ReturnOp()])
        types: tuple[list[Attribute], list[Attribute]] = ([a.type for a in self.block.args], [])
        return func.FuncOp("run", types, Region(self.block))

    def _memory(self, buffer: int, type: MemRefType[Attribute], offset: int) -> SSAValue:
        op = rt.BufferOp(self.buffers, buffer, type, offset)
        self.block.add_op(op)
        return op.memref

    def _number(self, number: int) -> SSAValue:
        """A number, once."""
        if number not in self.numbers:
            op = arith.ConstantOp.from_int_and_width(number, index)
            self.block.add_op(op)
            self.numbers[number] = op.result
        return self.numbers[number]

    def _barrier(self) -> None:
        barrier = rt.BarrierOp(self.did, self.chunks, self.buffers, self.threads, self.before)
        self.block.add_op(barrier)
        self.did = self.none

    def _launch(
        self, kernel: str | None, chunks: int, arguments: Sequence[SSAValue], at_once: int = 1
    ) -> None:
        """Call the kernel on chunks as long as there are some to be taken."""
        stamp = None
        if self.timestamps is not None:
            stamp = self.timestamps.buffer, self.stamped
            self.stamped += 1
        thread = (self.buffers, self.thread, self.threads, self.before)
        launch = rt.LaunchOp(
            kernel, arguments, chunks, self.chunks, self.did, thread, stamp, at_once
        )
        self.block.add_op(launch)
        self.did = launch.done
        self.chunks += launch.counted

    def _launch_steps(
        self, kernel: str, chunks: int, arguments: Sequence[SSAValue], steps: int
    ) -> None:
        """Launch the kernel in a loop, step by step, each when the one before is done.

        All that a step counts from lies as many chunks later as the steps before it have.
        """
        if self.did is not self.none:
            self._barrier()
        entry, before, begin = self.block, self.before, self.chunks
        zero, end, one, size = (self._number(n) for n in (0, steps, 1, chunks))
        body = Block(arg_types=[index])
        passed = arith.MuliOp(body.args[0], size)
        moved = arith.AddiOp(before, passed.result)
        body.add_ops([passed, moved])
        self.block, self.before = body, moved.result
        self._launch(kernel, chunks, [*arguments, body.args[0]])
        self._barrier()
        body.add_op(scf.YieldOp())
        self.block, self.before = entry, before
        self.block.add_op(scf.ForOp(zero, end, one, [], body))
        self.chunks = begin + steps * chunks


def declarations(script: Script) -> list[func.FuncOp]:
    """The kernels of a script as functions that another module defines."""
    kernels = {launch.kernel: launch for launch in launches_of(script)}
    return [
        declaration(
            name, [*(a.type for a in launch.arguments), *[index] * launch.told, index, index]
        )
        for name, launch in kernels.items()
    ]
