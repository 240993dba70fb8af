"""What rewrites of a block share: putting in what a builder made, erasing what nobody reads."""

from __future__ import annotations

from xdsl.ir import Block, Operation, SSAValue

from ncc.compiler.linalg.view import shape_of
from ncc.dialects.comprehension import Tensor


def move_before(scratch: Block, before: Operation) -> None:
    """Put the operations of a block in front of another operation."""
    parent = before.parent_block()
    for op in list(scratch.ops):
        scratch.detach_op(op)
        if parent is not None:
            parent.insert_op_before(op, before)


def move_behind(scratch: Block, after: Operation) -> None:
    """Put the operations of a block behind another operation."""
    parent = after.parent_block()
    ops = list(scratch.ops)
    for op in ops:
        scratch.detach_op(op)
    if parent is not None:
        parent.insert_ops_after(ops, after)


def tensor_of(value: SSAValue) -> Tensor:
    """A value as the builder's tensor."""
    return Tensor(value, shape_of(value))


def erase_dead(block: Block) -> None:
    """Erase the operations whose results nobody reads."""
    op = block.last_op
    while op is not None:
        before = op.prev_op
        if op.results and all([result.first_use is None for result in op.results]):
            block.erase_op(op)
        op = before
