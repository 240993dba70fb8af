"""Moves sums directly behind the last operand that they alone read.

    %a = conv ..                      %a = conv ..
    %b = conv ..                      %b = conv ..
    %c = conv ..              ->      %s = %a + %b
    %s = %a + %b                      %c = conv ..
    %t = %s + %c                      %t = %s + %c

This shortens live ranges. Behind the sum, one value is alive instead of all its operands. A network
that adds the results of many layers at its end then holds a running total. The kernel of the last
operand stores the sum.

Needs: the linalg level before groups.  Breaks: nothing; only the order changes.
"""

from __future__ import annotations

from xdsl.dialects import tensor
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern


class HoistReductions(LinalgPattern[GenericOp]):
    """Move sums of several values directly behind the last of these."""

    name = "hoist-reductions"

    def match(self, op: GenericOp) -> GenericOp | str | None:
        if not _leaves_one(op):
            return None
        if len(op.outputs) == 1 and isinstance(op.outputs[0].owner, tensor.EmptyOp):
            return op
        return "it goes on from other values"

    def rewrite(self, found: GenericOp) -> None:
        (first,) = (value.owner for value in found.outputs)
        assert isinstance(first, tensor.EmptyOp)
        read = (*found.inputs, *LinalgOp(found).captured)
        last, *others = [value.owner for value in read if isinstance(value.owner, Operation)]
        for owner in others:
            last = owner if last.is_before_in_block(owner) else last
        moved = [first, found] if first.results[0].has_one_use() else [found]
        if len(moved) == 1 and last.is_before_in_block(first):
            return
        for one in reversed(moved):
            one.detach()
            Rewriter.insert_op(one, InsertPoint.after(last))


def _leaves_one(op: GenericOp) -> bool:
    """Whether op makes one value of several of its size, that it alone reads."""
    shape = shape_of(op.results[0])
    made = {value for value in op.inputs if isinstance(value.owner, Operation)}
    alike = [value for value in made if value.has_one_use() and shape_of(value) == shape]
    return len(alike) > 1
