"""MultiHeadAttention: attention between affine functions of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ncc.dialects.ncnn.attention.attention import (
    Attention,
    AttentionOperands,
    Growth,
    appended,
    appended_array,
    cached_rows,
    check_mask,
    named_mask,
    named_values,
)
from ncc.dialects.ncnn.attention.int8_attention import (
    Int8Affine,
    attended_int8,
    attended_int8_array,
)
from ncc.dialects.ncnn.attention.scaled_dot_product import Heads, attended, attended_array
from ncc.dialects.ncnn.checks import check_positive
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
    real,
)
from ncc.dialects.ncnn.linear.linear import rows_by_matrix
from ncc.dialects.ncnn.quantization.block_quantization import (
    Quantizable,
    check_quantize_term,
    scale_columns,
    scale_columns_array,
)
from ncc.dialects.ncnn.quantization.int8 import refuse_int8
from ncc.dialects.size import is_equal


class Affine(NamedTuple):
    """x -> W (s x) + b for each row x; s, a factor for each feature, is optional."""

    weight: WeightAttr
    bias: WeightAttr
    input_scales: WeightAttr | None

    def array(self, x: Array) -> Array:
        scaled = scale_columns_array(x, self.input_scales)
        return np.asarray(scaled @ self.weight.array().T + self.bias.array())

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return rows_by_matrix(b, scale_columns(b, x, self.input_scales), self.weight, self.bias)


def _matrix(rows: str, columns: str) -> Weight:
    """A matrix of floats, or of int8 numbers."""

    def shape(op: MultiHeadAttentionOp) -> Shape | None:
        return None if op.blocks else (getattr(op, rows), getattr(op, columns))

    return Weight(shape, tagged=True)


def _packed(rows: str, columns: str) -> Weight:
    """The bytes of a matrix in blocks."""

    def shape(op: MultiHeadAttentionOp) -> Shape | None:
        extents = getattr(op, rows), getattr(op, columns)
        return op.blocks.packed_shape(*extents) if op.blocks else None

    return Weight(shape, packed=True)


def _block_scales(rows: str, columns: str) -> Weight:
    """The scales of a matrix in blocks."""

    def shape(op: MultiHeadAttentionOp) -> Shape | None:
        extents = getattr(op, rows), getattr(op, columns)
        return op.blocks.scales_shape(*extents) if op.blocks else None

    return Weight(shape, around=lambda op: op.blocks.typical_scale(getattr(op, columns)))


def _input_scales(columns: str) -> Weight:
    """Factors of the features that a matrix in blocks is multiplied with."""

    def shape(op: MultiHeadAttentionOp) -> Shape | None:
        return (getattr(op, columns),) if op.blocks and op.blocks.input_scales else None

    return Weight(shape)


def _vector(
    extent: str, present: Callable[[MultiHeadAttentionOp], bool] = lambda op: True
) -> Weight:
    return Weight(lambda op: (getattr(op, extent),) if present(op) else None)


@layer("MultiHeadAttention", inputs=(1, 6), outputs=(1, 3))
class MultiHeadAttentionOp(Quantizable, Attention):
    """out(concat over heads of softmax(scale * Q K^T + mask) V), Q, K and V affine in the inputs.

    Inputs are (rows, features), one, two or three of q, k and v: without v, k is v, and without k,
    q is k. With attn_mask a mask follows, (rows of q, rows of k), or one of these for each head.
    With kv_cache the keys and values of earlier runs follow, (heads, rows, features of a head),
    which are results as well. If there is one input, the rows of this run are added to the caches;
    if there are several, a cache that is not empty replaces K and V.

    If a row of the mask hides all keys with -inf, the row is NaN, as in ncnn; in int8 the heads
    give zeros.

    With a quantize_term of quantization/block_quantization.py the matrices are packed.
    """

    embed_dim = integer(0)
    num_heads = integer(1, 1)
    weight_data_size = integer(2)
    kdim = integer(3, "embed_dim")
    vdim = integer(4, "embed_dim")
    scale = real(6, "usual_scale")

    q_weight_data = _matrix("embed_dim", "qdim")
    q_weight_data_packed = _packed("embed_dim", "qdim")
    q_bias_data = _vector("embed_dim")
    k_weight_data = _matrix("embed_dim", "kdim")
    k_weight_data_packed = _packed("embed_dim", "kdim")
    k_bias_data = _vector("embed_dim")
    v_weight_data = _matrix("embed_dim", "vdim")
    v_weight_data_packed = _packed("embed_dim", "vdim")
    v_bias_data = _vector("embed_dim")
    out_weight_data = _matrix("qdim", "embed_dim")
    out_weight_data_packed = _packed("qdim", "embed_dim")
    out_bias_data = _vector("qdim")
    q_weight_data_quantize_scales = _block_scales("embed_dim", "qdim")
    k_weight_data_quantize_scales = _block_scales("embed_dim", "kdim")
    v_weight_data_quantize_scales = _block_scales("embed_dim", "vdim")
    out_weight_data_quantize_scales = _block_scales("qdim", "embed_dim")
    q_weight_data_input_scales = _input_scales("qdim")
    k_weight_data_input_scales = _input_scales("kdim")
    v_weight_data_input_scales = _input_scales("vdim")
    out_weight_data_input_scales = _input_scales("embed_dim")
    q_weight_data_int8_scales = _vector("embed_dim", lambda op: op.is_int8)
    k_weight_data_int8_scales = _vector("embed_dim", lambda op: op.is_int8)
    v_weight_data_int8_scales = _vector("embed_dim", lambda op: op.is_int8)
    out_weight_data_int8_scale = Weight(lambda op: (1,) if op.is_int8 else None)

    @property
    def usual_scale(self) -> float:
        """1 / sqrt(features of a head), if the file gives no scale."""
        return 1 / sqrt(self.embed_dim // self.num_heads)

    @property
    def qdim(self) -> int:
        """The features of the query and of the result."""
        return self.weight_data_size // self.embed_dim

    def element_types(self, *operands: Attribute) -> Attribute:
        held = (
            self.q_weight_data, self.k_weight_data, self.v_weight_data, self.out_weight_data
        )  # fmt: skip
        for weight in held:
            if weight is not None and not self.is_int8:
                refuse_int8(weight, "quantize_term")
        return f32

    def check(self) -> None:
        check_quantize_term(self.quantize_term)
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
        least = 1 + bool(self.attn_mask) + 2 * bool(self.kv_cache)
        if not least <= len(self.operands) < least + 3:
            raise LayerError(
                f"{len(self.operands)} inputs: with attn_mask {self.attn_mask} and kv_cache "
                f"{self.kv_cache} there are {least} to {least + 2}"
            )
        super().check()

    def growth(self, x: AttentionOperands[Shape | None]) -> Growth | None:
        if x.query is None or len(x.query) != 2:
            return None
        sizes = (self.num_heads, self.features)
        return Growth(x.query[0], x.query[0], sizes, sizes)

    @property
    def appends(self) -> bool:
        """Query, key and value are one input."""
        return len(self.operands) == 1 + bool(self.attn_mask) + 2 * bool(self.kv_cache)

    @property
    def features(self) -> int:
        """The features of a head."""
        return self.embed_dim // self.num_heads

    def affine(self, name: str) -> Affine | Int8Affine:
        """One of the four affine functions: q, k, v or out."""
        weight = getattr(self, f"{name}_weight_data")
        if self.is_int8:
            by_output = name != "out"
            scales = getattr(self, f"{name}_weight_data_int8_scale{'s' if by_output else ''}")
            return Int8Affine(weight, getattr(self, f"{name}_bias_data"), scales, by_output)
        if self.blocks:
            packed = getattr(self, f"{name}_weight_data_packed")
            scales = getattr(self, f"{name}_weight_data_quantize_scales")
            columns = self.embed_dim if name == "out" else getattr(self, f"{name}dim")
            weight = self.blocks.dequantized(packed, scales, columns)
        return Affine(
            weight,
            getattr(self, f"{name}_bias_data"),
            getattr(self, f"{name}_weight_data_input_scales"),
        )

    def infer(self, *shapes: Shape) -> list[Shape]:
        x = self.given(shapes)
        for what, shape, features in (
            ("query", x.query, self.qdim),
            ("key", x.key, self.kdim),
            ("value", x.value, self.vdim),
        ):
            if len(shape) != 2 or not is_equal(shape[1], features):
                raise LayerError(f"the {what} is {shape}, but must be (rows, {features})")
        if not is_equal(x.key[0], x.value[0]):
            raise LayerError(f"key {x.key} and value {x.value} differ in their rows")
        sizes = (self.num_heads, self.features)
        past = cached_rows("cache of keys", x.past_key, *sizes)
        if not is_equal(cached_rows("cache of values", x.past_value, *sizes), past):
            raise LayerError(f"the caches {x.past_key} and {x.past_value} differ in their rows")
        if past == 0:
            rows = x.key[0]
        else:
            rows = past + x.key[0] if self.appends else past
        check_mask(x.mask, self.num_heads, (x.query[0], rows))
        cache = (self.num_heads, rows, self.features)
        return [x.query, cache, cache][: len(self.results)]

    def reference(self, *inputs: Array) -> list[Array]:
        x = self.given(inputs)

        def split(rows: Array) -> Array:
            return rows.reshape(len(rows), self.num_heads, self.features).swapaxes(0, 1)

        def kept(past: Array | None, name: str, rows: Array) -> Array:
            if past is not None and past.size and not self.appends:
                return past
            return appended_array(past, split(self.affine(name).array(rows)))

        queries = split(self.affine("q").array(x.query))
        keys, values = kept(x.past_key, "k", x.key), kept(x.past_value, "v", x.value)
        if self.is_int8:
            queries = queries * np.float32(self.scale)
            found = attended_int8_array(queries, keys, values, x.mask, 1.0).swapaxes(0, 1)
        else:
            found = attended_array(queries, keys, values, x.mask, self.scale).swapaxes(0, 1)
        y = self.affine("out").array(found.reshape(len(x.query), self.embed_dim))
        return [y, keys, values][: len(self.results)]

    def lower(self, b: Builder, *inputs: Tensor) -> list[Tensor]:
        x = self.given(inputs)
        queries = self.affine("q").lower(b, x.query)
        q = self._split(b, b.scaled(queries, self.scale))
        keys = self._kept(b, x.past_key, "k", x.key)
        named = b.named(x.value, (x.key.shape[0], x.value.shape[1]))
        values = self._kept(b, named_values(b, x.past_value, x.past_key), "v", named)
        mask = named_mask(b, x.mask, (q.shape[1], keys.shape[1]))
        if self.is_int8:
            outside = q.outside(b), keys.outside(b), values.outside(b)
            found = Heads(attended_int8(b, *outside, mask))
        else:
            found = Heads(attended(b, q, keys, values, mask), rows_outside=True)
        return [self._joined(b, found), keys.x, values.x][: len(self.results)]

    def _kept(self, b: Builder, past: Tensor | None, name: str, rows: Tensor) -> Heads:
        """The keys or values, with those of earlier runs."""
        if past is not None and 0 not in past.shape and not self.appends:
            return Heads(past)
        made = self._split(b, self.affine(name).lower(b, rows))
        if past is None:
            return made
        return Heads(appended(b, past, made.outside(b)))

    def _joined(self, b: Builder, found: Heads) -> Tensor:
        """The result, from those of all heads."""
        heads, rows, features = found.shape
        r, h, e = b.loops_of((rows, heads, features))
        x = found.x if found.rows_outside else b.map((r, h, e), found.element(h, r, e))
        return self.affine("out").lower(b, b.collapse(x, [[0], [1, 2]]))

    def _split(self, b: Builder, x: Tensor) -> Heads:
        """(rows, embed_dim) as the rows of heads."""
        shape = (x.shape[0], self.num_heads, self.features)
        return Heads(b.expand(x, [[0], [1, 2]], shape), rows_outside=True)
