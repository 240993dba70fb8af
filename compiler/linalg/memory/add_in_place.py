"""Operands of a kernel whose memory its result may have, as the value that is added to a sum does.

    %c = generic(%x, %w)                    sums, cell by cell
    %y = generic(%c + %r)                   %r is read at the cell that is stored, and nowhere else

A cell is computed once, by one thread, and nobody reads another one of %r. Both may have borders
of their own: what frames the one is none of the other's cells.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, BlockArgument, Operation

from ncc.compiler.linalg.view import View
from ncc.compiler.plan import Call, Kind, Place
from ncc.runtime.artifact import ALIGNMENT

MOST_BESIDE = 1 / 8
"""The part of a root that may lie beside the other one, whose memory is kept for it meanwhile."""


def added_in_place(call: Call) -> Iterator[Place]:
    """The operands that are read where the one result is stored, which can lie where they do."""
    if len(call.results) != 1:
        return
    (result,), block = call.results, call.function.body.block
    if result.root.kind is not Kind.ARENA:
        return
    (type,) = call.function.function_type.outputs
    roots = [place.root for place in call.operands]
    for place, argument in zip(call.operands, block.args, strict=True):
        alike = argument.type == type and _lies_as(place, result)
        if alike and roots.count(place.root) == 1 and _is_added(argument, block):
            yield place


def _lies_as(one: Place, other: Place) -> bool:
    """Whether roots of the arena, of one size, can lie so that these windows of them are one."""
    further, rest = divmod(distance(one, other), ALIGNMENT)
    return (
        one.root.kind is Kind.ARENA
        and (one.root.elements, one.root.element_bytes)
        == (other.root.elements, other.root.element_bytes)
        and one.strides == other.strides
        and not rest
        and abs(further) * ALIGNMENT <= one.root.bytes * MOST_BESIDE
    )


def distance(old: Place, new: Place) -> int:
    """How many bytes behind the root of `old` that of `new` begins, if both places are one."""
    return (old.offset - new.offset) * old.root.element_bytes


def _is_added(argument: BlockArgument, block: Block) -> bool:
    """Whether a kernel reads an argument behind its sum, at the cell that it stores."""
    user = argument.get_user_of_unique_use()
    if not isinstance(user, GenericOp):
        return False
    view = View(user)
    position = user.operands.index(argument)
    if not view.is_pointwise or position >= len(view.reads):
        return False
    here = view.reads[position].index == view.write.index
    return here and any(_sums(op) and op.is_before_in_block(user) for op in block.ops)


def _sums(op: Operation) -> bool:
    return isinstance(op, GenericOp) and View(op).reads_outs
