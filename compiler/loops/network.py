"""The loops level of a whole network: one function a kernel signature, and the entry point.

A kernel is named after what it computes, so that equal kernels of all networks have one name. Its
loops are written when they are asked for: whoever holds its machine code already need not ask.

A barrier stands only where a step touches memory that another step since the last barrier wrote,
or writes what it read.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeAlias

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute, Block

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import factors
from ncc.compiler.loops import code, nest, transform
from ncc.compiler.loops.entry import (
    Argument,
    Barrier,
    Launch,
    Script,
    Stamps,
    bytes_of,
    declarations,
    promise_separate,
    separate_arguments,
    write_run,
)
from ncc.compiler.loops.kernel import Access, Kernel, constant_kernel, kernel_of
from ncc.compiler.loops.point import kernel_types
from ncc.compiler.loops.schedule import Schedule
from ncc.compiler.loops.stable_text import digest, stable_text
from ncc.compiler.loops.strategies import choose
from ncc.compiler.plan import Call, Frame, Kind, Place, Plan, Root, touched
from ncc.compiler.target import Target
from ncc.dialects.element import element_of

ARENA_BUFFER, CONSTANT_BUFFER, FIRST_BUFFER = 1, 2, 3


@dataclass(frozen=True)
class Unit:
    """One kernel: `text` says all that its loops depend on, `make` writes them.

    `separate` tells for each memref whether it never shares memory with another one, `reach` how
    much of it is touched where a kernel for more chunks is used for fewer.
    """

    name: str
    text: str
    types: tuple[MemRefType[Attribute], ...]
    chunks: int
    make: Callable[[], func.FuncOp]
    separate: tuple[bool, ...] = ()
    reach: tuple[MemRefType[Attribute], ...] = ()

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
        return ModuleOp([function])


@dataclass
class Step:
    """One call of the entry point, for reports."""

    kernel: str
    layers: tuple[str, ...]
    chunks: int
    places: tuple[Place, ...]
    computation: Kernel | None
    """None where it is written as code."""


@dataclass(frozen=True)
class Loops:
    """A network at the loops level: its kernels, what the entry point does, the steps in order."""

    units: tuple[Unit, ...]
    script: Script
    steps: tuple[Step, ...]
    stamps: Stamps | None = None

    def module(self) -> ModuleOp:
        """All of it as one module."""
        return ModuleOp([*(unit.function() for unit in self.units), self._run()])

    def entry_key(self) -> str:
        """Equal for networks whose entry points are equal."""
        return stable_text(self.script if self.stamps is None else (self.script, self.stamps))

    def entry_module(self) -> ModuleOp:
        """The entry point alone, its kernels declared."""
        return ModuleOp([*declarations(self.script), self._run()])

    def _run(self) -> func.FuncOp:
        return write_run(self.script, self.stamps)


def build(plan: Plan, target: Target, inputs: int, stamped_threads: int = 0) -> Loops:
    """The kernels of a plan, each once, and the entry point that calls them.

    stamped_threads: for so many threads the entry point notes when each step is done, in a buffer
    behind those of the outputs; 0 for none.
    """
    loops = _NetworkWriter(plan, target, inputs).write()
    if not stamped_threads:
        return loops
    behind = FIRST_BUFFER + inputs + len(plan.outputs)
    return replace(loops, stamps=Stamps(behind, stamped_threads))


Interval: TypeAlias = tuple[Root, int, int]


@dataclass
class _Pending:
    """What was read and written since the last barrier."""

    reads: list[Interval] = field(default_factory=list)
    writes: list[Interval] = field(default_factory=list)


class _NetworkWriter:
    def __init__(self, plan: Plan, target: Target, inputs: int) -> None:
        self.plan = plan
        self.target = target
        self.inputs = inputs
        self.units: dict[str, Unit] = {}
        self.tallest: dict[str, tuple[int, Unit]] = {}
        self.script: list[Launch | Barrier] = []
        self.pending = _Pending()
        self.steps: list[Step] = []

    def write(self) -> Loops:
        for step in self.plan.steps:
            self._separate(step)
            if isinstance(step, Frame):
                self._frame(step)
            else:
                self._call(step)
        script = tuple(self.script)
        separate = separate_arguments(script)
        units = {unit.name: unit for unit in self.units.values()}.values()
        return Loops(
            tuple(replace(unit, separate=separate[unit.name]) for unit in units),
            script,
            tuple(self.steps),
        )

    def _call(self, call: Call) -> None:
        if code.is_code(call.function):
            self._code(call)
        else:
            self._kernel(kernel_of(call), [*call.operands, *call.results], call.layers)

    def _code(self, call: Call) -> None:
        function = code.outlined(call, "code", self.target)
        text = str(function)
        if text not in self.units:
            name = f"code_{digest(text)[:12]}"
            types = tuple(code.memrefs(function))
            target, chunks = self.target, code.chunks(call)
            self.units[text] = Unit(
                name, text, types, chunks, lambda: code.outlined(call, name, target)
            )
        self._launch(self.units[text], call.places, call.layers, None)

    def _kernel(self, kernel: Kernel, places: list[Place], layers: tuple[str, ...]) -> None:
        signature = stable_text(kernel.signature())
        if signature not in self.units:
            self.units[signature] = self._unit(kernel, signature)
        self._launch(self.units[signature], places, layers, kernel)

    def _unit(self, kernel: Kernel, signature: str) -> Unit:
        """A kernel, or one that does the same for more chunks, of which fewer are handed out."""
        schedule = choose(kernel, self.target)
        chunks, types = nest.chunk_count(kernel, schedule), tuple(kernel_types(kernel))
        outermost = schedule.order[0] if nest.outermost_is_free(kernel, schedule) else None
        if outermost is None:
            return self._new_unit(kernel, schedule, f"{signature} {stable_text(schedule)}", types)
        height = kernel.extents[outermost]
        extents = (*kernel.extents[:outermost], 1, *kernel.extents[outermost + 1 :])
        alike = stable_text((replace(kernel, extents=extents).signature(), schedule))
        tallest, unit = self.tallest.get(alike, (0, None))
        if unit is None or tallest < height:
            text = f"{signature} {stable_text(schedule)}"
            unit = self._new_unit(kernel, schedule, text, types)
            self.tallest[alike] = (height, unit)
        return replace(unit, chunks=chunks, reach=types)

    def _new_unit(
        self,
        kernel: Kernel,
        schedule: Schedule,
        text: str,
        types: tuple[MemRefType[Attribute], ...],
    ) -> Unit:
        name = f"{_kind(kernel)}_{digest(text)[:12]}"

        def make() -> func.FuncOp:
            writer = nest.write if kernel.matrix is None else transform.write
            return writer(kernel, schedule, name)

        return Unit(name, text, types, nest.chunk_count(kernel, schedule), make)

    def _launch(
        self,
        unit: Unit,
        places: Sequence[Place],
        layers: tuple[str, ...],
        computation: Kernel | None,
    ) -> None:
        if len(unit.types) != len(places):
            raise CompilerBug(f"{unit.name} called with {len(places)} arguments")
        arguments = tuple(map(self._argument, places, unit.types, unit.reach or unit.types))
        self.script.append(Launch(unit.name, unit.chunks, arguments))
        self.steps.append(Step(unit.name, layers, unit.chunks, tuple(places), computation))

    def _argument(
        self, place: Place, type: MemRefType[Attribute], reach: MemRefType[Attribute]
    ) -> Argument:
        root = place.root
        number = {
            Kind.ARENA: ARENA_BUFFER,
            Kind.CONSTANT: CONSTANT_BUFFER,
            Kind.INPUT: FIRST_BUFFER + root.number,
            Kind.OUTPUT: FIRST_BUFFER + self.inputs + root.number,
        }[root.kind]
        offset = root.byte_offset + place.offset * root.element_bytes
        return Argument(number, offset, type, bytes_of(reach))

    def _frame(self, frame: Frame) -> None:
        """Each border slab in turn: axes before it without their own border, those behind with."""
        for axis in range(len(frame.shape)):
            for begin, size in (
                (0, frame.low[axis]),
                (frame.shape[axis] - frame.high[axis], frame.high[axis]),
            ):
                if size == 0:
                    continue
                first, extents = [0] * len(frame.shape), list(frame.shape)
                for before in range(axis):
                    first[before] = frame.low[before]
                    extents[before] -= frame.low[before] + frame.high[before]
                first[axis], extents[axis] = begin, size
                place = frame.place.moved(first)
                element = element_of(frame.place.root.value)
                store = Access(0, 0, place.strides)
                kernel = constant_kernel(extents, frame.value, store, (element,))
                self._kernel(kernel, [place], ("frame",))

    # --- barriers ---------------------------------------------------------------------------

    def _separate(self, step: Call | Frame) -> None:
        """Put a barrier before a step that depends on a step since the last one."""
        reads, writes = (_intervals(roots) for roots in touched(step))
        conflict = (
            any(_overlap(r, w) for r in reads for w in self.pending.writes)
            or any(_overlap(w, r) for w in writes for r in self.pending.reads)
            or any(_overlap(w, v) and w[0] is not v[0] for w in writes for v in self.pending.writes)
        )
        if conflict:
            self.script.append(Barrier())
            self.pending = _Pending()
        self.pending.reads += reads
        self.pending.writes += writes


def _intervals(roots: list[Root]) -> list[Interval]:
    kept = [root for root in roots if root.kind in (Kind.ARENA, Kind.OUTPUT)]
    return [(root, root.byte_offset, root.byte_offset + root.bytes) for root in kept]


def _overlap(a: Interval, b: Interval) -> bool:
    if a[0].kind is not b[0].kind:
        return False
    if a[0].kind is Kind.OUTPUT and a[0].number != b[0].number:
        return False
    return a[1] < b[2] and b[1] < a[2]


def _kind(kernel: Kernel) -> str:
    """A readable first half of a kernel's name."""
    if kernel.matrix is not None:
        return "transform"
    if kernel.accumulates and kernel.reduced:
        owner = kernel.anchor.yielded.owner
        if isinstance(owner, Block):
            raise CompilerBug("a reduction that only hands on")
        product = factors(owner, kernel.anchor.body.args[-1])
        return "contraction" if product is not None else "reduction"
    return "pointwise" if kernel.anchor.inputs else "fill"
