"""Attention of int8 by int8: an older int8_scale_term of SDPA, and quantize_term of
MultiHeadAttention.

Both products are those of quantization/int8_product.py, head by head. Each row of the query has a
scale, and all keys share one. Each row of the probabilities has a scale, and all values share one.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import f32

from ncc.dialects.ncnn.attention.scaled_dot_product import masked
from ncc.dialects.ncnn.layer import Array, Builder, Tensor, WeightAttr
from ncc.dialects.ncnn.quantization.int8 import product
from ncc.dialects.ncnn.quantization.int8_product import Factor, FactorArray, dequantized_element
from ncc.dialects.ncnn.reduction.reduction import softmax, softmax_array
from ncc.dialects.scalar import convert


def attended_int8_array(q: Array, k: Array, v: Array, mask: Array | None, scale: float) -> Array:
    """Like `scaled_dot_product.attended_array` with `zeros`, in int8."""
    heads: list[Array] = []
    for head, rows in enumerate(q):
        group = head // (len(q) // len(k))
        keys = FactorArray.of_whole(k[group].T)
        scores = FactorArray.of_rows(rows).times(keys) * np.float32(scale)
        if mask is not None:
            scores = scores + (mask if mask.ndim == 2 else mask[head % len(mask)])
        probabilities = FactorArray.of_rows(softmax_array(scores, 1, zeros=True))
        heads.append(probabilities.times(FactorArray.of_whole(v[group])))
    return np.stack(heads)


def attended_int8(
    b: Builder, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, scale: float = 1.0
) -> Tensor:
    """Like `scaled_dot_product.attended` with heads outside and `zeros`, in int8."""
    heads, rows, features = q.shape
    groups, keys, width = v.shape
    query = Factor.quantized(b, b.reshape(q, (groups, heads // groups * rows, features)), [0, 1])
    key = Factor.quantized(b, k, [0])
    h, s, t, e = b.loops("h s t e")
    sums = b.sum((h, s, t), over=(e,), of=product(query.values[h, s, e], key.values[h, t, e]))
    h, s, t = b.loops_of(sums.shape)
    units = 1.0 / (query.scale[h, s] * key.scale[h])
    scores = b.map((h, s, t), convert(sums[h, s, t], f32) * units)
    scores = masked(b, b.reshape(scores, (heads, rows, keys)), mask, scale)
    probabilities = b.reshape(softmax(b, scores, [2], zeros=True), sums.shape)
    shares = Factor.quantized(b, probabilities, [0, 1])
    value = Factor.quantized(b, v, [0])
    h, s, e, t = b.loops("h s e t")
    element = product(shares.values[h, s, t], value.values[h, t, e])
    sums = b.sum((h, s, e), over=(t,), of=element)
    h, s, e = b.loops_of(sums.shape)
    units = 1.0 / (shares.scale[h, s] * value.scale[h])
    return b.reshape(b.map((h, s, e), convert(sums[h, s, e], f32) * units), (heads, rows, width))


class Int8Affine(NamedTuple):
    """x -> W x + b of each row x, in int8.

    Either each output of W (outputs, inputs) has a scale, and x has one; or W has one scale, and
    each row of x has its own.
    """

    weight: WeightAttr
    bias: WeightAttr
    scales: WeightAttr
    by_output: bool

    def array(self, x: Array) -> Array:
        held, scales = self.weight.array(), self.scales.array()
        if self.by_output:
            product = FactorArray.of_rows(held, scales).times(FactorArray.of_whole(x.T)).T
        else:
            product = FactorArray.of_rows(x).times(FactorArray.of_whole(held.T, scales))
        return np.asarray(product + self.bias.array())

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        w, scales, bias = b.weight(self.weight), b.weight(self.scales), b.weight(self.bias)
        if self.by_output:
            left, right = Factor.of_rows(b, w, scales), Factor.of_whole(b, x)
            inputs, weights = right, left
        else:
            left, right = Factor.of_rows(b, x), Factor.of_whole(b, w, scales)
            inputs, weights = left, right
        r, o, k = b.loops("r o k")
        sums = b.sum((r, o), over=(k,), of=product(inputs.values[r, k], weights.values[o, k]))
        r, o = b.loops_of(sums.shape)
        row = o if self.by_output else r
        return b.map((r, o), dequantized_element(sums[r, o], left, row, right) + bias[o])
