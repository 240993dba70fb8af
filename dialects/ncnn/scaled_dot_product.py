"""softmax(scale * q k^T + mask) v: what rows of a query find in the rows of a memory, by heads.

Heads of the query that are a multiple of those of key and value share them in their order. A mask
is (rows, keys), or one of them a head.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.ncnn.layer import Array, Builder, Shape, Tensor
from ncc.dialects.ncnn.reduction import softmax, softmax_array
from ncc.dialects.scalar import Scalar


def attended_array(q: Array, k: Array, v: Array, mask: Array | None, scale: float) -> Array:
    """The mixed values of arrays (heads, rows, features)."""
    shared = len(q) // len(k)
    k, v = np.repeat(k, shared, 0), np.repeat(v, shared, 0)
    scores = (q @ k.swapaxes(1, 2)) * np.float32(scale)
    if mask is not None:
        scores = scores + mask
    return np.asarray(softmax_array(scores, 2) @ v)


@dataclass(frozen=True)
class Heads:
    """Rows of features for each head; in memory heads are outside, or rows are."""

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

    def cell(self, head: AffineExpr, row: AffineExpr, feature: AffineExpr) -> Scalar:
        """One number."""
        at = (row, head, feature) if self.rows_outside else (head, row, feature)
        return self.x[at]


def attended(
    b: Builder, q: Heads, k: Heads, v: Heads, mask: Tensor | None, scale: float = 1.0
) -> Tensor:
    """The mixed values, with rows outside where q has them."""
    heads, rows, _ = q.shape
    groups, keys, features = v.shape
    if groups != heads:  # the heads of a group are more rows of one head
        q = Heads(b.reshape(q.x, (groups, heads // groups * rows, q.shape[2])))
    h, s, t, e = b.loops("h s t e")
    scores = b.sum((h, s, t), over=(e,), of=q.cell(h, s, e) * k.cell(h, t, e))
    scores = b.reshape(scores, (heads, rows, keys))
    chances = softmax(b, masked(b, scores, mask, scale), 2)
    chances = b.reshape(chances, (groups, q.shape[1], keys))
    h, s, e, t = b.loops("h s e t")
    to = (s, h, e) if q.rows_outside else (h, s, e)
    mixed = b.sum(to, over=(t,), of=chances[h, s, t] * v.cell(h, t, e))
    return mixed if q.rows_outside else b.reshape(mixed, (heads, rows, features))


def masked(b: Builder, scores: Tensor, mask: Tensor | None, scale: float = 1.0) -> Tensor:
    """scale * scores + mask, of (heads, rows, keys)."""
    if mask is None and scale == 1.0:
        return scores
    h, s, t = b.loops_of(scores.shape)
    value = scores[h, s, t] if scale == 1.0 else scores[h, s, t] * scale
    if mask is not None:
        shown = mask[s, t] if mask.rank == 2 else mask[h if mask.shape[0] > 1 else 0, s, t]
        value = value + shown
    return b.map((h, s, t), value)
