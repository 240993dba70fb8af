"""Values that take over the memory of the one before them.

    y = sum + x    each cell of x is read where it is stored (`add_in_place`)

or where a window of it moves up:

    strip k        | a b c d e |             strip k + 1    | d e f g h |
                         ^ ^ ^                                ^ ^
    its last cells are the first ones of the next: copied while the one dies and the other is born

Both are one piece of memory then. It stays in a cache from step to step, and the border that
frames the one frames the other.

Needs: all steps in order. The cells that move and those that they are written to are other ones.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.builtin import TensorType

from ncc.compiler.linalg.memory.add_in_place import taken_over
from ncc.compiler.linalg.memory.alive import touches
from ncc.compiler.plan import Buffer, Call, Kind, Step, Subview, halos_of

Shared: TypeAlias = Mapping[Buffer, tuple[Buffer, int]]
"""Roots in the memory of another one: how many bytes behind its beginning they begin."""


def move_up(steps: Sequence[Step]) -> tuple[list[Step], Shared]:
    """The steps, and whose memory such roots go on in: their frames are written behind the step
    that moves, unless they stand there already (`standing_halos`).
    """
    before = _moves([step for step in steps if isinstance(step, Call)])
    halos = halos_of(steps)
    left: list[Step] = []
    memory: dict[Buffer, tuple[Buffer, int]] = {}
    for step in steps:
        if isinstance(step, Call):
            left.append(step)
            new = step.subviews[-1].buffer
            if new in before and new not in memory:
                old, further = before[new]
                first, begin = memory.get(old, (old, 0))
                memory[new] = first, begin + further
                left += halos.get(new, [])
        elif step.subview.buffer not in before:
            left.append(step)
    return left, memory


def _moves(calls: Sequence[Call]) -> Shared:
    """The roots that calls make of another one, in its place, which nobody touches afterwards."""
    touching = touches(calls)
    found = {new: (old, further) for old, new, further in taken_over(calls)}
    for time, call in enumerate(calls):
        if _may_share(call):
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
    return _are_apart(old, new, given.get_shape())


def _are_apart(one: Subview, other: Subview, shape: Sequence[int]) -> bool:
    """Whether two boxes of that shape have no cell in common: one lies further along an axis."""
    distance, outer = abs(one.offset - other.offset), None
    for extent, stride in zip(shape, one.strides, strict=True):
        cells, rest = divmod(distance, stride)
        if not rest and cells >= extent and (outer is None or (cells + extent) * stride <= outer):
            return True
        outer = stride
    return False
