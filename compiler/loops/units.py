"""The kernels of a network, each once: what names their code, and what calls share it.

member    calls of equal kernels
family    members whose kernels differ in the extent of their outermost loop alone
unit      the code that a family shares, written when it is asked for
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.analysis.linalg_op import factors
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.emit.position import is_reach_open, kernel_types, reach_of
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.own_sizes import owned
from ncc.compiler.loops.kernel.stable_text import digest, stable_text
from ncc.compiler.loops.launch.script import promise_separate
from ncc.compiler.loops.schedule.chunks import chunk_count
from ncc.compiler.loops.schedule.matrix_tiles import bf16_pairs_of
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.loops.schedule.scheduled_kernel import ScheduledKernel
from ncc.compiler.plan import Buffer
from ncc.dialects.element import dtype_of
from ncc.dialects.functions import module_of


@dataclass(frozen=True)
class Unit:
    """One kernel: `text` says all that its loops depend on, `make` writes them.

    `separate` tells for each memref whether it never shares memory with another one.
    """

    name: str
    text: str
    types: tuple[MemRefType[Attribute], ...]
    chunks: int
    make: Callable[[], func.FuncOp]
    separate: tuple[bool, ...] = ()
    scheduled: ScheduledKernel | None = None
    """What it is written from, unless it is written as code."""

    def key(self) -> str:
        """Equal for units whose modules are equal."""
        return stable_text((self.name, self.text, self.separate))

    def function(self) -> func.FuncOp:
        """The kernel as a private function."""
        function = self.make()
        promise_separate(function, self.separate)
        return function

    def module(self) -> ModuleOp:
        """The kernel alone, to be called from elsewhere."""
        function = self.function()
        function.sym_visibility = None
        return module_of([function])


@dataclass
class Family:
    """Kernels that differ only in the extent of their outermost loop: one for all of them.

    It is made for the largest extent; where there is less to do, fewer of its chunks are handed
    out. Its chunks are as small as any of them wants.
    """

    kernel: Kernel
    schedule: Schedule
    outermost: int | None

    def add(self, kernel: Kernel, schedule: Schedule) -> None:
        """Take in one more kernel."""
        chunks = max(self.schedule.chunks, schedule.chunks)
        if self.outermost is not None:
            if kernel.extents[self.outermost] > self.kernel.extents[self.outermost]:
                self.kernel = kernel
        self.schedule = replace(self.schedule, chunks=chunks)

    @cached_property
    def owned(self) -> tuple[Kernel, Schedule, tuple[int, ...]]:
        """The same with sizes of their own, and the values of these."""
        return owned(self.kernel, self.schedule)

    @cached_property
    def unit(self) -> Unit:
        """The kernel for all of them, once all have been taken in."""
        kernel, schedule, _ = self.owned
        text = f"{kernel.signature_text} {stable_text(schedule)}"
        name = f"{_kind(kernel)}_{digest(text)[:12]}"

        return Unit(
            name,
            text,
            tuple(kernel_types(kernel)),
            chunk_count(kernel, schedule),
            lambda: write(kernel, schedule, name),
            scheduled=ScheduledKernel(name, kernel, schedule),
        )


@dataclass(frozen=True)
class Member:
    """Kernels of a family that are equal."""

    family: Family
    kernel: Kernel
    reached: dict[int, int] = field(default_factory=dict)
    """How many bytes of an argument it touches, where somebody has asked."""

    @property
    def unit(self) -> Unit:
        return self.family.unit

    def reaches(self, buffers: Sequence[Buffer]) -> Iterator[int]:
        """How many bytes of each argument it touches; 0 where the run tells it, and no other
        argument is in the same part of memory.
        """
        places = [(buffer.kind, buffer.part) for buffer in buffers]
        for argument, place in enumerate(places):
            is_alone = places.count(place) == 1
            yield 0 if is_alone and is_reach_open(self.kernel, argument) else self._reach(argument)

    def _reach(self, argument: int) -> int:
        if argument not in self.reached:
            size = dtype_of(self.kernel.element_types[argument]).itemsize
            self.reached[argument] = size * reach_of(self.kernel, argument)
        return self.reached[argument]

    @cached_property
    def chunks(self) -> int:
        """In how many chunks it is handed out, once the family has taken in all."""
        return chunk_count(self.kernel, self.family.schedule)

    @cached_property
    def sizes(self) -> tuple[int, ...]:
        """The values of the own sizes of the code."""
        is_first = self.kernel is self.family.kernel
        return (self.family.owned if is_first else owned(self.kernel, self.family.schedule))[-1]


def _kind(kernel: Kernel) -> str:
    """A readable first half of a kernel's name."""
    if kernel.matrices is not None:
        return "contraction" if kernel.forms_weights else "transform"
    if kernel.accumulates and kernel.reduced:
        owner = kernel.anchor.yielded.owner
        if isinstance(owner, Block):
            raise CompilerBug("a reduction that only hands on")
        product = factors(owner, kernel.anchor.body.args[-1])
        in_pairs = bf16_pairs_of(kernel) is not None
        return "contraction" if product is not None or in_pairs else "reduction"
    return "pointwise" if kernel.anchor.inputs else "fill"
