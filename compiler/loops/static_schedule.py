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

from ncc.compiler.cost_model import Threads
from ncc.compiler.loops.build_network import NetworkLoops, Step
from ncc.compiler.loops.launch.script import Barrier, Launch, LoopLaunch
from ncc.compiler.loops.work import work_of
from ncc.dialects.size import hint, largest, smallest


def statically_scheduled(loops: NetworkLoops, threads: int, costs: Threads) -> NetworkLoops:
    """The network, whose short launches hand out one share to each thread."""
    if threads == 1:
        return loops
    steps = iter(loops.steps)
    script = [
        launch if isinstance(launch, Barrier) else _shared_out(launch, next(steps), threads, costs)
        for launch in loops.script
    ]
    return replace(loops, script=tuple(script))


def _shared_out(
    launch: Launch | LoopLaunch, step: Step, threads: int, costs: Threads
) -> Launch | LoopLaunch:
    if isinstance(launch, Launch):
        return _at_once(launch, step, threads, costs)
    if launch.function is not None:
        return launch
    calls = iter(step.of_iteration or (step,))
    body = [
        one if isinstance(one, Barrier) else _at_once(one, next(calls), threads, costs)
        for one in launch.body
    ]
    return replace(launch, body=tuple(body))


def _at_once(launch: Launch, step: Step, threads: int, costs: Threads) -> Launch:
    microseconds = _estimated(step, costs)
    if microseconds is None or microseconds > costs.short_step:
        return launch
    share = -(-launch.chunks // threads)
    return replace(launch, at_once=largest(1, smallest(share, hint(share))))


def _estimated(step: Step, costs: Threads) -> float | None:
    """The time of one thread, for arithmetic or for memory, whichever is longer; None for code,
    whose operations are not counted.
    """
    work = work_of(step)
    if work.flops is None:
        return None
    arithmetic = work.flops / (costs.products if work.tile_flops else costs.operations)
    return max(arithmetic, work.data_bytes / costs.data + work.weight_bytes / costs.weights)
