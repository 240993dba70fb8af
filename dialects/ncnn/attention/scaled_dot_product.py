"""softmax(scale * q k^T + mask) v, head by head.

The query may have a multiple of the heads of key and value; consecutive heads of the query share
one. A mask is (rows, keys), or one of these for each head. If all scores of a row are -inf, because
the mask hides all keys, the row is NaN, or 0 with `zeros`.

Long attention is lowered in parts, some heads at a time. The memory plan gives all parts the same
memory, so that their scores stay in a second-level cache from the first product to the second. If
there are more, `compiler/linalg/fusion/tile_attention.py` has rows run some at a time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

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

MOST_PARTS = 1024
"""The most parts of the heads: each has its own operations."""


class Heads(NamedTuple):
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
        return b.map((h, r, e), self.element(h, r, e)) if self.rows_outside else self.x

    def of_heads(self, b: Builder, begin: int, end: int) -> Heads:
        """Some of the heads."""
        return Heads(b.cut(self.x, int(self.rows_outside), begin, end), self.rows_outside)

    def element(self, head: AffineExpr, row: AffineExpr, feature: AffineExpr) -> Scalar:
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

    If there are more scores than `MOST_SCORES`, they are computed for some heads at a time. Where
    the run tells how many there are, heads are not parted.
    """
    heads, rows, _ = q.shape
    groups, keys, _ = v.shape
    shared = heads // groups
    scores = shared * rows * keys
    if is_open(scores):
        return _attended_at_once(b, q, k, v, mask, scale, zeros)
    together = heads_at_once(groups, scores)
    by_heads = []
    for group in range(0, groups, together):
        last = min(group + together, groups)
        of_query, mask_of_heads = (group * shared, last * shared), mask
        if mask is not None and mask.rank == 3 and mask.shape[0] > 1:
            mask_of_heads = b.cut(mask, 0, *of_query)
        parts = (q.of_heads(b, *of_query), k.of_heads(b, group, last), v.of_heads(b, group, last))
        by_heads.append(_attended_at_once(b, *parts, mask_of_heads, scale, zeros))
    return b.concat(by_heads, int(q.rows_outside))


def heads_at_once(heads: int, scores: int) -> int:
    """How many heads of keys, with so many scores each, are computed together."""
    return max(-(-heads // MOST_PARTS), MOST_SCORES // max(1, scores))


def _attended_at_once(
    b: Builder, q: Heads, k: Heads, v: Heads, mask: Tensor | None, scale: float, zeros: bool
) -> Tensor:
    heads, rows, _ = q.shape
    groups, keys, features = v.shape
    shared = [heads // groups] if groups != heads else []
    g, *r, s, t, e = b.loops_of((groups, *shared, rows, keys, q.shape[2]))
    products = q.element(_head((g, *r), shared), s, e) * k.element(g, t, e)
    scores = masked(b, b.sum((g, *r, s, t), over=(e,), of=products), mask, scale)
    probabilities = softmax(b, scores, [scores.rank - 1], zeros=zeros)
    g, *r, s, e, t = b.loops_of((groups, *shared, rows, features, keys))
    to = (s, g, *r, e) if q.rows_outside else (g, *r, s, e)
    y = b.sum(to, over=(t,), of=probabilities[(g, *r, s, t)] * v.element(g, t, e))
    if not shared:
        return y
    return b.reshape(y, (rows, heads, features) if q.rows_outside else (heads, rows, features))


def _head(loops: Sequence[AffineExpr], shared: Sequence[int]) -> AffineExpr:
    """The head of the query: those that share one of the keys are consecutive."""
    return loops[0] * shared[0] + loops[1] if shared else loops[0]


def masked(b: Builder, scores: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    """scale * scores + mask, of (heads, rows, keys), or (heads of keys, those that share one, rows,
    keys).
    """
    if mask is None and scale == 1.0:
        return scores
    *h, s, t = b.loops_of(scores.shape)
    value = scores[(*h, s, t)] if scale == 1.0 else scores[(*h, s, t)] * scale
    if mask is not None and mask.rank == 2:
        value = value + mask[s, t]
    elif mask is not None:
        value = value + mask[0 if mask.shape[0] == 1 else _head(h, scores.shape[1:-2]), s, t]
    return b.map((*h, s, t), value)
