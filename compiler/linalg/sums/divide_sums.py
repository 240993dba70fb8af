"""Sums of quotients, divided when they are sums.

    p[s, t] = e[s, t] / d[s]                          r[s, f] = sum over t of e[s, t] * v[t, f]
    r[s, f] = sum over t of p[s, t] * v[t, f]   ->    r[s, f] = r[s, f] / d[s]

So softmax leaves attention without a pass over all scores. It is done for what softmax divides:
powers by their sum, of which the largest is 1. Of others, products may be beyond all numbers.

Needs: the structured level before groups.  Breaks: nothing; quotients are rounded once, behind the
sum, which is up to d times as large.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects import arith, math
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, BlockArgument, Operation, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.insert import doc_of, erase_dead, move_behind, tensor_of
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.view import View, filled_with, shape_of
from ncc.dialects.comprehension import Builder
from ncc.dialects.operation import operands_of


@dataclass(frozen=True)
class DivideSums(ModulePass):
    """Divide sums instead of what they sum; see the head of this file."""

    name = "divide-sums"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        for generic in generics_of(block):
            found = _Shares.of(generic)
            if found is not None:
                found.rewrite()
        erase_dead(block)


@dataclass(frozen=True)
class _Shares:
    """A contraction, the position where it reads shares, their powers and the sums of these.

    axes: where the axes of the sums are among those of the result.
    """

    contraction: GenericOp
    position: int
    powers: SSAValue
    sums: SSAValue
    axes: tuple[int, ...]

    @staticmethod
    def of(op: GenericOp) -> _Shares | None:
        """The contraction that alone reads the shares which op makes, if it may be divided."""
        found, user = _quotient(op), op.results[0].get_user_of_unique_use()
        if found is None or not isinstance(user, GenericOp):
            return None
        powers, sums, places = found
        view, shares = View(user), op.results[0]
        pair = view.product()
        if pair is None or not view.reduced or not _is_zero(user.outputs[0]):
            return None
        if prod(shape_of(user.results[0])) > prod(shape_of(shares)):
            return None
        position = next((p for p in pair if view.reads[p].value is shares), None)
        if position is None:
            return None
        loops = [view.reads[position].index[place].bare for place in places]
        axis_of = {form.bare: axis for axis, form in enumerate(view.write.index)}
        if None in loops or not all(loop in axis_of for loop in loops):
            return None
        return _Shares(user, position, powers, sums, tuple(axis_of[loop] for loop in loops))

    def rewrite(self) -> None:
        """Sum powers, divide the sums."""
        self.contraction.operands[self.position] = self.powers
        total = self.contraction.results[0]
        scratch = Block()
        b = Builder(scratch, doc_of(self.contraction))
        loops = b.loops_of(shape_of(total))
        sums = tensor_of(self.sums)[tuple(loops[axis] for axis in self.axes)]
        divided = b.map(loops, tensor_of(total)[tuple(loops)] / sums).value
        inside = set(scratch.ops)
        total.replace_uses_with_if(divided, lambda use: use.operation not in inside)
        move_behind(scratch, self.contraction)


def _is_zero(start: SSAValue) -> bool:
    """Whether a sum starts from nothing."""
    return filled_with(start) == 0.0


def _quotient(op: GenericOp) -> tuple[SSAValue, SSAValue, tuple[int, ...]] | None:
    """Powers, their sums, and the axes of the powers that the sums have; None of anything else."""
    over = _yielded(op)
    if not isinstance(over, arith.DivfOp):
        return None
    view = View(op)
    if not view.is_pointwise:
        return None
    operands = [o for o in operands_of(over) if isinstance(o, BlockArgument)]
    if len(operands) != 2 or any(o.owner is not view.body for o in operands):
        return None
    powers, sums = (view.reads[o.index] for o in operands)
    place_of = {form.bare: place for place, form in enumerate(view.write.index)}
    loops = [form.bare for form in sums.index]
    if powers.index != view.write.index or None in place_of or None in loops:
        return None
    places = tuple(place_of[loop] for loop in loops)
    if not _folds(sums.value.owner, arith.AddfOp, powers.value):
        return None
    return (powers.value, sums.value, places) if _at_most_one(powers.value, places) else None


def _yielded(op: GenericOp) -> Operation | Block | None:
    """What computes a point."""
    last = op.regions[0].block.last_op
    return None if last is None else operands_of(last)[0].owner


def _at_most_one(powers: SSAValue, places: tuple[int, ...]) -> bool:
    """Whether these are exponentials of x - m, m the largest x at these axes: one of them is 1."""
    if not isinstance(powers.owner, GenericOp):
        return False
    view = View(powers.owner)
    power = view.yielded.owner
    if not isinstance(power, math.ExpOp) or not isinstance(power.operand.owner, arith.SubfOp):
        return False
    operands = [o for o in operands_of(power.operand.owner) if isinstance(o, BlockArgument)]
    if len(operands) != 2 or any(o.owner is not view.body for o in operands):
        return False
    x, largest = (view.reads[o.index] for o in operands)
    known = [view.write.index[place] for place in places]
    if x.index != view.write.index or list(largest.index) != known:
        return False
    return _folds(largest.value.owner, arith.MaxnumfOp, x.value)


def _folds(op: Operation | Block, by: type[Operation], values: SSAValue) -> bool:
    """Whether op folds values as they are, each once."""
    if not isinstance(op, GenericOp) or list(op.inputs) != [values]:
        return False
    view = View(op)
    folded = view.combiner()
    if folded is None or not isinstance(folded[0], by):
        return False
    return folded[1] is view.body.args[0]
