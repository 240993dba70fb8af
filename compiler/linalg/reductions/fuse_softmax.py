"""Computes softmax in one pass over its operand, some rows or columns at a time.

    m[s]    = the largest of x[s, t] over t          for a few s, which stay in a first-level cache:
    e[s, t] = exp(x[s, t] - m[s])              ->      m[s], e[s, t], d[s] as on the left
    d[s]    = sum over t of e[s, t]                    y[s, t] = e[s, t] * (1 / d[s])
    y[s, t] = e[s, t] / d[s]

Four operations, one after the other, read or write the whole tensor six times; where it is large,
they wait for memory. Lanes of vectors run along t where it is the last axis, else along the axes
behind it. Short rows, and few columns, stay four operations: here they would not fill vectors, and
the four kernels take several of them together.

Needs: the linalg level before layouts and groups.  Breaks: nothing; sums are added in another
order, and quotients are rounded twice.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.cost_model import Reductions
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, filled_with, outs_of, shape_of
from ncc.compiler.linalg.analysis.softmax import Softmax
from ncc.compiler.linalg.rewrite.decisions import CostedPass
from ncc.compiler.linalg.rewrite.insert import builder_for, replace_op, tensor_of
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Tensor
from ncc.dialects.size import hint, is_open
from ncc.dialects.statements import Code

ALIGNED = 16
"""The columns of an iteration are a multiple of this."""


class FuseSoftmax(LinalgPattern["_Fused"], CostedPass):
    """Compute softmax in one pass over its operand."""

    name = "fuse-softmax"

    def match(self, op: GenericOp) -> _Fused | str | None:
        found = Softmax.of(op)
        if found is None:
            return None
        if element_of(found.x) != f32:
            return "it is not of float32"
        shape = shape_of(found.x)
        along = [axis for axis in range(len(shape)) if axis not in found.kept]
        if not along or along != list(range(along[0], along[-1] + 1)):
            return "it sums along axes that are no neighbours"
        readers = {found.largest: 1, found.powers: 2, found.sums: 1}
        if any(len(list(value.uses)) != count for value, count in readers.items()):
            return "others read its maxima, powers or sums, too"
        starts = ((found.largest, found.least), (found.sums, 0.0))
        if not all(_leaves(value, found.kept, start) for value, start in starts):
            return "its maxima or sums have other axes, or start elsewhere"
        first, last = along[0], along[-1] + 1
        extents = prod(shape[:first]), prod(shape[first:last]), prod(shape[last:])
        return _Fused(op, found, extents)

    def check(self, found: _Fused) -> str | None:
        _, extent, behind = map(hint, found.extents)
        if behind == 1:
            few = extent < self.costs.reductions.fewest_softmax_row
            return f"rows of {extent} elements do not fill vectors well" if few else None
        few = behind < self.costs.reductions.fewest_softmax_columns
        return f"{behind} columns do not fill vectors well" if few else None

    def rewrite(self, found: _Fused) -> None:
        b, x, costs = builder_for(found.op), tensor_of(found.softmax.x), self.costs.reductions
        before, extent, behind = found.extents
        if behind == 1:
            code = _rows(b.reshape(x, (before, extent)), found.softmax, costs)
        else:
            columns = b.reshape(x, found.extents)
            code = _columns(columns, found.softmax, costs.most_softmax_columns)
        (y,) = b.code(code.operation())
        replace_op(found.op, b, b.reshape(y, x.shape))


class _Fused(NamedTuple):
    """The quotients of a softmax, and the extents before, along and behind the summed axes."""

    op: GenericOp
    softmax: Softmax
    extents: tuple[int, int, int]


def _leaves(value: SSAValue, kept: tuple[int, ...], start: float) -> bool:
    """Whether a value is a fold, from this start, that keeps these axes in their order."""
    fold = value.owner
    if not isinstance(fold, GenericOp):
        return False
    linalg_op = LinalgOp(fold)
    axes = linalg_op.reads[0].axes
    whole = axes is not None and len(axes) == len(linalg_op.extents) and list(kept) == sorted(kept)
    ordered = whole and linalg_op.write.index == tuple(
        linalg_op.reads[0].index[axis] for axis in kept
    )
    return ordered and filled_with(outs_of(fold)) == start


def _rows(x: Tensor, found: Softmax, costs: Reductions) -> Code:
    """Softmax of each row, several rows in an iteration."""
    rows, extent = x.shape
    together = min(max(1, costs.softmax_elements // hint(extent)), costs.most_softmax_rows)
    if not is_open(rows):
        together = min(together, rows)
    code = Code([x], [(x.shape, f32)], iterations=-(-rows // together))
    first = code.iteration * together
    count = together if rows % together == 0 else code.minimum(rows - first, together)
    source, quotients = code.inputs[0], code.results[0]
    largest, factor = code.scratch((together,)), code.scratch((together,))
    with code.range(count) as row:
        elements = source.part(first + row)
        largest[row] = code.largest(extent, lambda k: elements[k], found.least)
    with code.range(count) as row:
        elements, powers, most = source.part(first + row), quotients.part(first + row), largest[row]
        with code.lanes(extent) as k:
            powers[k] = code.exp(elements[k] - most)
    with code.range(count) as row:
        powers = quotients.part(first + row)
        total = code.sum(extent, lambda k: powers[k])
        factor[row] = 1.0 / (code.divisor(total) if found.zeros else total)
    with code.range(count) as row:
        powers, scale = quotients.part(first + row), factor[row]
        with code.lanes(extent) as k:
            powers[k] = powers[k] * scale
    return code


def _columns(x: Tensor, found: Softmax, most: int) -> Code:
    """Softmax of each column, many columns in an iteration, but no more than `most`."""
    outer, extent, columns = x.shape
    wide = most
    if not is_open(columns):
        pieces = -(-columns // most)
        wide = min(columns, -(-columns // (pieces * ALIGNED)) * ALIGNED)
    pieces = -(-columns // wide)
    code = Code([x], [(x.shape, f32)], iterations=outer * pieces)
    start = code.iteration % pieces * wide
    ends = columns % wide != 0
    count = code.minimum(columns - start, wide) if ends else code.whole(wide)
    source, quotients = (
        held.part(code.iteration // pieces) for held in (*code.inputs, *code.results)
    )
    largest, factor = code.scratch((wide,)), code.scratch((wide,))
    with code.lanes(count) as k:
        first = source[0, start + k]
        largest[k] = code.maximum(first, found.least) if found.zeros else first
        factor[k] = code.value(0.0, f32)
    with code.range(extent, 1) as row, code.lanes(count) as k:
        largest[k] = code.maximum(largest[k], source[row, start + k])
    with code.range(extent) as row, code.lanes(count) as k:
        power = code.exp(source[row, start + k] - largest[k])
        quotients[row, start + k] = power
        factor[k] = factor[k] + power
    with code.lanes(count) as k:
        factor[k] = 1.0 / (code.divisor(factor[k]) if found.zeros else factor[k])
    with code.range(extent) as row, code.lanes(count) as k:
        quotients[row, start + k] = quotients[row, start + k] * factor[k]
    return code
