"""Operators that onnxruntime's optimizer makes of several: here they become these again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from xdsl.ir import SSAValue

from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.onnx.activations import GeluOp, LeakyReluOp, ReluOp, SigmoidOp
from ncc.dialects.onnx.attribute import integer, real, reals, string
from ncc.dialects.onnx.binary import AddOp, MulOp
from ncc.dialects.onnx.composed import MICROSOFT, Composed, Writer
from ncc.dialects.onnx.convolution import ConvOp, Filters
from ncc.dialects.onnx.linear import MatMulOp
from ncc.dialects.onnx.movement import TransposeOp
from ncc.dialects.onnx.operator import Array, NotYet, Operator, operator
from ncc.dialects.onnx.statistics import LayerNormalizationOp, RMSNormalizationOp
from ncc.dialects.onnx.unary import TanhOp


@operator("Gelu", domain=MICROSOFT)
class MicrosoftGeluOp(GeluOp):
    """As ONNX has it since op set 20."""


@operator("BiasGelu", domain=MICROSOFT, inputs=2)
class BiasGeluOp(Composed):
    """Gelu of x plus a bias."""

    def compose(self, w: Writer, x: SSAValue, bias: SSAValue) -> SSAValue:
        return w(GeluOp, w(AddOp, x, bias))


@operator("FastGelu", domain=MICROSOFT, inputs=(1, 2))
class FastGeluOp(Composed):
    """Gelu by tanh, of x plus a bias."""

    def compose(self, w: Writer, x: SSAValue, bias: SSAValue | None = None) -> SSAValue:
        return w(GeluOp, x if bias is None else w(AddOp, x, bias), approximate="tanh")


@operator("QuickGelu", domain=MICROSOFT)
class QuickGeluOp(Composed):
    """x * sigmoid(alpha x)."""

    alpha = real(1.702)

    def compose(self, w: Writer, x: SSAValue) -> SSAValue:
        return w(MulOp, x, w(SigmoidOp, w(MulOp, x, w.like(self.alpha, x))))


@operator("FusedMatMul", domain=MICROSOFT, inputs=2)
class FusedMatMulOp(Composed):
    """alpha times a product of matrices, which may be transposed."""

    alpha = real(1.0)
    transA = integer(0)
    transB = integer(0)
    transBatchA = integer(0)
    transBatchB = integer(0)

    def check(self) -> None:
        if self.transBatchA or self.transBatchB:
            raise NotYet("FusedMatMul with batches as other axes than the first")

    def compose(self, w: Writer, x: SSAValue, y: SSAValue) -> SSAValue:
        left, right = self._turned(w, x, self.transA), self._turned(w, y, self.transB)
        made = w(MatMulOp, left, right)
        return made if self.alpha == 1 else w(MulOp, made, w.like(self.alpha, x))

    def _turned(self, w: Writer, x: SSAValue, turn: int) -> SSAValue:
        rank = len(shape_of(x) or ())
        if not turn or rank < 2:
            return x
        return w(TransposeOp, x, perm=(*range(rank - 2), rank - 1, rank - 2))


class _Skip(Composed):
    """A normalization of a sum; its fourth result is the sum."""

    epsilon = real(1e-5)

    def sum_of(self, w: Writer, *terms: SSAValue | None) -> SSAValue:
        first, *rest = [term for term in terms if term is not None]
        for term in rest:
            first = w(AddOp, first, term)
        return first

    def check(self) -> None:
        names = self.blob_names
        if any(self.results[k].uses or names[k] for k in (1, 2) if k < len(names)):
            raise NotYet(f"{self.type_name} with the mean or the deviation as results")

    def several(self, made: SSAValue, total: SSAValue) -> Sequence[SSAValue]:
        """The results; nobody reads the two in the middle."""
        return [made, made, made, total][: len(self.results)]


@operator("SkipLayerNormalization", domain=MICROSOFT, inputs=(3, 5), outputs=(1, 4))
class SkipLayerNormalizationOp(_Skip):
    """LayerNormalization of x + skip + bias along the last axis."""

    def compose(
        self,
        w: Writer,
        x: SSAValue,
        skip: SSAValue,
        gamma: SSAValue,
        beta: SSAValue | None = None,
        bias: SSAValue | None = None,
    ) -> Sequence[SSAValue]:
        total = self.sum_of(w, x, skip, bias)
        made = w(LayerNormalizationOp, total, gamma, beta, axis=-1, epsilon=self.epsilon)
        return self.several(made, total)


@operator("SkipSimplifiedLayerNormalization", domain=MICROSOFT, inputs=(3, 4), outputs=(1, 4))
class SkipSimplifiedLayerNormalizationOp(_Skip):
    """RMSNormalization of x + skip + bias along the last axis."""

    def compose(
        self,
        w: Writer,
        x: SSAValue,
        skip: SSAValue,
        gamma: SSAValue,
        bias: SSAValue | None = None,
    ) -> Sequence[SSAValue]:
        total = self.sum_of(w, x, skip, bias)
        made = w(RMSNormalizationOp, total, gamma, axis=-1, epsilon=self.epsilon)
        return self.several(made, total)


@operator("SimplifiedLayerNormalization", inputs=2)
class SimplifiedLayerNormalizationOp(RMSNormalizationOp):
    """RMSNormalization, by the name that onnxruntime gave it."""


ACTIVATIONS: Mapping[str, type[Operator]] = {
    "Relu": ReluOp,
    "Sigmoid": SigmoidOp,
    "Tanh": TanhOp,
    "LeakyRelu": LeakyReluOp,
}


@operator("FusedConv", domain=MICROSOFT, inputs=(2, 4))
class FusedConvOp(Composed, Filters):
    """A convolution, a term, and an activation."""

    activation = string("")
    activation_params = reals(())

    def check(self) -> None:
        if self.activation and self.activation not in ACTIVATIONS:
            raise NotYet(f"FusedConv with the activation {self.activation}")

    def compose(
        self,
        w: Writer,
        x: SSAValue,
        filters: SSAValue,
        bias: SSAValue | None = None,
        term: SSAValue | None = None,
    ) -> SSAValue:
        made = w(ConvOp, x, filters, bias, **self.shared(ConvOp))
        if term is not None:
            made = w(AddOp, made, term)
        if not self.activation:
            return made
        leaky = self.activation == "LeakyRelu" and self.activation_params
        more = {"alpha": self.activation_params[0]} if leaky else {}
        return w(ACTIVATIONS[self.activation], made, **more)


@operator("MatMulNBits", domain=MICROSOFT, inputs=(3, 6))
class MatMulNBitsOp(Composed):
    """x times the transpose of a matrix of integers of 2, 4 or 8 bits: each block of a row has a
    scale and a zero point.
    """

    SETTLES = (1, 2, 3)

    K = integer(0)
    N = integer(0)
    accuracy_level = integer(0)
    bits = integer(4)
    block_size = integer(32)
    weight_prepacked = integer(0)

    def check(self) -> None:
        if self.bits not in (2, 4, 8) or self.weight_prepacked:
            raise NotYet(f"MatMulNBits of {self.bits} bits or with weights of another order")

    def compose(
        self,
        w: Writer,
        x: SSAValue,
        packed: SSAValue,
        scales: SSAValue,
        zeros: SSAValue | None = None,
        order: SSAValue | None = None,
        bias: SSAValue | None = None,
    ) -> SSAValue:
        if order is not None:
            raise NotYet("MatMulNBits with columns in another order")
        made = w(MatMulOp, x, w.constant(self._matrix()))
        return made if bias is None else w(AddOp, made, bias)

    def _matrix(self) -> Array:
        """The second factor in the type of its scales."""
        blocks = -(-self.K // self.block_size)
        scales = self.constant(2).reshape(self.N, blocks, 1)
        numbers = self._unpacked(self.constant(1).reshape(self.N, blocks, -1))
        zeros = self.optional(3)
        if zeros is None:
            middle = np.full((self.N, blocks, 1), 1 << (self.bits - 1), np.int32)
        elif zeros.dtype == np.uint8:
            middle = self._unpacked(zeros.reshape(self.N, -1))[:, :blocks, None]
        else:
            middle = zeros.reshape(self.N, blocks, 1)
        matrix = (numbers - middle) * scales
        return np.asarray(matrix.reshape(self.N, -1)[:, : self.K].T, scales.dtype)

    def _unpacked(self, packed: Array) -> Array:
        """The numbers of bytes, the low bits first."""
        places = np.arange(0, 8, self.bits, dtype=np.uint8)
        numbers = (packed[..., None] >> places) & np.uint8((1 << self.bits) - 1)
        return np.asarray(numbers.reshape(*packed.shape[:-1], -1), np.int32)
