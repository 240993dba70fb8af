"""Divides a sum instead of its terms, if all terms have one divisor.

    p[s, t] = e[s, t] / d[s]                          r[s, f] = sum over t of e[s, t] * v[t, f]
    r[s, f] = sum over t of p[s, t] * v[t, f]   ->    r[s, f] = r[s, f] / d[s]

So the division of softmax needs no pass over all scores of an attention. The pass takes only the
quotients of softmax: exponentials, the largest of which is 1, by their sum. Sums of other terms
might overflow.

Needs: the linalg level before groups.  Breaks: nothing; quotients are rounded once, behind the
sum, which is up to d times as large.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, filled_with, outs_of, shape_of
from ncc.compiler.linalg.analysis.softmax import Softmax
from ncc.compiler.linalg.analysis.uses import reader_of
from ncc.compiler.linalg.rewrite.insert import builder_for, move_after, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.size import hint


class DeferDivision(LinalgPattern["_Dividing"]):
    """Divide a sum of softmax quotients instead of its terms."""

    name = "defer-division"

    def match(self, op: GenericOp) -> _Dividing | str | None:
        found, user = Softmax.of(op), reader_of(op.results[0])
        if found is None:
            return None
        if user is None:
            return "its quotients are read by no contraction, or not by one alone"
        linalg_op, quotients = LinalgOp(user), op.results[0]
        pair = linalg_op.product
        if pair is None or not linalg_op.reduced or filled_with(outs_of(user)) != 0.0:
            return "the reader of its quotients does not sum products of them from zero"
        if hint(prod(shape_of(user.results[0]))) > hint(prod(shape_of(quotients))):
            return "the sums are more than the quotients"
        position = next((p for p in pair if linalg_op.reads[p].value is quotients), None)
        if position is None:
            return "its quotients are no factor of the sums"
        loops = [linalg_op.reads[position].index[axis].bare for axis in found.kept]
        axis_of = {form.bare: axis for axis, form in enumerate(linalg_op.write.index)}
        if None in loops or not all(loop in axis_of for loop in loops):
            return "sums add quotients with several divisors"
        axes = tuple(axis_of[loop] for loop in loops)
        return _Dividing(user, position, found, axes)

    def rewrite(self, found: _Dividing) -> None:
        found.contraction.operands[found.position] = found.softmax.powers
        total = found.contraction.results[0]
        b = builder_for(found.contraction)
        loops = b.loops_of(shape_of(total))
        sums = tensor_of(found.softmax.sums)[tuple(loops[axis] for axis in found.axes)]
        divided = b.map(loops, tensor_of(total)[tuple(loops)] / found.softmax.divisor(sums)).value
        inside = set(b.block.ops)
        total.replace_uses_with_if(divided, lambda use: use.operation not in inside)
        move_after(b, total)


class _Dividing(NamedTuple):
    """A contraction, the position where it reads quotients, and the softmax that makes them.

    axes: where the axes of the sums are among those of the result.
    """

    contraction: GenericOp
    position: int
    softmax: Softmax
    axes: tuple[int, ...]
