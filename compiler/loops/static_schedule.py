"""Lets a thread take its whole share of a short step at once.

    launch 62 of @k          takes 16, 8, 4, 2 and 1 of the 31 chunks of a share: five calls
    launch 62 by 31 of @k    takes them at once

Each time, the thread calls the kernel, which has work to do before its first chunk, and fetches a
word that other threads have read. In a step of some microseconds this costs more than an uneven
share. If the thread of a share does not come, others still take the share.

Where chunks depend on the shapes of the inputs, a thread takes no more at once than for the hint.

In a long step a thread takes half of the rest of its share each time, so that others find work if
it is late. To let one thread do all of a short step would be slower still: then the cache of one
core would have all operands of the next step.
"""

from __future__ import annotations

from dataclasses import replace

from ncc.compiler.loops.build_network import NetworkLoops, Step
from ncc.compiler.loops.launch.script import Barrier, Launch, LoopLaunch
from ncc.compiler.loops.work import work_of
from ncc.dialects.size import hint, largest, smallest

SHORT = 16.0
"""The most estimated microseconds of one thread in a short step."""

OPERATIONS, PRODUCTS = 1e5, 1.5e6
"""Operations in a microsecond, of vectors and of matrix tiles."""

DATA, WEIGHTS = 5e4, 2e4
"""Bytes in a microsecond, from the second-level cache and from beyond."""


def statically_scheduled(loops: NetworkLoops, threads: int) -> NetworkLoops:
    """The network, whose short launches hand out one share to each thread."""
    if threads == 1:
        return loops
    steps = iter(loops.steps)
    script = [
        launch if isinstance(launch, Barrier) else _shared_out(launch, next(steps), threads)
        for launch in loops.script
    ]
    return replace(loops, script=tuple(script))


def _shared_out(launch: Launch | LoopLaunch, step: Step, threads: int) -> Launch | LoopLaunch:
    if isinstance(launch, Launch):
        return _at_once(launch, step, threads)
    if launch.function is not None:
        return launch
    calls = iter(step.of_iteration or (step,))
    body = [
        one if isinstance(one, Barrier) else _at_once(one, next(calls), threads)
        for one in launch.body
    ]
    return replace(launch, body=tuple(body))


def _at_once(launch: Launch, step: Step, threads: int) -> Launch:
    microseconds = _estimated(step)
    if microseconds is None or microseconds > SHORT:
        return launch
    share = -(-launch.chunks // threads)
    return replace(launch, at_once=largest(1, smallest(share, hint(share))))


def _estimated(step: Step) -> float | None:
    """The time of one thread, for arithmetic or for memory, whichever is longer; None for code,
    whose operations are not counted.
    """
    work = work_of(step)
    if work.flops is None:
        return None
    arithmetic = work.flops / (PRODUCTS if work.tile_flops else OPERATIONS)
    return max(arithmetic, work.data_bytes / DATA + work.weight_bytes / WEIGHTS)
