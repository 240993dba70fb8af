"""Has attention run some rows of its query at a time, so that their scores stay in a cache.

    %s = sum of products of %q, %k                          {tile = rows by 128}
    %e = exp(%s - its largest of each row)          ->      ...
    %y = sum of products of %e, %v                          ...

`tile-and-fuse` makes the loop. Without it, the scores of long rows are written to memory, and read
from there three times.

Needs: the layout of all values; the division of softmax behind the second product.
Breaks: nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.attributes import TILE
from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, shape_of
from ncc.compiler.linalg.analysis.softmax import exponent_of
from ncc.compiler.linalg.analysis.tensors import unshaped
from ncc.compiler.linalg.rewrite.parts import loop_along
from ncc.compiler.linalg.rewrite.pattern import LinalgPattern
from ncc.dialects.ncnn.attention.scaled_dot_product import MOST_SCORES
from ncc.dialects.size import by_hint, hint


@dataclass(frozen=True)
class TileAttention(LinalgPattern[GenericOp]):
    """Tile the scores of attention, of which there are more than a cache holds."""

    name = "tile-attention"

    most_scores: int = MOST_SCORES

    def match(self, op: GenericOp) -> GenericOp | str | None:
        pair = LinalgOp(op).product
        reads = [LinalgOp(op).reads[position].value for position in pair or ()]
        found = next(filter(None, map(exponent_of, map(unshaped, reads))), None)
        return None if found is None else _sum_behind(found[0])

    def check(self, found: GenericOp) -> str | None:
        scores = hint(prod(shape_of(found.results[0])))
        return f"all {scores} scores stay in a cache" if scores <= self.most_scores else None

    @by_hint()
    def rewrite(self, found: GenericOp) -> None:
        *kept, row = map(hint, shape_of(found.results[0]))
        axis = max(range(len(kept)), key=lambda axis: (kept[axis], axis))
        parts = -(-prod(kept) * row // self.most_scores)
        TILE.put(found, (loop_along(LinalgOp(found), axis), -(-kept[axis] // parts)))


def _sum_behind(value: SSAValue) -> GenericOp | None:
    """The sum of products that a value is computed from, element by element."""
    source = unshaped(value).owner
    if not isinstance(source, GenericOp):
        return None
    linalg_op = LinalgOp(source)
    if linalg_op.product is not None:
        return source
    same = (read for read in linalg_op.reads if read.index == linalg_op.write.index)
    found = (_sum_behind(read.value) for read in same if linalg_op.is_pointwise)
    return next(filter(None, found), None)
