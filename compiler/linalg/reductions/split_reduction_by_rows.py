"""Splits sums over large images: first a sum of every row, then the sum of these.

    y[c] += sum over r, x of v[c, r, x]    ->    s[r, c] = sum over x of v[c, r, x]
                                                 y[c] += sum over r of s[r, c]

There are more rows than blocks of channels, so that all threads have something to sum, and each
sums the rows that it made. The rows are summed directly behind the operation that makes them, while
a cache has them.

Needs: the linalg level before groups, blocks of channels.  Breaks: the order of floating-point
sums.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from xdsl.dialects import arith
from xdsl.dialects.builtin import f32
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import Operation, SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, outs_of, shape_of
from ncc.compiler.linalg.rewrite.decisions import CostedPass
from ncc.compiler.linalg.rewrite.insert import (
    builder_for,
    move_after,
    move_before,
    replace_op,
    tensor_of,
)
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.element import element_of
from ncc.dialects.index_notation import Tensor
from ncc.dialects.size import hint


class SplitReductionByRows(LinalgPattern["_ImageSum"], CostedPass):
    """Sum the rows of a large image first, then their sums."""

    name = "split-reduction-by-rows"

    def match(self, op: GenericOp) -> _ImageSum | str | None:
        linalg_op = LinalgOp(op)
        folded = (
            linalg_op.combiner if len(linalg_op.reduced) > 1 and len(linalg_op.reads) == 1 else None
        )
        if folded is None or not isinstance(folded[0], arith.AddfOp):
            return None
        if not linalg_op.may_be_rebuilt:
            return None
        [image] = linalg_op.reads
        loops = image.axes
        if loops is None or tuple(linalg_op.extents[d] for d in loops) != shape_of(image.value):
            return "it reads a part of its image"
        kept = tuple(loop for loop in loops if loop in linalg_op.parallel)
        if folded[1] is not linalg_op.body.args[0] or kept != linalg_op.write.axes:
            return "it sums something else than elements, or stores them in another order"
        # Channels that lie one behind the other are summed one by one.
        blocks = prod(hint(linalg_op.extents[loop]) for loop in kept if loop != loops[-1])
        if element_of(image.value) != f32:
            return "it is not of float32"
        fewest_bytes = self.costs.reductions.fewest_bytes_by_rows
        if 4 * hint(prod(shape_of(image.value))) < fewest_bytes * blocks:
            return f"a block of its channels has fewer than {fewest_bytes >> 10} KB"
        rows, *columns = (axis for axis, loop in enumerate(loops) if loop in linalg_op.reduced)
        return _ImageSum(op, rows, tuple(columns))

    def rewrite(self, found: _ImageSum) -> None:
        [image] = found.op.inputs
        rows = found.sums(image)
        b = builder_for(found.op)
        row, *kept = b.loops_of(rows.shape)
        total = b.sum(kept, [row], rows[[row, *kept]], init=tensor_of(outs_of(found.op)))
        replace_op(found.op, b, total)


class _ImageSum(NamedTuple):
    """A sum over some axes of one value, rows first; `rows`, `columns`: axes."""

    op: GenericOp
    rows: int
    columns: tuple[int, ...]

    def sums(self, value: SSAValue) -> Tensor:
        """The sum of every row of an image."""
        b = builder_for(self.op)
        image = tensor_of(value)
        loops = b.loops_of(image.shape)
        columns = [loops[axis] for axis in self.columns]
        kept = [loop for axis, loop in enumerate(loops) if axis not in (self.rows, *self.columns)]
        sums = b.sum([loops[self.rows], *kept], columns, image[loops])
        if isinstance(value.owner, Operation):
            move_after(b, value)
        else:
            move_before(b, self.op)
        return sums
