"""Values that take over the memory of the one before them.

    y = sum + x    each element of x is read where it is stored (`add_in_place`)

or where a window of it moves up:

    strip k        | a b c d e |             strip k + 1    | d e f g h |
                         ^ ^ ^                                ^ ^
    its last elements are the first ones of the next: copied as one value ends and the other begins

Then both values have the same memory. It stays in a cache from step to step, and both values share
one halo.

Needs: all steps in order. The elements that move do not overlap those that are overwritten.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType

from ncc.compiler.linalg.memory.add_in_place import taken_over
from ncc.compiler.linalg.memory.alive import touches
from ncc.compiler.plan import AnyStep, Buffer, Call, Halo, Kind, Loop, Subview, halos_of, touched
from ncc.dialects.attributes import extents_of
from ncc.dialects.size import is_never_below

Shared: TypeAlias = Mapping[Buffer, tuple[Buffer, int]]
"""Buffers in the memory of another buffer: the distance between their beginnings, in bytes."""


def move_up(steps: Sequence[AnyStep]) -> tuple[list[AnyStep], Shared]:
    """The steps, and the buffers whose memory others take over. Their halos are written behind the
    step that moves, unless they are there already (`standing_halos`).
    """
    before = _moves([step for step in steps if not isinstance(step, Halo)])
    halos = halos_of(steps)
    left: list[AnyStep] = []
    memory: dict[Buffer, tuple[Buffer, int]] = {}
    for step in steps:
        if isinstance(step, Halo):
            if step.subview.buffer not in before:
                left.append(step)
            continue
        left.append(step)
        for new in dict.fromkeys(touched(step)[1]):
            if new in before and new not in memory:
                old, further = before[new]
                first, begin = memory.get(old, (old, 0))
                memory[new] = first, begin + further
                left += halos.get(new, [])
    return left, memory


def _moves(steps: Sequence[Call | Loop]) -> Shared:
    """The buffers that steps write over another one, which no later step touches."""
    touching = touches(steps)
    found = {new: (old, further) for old, new, further in taken_over(steps)}
    for time, call in enumerate(steps):
        if isinstance(call, Call) and _may_share(call):
            old, new = (subview.buffer for subview in call.subviews)
            if touching[old][-1] == time == touching[new][0]:
                found[new] = old, 0
    return found


def _may_share(call: Call) -> bool:
    """Whether the one operand and the result of a call may be windows of the same memory."""
    if len(call.operands) != 1 or len(call.subviews) != 2:
        return False
    old, new = call.subviews
    one, other = old.buffer, new.buffer
    if one.kind is not Kind.ARENA or other.kind is not Kind.ARENA:
        return False
    if (one.elements, old.strides) != (other.elements, new.strides):
        return False
    given, made = *call.function.function_type.inputs, *call.function.function_type.outputs
    if not isinstance(given, TensorType) or given != made:
        return False
    return _are_apart(old, new, extents_of(given))


def _are_apart(one: Subview, other: Subview, shape: Sequence[int]) -> bool:
    """Whether it is certain that two boxes of that shape have no element in common, because of one
    axis.
    """
    begin, end = one.offset, other.offset
    distance, outer = end - begin if is_never_below(end, begin) else begin - end, None
    for extent, stride in zip(shape, one.strides, strict=True):
        cells, rest = divmod(distance, stride)
        whole = rest == 0 and is_never_below(cells, extent)
        if whole and (outer is None or is_never_below(outer, (cells + extent) * stride)):
            return True
        outer = stride
    return False
