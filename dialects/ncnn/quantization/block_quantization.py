"""Block quantization by `quantize_term` of Gemm and MultiHeadAttention.

    412 = 100 * 4 bits + 10 * input scales + code 2 of a block of 128

A row of a weight (outputs, inputs) is whole numbers of 4, 6 or 8 bits in two's complement, one
behind the other from the lowest bits of the first byte on. Every block of a row has a scale, by
which its numbers are divided. Arithmetic is that of float32: the input is not quantized. With
input scales, column k of the input is multiplied by the k-th of them before.

Other terms but 0 mean products of int8 by int8.
"""

from __future__ import annotations

from math import sqrt
from typing import NamedTuple

from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Tensor,
    WeightAttr,
    integer,
)
from ncc.dialects.weights.derived import Dequantized

BITS = (4, 6, 8)
BLOCKS = (32, 64, 128)

# Codes of an older form, that ncnn refuses; all terms from 400 on are meant for blocks.
_REFUSED = (4, 5, 6)
_LEAST = 400


class BlockQuantization(NamedTuple):
    """Numbers of `bits` bits, a scale for every `block` of them; maybe a scale for each input."""

    bits: int
    block: int
    input_scales: bool

    @staticmethod
    def of(term: int) -> BlockQuantization | None:
        """The meaning of a quantize_term; None if it is not about blocks."""
        bits, input_scales, code = term // 100, term % 100 // 10, term % 10
        if bits not in BITS or input_scales > 1 or code >= len(BLOCKS):
            return None
        return BlockQuantization(bits, BLOCKS[code], bool(input_scales))

    def packed_shape(self, rows: int, columns: int) -> Shape:
        """The bytes of a weight of so many numbers."""
        return rows, -(-columns * self.bits // 8)

    def scales_shape(self, rows: int, columns: int) -> Shape:
        """The scales of a weight of so many numbers."""
        return rows, -(-columns // self.block)

    def typical_scale(self, columns: int) -> float:
        """A scale by which equally likely numbers get the variance 1 / columns."""
        return float(sqrt(columns / 3) * 2 ** (self.bits - 1))

    def dequantized(
        self, packed: WeightAttr | None, scales: WeightAttr | None, columns: int
    ) -> WeightAttr:
        """The weight (rows, columns) that the bytes and the scales mean."""
        if packed is None or scales is None:
            raise LayerError("a quantized weight without its bytes or its scales")
        values = Dequantized(packed.data, scales.data, self.bits, self.block, columns)
        return WeightAttr(values.weights)


class Quantizable(Layer):
    """A layer whose weights may be in blocks, or which multiplies int8 by int8."""

    quantize_term = integer(18)

    @property
    def blocks(self) -> BlockQuantization | None:
        """How weights are packed; None where they are not."""
        return BlockQuantization.of(self.quantize_term)

    @property
    def is_int8(self) -> bool:
        """Whether weights are int8, and everything is multiplied as int8."""
        return self.quantize_term != 0 and self.blocks is None


def check_quantize_term(term: int) -> None:
    """Raise LayerError for a quantize_term that ncnn refuses."""
    if term in _REFUSED or (term >= _LEAST and BlockQuantization.of(term) is None):
        raise LayerError(
            f"quantize_term {term} is no form of quantized weights: 100 times 4, 6 or 8 bits, "
            "10 for input scales, and 0, 1 or 2 for blocks of 32, 64 or 128",
            "quantize_term",
        )


def scale_columns_array(x: Array, scales: WeightAttr | None) -> Array:
    """x (rows, columns), each column times its scale; x itself where there are no scales."""
    return x if scales is None else x * scales.array()


def scale_columns(b: Builder, x: Tensor, scales: WeightAttr | None) -> Tensor:
    """x (rows, columns), each column times its scale; x itself where there are no scales."""
    if scales is None:
        return x
    at = b.loops_of(x.shape)
    return b.map(at, x[at] * b.weight(scales)[at[-1]])
