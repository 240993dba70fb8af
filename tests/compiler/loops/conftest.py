"""Runs planned functions step by step: kernels with given schedules, on numpy memory."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects import func
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.compiler.linalg.fusion.form_fusion_groups import FormFusionGroups
from ncc.compiler.linalg.layout.pack_channels import PackChannels
from ncc.compiler.linalg.memory.plan_memory import plan
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.loops.build_network import build
from ncc.compiler.loops.emit.emitter import write
from ncc.compiler.loops.kernel.kernel import Kernel
from ncc.compiler.loops.kernel.read_kernel import kernel_of
from ncc.compiler.loops.schedule.chunks import chunk_count
from ncc.compiler.loops.schedule.schedule import Schedule
from ncc.compiler.plan import Buffer, Call, Halo, Kind, Plan
from ncc.compiler.target import Target
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.sources import Array
from ncc.runtime.artifact import Artifact, Binding
from ncc.runtime.machine_code import MachineCode
from ncc.runtime.session import Model
from tests.structured.evaluate import evaluate_value
from tests.threads_object import threads_object

Kernels: TypeAlias = Callable[..., list[Kernel]]

GUARD = 64
"""Elements around every buffer, which no kernel may write."""


def kernels(module: ModuleOp, target: Target | None = None) -> list[Kernel]:
    """The kernels of a network in order."""
    FormFusionGroups().apply(Context(), module)
    return [kernel_of(step, target) for step in plan(module).steps if isinstance(step, Call)]


@dataclass
class Program:
    """A plan with kernels in machine code."""

    plan: Plan
    arguments: Sequence[Array]
    names: list[str] = field(default_factory=list)
    kernels: list[Kernel] = field(default_factory=list)
    schedules: list[Schedule] = field(default_factory=list)

    def run(self, code: MachineCode) -> list[Array]:
        """The results. Fails where a kernel writes outside its roots."""
        memory: dict[Buffer, Array] = {}
        for subview in self.plan.subviews.values():
            if subview.buffer not in memory:
                memory[subview.buffer] = self._root(subview.buffer)
        kernels = iter(zip(self.names, self.kernels, self.schedules, strict=True))
        for step in self.plan.steps:
            if isinstance(step, Halo):
                _fill(memory[step.subview.buffer][GUARD:], step)
                continue
            assert isinstance(step, Call), "a plan for several threads"
            name, kernel, schedule = next(kernels)
            subviews = [*step.operands, *step.results]
            addresses = [
                memory[p.buffer][GUARD + p.offset :].ctypes.data if p.buffer in memory else 0
                for p in subviews
            ]
            _call(code.address(name), addresses, chunk_count(kernel, schedule))
        for array in memory.values():
            edges = np.concatenate([array[:GUARD], array[len(array) - GUARD :]])
            assert (edges == _guard(array.dtype)).all(), "a kernel wrote outside its memory"
        return [
            memory[buffer][GUARD:-GUARD].reshape(buffer.value.type.get_shape()).copy()  # type: ignore
            for buffer in self.plan.outputs
        ]

    def _root(self, buffer: Buffer) -> Array:
        if buffer.kind is Kind.INPUT:
            held = np.asarray(self.arguments[buffer.number], np.float32)
        elif buffer.kind is Kind.CONSTANT:
            held = evaluate_value(buffer.value)
        else:
            held = np.full(buffer.elements, np.nan, np.float32)
        array = np.full(buffer.elements + 2 * GUARD, _guard(held.dtype), held.dtype)
        array[GUARD:-GUARD] = held.ravel()
        return array


def _guard(dtype: np.dtype[np.generic]) -> float:
    return 12345.0 if dtype == np.float32 else 0


def _fill(memory: Array, halo: Halo) -> None:
    """Set the whole padded tensor: its producer overwrites the inside later."""
    strides = [4 * s for s in halo.subview.strides]
    linalg_op = np.lib.stride_tricks.as_strided(memory[halo.subview.offset :], halo.shape, strides)
    linalg_op[...] = halo.value


def _call(address: int, subviews: Sequence[int], chunks: int) -> None:
    """Run all chunks, the later half first, as two threads might."""
    types = [ctypes.c_void_p] * len(subviews) + [ctypes.c_int64] * 2
    kernel = ctypes.CFUNCTYPE(None, *types)(address)
    half = chunks // 2
    kernel(*subviews, half, chunks)
    kernel(*subviews, 0, half)


ScheduleOf = Callable[[Kernel], Schedule]


def run_all(
    networks: Sequence[tuple[ModuleOp, Sequence[Array]]], schedule_of: ScheduleOf, target: Target
) -> tuple[list[list[Array]], list[Program]]:
    """The results of many networks on their arguments, compiled into one object.

    As in a model, kernels that are alike are one function.
    """
    functions: dict[Hashable, func.FuncOp] = {}
    programs: list[Program] = []
    for module, arguments in networks:
        FormFusionGroups().apply(Context(), module)
        program = Program(plan(module), arguments)
        for step in program.plan.steps:
            if not isinstance(step, Call):
                continue
            kernel = kernel_of(step, target)
            schedule = schedule_of(kernel)
            alike = kernel.signature_text, schedule
            if alike not in functions:
                functions[alike] = write(kernel, schedule, f"kernel_{len(functions)}")
                del functions[alike].properties["sym_visibility"]
            program.names.append(functions[alike].sym_name.data)
            program.kernels.append(kernel)
            program.schedules.append(schedule)
        programs.append(program)
    text = emit_llvm(lower(ModuleOp([*functions.values()]), target), target, "")
    code = MachineCode([emit_object(text, target)])
    return [program.run(code) for program in programs], programs


@pytest.fixture(name="kernels")
def written_kernels(make_network: Callable[..., ModuleOp]) -> Kernels:
    """kernels(write, *shapes): the kernels of what `write` writes."""

    def read(write: Callable[..., Any], *shapes: Shape) -> list[Kernel]:
        return kernels(make_network(list(shapes), write))

    return read


@pytest.fixture(scope="session")
def kernels_of() -> Callable[..., list[Kernel]]:
    """kernels_of(module, target): the kernels of a network, in order."""
    return kernels


@pytest.fixture(scope="session")
def run_networks() -> Callable[..., tuple[list[list[Array]], list[Program]]]:
    """run_networks(networks, schedule_of, target): results, and what was run."""
    return run_all


def _as_it_is(plan: Plan) -> Plan:
    return plan


def model_of(
    module: ModuleOp,
    target: Target,
    threads: int,
    change: Callable[[Plan], Plan] = _as_it_is,
) -> Model:
    """The model of a network without constants."""
    FormFusionGroups().apply(Context(), module)
    planned = change(plan(module))
    network = network_of(module)
    returned = network.body.block.last_op
    results = returned.operands if returned is not None else ()
    loops = build(planned, target, len(network.body.block.args), threads=threads)
    text = emit_llvm(lower(loops.module(), target), target)
    return Model(
        Artifact(
            objects=(threads_object(target), emit_object(text, target)),
            weights=b"",
            arena_bytes=planned.arena_bytes,
            inputs=_bindings("input", network.body.block.args),
            outputs=_bindings("output", results),
            threads=threads,
        )
    )


def _bindings(which: str, values: Sequence[SSAValue]) -> tuple[Binding, ...]:
    return tuple(Binding(f"{which}{k}", shape_of(value)) for k, value in enumerate(values))


@pytest.fixture(scope="session")
def make_model() -> Callable[..., Model]:
    """make_model(module, target, threads, change): a network in machine code, ready to run.

    change: is made to the memory plan.
    """

    def made(
        module: ModuleOp,
        target: Target | None = None,
        threads: int = 1,
        change: Callable[[Plan], Plan] = _as_it_is,
    ) -> Model:
        return model_of(module, target or Target.of("host"), threads, change)

    return made


@pytest.fixture
def kernel(
    make_network: Callable[..., ModuleOp], kernels_of: Callable[[ModuleOp], list[Kernel]]
) -> Callable[..., Kernel]:
    """kernel(write, *shapes): the last kernel that reduces, or the only one; channels packed."""

    def last(write: Any, *shapes: Shape, packed: bool = True) -> Kernel:
        module = make_network(list(shapes), write)
        if packed:
            PackChannels().apply(Context(), module)
        kernels = kernels_of(module)
        return ([k for k in kernels if k.reduced] or kernels)[-1]

    return last
