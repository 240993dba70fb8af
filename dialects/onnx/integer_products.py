"""Products and convolutions of bytes: in int32, and from bytes to bytes.

Each byte stands for its difference to a zero point, times a scale.
"""

from __future__ import annotations

from collections.abc import Container
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from ncc.dialects.casts import cast
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.onnx.binary import AddOp, DivOp, MulOp
from ncc.dialects.onnx.broadcast import read
from ncc.dialects.onnx.casts import CastOp
from ncc.dialects.onnx.composed import Composed, Writer
from ncc.dialects.onnx.convolution import ConvOp, Filters
from ncc.dialects.onnx.linear import product, product_shape
from ncc.dialects.onnx.movement import ReshapeOp
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, operator
from ncc.dialects.onnx.quantization import QuantizeLinearOp
from ncc.dialects.shapes import shown

FLOAT = 1
"""ONNX's number of float32."""


def against(zero: Shape, x: Shape, axis: int) -> Shape:
    """The shape of a zero point that is broadcast against x: one of all, or one at each place of an
    axis.
    """
    if zero in ((), (1,)):
        return (1,) * len(x)
    if len(zero) == 1 and zero[0] == x[axis]:
        return tuple(extent if k == axis else 1 for k, extent in enumerate(x))
    if len(zero) == len(x) and all(n in (1, m) for n, m in zip(zero, x, strict=True)):
        return zero
    raise LayerError(f"zero points {shown(zero)} of {shown(x)}")


def differences(b: Builder, x: Tensor, zero: Tensor | None, axis: int) -> Tensor:
    """x in int32, less its zero points."""
    if zero is not None:
        zero = b.reshape(zero, against(zero.shape, x.shape, axis))
    loops = b.loops_of(x.shape)
    number = cast(x[loops], i32)
    return b.map(loops, number if zero is None else number - cast(read(zero, loops), i32))


def differences_array(x: Array, zero: Array | None, axis: int) -> Array:
    """The same in numpy."""
    wide = x.astype(np.int32)
    return wide if zero is None else wide - zero.reshape(against(zero.shape, x.shape, axis))


@operator("MatMulInteger", since=10, inputs=(2, 4))
class MatMulIntegerOp(Operator):
    """The product of matrices of bytes less their zero points, in int32."""

    def infer(self, x: Shape, y: Shape, *zeros: Shape | None) -> Shape:
        for of, zero, axis in zip((x, y), zeros, (-2, -1), strict=False):
            if zero is not None:
                against(zero, of, max(len(of) + axis, 0))
        return product_shape(x, y)

    def element_types(self, *operands: Attribute) -> Attribute:
        return i32

    def reference(self, x: Array, y: Array, *zeros: Array | None) -> Array:
        first, second = (*zeros, None, None)[:2]
        left = differences_array(x, first, max(x.ndim - 2, 0))
        return np.asarray(left @ differences_array(y, second, y.ndim - 1), np.int32)

    def lower(self, b: Builder, x: Tensor, y: Tensor, *zeros: Tensor | None) -> Tensor:
        first, second = (*zeros, None, None)[:2]
        left = differences(b, x, first, max(x.rank - 2, 0))
        return product(b, left, differences(b, y, second, y.rank - 1))


@operator("ConvInteger", since=10, inputs=(2, 4))
class ConvIntegerOp(ConvOp):
    """A convolution of bytes less their zero points, in int32; filters may have one each."""

    ALIKE: ClassVar[Container[int]] = ()

    def infer(self, x: Shape, w: Shape, *zeros: Shape | None) -> Shape:
        for of, zero in zip((x, w), zeros, strict=False):
            if zero is not None:
                against(zero, of, 0)
        if zeros and zeros[0] not in (None, (), (1,)):
            raise NotYet("ConvInteger of an image with several zero points")
        return super().infer(x, w)

    def element_types(self, *operands: Attribute) -> Attribute:
        return i32

    def reference(self, x: Array, w: Array, *zeros: Array | None) -> Array:
        first, second = (*zeros, None, None)[:2]
        return super().reference(differences_array(x, first, 0), differences_array(w, second, 0))

    def lower(self, b: Builder, x: Tensor, w: Tensor, *zeros: Tensor | None) -> Tensor:
        first, second = (*zeros, None, None)[:2]
        return super().lower(b, differences(b, x, first, 0), differences(b, w, second, 0))


class _ToBytes(Composed):
    """A product in int32 that becomes bytes again: times both scales, over that of the result."""

    def to_bytes(
        self, w: Writer, made: SSAValue, scales: list[SSAValue], zero: SSAValue
    ) -> SSAValue:
        """scales: of both operands, and of the result."""
        factor = w(DivOp, w(MulOp, scales[0], scales[1]), scales[2])
        scaled = w(MulOp, w(CastOp, made, to=FLOAT), factor)
        return w(QuantizeLinearOp, scaled, w.constant(np.array(1, np.float32)), zero)


def column(w: Writer, scale: SSAValue, rank: int, axis: int) -> SSAValue:
    """Scales of the places of an axis, so that they are broadcast along the others; in float32."""
    one = shape_of(scale) in ((), (1,))
    scale = w(CastOp, scale, to=FLOAT)
    if one:
        return w(ReshapeOp, scale, w.constant(np.ones(1, np.int64)))
    extents = np.array([-1 if k == axis else 1 for k in range(rank)])
    return w(ReshapeOp, scale, w.constant(extents))


@operator("QLinearConv", since=10, inputs=(8, 9))
class QLinearConvOp(_ToBytes, Filters):
    """A convolution of bytes that gives bytes; the bias is in int32."""

    def compose(self, w: Writer, *operands: Any) -> SSAValue:
        x, x_scale, x_zero, f, f_scale, f_zero, y_scale, y_zero, *more = operands
        made = w(ConvIntegerOp, x, f, x_zero, f_zero, **self.shared(ConvIntegerOp))
        rank = len(shape_of(x) or ())
        if more:
            bias = w.constant(np.array([-1 if k == 1 else 1 for k in range(rank)]))
            made = w(AddOp, made, w(ReshapeOp, more[0], bias))
        scales = [column(w, scale, rank, 1) for scale in (x_scale, f_scale, y_scale)]
        return self.to_bytes(w, made, scales, y_zero)


@operator("QLinearMatMul", since=10, inputs=8)
class QLinearMatMulOp(_ToBytes):
    """A product of matrices of bytes that gives bytes."""

    def compose(self, w: Writer, *operands: Any) -> SSAValue:
        x, x_scale, x_zero, f, f_scale, f_zero, y_scale, y_zero = operands
        made = w(MatMulIntegerOp, x, f, x_zero, f_zero)
        ranks = [len(shape_of(value) or ()) for value in (x, f)]
        scales = [
            self._spread(w, x_scale, ranks[0], ranks[0] - 2),
            self._spread(w, f_scale, ranks[1], ranks[1] - 1),
            column(w, y_scale, 1, 0),
        ]
        return self.to_bytes(w, made, scales, y_zero)

    def _spread(self, w: Writer, scale: SSAValue, rank: int, axis: int) -> SSAValue:
        """Scales of rows or of columns; those of more axes stand already as they have to."""
        if len(shape_of(scale) or ()) > 1:
            return w(CastOp, scale, to=FLOAT)
        return column(w, scale, rank, axis)
