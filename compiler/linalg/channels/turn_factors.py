"""Factors that a run makes, transposed so that neighbours in the result are neighbours in them.

    y[m, n] += x[m, k] * w[n, k]     ->     t[k, n] = w[n, k],  y[m, n] += x[m, k] * t[k, n]

Vectors of results take in whole vectors of t; along k each result would be a sum of its own over
the lanes of one. Turning is worth it where each element meets many others. Constants are turned by
`pack`, at no cost.

Needs: the structured level, before `pack`.  Breaks: the order of floating-point sums.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp, f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.passes import ModulePass

from ncc.compiler.linalg.channels.packing import BLOCK
from ncc.compiler.linalg.insert import move_before, reread, tensor_of
from ncc.compiler.linalg.linear import Linear
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.tensors import is_constant
from ncc.compiler.linalg.view import View, shape_of
from ncc.dialects.comprehension import Builder
from ncc.dialects.element import element_of

FEWEST_USES = 24
"""Products of an element that outweigh moving it: those of a vector take a third of the time of
sums over lanes."""


@dataclass(frozen=True)
class TurnFactors(ModulePass):
    """Turn the factor of every product that lies across its result; see the head of this file."""

    name = "turn-factors"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        made: dict[tuple[SSAValue, int], SSAValue] = {}
        for generic in generics_of(network_of(op).body.block):
            found = across(View(generic))
            if found is not None:
                _turn(generic, *found, made)


def across(view: View) -> tuple[int, int] | None:
    """The operand that is worth turning, and its axis along which the results lie."""
    pair = view.product()
    loop = view.write.index[-1].bare if view.write.index else None
    if pair is None or loop is None or not view.reduced or view.extents[loop] < BLOCK // 2:
        return None
    along = [position for position in pair if view.reads[position].uses(loop)]
    if len(along) != 1:
        return None
    factor = view.reads[along[0]]
    loops = [form.bare for form in factor.index]
    moved = [form for form in factor.index if form != Linear.of({})]
    if loops[-1] == loop or len({form.bare for form in moved} - {None}) < len(moved):
        return None
    if is_constant(factor.value) or element_of(factor.value) != f32:
        return None
    uses = prod(view.extents[d] for d in view.parallel if d not in loops)
    return (along[0], loops.index(loop)) if uses >= FEWEST_USES else None


def _turn(
    op: GenericOp, position: int, axis: int, made: dict[tuple[SSAValue, int], SSAValue]
) -> None:
    """Let op read the operand with that axis as its last one."""
    value = op.operands[position]
    if (value, axis) not in made:
        scratch, shape = Block(), list(shape_of(value))
        b = Builder(scratch, "layout")
        *outer, last = at = b.loops_of([*shape[:axis], *shape[axis + 1 :], shape[axis]])
        turned = b.map(at, tensor_of(value)[[*outer[:axis], last, *outer[axis:]]])
        move_before(scratch, op)
        made[value, axis] = turned.value
    index = list(op.indexing_maps.data[position].data.results)
    index.append(index.pop(axis))
    reread(op, position, made[value, axis], index)
