"""Loops in plans that have none: calls that repeat become one step."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ncc.compiler.linalg.memory.alive import touches
from ncc.compiler.plan import Buffer, Call, Kind, Loop, Plan
from ncc.runtime.artifact import ALIGNMENT


def rolled(plan: Plan, begin: int, length: int, count: int, threads: int = 1) -> Plan:
    """The plan with a loop in place of the calls from `begin` on, so many of an iteration.

    What an iteration hands on has memory of its own behind the arena, a part for each thread.
    """
    end = begin + length * count
    calls = [step for step in plan.steps[begin:end] if isinstance(step, Call)]
    first, second = calls[:length], calls[length : 2 * length]
    touching = touches(plan.steps)
    own = {
        buffer
        for buffer in dict.fromkeys(at.buffer for call in first for at in call.subviews)
        if buffer.kind is Kind.ARENA and {*touching[buffer]} <= {*range(begin, begin + length)}
    }
    further = [
        [
            0 if one.buffer in own else other.offset - one.offset
            for one, other in zip(call.subviews, following.subviews, strict=True)
        ]
        for call, following in zip(first, second or first, strict=True)
    ]
    arena = plan.arena_bytes
    for buffer in own:
        arena = _placed(buffer, arena, threads)
    loop = Loop(moving(first, further), count, frozenset(own), threads)
    steps = (*plan.steps[:begin], loop, *plan.steps[end:])
    return replace(plan, steps=steps, arena_bytes=arena)


def moving(calls: Sequence[Call], further: Sequence[Sequence[int]]) -> tuple[Call, ...]:
    """Calls of a loop, whose subviews are so many elements further on in the next iteration."""
    made = []
    for call, distances in zip(calls, further, strict=True):
        moved = [
            replace(subview, further=distance)
            for subview, distance in zip(call.subviews, distances, strict=True)
        ]
        reads, writes = len(call.operands), len(call.operands) + len(call.results)
        kept = iter(moved[writes:])
        scratch = tuple(None if one is None else next(kept) for one in call.scratch)
        operands, results = tuple(moved[:reads]), tuple(moved[reads:writes])
        made.append(replace(call, operands=operands, results=results, scratch=scratch))
    return tuple(made)


def _placed(buffer: Buffer, at: int, threads: int) -> int:
    """Its end, if it is there, with so many parts of whole lines."""
    line = ALIGNMENT // buffer.element_bytes
    buffer.byte_offset = -(-at // ALIGNMENT) * ALIGNMENT
    buffer.elements = threads * -(-buffer.elements // line) * line
    return buffer.byte_offset + buffer.bytes
