"""Matrix products of int8 by int8: what Gemm and MultiHeadAttention do with an older quantize_term,
and recurrent layers, whose right factors have a scale for each column.

    y[m, n] = (the sum over k of qa[m, k] * qb[k, n]) * (1 / (sa[m] * sb))

Rows of the left factor have a scale each, the right factor has one. A factor that is not int8 yet
is quantized as it comes: by 127 / the largest magnitude of the row, or of the whole, and by 1
where all is zero; q = x * s, rounded, halves away from zero. The sum is that of integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import f32, i8

from ncc.dialects.casts import saturated_int8
from ncc.dialects.index_notation import Index
from ncc.dialects.ncnn.layer import Array, Builder, Tensor
from ncc.dialects.ncnn.quantization.int8 import quantize_array
from ncc.dialects.scalar import Scalar, absolute, convert, equal, select


class FactorArray(NamedTuple):
    """int8 values and their scale: one a row, (rows, 1), or one for all, (1, 1)."""

    values: Array
    scale: Array

    @staticmethod
    def of_rows(x: Array, scales: Array | None = None) -> FactorArray:
        """A left factor (rows, k); int8 with scales (rows,), or quantized here row by row."""
        if x.dtype == np.int8 and scales is not None:
            return FactorArray(x, scales.reshape(-1, 1))
        return _quantized(x, np.abs(x).max(axis=1, keepdims=True, initial=0))

    @staticmethod
    def of_whole(x: Array, scales: Array | None = None) -> FactorArray:
        """A right factor (k, columns); int8 with scales (1,), or quantized here as a whole."""
        if x.dtype == np.int8 and scales is not None:
            return FactorArray(x, scales.reshape(1, 1))
        return _quantized(x, np.abs(x).max(keepdims=True, initial=0))

    def times(self, other: FactorArray) -> Array:
        """The product with a right factor, float32 (rows, columns)."""
        exact = self.values.astype(np.float64) @ other.values.astype(np.float64)
        return np.asarray(exact.astype(np.float32) * (np.float32(1) / (self.scale * other.scale)))


def _quantized(x: Array, largest: Array) -> FactorArray:
    scale = np.float32(127) / np.where(largest == 0, np.float32(127), largest)
    return FactorArray(quantize_array(x, scale), scale)


class Factor(NamedTuple):
    """int8 values and their scale: one a row, (rows,), or one for all, (1,)."""

    values: Tensor
    scale: Tensor

    @staticmethod
    def of_rows(
        b: Builder, x: Tensor, scales: Tensor | None = None, *, transposed: bool = False
    ) -> Factor:
        """A left factor (rows, k), transposed (k, rows); int8 with scales, or quantized here."""
        if x.element_type == i8 and scales is not None:
            return Factor(x, scales)
        return Factor.quantized(b, x, [int(transposed)])

    @staticmethod
    def of_whole(b: Builder, x: Tensor, scales: Tensor | None = None) -> Factor:
        """A right factor of any shape; int8 with scales, or quantized here."""
        if x.element_type == i8 and scales is not None:
            return Factor(x, scales)
        return Factor.quantized(b, x, [])

    @staticmethod
    def quantized(b: Builder, x: Tensor, axes: Sequence[int]) -> Factor:
        """int8 values with a scale for each index of these axes."""
        at = b.loops_of(x.shape)
        outside = [at[axis] for axis in axes]
        inside = [loop for axis, loop in enumerate(at) if axis not in axes]
        largest = b.max(outside, over=inside, of=absolute(x[at]), init=0.0)
        place = b.loops_of(largest.shape)
        scale = b.map(place, scale_of_largest(largest[place]))
        at = b.loops_of(x.shape)
        return Factor(b.map(at, saturated_int8(x[at] * scale[outside])), scale)


def dequantized_element(sum: Scalar, left: Factor, row: Index, right: Factor) -> Scalar:
    """An element of the product: its sum as float32, by the scales of both factors."""
    return convert(sum, f32) * (1.0 / (left.scale[row] * right.scale[0]))


def scale_of_largest(largest: Scalar) -> Scalar:
    return select(equal(largest, 0.0), 1.0, 127.0 / largest)
