"""The loops level of a whole network: one function a kernel signature, and the entry point.

A kernel is named after what it computes, so that equal kernels of all networks have one name. Its
loops are written when they are asked for: whoever holds its machine code already need not ask.

Where threads have to wait for each other, `compiler/barriers.py` says.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from types import MappingProxyType
from typing import NamedTuple

from xdsl.dialects import func
from xdsl.dialects.builtin import MemRefType, ModuleOp
from xdsl.ir import Attribute

from ncc.compiler.barriers import Timed, in_epochs
from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.loops.emit.code import CodeKernel, is_code
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.read_kernel import kernel_of, text_of
from ncc.compiler.loops.kernel.stable_text import digest, stable_text
from ncc.compiler.loops.launch.entry import write_loops, write_run
from ncc.compiler.loops.launch.fills import Fills
from ncc.compiler.loops.launch.halos import boxes
from ncc.compiler.loops.launch.locality import Sharing, handed_out_along
from ncc.compiler.loops.launch.numbers import Number
from ncc.compiler.loops.launch.script import (
    Argument,
    Barrier,
    Launch,
    LoopLaunch,
    Script,
    Timestamps,
    Trace,
    bytes_of,
    chunks_of,
    declarations,
    separate_arguments,
    table_of,
)
from ncc.compiler.loops.schedule.choose import choose, named
from ncc.compiler.loops.schedule.chunks import free_outermost
from ncc.compiler.loops.schedule.open_extents import for_any_size, for_the_hint
from ncc.compiler.loops.schedule.schedule import with_lane_parted
from ncc.compiler.loops.units import Family, Member, Unit
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Loop, Plan, Subview
from ncc.compiler.target import Target
from ncc.dialects.element import element_of
from ncc.dialects.functions import module_of
from ncc.dialects.size import in_full_tile
from ncc.runtime.artifact import ARENA_BUFFER, FIRST_BUFFER, WEIGHTS_BUFFER


@dataclass
class Step:
    """One call of the entry point, for reports."""

    kernel: str
    layers: tuple[str, ...]
    chunks: int
    subviews: tuple[Subview, ...]
    kernels: tuple[Kernel, ...]
    """One, or one for each box of a frame; none where it is written as code, or is a loop."""
    of_iteration: tuple[Step, ...] = ()
    """The calls of each iteration, if it is a loop; its chunks are iterations."""
    own: frozenset[Buffer] = frozenset()
    """What these hand on within an iteration."""

    @property
    def only_kernel(self) -> Kernel | None:
        """What schedules are chosen for."""
        return self.kernels[0] if len(self.kernels) == 1 else None

    @cached_property
    def signature(self) -> str | None:
        """What schedules are kept by: equal for equal kernels. None where there is none."""
        return None if self.only_kernel is None else signature_of(self.only_kernel)


def signature_of(kernel: Kernel) -> str:
    """A name for all that the schedule of a kernel depends on but the target."""
    return digest(kernel.signature_text)


@dataclass(frozen=True)
class NetworkLoops:
    """A network at the loops level: its kernels, what the entry point does, the steps in order."""

    units: tuple[Unit, ...]
    script: Script
    steps: tuple[Step, ...]
    timestamps: Timestamps | None = None
    trace: Trace | None = None

    @property
    def numbers(self) -> tuple[Number, ...]:
        """What depends on the shapes of the inputs: the run tells it to the entry point."""
        return tuple(table_of(self.script).numbers)

    @property
    def chunks(self) -> int:
        """How many times threads can take some in a run: fewer than `rt.MOST_CHUNKS`."""
        return chunks_of(self.script)

    def module(self) -> ModuleOp:
        """All of it as one module."""
        return module_of([*(unit.function() for unit in self.units), *self._entry()])

    def layers_of(self, unit: Unit) -> tuple[str, ...]:
        """The layers that a kernel computes, each once."""
        steps = [call for step in self.steps for call in (step.of_iteration or (step,))]
        layers = [layer for step in steps if step.kernel == unit.name for layer in step.layers]
        return tuple(dict.fromkeys(layers))

    def entry_key(self) -> str:
        """Equal for networks whose entry points are equal."""
        noted = self.timestamps, self.trace
        return stable_text(self.script if noted == (None, None) else (self.script, *noted))

    def entry_module(self) -> ModuleOp:
        """The entry point alone, its kernels declared."""
        return module_of([*declarations(self.script), *self._entry()])

    def _entry(self) -> list[func.FuncOp]:
        run = write_run(self.script, self.timestamps, self.trace)
        return [*write_loops(self.script), run]


def build(
    plan: Plan,
    target: Target,
    inputs: int,
    timestamps: bool = False,
    schedules: Mapping[str, str] = MappingProxyType({}),
    threads: int = 1,
    trace: bool = False,
) -> NetworkLoops:
    """The kernels of a plan, each once, and the entry point that calls them.

    timestamps: whether the entry point notes when each step is done, in a buffer behind those of
    the outputs. trace: whether it notes who does which chunks, in one more buffer. schedules: texts
    of schedules by the signatures of the kernels that shall have them; one that a kernel cannot
    have counts for nothing. threads: how many will share the work.
    """
    loops = _NetworkWriter(plan, target, inputs, schedules, threads).write()
    behind = FIRST_BUFFER + inputs + len(plan.outputs)
    return replace(
        loops,
        timestamps=Timestamps(behind) if timestamps else None,
        trace=Trace(behind + timestamps) if trace else None,
    )


class _Due(NamedTuple):
    """A step of the plan; which unit it launches is known when all steps have been seen."""

    made_by: Unit | Member
    subviews: tuple[Subview, ...]
    layers: tuple[str, ...]
    kernels: tuple[Kernel, ...] = ()
    fills: Fills | None = None
    """The boxes of a border, if that is what is filled: the launch tells them to the kernel."""
    steps: int | None = None
    """How often it is launched, one time after the other, where its code has steps."""
    chunks: int | None = None
    """In how many chunks its code is handed out; None where the unit knows."""
    sizes: tuple[int, ...] = ()
    """The values of the own sizes of its code."""


class _DueLoop(NamedTuple):
    """A loop of the plan, what is due in its first iteration, and where barriers stand in it."""

    loop: Loop
    calls: tuple[_Due, ...]
    barriers: frozenset[int]


class _NetworkWriter:
    """Goes through the steps of a plan, and notes what is launched and where threads wait."""

    def __init__(
        self,
        plan: Plan,
        target: Target,
        inputs: int,
        schedules: Mapping[str, str],
        threads: int,
    ) -> None:
        self.schedules = schedules
        self.sharing = Sharing() if threads > 1 else None
        self.plan = plan
        self.target = target
        self.inputs = inputs
        self.codes: dict[str, Unit] = {}
        self.families: dict[str, Family] = {}
        self.members: dict[tuple[str, int | None], Member] = {}
        self.kernels: dict[str, Kernel] = {}
        self.hinted: dict[str, Kernel] = {}
        self.fills: dict[object, Fills] = {}
        self.due: list[_Due | _DueLoop | Barrier] = []
        self.units: dict[str, Unit] = {}
        self.loops = 0

    def write(self) -> NetworkLoops:
        for timed in in_epochs(self.plan.steps):
            self._step(timed)
        script: list[Launch | LoopLaunch | Barrier] = []
        steps: list[Step] = []
        for due in self.due:
            if isinstance(due, Barrier):
                script.append(due)
                continue
            launch, launched = self._scripted(due)
            script.append(launch)
            steps.append(launched)
        separate = separate_arguments(tuple(script))
        return NetworkLoops(
            tuple(replace(unit, separate=separate[unit.name]) for unit in self.units.values()),
            tuple(script),
            tuple(steps),
        )

    def _step(self, timed: Timed) -> None:
        """A step, behind a barrier if it depends on a step since the last one."""
        step = timed.step
        if timed.waits:
            self.due.append(Barrier())
        if isinstance(step, Loop):
            self._loop(step, timed.inside)
        elif isinstance(step, Halo):
            self._frame(step)
        else:
            self._call(step)

    def _call(self, call: Call) -> None:
        if is_code(call.function):
            self._code(call)
        else:
            text = text_of(call)
            if text not in self.kernels:
                self.kernels[text] = kernel_of(call, self.target)
            self._kernel(self.kernels[text], [*call.operands, *call.results], call.layers)

    def _loop(self, loop: Loop, barriers: frozenset[int]) -> None:
        """All calls of the first iteration, and where the others find their memory."""
        begin = len(self.due)
        for call in loop.calls:
            self._call(call)
            if self.sharing and loop.is_private:
                self.sharing.note_iteration(call)
        calls = [due for due in self.due[begin:] if isinstance(due, _Due)]
        if any(due.steps is not None for due in calls):
            raise CompilerBug("code with steps of its own in a loop")
        self.due[begin:] = [_DueLoop(loop, tuple(calls), barriers)]

    def _code(self, call: Call) -> None:
        code = CodeKernel(call)
        if code.text not in self.codes:
            name = f"code_{digest(code.text)[:12]}"
            make = partial(code.outlined, name, self.target)
            self.codes[code.text] = Unit(name, code.text, code.types, code.chunks, make)
        unit, subviews = self.codes[code.text], tuple(call.subviews)
        self.due.append(
            _Due(
                unit, subviews, call.layers, steps=code.steps, chunks=code.chunks, sizes=code.sizes
            )
        )

    def _kernel(self, kernel: Kernel, subviews: list[Subview], layers: tuple[str, ...]) -> None:
        text = kernel.signature_text
        if text not in self.hinted:
            self.hinted[text] = for_the_hint(kernel, self.target.costs.schedules)
        hinted = self.hinted[text]
        outermost = self.sharing.outermost(hinted, subviews) if self.sharing else None
        key = text, outermost
        if key not in self.members:
            self.members[key] = Member(self._family(kernel, hinted, outermost), kernel)
        member = self.members[key]
        if self.sharing:
            self.sharing.note(hinted, subviews, member.family.schedule)
        self.due.append(_Due(member, tuple(subviews), layers, (kernel,)))

    def _family(self, kernel: Kernel, hinted: Kernel, along: int | None) -> Family:
        """hinted: the kernel for which a schedule is chosen."""
        text = self.schedules.get(signature_of(kernel)) if self.schedules else None
        schedule = named(hinted, self.target, text) if text is not None else None
        threads = self.target.costs.threads
        schedule = schedule or choose(hinted, self.target)
        schedule = handed_out_along(hinted, schedule, along, threads)
        if self.sharing:
            schedule = with_lane_parted(hinted, schedule, threads)
        schedule = for_any_size(kernel, schedule, self.target)
        outermost = None if kernel.is_open else free_outermost(kernel, schedule)
        extents = list(kernel.extents)
        if outermost is not None:
            extents[outermost] = 1
        alike = replace(kernel, extents=tuple(extents)).signature_text
        text = stable_text((alike, replace(schedule, chunks=0)))
        family = self.families.setdefault(text, Family(kernel, schedule, outermost))
        family.add(kernel, schedule)
        return family

    def _scripted(self, due: _Due | _DueLoop) -> tuple[Launch | LoopLaunch, Step]:
        if isinstance(due, _DueLoop):
            return self._launch_loop(due)
        launch, step = self._launch(due)
        if due.steps is None:
            return launch, step
        return LoopLaunch(due.steps, (Barrier(), launch)), step

    def _launch_loop(self, due: _DueLoop) -> tuple[LoopLaunch, Step]:
        loop, name = due.loop, f"loop_{self.loops}"
        self.loops += 1
        parts = loop.own if loop.is_private else frozenset[Buffer]()
        apart = {buffer: buffer.bytes // loop.threads for buffer in parts}
        body: list[Launch | Barrier] = []
        steps: list[Step] = []
        for place, call in enumerate(due.calls):
            launch, step = self._launch(call)
            arguments = tuple(
                replace(argument, by_thread=apart.get(subview.buffer, 0))
                for argument, subview in zip(launch.arguments, call.subviews, strict=True)
            )
            body += [Barrier()] if place in due.barriers else []
            body.append(replace(launch, arguments=arguments))
            steps.append(step)
        whole = Step(name, loop.layers, loop.count, (), (), tuple(steps), loop.own)
        return LoopLaunch(loop.count, tuple(body), name if loop.is_private else None), whole

    def _launch(self, due: _Due) -> tuple[Launch, Step]:
        unit = due.made_by.unit if isinstance(due.made_by, Member) else due.made_by
        self.units[unit.name] = unit
        if len(unit.types) != len(due.subviews):
            raise CompilerBug(f"{unit.name} called with {len(due.subviews)} arguments")
        reaches, numbers = list(map(bytes_of, unit.types)), tuple[int, ...]()
        chunks = unit.chunks if due.chunks is None else due.chunks
        sizes = due.sizes
        if isinstance(due.made_by, Member):
            member = due.made_by
            reaches = list(member.reaches([subview.buffer for subview in due.subviews]))
            chunks, sizes = member.chunks, member.sizes
        elif due.fills is not None:
            reaches, chunks, numbers = [due.fills.reach], due.fills.chunks, due.fills.numbers
        arguments = tuple(map(self._argument, due.subviews, unit.types, map(in_full_tile, reaches)))
        step = Step(unit.name, due.layers, chunks, due.subviews, due.kernels)
        is_told = due.steps is not None
        return Launch(unit.name, chunks, arguments, numbers, is_told, sizes=sizes), step

    def _argument(self, subview: Subview, type: MemRefType[Attribute], reach: int) -> Argument:
        """reach: how many bytes of it are touched."""
        buffer = subview.buffer
        number = {
            Kind.ARENA: ARENA_BUFFER,
            Kind.CONSTANT: WEIGHTS_BUFFER,
            Kind.INPUT: FIRST_BUFFER + buffer.number,
            Kind.OUTPUT: FIRST_BUFFER + self.inputs + buffer.number,
        }[buffer.kind]
        offset = buffer.byte_offset + subview.offset * buffer.element_bytes
        further = subview.further * buffer.element_bytes
        return Argument(number, offset, type, reach, by_iteration=further, part=buffer.part)

    def _frame(self, halo: Halo) -> None:
        """One constant in every box of the border, by one kernel."""
        element = element_of(halo.subview.buffer.value)
        place, value = halo.subview, halo.value
        key = halo.shape, halo.low, halo.high, place.strides, repr(value), element
        if key not in self.fills:
            costs = self.target.costs.threads
            self.fills[key] = Fills.of(tuple(boxes(halo)), place, value, element, costs)
        fills = self.fills[key]
        if fills.text not in self.codes:
            name, lanes = f"fill_{digest(fills.text)[:12]}", self.target.lanes
            make = partial(fills.write, name, lanes)
            self.codes[fills.text] = Unit(name, fills.text, (fills.type,), fills.chunks, make)
        self.due.append(
            _Due(self.codes[fills.text], (halo.subview,), ("frame",), fills.kernels, fills)
        )
