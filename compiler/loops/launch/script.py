"""What the entry point of a network does, as plain data: launches, loops of launches, and barriers.

The data says what the function is without writing it (`entry.py`), which arguments of a kernel
never share memory, and which numbers the run has to tell (`numbers.py`).
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import ArrayAttr, DictionaryAttr, IndexType, MemRefType, UnitAttr
from xdsl.ir import Attribute

from ncc.compiler.loops.launch.numbers import Number, Table, row_type
from ncc.compiler.plan import elements_of
from ncc.dialects.element import dtype_of
from ncc.dialects.functions import declaration
from ncc.dialects.size import in_all_tiles, in_full_tile, is_never_below, is_of_tile, is_open

index = IndexType()

_NOALIAS = DictionaryAttr({"llvm.noalias": UnitAttr()})
_NOTHING = DictionaryAttr({})


@dataclass(frozen=True)
class Argument:
    """Memory of a kernel: a memref that starts `offset` bytes into one of the run's buffers.

    `reach` is how many bytes of it the kernel touches; it may be 0 where nobody asks, since no
    other argument of the launch is in this part. by_iteration, by_thread: how many bytes further it
    starts in the next iteration of a loop, or in the next thread. part: the part of the arena that
    the offset counts from, where the run lays out the arena.
    """

    buffer: int
    offset: int
    type: MemRefType[Attribute]
    reach: int
    by_iteration: int = 0
    by_thread: int = 0
    part: int | None = None

    @property
    def begin(self) -> Number:
        """Where it starts in the buffer, in the first iteration and for the first thread."""
        return Number(self.offset, self.part)

    @property
    def span(self) -> tuple[int, int, int]:
        """The buffer, the first byte of it, and the one behind the last."""
        return self.buffer, self.offset, self.offset + self.reach

    def meets(self, other: Argument, count: int = 1) -> bool:
        """Whether the two may have bytes in common, in any of so many iterations."""
        if (self.buffer, self.part) != (other.buffer, other.part):
            return False
        gap, by = other.offset - self.offset, other.by_iteration - self.by_iteration
        if is_open(gap, by, count, self.reach, other.reach):
            ends = gap, gap + (count - 1) * by
            behind = all(is_never_below(end, self.reach) for end in ends)
            return not (behind or all(is_never_below(-end, other.reach) for end in ends))
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
    def types(self) -> list[Attribute]:
        """Of all that the kernel is called with, but its chunks."""
        memory = [*(argument.type for argument in self.arguments)]
        sizes = [row_type(self.sizes)] if self.sizes else []
        return [*memory, *sizes, *[index] * (len(self.numbers) + self.is_told_iteration)]

    @property
    def counted(self) -> int:
        """How many times threads can take some."""
        return -(-self.chunks // self.at_once)

    @property
    def needed(self) -> Iterator[int]:
        """The numbers that the entry point needs for it, but those of its arguments."""
        yield from (self.chunks, self.counted, self.at_once, *self.numbers)


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

    @property
    def counted(self) -> int:
        """How many times threads can take some in an iteration."""
        return sum(launch.counted for launch in self.launches)

    @property
    def chunks(self) -> int:
        """The same in all iterations: how many there are, where threads take whole ones."""
        return in_all_tiles(self.counted, self.count) if self.function is None else self.count

    @property
    def is_of_tiles(self) -> bool:
        """Whether numbers of its launches may differ in the last iteration."""
        numbers = (number for one in self.launches for number in (*one.needed, *one.sizes))
        return is_of_tile(*numbers)

    @property
    def needed(self) -> Iterator[int]:
        """The numbers that the entry point needs for it, but those of its launches."""
        yield self.count
        if self.function is None:
            yield from (in_full_tile(self.counted), self.chunks)


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


@dataclass(frozen=True)
class Trace:
    """Where to note which thread does which chunks, and when.

    buffer: of records of int64 (`rt.TRACE_WORDS`), one for each chunk of a run. A thread that takes
    some chunks fills the record at the place of the first. The place of the next record is behind
    the last of them. So the records of a run are a chain from place 0 through all of its chunks,
    and nobody looks at the others.
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
    open_ends = (end for argument in arguments for end in (argument.offset, argument.reach))
    if any(argument.by_iteration != 0 for argument in arguments) or is_open(*open_ends):
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


def table_of(script: Script) -> Table:
    """The numbers that the run tells the entry point, and all kernels."""
    table = Table()
    for step in script:
        if isinstance(step, LoopLaunch):
            table.add(map(Number, step.needed))
    for launch, _ in launches_of(script):
        for argument in launch.arguments:
            distances = argument.by_iteration, argument.by_thread
            table.add([argument.begin, *map(Number, distances)])
        table.add(map(Number, launch.needed))
        table.add_row(launch.sizes)
    return table


def chunks_of(script: Script) -> int:
    """How many times threads can take some in a run."""
    launched = (step for step in script if not isinstance(step, Barrier))
    return sum(one.counted if isinstance(one, Launch) else one.chunks for one in launched)


def promise_separate(function: func.FuncOp, separate: Iterable[bool]) -> None:
    """Say so in the function's type: `%x: memref<8xf32> {llvm.noalias}`."""
    attributes = [_NOALIAS if apart else _NOTHING for apart in separate]
    others = len(function.function_type.inputs) - len(attributes)
    function.arg_attrs = ArrayAttr([*attributes, *[_NOTHING] * others])


def declarations(script: Script) -> list[func.FuncOp]:
    """The kernels of a script as functions that another module defines."""
    kernels = {launch.kernel: launch for launch, _ in launches_of(script)}
    return [declaration(name, [*launch.types, index, index]) for name, launch in kernels.items()]
