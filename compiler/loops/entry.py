"""The entry point of a network: which kernels run on which memory, and where all threads meet.

    func.func @run(%buffers: !llvm.ptr, %tid: index, %threads: index) {
      %x = rt.buffer %buffers[3] : memref<150528xf32>
      scf.while : () -> (index, index) {
        %first, %last = rt.take 56 of launch 1, %buffers, %tid, %threads
        %some = arith.cmpi ne, %first, %last : index
        scf.condition(%some) %first, %last : index, index
      } do {
      ^bb0(%first: index, %last: index):
        func.call @contraction_8d04ab2c91f3(%x, %w, %y, %first, %last)
        scf.yield
      }
      rt.barrier %buffers, %threads
      ...

On demand (`Stamps`) every thread notes the time before the first kernel and behind each.

It is kept as plain data, a script, until the function is wanted: the data says what the function
is without writing it, and which arguments of a kernel never share memory.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from xdsl.dialects import arith, func, memref, scf
from xdsl.dialects.builtin import (
    ArrayAttr,
    DictionaryAttr,
    FixedBitwidthType,
    IndexType,
    MemRefType,
    UnitAttr,
    i64,
)
from xdsl.dialects.llvm import CallIntrinsicOp, LLVMPointerType
from xdsl.ir import Attribute, Block, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.plan import elements_of
from ncc.dialects import rt

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

    def meets(self, other: Argument) -> bool:
        """Whether the two have bytes in common."""
        return (
            self.buffer == other.buffer
            and self.offset < other.offset + other.reach
            and other.offset < self.offset + self.reach
        )


@dataclass(frozen=True)
class Launch:
    """All threads run a kernel on chunks until all are taken."""

    kernel: str
    chunks: int
    arguments: tuple[Argument, ...]


@dataclass(frozen=True)
class Barrier:
    """All threads wait for each other."""


Script: TypeAlias = tuple[Launch | Barrier, ...]


@dataclass(frozen=True)
class Stamps:
    """Where the threads note when they have done each launch.

    buffer: of int64, a row a thread; the first of a row is the start, then comes one a launch: what
    the time-stamp counter of the CPU shows. threads: how many rows there are.
    """

    buffer: int
    threads: int


def bytes_of(type: MemRefType[Attribute]) -> int:
    """The size of a memref."""
    element = type.element_type
    if isinstance(element, FixedBitwidthType):
        size = element.size
    elif isinstance(element, IndexType):
        size = 8
    else:
        raise CompilerBug(f"memory of {element}")
    return elements_of(type.get_shape()) * size


def separate_arguments(script: Script) -> dict[str, tuple[bool, ...]]:
    """For each kernel, which of its arguments share no memory with another one in any launch.

    The memory planner puts values over one another, also inside one launch: a residual sum in
    place of one of its operands. LLVM may only be told `noalias` of the arguments named here.
    """
    shared: dict[str, set[int]] = {}
    counts: dict[str, int] = {}
    for launch in script:
        if not isinstance(launch, Launch):
            continue
        counts[launch.kernel] = len(launch.arguments)
        here = shared.setdefault(launch.kernel, set())
        for (first, one), (second, other) in combinations(enumerate(launch.arguments), 2):
            if one.meets(other):
                here |= {first, second}
    return {
        name: tuple(position not in shared[name] for position in range(count))
        for name, count in counts.items()
    }


def promise_separate(function: func.FuncOp, separate: Iterable[bool]) -> None:
    """Say so in the function's type: `%x: memref<8xf32> {llvm.noalias}`."""
    attributes = [_NOALIAS if apart else _NOTHING for apart in separate]
    others = len(function.function_type.inputs) - len(attributes)
    function.arg_attrs = ArrayAttr([*attributes, *[_NOTHING] * others])


def write_run(script: Script, stamps: Stamps | None = None) -> func.FuncOp:
    """The entry point as a function; kernels are called by name."""
    entry = Block(arg_types=[LLVMPointerType(), index, index])
    buffers, thread, threads = entry.args
    known: dict[Argument, SSAValue] = {}
    number = 0
    clock = None if stamps is None else _Clock(entry, stamps, launches(script) + 1)
    for step in script:
        if isinstance(step, Barrier):
            entry.add_op(rt.BarrierOp(buffers, threads))
            continue
        for argument in step.arguments:
            if argument not in known:
                op = rt.BufferOp(buffers, argument.buffer, argument.type, argument.offset)
                entry.add_op(op)
                known[argument] = op.memref
        number += 1
        take = rt.TakeOp(step.chunks, number, buffers, thread, threads)
        entry.add_op(_while_some(take, step.kernel, [known[a] for a in step.arguments]))
        if clock is not None:
            clock.stamp()
    entry.add_op(func.ReturnOp())
    types: tuple[list[Attribute], list[Attribute]] = ([a.type for a in entry.args], [])
    return func.FuncOp("run", types, Region(entry))


def _while_some(take: rt.TakeOp, kernel: str, arguments: Sequence[SSAValue]) -> scf.WhileOp:
    """Call the kernel on chunks as long as there are some to be taken."""
    some = arith.CmpiOp(take.first, take.last, "ne")
    condition = scf.ConditionOp(some.result, take.first, take.last)
    body = Block(arg_types=[index, index])
    body.add_ops([func.CallOp(kernel, [*arguments, *body.args], []), scf.YieldOp()])
    taking = Region(Block([take, some, condition]))
    return scf.WhileOp([], [index, index], taking, Region(body))


def launches(script: Script) -> int:
    """How many kernels a script launches."""
    return sum(isinstance(step, Launch) for step in script)


class _Clock:
    """Writes the stamps of an entry point; the first when it is made."""

    def __init__(self, entry: Block, stamps: Stamps, slots: int) -> None:
        self.entry = entry
        self.slot = 0
        buffers, thread, _ = entry.args
        table = rt.BufferOp(buffers, stamps.buffer, MemRefType(i64, [stamps.threads * slots]))
        width = arith.ConstantOp.from_int_and_width(slots, index)
        row = arith.MuliOp(thread, width.result)
        entry.add_ops([table, width, row])
        self.table, self.row = table.memref, row.result
        self.stamp()

    def stamp(self) -> None:
        ticks = CallIntrinsicOp("llvm.readcyclecounter", [], [i64])
        slot = arith.ConstantOp.from_int_and_width(self.slot, index)
        at = arith.AddiOp(self.row, slot.result)
        store = memref.StoreOp.get(ticks.results[0], self.table, [at.result])
        self.entry.add_ops([ticks, slot, at, store])
        self.slot += 1


def declarations(script: Script) -> list[func.FuncOp]:
    """The kernels of a script as functions that another module defines."""
    kernels = {step.kernel: step for step in script if isinstance(step, Launch)}
    return [
        func.FuncOp.external(name, [*(a.type for a in launch.arguments), index, index], [])
        for name, launch in kernels.items()
    ]
