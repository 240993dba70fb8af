"""Integers that stand for numbers: QuantizeLinear and DequantizeLinear."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import f32, i8, i16, i32
from xdsl.ir import Attribute
from xdsl.ir.affine import AffineExpr

from ncc.dialects.casts import cast
from ncc.dialects.element import dtype_of, greatest, least, ui8, ui16
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.casts import element_of_number
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, axis_of, operator
from ncc.dialects.scalar import Scalar, clamp, round_even
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal

INTEGERS = (i8, ui8, i16, ui16)


class _Linear(Operator):
    """x, a scale, and a zero point: of all elements, of each slice along an axis, or of each block
    of one.
    """

    axis = integer(1)
    block_size = integer(0)

    def infer(self, x: Shape, scale: Shape, zero: Shape | None = None) -> Shape:
        one = (), (1,)
        both_one = zero in one and scale in one
        if zero is not None and not both_one and not are_equal(zero, scale):
            raise LayerError(f"scales {shown(scale)} and zero points {shown(zero or ())}")
        axis = axis_of(self.axis, len(x)) if scale not in one else 0
        if self.block_size:
            blocks = [-(-n // self.block_size) if k == axis else n for k, n in enumerate(x)]
            wanted: Shape = tuple(blocks)
        else:
            wanted = x[axis : axis + 1]
        if scale not in one and not are_equal(scale, wanted):
            raise LayerError(f"scales {shown(scale)} of {shown(x)}")
        return x

    def spread(self, x: Shape, of: Array) -> Array:
        """Scales or zero points against x, in numpy."""
        if of.size == 1:
            return of.reshape(())
        axis = axis_of(self.axis, len(x))
        if self.block_size:
            return np.take(of, np.arange(x[axis]) // self.block_size, axis)
        return of.reshape([-1 if k == axis else 1 for k in range(len(x))])

    def read(self, of: Tensor, loops: list[AffineExpr]) -> Scalar:
        """The scale or zero point of an element."""
        if np.prod(of.shape) == 1:
            return of[[0] * of.rank]
        return of[loops] if self.block_size else of[loops[axis_of(self.axis, len(loops))]]

    def by_element(self, b: Builder, of: Tensor, x: Tensor) -> Tensor:
        """What each block has, for each of its elements; others as they are."""
        if not self.block_size or np.prod(of.shape) == 1:
            return of
        axis = axis_of(self.axis, x.rank)
        blocks = of.shape[axis]
        if x.shape[axis] != blocks * self.block_size:
            raise NotYet(f"{self.type_name} by blocks of which the last is smaller")
        loops = b.loops_of([*x.shape[:axis], blocks, self.block_size, *x.shape[axis + 1 :]])
        spread = b.map(loops, of[[*loops[: axis + 1], *loops[axis + 2 :]]])
        return b.reshape(spread, x.shape)


@operator("QuantizeLinear", since=10, inputs=(2, 3))
class QuantizeLinearOp(_Linear):
    """x / scale + zero point, rounded to even and limited to the integers of the result."""

    output_dtype = integer(0)
    precision = integer(0)
    saturate = integer(1)

    def target(self) -> Attribute:
        """The type of the result."""
        zero = self.element_at(2)
        if zero is None:
            zero = element_of_number(self.output_dtype) if self.output_dtype else ui8
        if zero not in INTEGERS:
            raise NotYet("QuantizeLinear to other integers than those of 8 and 16 bits")
        return zero

    def element_types(self, *operands: Attribute) -> Attribute:
        if operands[0] != f32 or operands[1] != f32:
            raise NotYet("QuantizeLinear of other elements than float32")
        return self.target()

    def reference(self, x: Array, scale: Array, zero: Array | None = None) -> Array:
        target = self.target()
        number = np.rint(x / self.spread(x.shape, scale))
        if zero is not None:
            number = number + self.spread(x.shape, zero)
        return np.clip(number, least(target), greatest(target)).astype(dtype_of(target))

    def lower(self, b: Builder, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
        target = self.target()
        scale = self.by_element(b, scale, x)
        zero = None if zero is None else self.by_element(b, zero, x)
        loops = b.loops_of(x.shape)
        number = round_even(x[loops] / self.read(scale, loops))
        if zero is not None:
            number = number + cast(self.read(zero, loops), f32)
        limited = clamp(number, float(least(target)), float(greatest(target)))
        return b.map(loops, cast(cast(limited, i32), target))


@operator("DequantizeLinear", since=10, inputs=(2, 3))
class DequantizeLinearOp(_Linear):
    """(x - zero point) * scale."""

    output_dtype = integer(0)

    def element_types(self, *operands: Attribute) -> Attribute:
        if operands[0] not in (*INTEGERS, i32) or operands[1] != f32 or self.output_dtype > 1:
            raise NotYet("DequantizeLinear of other types than integers to float32")
        return operands[1]

    def reference(self, x: Array, scale: Array, zero: Array | None = None) -> Array:
        wide = x.astype(np.int64)
        if zero is not None:
            wide = wide - self.spread(x.shape, zero)
        return np.asarray(wide.astype(np.float32) * self.spread(x.shape, scale), np.float32)

    def lower(self, b: Builder, x: Tensor, scale: Tensor, zero: Tensor | None = None) -> Tensor:
        scale = self.by_element(b, scale, x)
        zero = None if zero is None else self.by_element(b, zero, x)
        loops = b.loops_of(x.shape)
        number = cast(x[loops], i32)
        if zero is not None:
            number = number - cast(self.read(zero, loops), i32)
        return b.map(loops, cast(number, f32) * self.read(scale, loops))
