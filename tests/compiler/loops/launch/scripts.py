"""Launches and scripts for tests of entry points."""

from __future__ import annotations

from dataclasses import replace

from xdsl.dialects.builtin import MemRefType, f32

from ncc.compiler.loops.launch.script import Argument, Barrier, Launch, LoopLaunch, Script


def memory(buffer: int, offset: int, elements: int = 8) -> Argument:
    return Argument(buffer, offset, MemRefType(f32, [elements]), 4 * elements)


def moved(argument: Argument, by_iteration: int = 0, by_thread: int = 0) -> Argument:
    return replace(argument, by_iteration=by_iteration, by_thread=by_thread)


SCRIPT: Script = (
    Launch("scale", 5, (memory(4, 0), memory(1, 32))),
    Barrier(),
    Launch("scale", 5, (memory(1, 32), memory(5, 0))),
    Launch("add", 1, (memory(1, 0), memory(1, 32), memory(1, 48))),
)

MAKE = Launch("make", 3, (moved(memory(4, 0), 8), memory(1, 64)))
USE = Launch("use", 4, (memory(1, 64), moved(memory(1, 512), 32)), at_once=2)
BEFORE = Launch("make", 5, (memory(4, 0), memory(1, 0)))
TOLD = Launch("t", 2, (memory(2, 0),), (7,), is_told_iteration=True)
AFTER = Launch("use", 1, (memory(1, 64), memory(1, 0)))

PRIVATE = LoopLaunch(
    6,
    (
        Launch("make", 3, (moved(memory(4, 0), 8), moved(memory(1, 64), 0, 128))),
        Launch("use", 2, (moved(memory(1, 64), 0, 128), moved(memory(1, 512), 32))),
    ),
    "loop_3",
)
