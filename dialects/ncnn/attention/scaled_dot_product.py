"""softmax(scale * q k^T + mask) v, head by head.

The query may have a multiple of the heads of key and value; consecutive heads of the query share
one. A mask is (rows, keys), or one of these for each head. If all scores of a row are -inf, because
the mask hides all keys, the row is NaN, or 0 with `zeros`.

Long attention is lowered in parts: some heads at a time, or some rows of one head. The scores of a
part stay in a second-level cache from the first product to the second, and the memory plan gives
all parts the same memory. The layer cuts its own computation, in the same way for every target:
only here heads and rows are still separate axes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.layer import Array, Builder, Shape, Tensor
from ncc.dialects.ncnn.reduction.reduction import softmax, softmax_array
from ncc.dialects.scalar import Scalar
from ncc.dialects.size import is_open


def attended_array(
    q: Array, k: Array, v: Array, mask: Array | None, scale: float, *, zeros: bool = False
) -> Array:
    """Of arrays (heads, rows, features)."""
    shared = len(q) // len(k)
    k, v = np.repeat(k, shared, 0), np.repeat(v, shared, 0)
    scores = (q @ k.swapaxes(1, 2)) * np.float32(scale)
    if mask is not None:
        scores = scores + mask
    return np.asarray(softmax_array(scores, 2, zeros=zeros) @ v)


MOST_SCORES = 1 << 18
"""The most scores that stay in a second-level cache between product, softmax and product."""

MOST_STRIPS = 128
"""The most strips of the rows of all heads: each is a launch, though they share kernels."""


MOST_PARTS = 1024
"""The most parts of the heads: each has its own operations."""


@dataclass(frozen=True)
class Heads:
    """Rows of features for each head. In memory the outermost axis is heads, or rows."""

    x: Tensor
    rows_outside: bool = False

    @property
    def shape(self) -> Shape:
        """(heads, rows, features)."""
        outer, inner, features = self.x.shape
        return (inner, outer, features) if self.rows_outside else (outer, inner, features)

    def outside(self, b: Builder) -> Tensor:
        """The tensor with heads outside."""
        h, r, e = b.loops_of(self.shape)
        return b.map((h, r, e), self.cell(h, r, e)) if self.rows_outside else self.x

    def of_heads(self, b: Builder, begin: int, end: int) -> Heads:
        """Some of the heads."""
        return Heads(b.cut(self.x, int(self.rows_outside), begin, end), self.rows_outside)

    def of_rows(self, b: Builder, begin: int, end: int) -> Heads:
        """Some of the rows."""
        return Heads(b.cut(self.x, int(not self.rows_outside), begin, end), self.rows_outside)

    def cell(self, head: AffineExpr, row: AffineExpr, feature: AffineExpr) -> Scalar:
        """One number."""
        at = (row, head, feature) if self.rows_outside else (head, row, feature)
        return self.x[at]


def attended(
    b: Builder,
    q: Heads,
    k: Heads,
    v: Heads,
    mask: Tensor | None,
    scale: float = 1.0,
    *,
    zeros: bool = False,
) -> Tensor:
    """softmax(scale * q k^T + mask) v, with rows outside if q has rows outside.

    If there are more scores than `MOST_SCORES`, they are computed for some heads at a time, or in
    strips of rows:

        for heads, and for rows of q:  y[rows] = softmax(scale * q[rows] k^T + mask[rows]) v

    Where the run tells how many there are, all are computed at once.
    """
    heads, rows, _ = q.shape
    groups, keys, _ = v.shape
    shared = heads // groups
    scores = shared * rows * keys
    if is_open(scores):
        return _attended_at_once(b, q, k, v, mask, scale, zeros)
    together, strips = heads_at_once(groups, scores), 1
    if scores > MOST_SCORES:
        strips = max(1, min(-(-scores // MOST_SCORES), rows, MOST_STRIPS // groups))
    by_heads = []
    for group in range(0, groups, together):
        last = min(group + together, groups)
        of_query, mask_of_heads = (group * shared, last * shared), mask
        if mask is not None and mask.rank == 3 and mask.shape[0] > 1:
            mask_of_heads = b.cut(mask, 0, *of_query)
        parts = (q.of_heads(b, *of_query), k.of_heads(b, group, last), v.of_heads(b, group, last))
        by_heads.append(
            _attended_in_strips(b, *parts, mask_of_heads, scale, -(-rows // strips), zeros)
        )
    return b.concat(by_heads, int(q.rows_outside))


def heads_at_once(heads: int, scores: int) -> int:
    """How many heads of keys, with so many scores each, are computed together."""
    return max(-(-heads // MOST_PARTS), MOST_SCORES // max(1, scores))


def _attended_in_strips(
    b: Builder,
    q: Heads,
    k: Heads,
    v: Heads,
    mask: Tensor | None,
    scale: float,
    height: int,
    zeros: bool,
) -> Tensor:
    strips = []
    for row in range(0, q.shape[1], height):
        last = min(row + height, q.shape[1])
        mask_of_rows = None if mask is None else b.cut(mask, mask.rank - 2, row, last)
        rows = q.of_rows(b, row, last)
        strips.append(_attended_at_once(b, rows, k, v, mask_of_rows, scale, zeros))
    return b.concat(strips, int(not q.rows_outside))


def _attended_at_once(
    b: Builder, q: Heads, k: Heads, v: Heads, mask: Tensor | None, scale: float, zeros: bool
) -> Tensor:
    heads, rows, _ = q.shape
    groups, keys, features = v.shape
    if groups != heads:  # the heads of a group are more rows of one head
        q = Heads(b.reshape(q.x, (groups, heads // groups * rows, q.shape[2])))
    h, s, t, e = b.loops("h s t e")
    scores = b.sum((h, s, t), over=(e,), of=q.cell(h, s, e) * k.cell(h, t, e))
    scores = b.reshape(scores, (heads, rows, keys))
    probabilities = softmax(b, masked(b, scores, mask, scale), 2, zeros=zeros)
    probabilities = b.reshape(probabilities, (groups, q.shape[1], keys))
    h, s, e, t = b.loops("h s e t")
    to = (s, h, e) if q.rows_outside else (h, s, e)
    y = b.sum(to, over=(t,), of=probabilities[h, s, t] * v.cell(h, t, e))
    return y if q.rows_outside else b.reshape(y, (heads, rows, features))


def masked(b: Builder, scores: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """scale * scores + mask, of (heads, rows, keys)."""
    if mask is None and scale == 1.0:
        return scores
    h, s, t = b.loops_of(scores.shape)
    value = scores[h, s, t] if scale == 1.0 else scores[h, s, t] * scale
    if mask is not None and mask.rank == 2:
        value = value + mask[s, t]
    elif mask is not None:
        value = value + mask[0 if mask.shape[0] == 1 else h, s, t]
    return b.map((h, s, t), value)
