"""Short steps are handed out a thread's whole share at a time.

    launch 62 of @k          takes 16, 8, 4, 2 and 1 of the 31 chunks of a share: five calls
    launch 62 by 31 of @k    takes them at once

Each taking is a call, with all that a kernel does before its first chunk, and a word of which the
other threads had a look has to come back. In a step of some microseconds that is more than is lost
where one thread is slower than another. A share is still taken by others if its thread does not
come.

In a long step a thread takes half of what is left of its share each time, so that the others find
work where it is late. To give all of a short step to one thread is slower still: then all that the
next step reads would lie in the cache of one core.
"""

from __future__ import annotations

from dataclasses import replace

from ncc.compiler.loops.build_network import NetworkLoops, Step
from ncc.compiler.loops.launch.entry import Barrier, Launch, LoopLaunch
from ncc.compiler.loops.work import work_of

SHORT = 16.0
"""Microseconds of one thread, as estimated."""

OPERATIONS, PRODUCTS = 1e5, 1.5e6
"""Of a microsecond: what vectors do, and what matrix tiles do."""

DATA, WEIGHTS = 5e4, 2e4
"""Bytes of a microsecond, from the second level of the caches and from behind it."""


def statically_scheduled(loops: NetworkLoops, threads: int) -> NetworkLoops:
    """The network, of whose launches the short ones are shares of so many threads."""
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
    return replace(launch, at_once=max(1, -(-launch.chunks // threads)))


def _estimated(step: Step) -> float | None:
    """What one thread takes at most for arithmetic or for memory; None for code, of which little is
    known.
    """
    work = work_of(step)
    if work.flops is None:
        return None
    arithmetic = work.flops / (PRODUCTS if work.tile_flops else OPERATIONS)
    return max(arithmetic, work.data_bytes / DATA + work.weight_bytes / WEIGHTS)
