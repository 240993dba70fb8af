"""Operators on bytes that onnxruntime's quantization adds: what the bytes stand for is computed in
float32.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from xdsl.ir import SSAValue

from ncc.dialects.element import dtype_of, element_of
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.onnx.activations import LeakyReluOp, SigmoidOp
from ncc.dialects.onnx.attribute import integer, integers, real, string
from ncc.dialects.onnx.binary import AddOp, MulOp
from ncc.dialects.onnx.casts import CastOp
from ncc.dialects.onnx.composed import MICROSOFT, Composed, Writer
from ncc.dialects.onnx.integer_products import FLOAT, MatMulIntegerOp, column
from ncc.dialects.onnx.linear import GemmOp
from ncc.dialects.onnx.movement import ConcatOp
from ncc.dialects.onnx.operator import NotYet, Operator, operator
from ncc.dialects.onnx.pooling import AveragePoolOp, GlobalAveragePoolOp
from ncc.dialects.onnx.quantization import DequantizeLinearOp, QuantizeLinearOp
from ncc.dialects.onnx.softmax import SoftmaxOp, SoftmaxV1Op


@operator("QuantizeLinear", domain=MICROSOFT, inputs=(2, 3))
class MicrosoftQuantizeLinearOp(QuantizeLinearOp):
    """As ONNX has it; older op sets of ONNX lack its types."""


@operator("DequantizeLinear", domain=MICROSOFT, inputs=(2, 3))
class MicrosoftDequantizeLinearOp(DequantizeLinearOp):
    """As ONNX has it; older op sets of ONNX lack its types."""


class _OfBytes(Composed):
    """An operator of float32, between bytes: x, its scale and zero point, ..., those of the
    result.
    """

    def to_bytes(
        self, w: Writer, made: SSAValue, like: SSAValue, scale: SSAValue, zero: SSAValue | None
    ) -> SSAValue:
        """A result as bytes, of the type of an operand where it has no zero point."""
        if zero is None:
            zero = w.constant(np.zeros((), dtype_of(element_of(like))))
        return w(QuantizeLinearOp, made, scale, zero)


class _OfOne(_OfBytes):
    """An operator of one operand."""

    KIND: type[Operator]

    def kind(self) -> type[Operator]:
        """The operator of float32, whose attributes this one has."""
        return self.KIND

    def compose(self, w: Writer, *operands: Any) -> SSAValue:
        x, scale, zero, to_scale, to_zero = (*operands, None)[:5]
        kind = self.kind()
        made = w(kind, w(DequantizeLinearOp, x, scale, zero), **self.shared(kind))
        return self.to_bytes(w, made, x, to_scale, to_zero)


@operator("QLinearSigmoid", domain=MICROSOFT, inputs=(4, 5))
class QLinearSigmoidOp(_OfOne):
    """Sigmoid."""

    KIND = SigmoidOp


@operator("QLinearLeakyRelu", domain=MICROSOFT, inputs=(4, 5))
class QLinearLeakyReluOp(_OfOne):
    """LeakyRelu."""

    KIND = LeakyReluOp

    alpha = real(0.01)


@operator("QLinearSoftmax", domain=MICROSOFT, inputs=(4, 5))
class QLinearSoftmaxOp(_OfOne):
    """Softmax of an op set of ONNX."""

    axis = integer(-1)
    opset = integer(13)

    def kind(self) -> type[Operator]:
        return SoftmaxOp if self.opset >= 13 else SoftmaxV1Op


class _Pooled(_OfOne):
    channels_last = integer(0)

    def check(self) -> None:
        if self.channels_last:
            raise NotYet(f"{self.type_name} with channels behind")


@operator("QLinearGlobalAveragePool", domain=MICROSOFT, inputs=(4, 5))
class QLinearGlobalAveragePoolOp(_Pooled):
    """GlobalAveragePool."""

    KIND = GlobalAveragePoolOp


@operator("QLinearAveragePool", domain=MICROSOFT, inputs=(4, 5))
class QLinearAveragePoolOp(_Pooled):
    """AveragePool."""

    KIND = AveragePoolOp

    auto_pad = string("NOTSET")
    ceil_mode = integer(0)
    count_include_pad = integer(0)
    kernel_shape = integers()
    pads = integers()
    strides = integers()


class _OfTwo(_OfBytes):
    """An operator of two operands."""

    KIND: type[Operator]

    def compose(self, w: Writer, *operands: Any) -> SSAValue:
        x, x_scale, x_zero, y, y_scale, y_zero, scale, zero = (*operands, None)[:8]
        left = w(DequantizeLinearOp, x, x_scale, x_zero)
        made = w(self.KIND, left, w(DequantizeLinearOp, y, y_scale, y_zero))
        return self.to_bytes(w, made, x, scale, zero)


@operator("QLinearAdd", domain=MICROSOFT, inputs=(7, 8))
class QLinearAddOp(_OfTwo):
    """x + y."""

    KIND = AddOp


@operator("QLinearMul", domain=MICROSOFT, inputs=(7, 8))
class QLinearMulOp(_OfTwo):
    """x * y."""

    KIND = MulOp


@operator("QLinearConcat", domain=MICROSOFT, inputs=(5, None))
class QLinearConcatOp(_OfBytes):
    """Concat; the scale and the zero point of the result come first."""

    axis = integer()

    def compose(self, w: Writer, *operands: Any) -> SSAValue:
        scale, zero, *given = operands
        parts = [w(DequantizeLinearOp, *given[k : k + 3]) for k in range(0, len(given), 3)]
        made = w(ConcatOp, *parts, **self.shared(ConcatOp))
        return self.to_bytes(w, made, given[0], scale, zero)


@operator("QGemm", domain=MICROSOFT, inputs=(6, 9))
class QGemmOp(_OfBytes):
    """Gemm; the bias is in int32. Without a scale of the result that is float32."""

    alpha = real(1.0)
    transA = integer(0)
    transB = integer(0)

    def compose(self, w: Writer, *operands: Any) -> SSAValue:
        x, x_scale, x_zero, y, y_scale, y_zero, bias, scale, zero = (*operands, *[None] * 3)[:9]
        left = w(DequantizeLinearOp, x, x_scale, x_zero)
        right = w(DequantizeLinearOp, y, y_scale, y_zero, axis=0 if self.transB else 1)
        if bias is not None:
            unit = w(MulOp, column(w, x_scale, 1, 0), column(w, y_scale, 1, 0))
            unit = w(MulOp, unit, w.constant(np.array(self.alpha, np.float32)))
            bias = w(MulOp, w(CastOp, bias, to=FLOAT), unit)
        made = w(GemmOp, left, right, bias, **self.shared(GemmOp))
        return made if scale is None else self.to_bytes(w, made, x, scale, zero)


@operator("MatMulIntegerToFloat", domain=MICROSOFT, inputs=(4, 7))
class MatMulIntegerToFloatOp(Composed):
    """MatMulInteger, times both scales, and a bias."""

    def compose(self, w: Writer, *operands: Any) -> SSAValue:
        x, y, x_scale, y_scale, x_zero, y_zero, bias = (*operands, *[None] * 3)[:7]
        made = w(CastOp, w(MatMulIntegerOp, x, y, x_zero, y_zero), to=FLOAT)
        rank = len(shape_of(y) or ())
        scales = w(MulOp, column(w, x_scale, 1, 0), column(w, y_scale, rank, rank - 1))
        made = w(MulOp, made, scales)
        return made if bias is None else w(AddOp, made, bias)
