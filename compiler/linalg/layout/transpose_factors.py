"""Transposes factors of products that a run makes, so that they lie along the result.

    y[m, n] += x[m, k] * w[n, k]     ->     t[k, n] = w[n, k],  y[m, n] += x[m, k] * t[k, n]

A vector of results then adds products with whole vectors of t. With w as it lies, vectors run along
k, and each result is the sum of the lanes of one. To transpose pays where each element is used many
times. `PackChannels` transposes constants, at no cost.

Where x and y have fewer elements than w, these are transposed instead, as the values and results of
an attention whose probabilities are w:

    t[k, m] = x[m, k],  z[n, m] += w[n, k] * t[k, m],  y[m, n] = z[n, m]

The same holds for many rows of a few elements, if a constant factor makes a few others of each, as
an attention mixes its heads. Neither lies in whole vectors, and transposes around the product end
each other.

The pass transposes one of the two factors only, and only once in a run.

Needs: the linalg level, before `pack-channels`.  Breaks: the order of floating-point sums.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import prod

from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Block, SSAValue
from xdsl.rewriter import Rewriter

from ncc.compiler.cost_model import CostModel
from ncc.compiler.linalg.analysis.affine_form import AffineForm, indexing_map
from ncc.compiler.linalg.analysis.block_size import BLOCK, lanes_in
from ncc.compiler.linalg.analysis.generics import generics_of
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, filled_with, outs_of, shape_of
from ncc.compiler.linalg.analysis.tensors import is_constant
from ncc.compiler.linalg.rewrite.decisions import CostedPass, Decisions
from ncc.compiler.linalg.rewrite.insert import (
    generic_of,
    move_before,
    read_instead,
    rebuilt,
    replace_op,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.pattern import LinalgChoice
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Builder
from ncc.dialects.size import by_hint, hint

FEW = BLOCK // 2
"""Elements of a row that fill no vector."""


class TransposeFactors(LinalgChoice["_Factor"], CostedPass):
    """Transpose computed factors that lie across their products."""

    name = "transpose-factors"

    @by_hint()
    def match(self, op: GenericOp) -> _Factor | str | None:
        linalg_op = LinalgOp(op)
        short = _short_rows(linalg_op, self.costs)
        loop = linalg_op.write.index[-1].bare if linalg_op.write.index else None
        if short is not None or loop is None:
            return short
        found = _across(linalg_op, loop, self.costs)
        if not isinstance(found, _Factor):
            return found
        return _shorter(linalg_op, found, self.costs) or found

    def describe(self, found: _Factor) -> str:
        return "" if found.row is None else "the other factor, and the result"

    def run(self, block: Block, decisions: Decisions | None) -> None:
        made: dict[tuple[SSAValue, int], SSAValue] = {}
        for op in generics_of(block):
            found = self.decide(op, decisions)
            if found is not None:
                found.transpose(made)


@dataclass(frozen=True)
class _Factor:
    """An operand of a contraction to transpose.

    axis    that of the factor which becomes its last one
    row     the loop that results lie along then, if they are transposed, too
    """

    linalg_op: LinalgOp
    position: int
    axis: int
    row: int | None = None

    def transpose(self, made: dict[tuple[SSAValue, int], SSAValue]) -> None:
        """Transpose the factor, unless it was made before, and the result."""
        op = self.linalg_op.op
        if self.row is not None:
            op = _transpose_result(self.linalg_op, self.row)
        _transpose(op, self.position, self.axis, made)


def _across(linalg_op: LinalgOp, loop: int, costs: CostModel) -> _Factor | str | None:
    """The factor that lies across results along a loop, if it pays to transpose it."""
    pair = linalg_op.product
    if pair is None or not linalg_op.reduced:
        return None
    along = [position for position in pair if linalg_op.reads[position].uses(loop)]
    if len(along) != 1:
        return None
    factor = linalg_op.reads[along[0]]
    loops = [form.bare for form in factor.index]
    moved = [form for form in factor.index if form != AffineForm.of({})]
    if loop not in loops or loops[-1] == loop:
        return None
    if is_constant(factor.value) or element_of(factor.value) != f32:
        return None
    if len({form.bare for form in moved} - {None}) < len(moved):
        return "its factor is read in windows"
    if linalg_op.extents[loop] < BLOCK // 2:
        return "its rows of results do not fill half of a vector"
    uses = prod(linalg_op.extents[d] for d in linalg_op.parallel if d not in loops)
    if uses < costs.layout.fewest_uses_of_transposed:
        return f"each element of its factor is in {uses} products only"
    return _Factor(linalg_op, along[0], loops.index(loop))


def _short_rows(linalg_op: LinalgOp, costs: CostModel) -> _Factor | None:
    """The factor whose rows are a few elements, if a constant makes rows of a few others of them;
    results are transposed, too.
    """
    pair, write = linalg_op.product, linalg_op.write.index
    if pair is None or not linalg_op.may_be_rebuilt:
        return None
    if len(linalg_op.reduced) != 1 or len(write) < 2:
        return None
    data = [position for position in pair if not is_constant(linalg_op.reads[position].value)]
    if len(data) != 1:
        return None
    [term], [row, column] = linalg_op.reduced, [form.bare for form in write[-2:]]
    x = linalg_op.reads[data[0]]
    if row is None or column is None or x.uses(column) or element_of(x.value) != f32:
        return None
    if [form.bare for form in x.index[-2:]] != [row, term]:
        return None
    if linalg_op.extents[row] < costs.layout.fewest_transposed_rows:
        return None
    few = max(linalg_op.extents[column], linalg_op.extents[term]) <= FEW
    return _Factor(linalg_op, data[0], len(x.index) - 2, row) if few else None


def _shorter(linalg_op: LinalgOp, whole: _Factor, costs: CostModel) -> _Factor | None:
    """The other factor, if it and the results are transposed instead; None where that would take
    longer: more elements are moved, or lanes hold no result.
    """
    factor = linalg_op.reads[whole.position]
    [other] = [k for k in linalg_op.product or () if k != whole.position]
    rows = [d for d in linalg_op.parallel if linalg_op.extents[d] > 1 and not factor.uses(d)]
    if len(rows) != 1 or filled_with(outs_of(linalg_op.op)) is None or not linalg_op.may_be_rebuilt:
        return None
    [row] = rows
    found = _across(linalg_op, row, costs)
    if not isinstance(found, _Factor) or found.position != other:
        return None
    if all(form.bare != row for form in linalg_op.write.index):
        return None
    extent = hint(linalg_op.extents[row])
    waste = lanes_in(extent) / extent - 1
    wasted = hint(prod(linalg_op.extents)) * waste * costs.layout.moves_per_multiply_add
    moved = prod(shape_of(linalg_op.reads[other].value)) + prod(shape_of(linalg_op.op.results[0]))
    return replace(found, row=row) if moved + wasted < prod(shape_of(factor.value)) else None


def _transpose_result(linalg_op: LinalgOp, row: int) -> GenericOp:
    """The same sums with their results along a loop, which a move behind them transposes back."""
    op, shape = linalg_op.op, shape_of(linalg_op.op.results[0])
    b = Builder(Block(), "layout")
    order = sorted(range(len(shape)), key=lambda axis: linalg_op.write.index[axis].bare == row)
    *reads, write = op.indexing_maps
    results = (write.data.results[axis] for axis in order)
    maps = [*reads, indexing_map(write.data.num_dims, results)]
    at, number = b.loops_of(shape), filled_with(outs_of(op))
    across = [at[axis] for axis in order]
    if number is None:
        start = b.map(across, tensor_of(outs_of(op))[at])
    else:
        start = b.full([shape[axis] for axis in order], number)
    sums = rebuilt(b, op, op.inputs, start, maps)
    replace_op(op, b, b.map(at, sums[across]))
    Rewriter.erase_op(op)
    return generic_of(sums)


def _transpose(
    op: GenericOp, position: int, axis: int, made: dict[tuple[SSAValue, int], SSAValue]
) -> None:
    """Let op read the operand with that axis as its last one."""
    value = op.operands[position]
    if (value, axis) not in made:
        b, shape = Builder(Block(), "layout"), list(shape_of(value))
        *outer, last = at = b.loops_of([*shape[:axis], *shape[axis + 1 :], shape[axis]])
        transposed = b.map(at, tensor_of(value)[[*outer[:axis], last, *outer[axis:]]])
        move_before(b, op)
        made[value, axis] = transposed.value
    index = list(op.indexing_maps.data[position].data.results)
    index.append(index.pop(axis))
    read_instead(op, position, made[value, axis], index)
