"""Where values come from and how they are handed on: nothing here computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import TensorType, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import Layer, OpenShape, declare, shape_of
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.onnx.attribute import integer, integers
from ncc.dialects.onnx.operator import (
    Array,
    Builder,
    Operator,
    Shape,
    Tensor,
    operator,
)
from ncc.dialects.shapes import DYNAMIC


class OnnxInputOp(InputOp):
    """An input of the network, as ONNX states it: -1 is an open extent, no extents an open rank."""

    TYPED: ClassVar[bool] = True

    w = h = d = c = feature_mask = None  # type: ignore[assignment]
    extents = integers()

    @property
    def stated(self) -> OpenShape | None:
        if self.extents is None:
            return None
        return tuple(None if extent == DYNAMIC else extent for extent in self.extents)


declare(OnnxInputOp, "Input", (0, 0), (1, 1))
OnnxInputOp.name = "onnx.Input"


@operator("Identity")
class IdentityOp(Operator):
    """x."""

    def infer(self, x: Shape) -> Shape:
        return x

    def reference(self, x: Array) -> Array:
        return x

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return x


class ShapeAsked(Operator):
    """An operator that asks for the shape of its operand, and not for its values."""

    FOLDS = False

    def element_types(self, *operands: Attribute) -> Attribute:
        return i64

    def folded(self) -> Sequence[Layer | SSAValue] | None:
        shape = shape_of(self.operands[0])
        if shape is None or DYNAMIC in shape:
            return None
        return self.as_constants([self.reference(np.broadcast_to(np.int8(0), shape))])

    def reference(self, x: Array) -> Array:
        raise NotImplementedError

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{self.name} is folded")


@operator("Shape", since=1)
class ShapeOp(ShapeAsked):
    """The extents of x, from axis `start` to axis `end`."""

    start = integer(0)
    end = integer()

    def infer(self, x: Shape) -> Shape:
        return (len(x[slice(self.start, self.end)]),)

    def reference(self, x: Array) -> Array:
        return np.array(x.shape[slice(self.start, self.end)], np.int64)


@operator("Size")
class SizeOp(ShapeAsked):
    """The number of elements of x."""

    def infer(self, x: Shape) -> Shape:
        return ()

    def reference(self, x: Array) -> Array:
        return np.array(x.size, np.int64)


class ViewOp(Operator):
    """The same elements in the same order under another shape: the border to ncnn's blobs."""

    extents = integers(())

    @staticmethod
    def of(x: SSAValue, shape: Shape, name: str = "", blob: str = "") -> ViewOp:
        """x under another shape."""
        made = ViewOp.make([x], {"extents": tuple(shape)}, name=name, blobs=[blob])
        Rewriter.replace_value_with_new_type(
            made.results[0], TensorType(element_of(x), list(shape))
        )
        return made

    def infer(self, x: Shape) -> Shape:
        return self.extents

    def reference(self, x: Array) -> Array:
        return x.reshape(self.extents)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return b.reshape(x, self.extents)


declare(ViewOp, "View", (1, 1), (1, 1))
ViewOp.name = "onnx.View"
