"""Lets the result of a kernel take the memory of an operand, as in a residual sum.

    %c = generic(%x, %w)                    sums, element by element
    %y = generic(%c + %r)                   %r is read at the element that is stored

One thread computes each element, once, and reads no other element of %r. Several calls may make %y,
each its own elements: those of a loop over tiles, and what stands behind the loop. Both values may
have halos: the halo of one holds no element of the other.

Needs: all steps in order.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import BlockArgument, Operation

from ncc.compiler.cost_model import Memory
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp
from ncc.compiler.linalg.memory.alive import touches
from ncc.compiler.plan import (
    AnyStep,
    Buffer,
    Call,
    Halo,
    Kind,
    Loop,
    Subview,
    calls_of,
    halos_of,
    touched,
)
from ncc.dialects.operation import ops_of
from ncc.dialects.size import hint
from ncc.runtime.artifact import ALIGNMENT

Shared: TypeAlias = Mapping[Buffer, tuple[Buffer, int]]
"""Buffers in the memory of another buffer: the distance between their beginnings, in bytes."""


def add_in_place(steps: Sequence[AnyStep], costs: Memory) -> tuple[list[AnyStep], Shared]:
    """The steps, and the buffers that take over the memory of others. Their halos are written
    behind the step that takes it over, unless they are there already (`standing_halos`).
    """
    found = taken_over([step for step in steps if not isinstance(step, Halo)], costs)
    before = {new: (old, further) for old, new, further in found}
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


def taken_over(steps: Sequence[Call | Loop], costs: Memory) -> Iterator[tuple[Buffer, Buffer, int]]:
    """Buffers whose memory a result may take: buffer, result, and the distance of their begins.

    From the first call that touches the result to the last call that touches the buffer, each call
    that touches either reads the buffer where it writes the result.
    """
    shifts: dict[tuple[Buffer, Buffer], dict[int, int]] = defaultdict(dict)
    for time, step in enumerate(steps):
        for call in calls_of(step):
            for subview in added_in_place(call, costs):
                (result,) = call.results
                if _alone(step, call, {subview.buffer, result.buffer}):
                    shifts[subview.buffer, result.buffer][time] = distance(subview, result)
    touching = touches(steps)
    for (old, new), found in shifts.items():
        since, until = touching[new][0], touching[old][-1]
        meanwhile = {time for time in touching[old] if time >= since}
        meanwhile |= {time for time in touching[new] if time <= until}
        if meanwhile == found.keys() and len(set(found.values())) == 1:
            yield old, new, found[since]


def _alone(step: Call | Loop, call: Call, buffers: set[Buffer]) -> bool:
    """Whether no other call of a loop touches these buffers."""
    others = (other for other in calls_of(step) if other is not call)
    return not any(subview.buffer in buffers for other in others for subview in other.subviews)


def added_in_place(call: Call, costs: Memory) -> Iterator[Subview]:
    """The operands that a call reads at the index where it stores its one result."""
    if len(call.results) != 1:
        return
    (result,), block = call.results, call.function.body.block
    if result.buffer.kind is not Kind.ARENA:
        return
    views: dict[Operation, LinalgOp] = {
        op: LinalgOp(op) for op in ops_of(block) if isinstance(op, GenericOp)
    }
    (type,) = call.function.function_type.outputs
    buffers = [subview.buffer for subview in call.operands]
    for subview, argument in zip(call.operands, block.args, strict=True):
        alike = argument.type == type and _lies_as(subview, result, costs)
        if alike and buffers.count(subview.buffer) == 1 and _is_added(argument, views):
            yield subview


def _lies_as(one: Subview, other: Subview, costs: Memory) -> bool:
    """Whether two buffers of one size in the arena can lie so that these subviews are the same."""
    further, rest = divmod(distance(one, other), ALIGNMENT)
    return (
        one.buffer.kind is Kind.ARENA
        and (one.buffer.elements, one.buffer.element_bytes)
        == (other.buffer.elements, other.buffer.element_bytes)
        and (one.strides, one.further) == (other.strides, other.further)
        and rest == 0
        and abs(hint(further)) * ALIGNMENT <= hint(one.buffer.bytes) * costs.most_shift
    )


def distance(old: Subview, new: Subview) -> int:
    """How many bytes behind the buffer of `old` that of `new` begins, if both subviews are one."""
    return (old.offset - new.offset) * old.buffer.element_bytes


def _is_added(argument: BlockArgument, views: Mapping[Operation, LinalgOp]) -> bool:
    """Whether a kernel reads an argument behind its sum, at the element that it stores.

    views: its operations.
    """
    if not argument.has_one_use():
        return False
    (use,) = argument.uses
    linalg_op = views.get(use.operation)
    if linalg_op is None or not linalg_op.is_pointwise or use.index >= len(linalg_op.reads):
        return False
    here = linalg_op.reads[use.index].index == linalg_op.write.index
    sums = (op for op, other in views.items() if other.reads_outs)
    return here and any(op.is_before_in_block(linalg_op.op) for op in sums)
