"""The steps, kernels and memory plan of a compilation, for a report."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from xdsl.dialects.builtin import MemRefType, TensorType
from xdsl.ir import SSAValue

from ncc.compiler.barriers import in_epochs
from ncc.compiler.loops.build_network import NetworkLoops
from ncc.compiler.loops.build_network import Step as LoopsStep
from ncc.compiler.loops.kernels_text import KernelsText
from ncc.compiler.loops.schedule.schedule_text import schedule_text
from ncc.compiler.loops.units import Unit
from ncc.compiler.loops.work import work_of
from ncc.compiler.measure.bench import StepCost
from ncc.compiler.plan import Buffer as PlannedBuffer
from ncc.compiler.plan import Halo, Kind, Plan, touched
from ncc.compiler.report.facts import Buffer, Kernel, Memory, Step
from ncc.dialects.element import name_of
from ncc.dialects.shapes import shown
from ncc.dialects.size import hint


def steps_of(loops: NetworkLoops) -> tuple[Step, ...]:
    """The steps of a run, without times."""
    return tuple(map(_step, loops.steps))


def with_times(steps: Sequence[Step], costs: Sequence[StepCost]) -> tuple[Step, ...]:
    """The steps with what was measured of them."""
    return tuple(
        replace(
            step,
            ms=cost.ms,
            arithmetic_ms=cost.arithmetic_ms,
            memory_ms=cost.memory_ms,
            bound=cost.bound,
        )
        for step, cost in zip(steps, costs, strict=True)
    )


def kernels_of(kernels: KernelsText) -> tuple[Kernel, ...]:
    """The kernels, each once, in the order of the steps."""
    return tuple(_kernel(kernels, unit) for unit in kernels.loops.units)


def memory_of(planned: Plan) -> Memory:
    """The buffers of the arena, with the steps from the first that touches them to the last."""
    first: dict[PlannedBuffer, int] = {}
    last: dict[PlannedBuffer, int] = {}
    written: dict[PlannedBuffer, tuple[str, ...]] = {}
    for number, timed in enumerate(in_epochs(planned.steps)):
        reads, writes = touched(timed.step)
        for buffer in (*reads, *writes):
            first.setdefault(buffer, number)
            last[buffer] = number
        layers = () if isinstance(timed.step, Halo) else timed.step.layers
        for buffer in writes:
            written[buffer] = written.get(buffer) or layers
    found = [
        Buffer(
            written.get(buffer, ()),
            *_shape_and_type(buffer.value),
            hint(buffer.bytes),
            hint(buffer.byte_offset),
            first[buffer],
            last[buffer],
        )
        for buffer in first
        if buffer.kind is Kind.ARENA
    ]
    return Memory(planned.arena_bytes, planned.constant_bytes, tuple(found))


def _step(step: LoopsStep) -> Step:
    work = work_of(step)
    return Step(
        step.layers, step.kernel, step.chunks, work.flops, work.weight_bytes, work.data_bytes
    )


def _kernel(kernels: KernelsText, unit: Unit) -> Kernel:
    scheduled = unit.scheduled
    runs = tuple(
        number
        for number, step in enumerate(kernels.loops.steps)
        if any(call.kernel == unit.name for call in step.of_iteration or (step,))
    )
    return Kernel(
        unit.name,
        kernels.loops.layers_of(unit),
        "" if scheduled is None else schedule_text(scheduled.schedule),
        tuple(kernels.comments(unit)),
        runs,
    )


def _shape_and_type(value: SSAValue) -> tuple[str, str]:
    """Of a tensor, or of scratch memory."""
    kind = value.type
    assert isinstance(kind, TensorType | MemRefType)
    return shown(tuple(map(hint, kind.get_shape()))), name_of(kind.element_type)
