"""What an entry point does, one after another, if one thread takes all chunks."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import chain
from typing import TypeAlias

from xdsl.dialects import memref
from xdsl.interpreter import Interpreter, InterpreterFunctions, PythonValues, impl, register_impls
from xdsl.interpreters import arith, func, scf

from ncc.compiler.loops.launch.entry import write_run
from ncc.compiler.loops.launch.numbers import WORD, Number
from ncc.compiler.loops.launch.script import (
    Argument,
    Barrier,
    Launch,
    LoopLaunch,
    Script,
    declarations,
    table_of,
)
from ncc.dialects import rt
from ncc.dialects.functions import module_of
from ncc.runtime.artifact import NUMBERS_BUFFER

EARLIER = 1000
"""Chunks of earlier runs."""

Event: TypeAlias = tuple[object, ...]
"""A launch: its kernel, its arguments, when its chunks begin, how many units there are, of how many
chunks, and how many chunks; or a wait: until when, and how many units the thread has done since the
last one. The sizes of a kernel are an argument.
"""


@register_impls
class _Log(InterpreterFunctions):
    def __init__(self, words: Sequence[int]) -> None:
        """words: the numbers of the run."""
        self.events: list[Event] = []
        self.words = words

    @impl(rt.BufferOp)
    def buffer(self, _: Interpreter, op: rt.BufferOp, values: PythonValues) -> PythonValues:
        further = values[1] if op.further is not None else 0
        index, offset = op.index.value.data, op.offset.value.data + further
        if index != NUMBERS_BUFFER:
            return ((index, offset),)
        (count,) = op.memref.type.get_shape()
        return (tuple(self.words[offset // WORD :][:count]),)

    @impl(memref.LoadOp)
    def load(self, _: Interpreter, op: memref.LoadOp, values: PythonValues) -> PythonValues:
        words, at = values
        return (words[at],)

    @impl(rt.LaunchOp)
    def launch(self, _: Interpreter, op: rt.LaunchOp, values: PythonValues) -> PythonValues:
        told, arguments = values[: len(op.told)], values[len(op.told) : -5]
        did, _buffers, _thread, _threads, before = values[-5:]
        name = op.callee and op.callee.string_value()
        at_once = 1 if op.at_once is None else op.at_once.value.data
        known = op.counted, at_once, op.chunks.value.data
        units = (told[0], 1, told[0]) if len(told) == 1 else tuple(told) or known
        self.events.append((name, *arguments, before + op.after.value.data, *units))
        return (did + units[0],)

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


def events(script: Script, bases: Sequence[int] = ()) -> list[Event]:
    """Those of its entry point, whose loops run. bases: where the parts of the arena begin."""
    words = [told(number, bases) for number in table_of(script).numbers]
    return events_with(script, words)


def told(number: Number, bases: Sequence[int]) -> int:
    """A number of a script without sizes."""
    return number.value + (0 if number.part is None else bases[number.part])


def events_with(script: Script, words: Sequence[int]) -> list[Event]:
    """The same for these numbers of the run."""
    module = module_of([*declarations(script), write_run(script)])
    module.verify()
    interpreter, log = Interpreter(module), _Log(words)
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
