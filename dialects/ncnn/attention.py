"""Attention: each row of a query asks all rows of a memory."""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt
from typing import TypeVar

import numpy as np

from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.linear import rows_by_matrix
from ncc.dialects.ncnn.reduction import softmax, softmax_array
from ncc.dialects.ncnn.window import check_positive

T = TypeVar("T")


@layer("MultiHeadAttention", inputs=(1, 6), outputs=(1, 3))
class MultiHeadAttentionOp(Layer):
    """out(concat over heads of softmax(scale * Q K^T + mask) V), Q, K and V affine in the inputs.

    Inputs are (rows, features): q is k is v; or q, and k is v; or q, k and v. With attn_mask a mask
    (rows of q, rows of k), or one of them a head, comes behind them.
    """

    embed_dim = integer(0)
    num_heads = integer(1, 1)
    weight_data_size = integer(2)
    kdim = integer(3, "embed_dim")
    vdim = integer(4, "embed_dim")
    attn_mask = integer(5)
    scale = real(6, "usual_scale")
    kv_cache = integer(7)
    quantize_term = integer(18)

    q_weight_data = Weight(lambda op: (op.embed_dim, op.qdim), tagged=True)
    q_bias_data = Weight(lambda op: (op.embed_dim,))
    k_weight_data = Weight(lambda op: (op.embed_dim, op.kdim), tagged=True)
    k_bias_data = Weight(lambda op: (op.embed_dim,))
    v_weight_data = Weight(lambda op: (op.embed_dim, op.vdim), tagged=True)
    v_bias_data = Weight(lambda op: (op.embed_dim,))
    out_weight_data = Weight(lambda op: (op.qdim, op.embed_dim), tagged=True)
    out_bias_data = Weight(lambda op: (op.qdim,))

    @property
    def usual_scale(self) -> float:
        """1 / sqrt(features of a head), where the file gives no scale."""
        return 1 / sqrt(self.embed_dim // self.num_heads)

    @property
    def qdim(self) -> int:
        """The features of the query and of the result."""
        return self.weight_data_size // self.embed_dim

    def check(self) -> None:
        for name in ("kv_cache", "quantize_term"):
            if getattr(self, name):
                raise LayerError(f"{name} of MultiHeadAttention is not supported yet", name)
        check_positive(self, ["embed_dim", "num_heads", "weight_data_size", "kdim", "vdim"])
        if self.embed_dim % self.num_heads:
            raise LayerError(
                f"embed_dim {self.embed_dim} is not divisible by num_heads {self.num_heads}",
                "num_heads",
            )
        if self.weight_data_size % self.embed_dim:
            raise LayerError(
                f"weight_data_size {self.weight_data_size} is not a multiple of embed_dim "
                f"{self.embed_dim}",
                "weight_data_size",
            )
        least = 2 if self.attn_mask else 1
        if not least <= len(self.operands) < least + 3:
            raise LayerError(
                f"{len(self.operands)} inputs: with attn_mask {self.attn_mask} and no kv_cache "
                f"there are {least} to {least + 2}"
            )
        if len(self.results) != 1:
            raise LayerError(f"{len(self.results)} outputs: without kv_cache there is one")

    def given(self, inputs: Sequence[T]) -> tuple[T, T, T, T | None]:
        """Query, key, value and mask among the inputs."""
        mask = inputs[-1] if self.attn_mask else None
        sources = inputs[: len(inputs) - 1] if self.attn_mask else inputs
        return sources[0], sources[min(1, len(sources) - 1)], sources[-1], mask

    def infer(self, *shapes: Shape) -> Shape:
        q, k, v, mask = self.given(shapes)
        for what, shape, features in (
            ("query", q, self.qdim),
            ("key", k, self.kdim),
            ("value", v, self.vdim),
        ):
            if len(shape) != 2 or shape[1] != features:
                raise LayerError(f"the {what} is {shape}, but must be (rows, {features})")
        if k[0] != v[0]:
            raise LayerError(f"key {k} and value {v} differ in their rows")
        pairs = (q[0], k[0])
        if mask is not None and mask not in (pairs, (1, *pairs), (self.num_heads, *pairs)):
            raise LayerError(f"the mask is {mask}, but must be {pairs} or one of them a head")
        return q

    def reference(self, *inputs: Array) -> Array:
        q, k, v, mask = self.given(inputs)
        heads = self.num_heads

        def project(x: Array, weight: WeightAttr | None, bias: WeightAttr | None) -> Array:
            assert weight is not None and bias is not None
            return np.asarray(x @ weight.array().T + bias.array())

        def split(x: Array) -> Array:
            return x.reshape(len(x), heads, -1).swapaxes(0, 1)

        asked = split(project(q, self.q_weight_data, self.q_bias_data) * np.float32(self.scale))
        keys = split(project(k, self.k_weight_data, self.k_bias_data))
        values = split(project(v, self.v_weight_data, self.v_bias_data))
        scores = asked @ keys.swapaxes(1, 2)
        if mask is not None:
            scores = scores + mask
        mixed = (softmax_array(scores, 2) @ values).swapaxes(0, 1)
        rows = mixed.reshape(len(q), self.embed_dim)
        return project(rows, self.out_weight_data, self.out_bias_data)

    def expand(self, b: Builder, *inputs: Tensor) -> Tensor:
        q, k, v, mask = self.given(inputs)
        asked = rows_by_matrix(b, q, self.q_weight_data, self.q_bias_data)
        at = b.loops_of(asked.shape)
        asked = self._split(b, b.map(at, asked[at] * self.scale))
        keys = self._split(b, rows_by_matrix(b, k, self.k_weight_data, self.k_bias_data))
        values = self._split(b, rows_by_matrix(b, v, self.v_weight_data, self.v_bias_data))
        h, s, t, e = b.loops("h s t e")
        scores = b.sum((h, s, t), over=(e,), of=asked[s, h, e] * keys[t, h, e])
        if mask is not None:
            h, s, t = b.loops_of(scores.shape)
            shown = mask[s, t] if mask.rank == 2 else mask[h if mask.shape[0] > 1 else 0, s, t]
            scores = b.map((h, s, t), scores[h, s, t] + shown)
        chances = softmax(b, scores, 2)
        s, h, e, t = b.loops("s h e t")
        mixed = b.sum((s, h, e), over=(t,), of=chances[h, s, t] * values[t, h, e])
        rows = b.collapse(mixed, [[0], [1, 2]])
        return rows_by_matrix(b, rows, self.out_weight_data, self.out_bias_data)

    def _split(self, b: Builder, x: Tensor) -> Tensor:
        """(rows, embed_dim) as (rows, heads, features of a head)."""
        shape = (x.shape[0], self.num_heads, self.embed_dim // self.num_heads)
        return b.expand(x, [[0], [1, 2]], shape)
