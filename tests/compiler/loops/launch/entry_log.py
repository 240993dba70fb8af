"""What an entry point does, one after another, if one thread takes all chunks."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from xdsl.interpreter import (
    Interpreter,
    InterpreterFunctions,
    PythonValues,
    impl,
    register_impls,
)
from xdsl.interpreters import arith, func, scf

from ncc.compiler.loops.launch.entry import write_run
from ncc.compiler.loops.launch.script import (
    Argument,
    Barrier,
    Launch,
    LoopLaunch,
    Script,
    declarations,
)
from ncc.dialects import rt
from ncc.dialects.functions import module_of

EARLIER = 1000
"""Chunks of earlier runs."""

Event: TypeAlias = tuple[object, ...]
"""A launch: its kernel, its arguments, when its chunks begin and how many there are; or a wait:
until when, and how many chunks the thread has done since the last one.
"""


@register_impls
class _Log(InterpreterFunctions):
    def __init__(self) -> None:
        self.events: list[Event] = []

    @impl(rt.BufferOp)
    def buffer(self, _: Interpreter, op: rt.BufferOp, values: PythonValues) -> PythonValues:
        further = values[1] if op.further is not None else 0
        return ((op.index.value.data, op.offset.value.data + further),)

    @impl(rt.LaunchOp)
    def launch(self, _: Interpreter, op: rt.LaunchOp, values: PythonValues) -> PythonValues:
        *arguments, did, _buffers, _thread, _threads, before = values
        name = op.callee and op.callee.string_value()
        self.events.append((name, *arguments, before + op.after.value.data, op.counted))
        return (did + op.counted,)

    @impl(rt.BarrierOp)
    def barrier(self, _: Interpreter, op: rt.BarrierOp, values: PythonValues) -> PythonValues:
        did, _buffers, _threads, before = values
        self.events.append(("wait", before + op.until.value.data, did))
        return ()

    @impl(rt.EndOp)
    def end(self, _: Interpreter, op: rt.EndOp, values: PythonValues) -> PythonValues:
        did, *_others, before = values
        self.events.append(("end", before + op.until.value.data, did))
        return ()


def events(script: Script) -> list[Event]:
    """Those of its entry point, whose loops run."""
    module = module_of([*declarations(script), write_run(script)])
    module.verify()
    interpreter, log = Interpreter(module), _Log()
    for functions in (arith.ArithFunctions(), func.FuncFunctions(), scf.ScfFunctions(), log):
        interpreter.register_implementations(functions)
    interpreter.call_op("run", (None, 0, 1, EARLIER))
    return log.events


def unrolled(script: Script) -> Script:
    """The same without loops."""
    return tuple(chain(*map(_unrolled, script)))


def _unrolled(step: Launch | LoopLaunch | Barrier) -> Iterator[Launch | Barrier]:
    if not isinstance(step, LoopLaunch):
        yield step
        return
    for iteration in range(step.count):
        for one in step.body[iteration == 0 and step.body[0] == Barrier() :]:
            yield _at(one, iteration) if isinstance(one, Launch) else one


def _at(launch: Launch, iteration: int) -> Launch:
    told = (iteration,) if launch.is_told_iteration else ()
    arguments = tuple(_moved(argument, iteration) for argument in launch.arguments)
    return replace(launch, arguments=arguments, numbers=(*launch.numbers, *told))


def _moved(argument: Argument, iteration: int) -> Argument:
    return replace(argument, offset=argument.offset + iteration * argument.by_iteration)
