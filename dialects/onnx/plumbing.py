"""Where values come from and how they are handed on: nothing here computes."""

from __future__ import annotations

import re
from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i1, i64
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from ncc.dialects.attributes import tensor_type
from ncc.dialects.element import element_of
from ncc.dialects.ncnn.layer import Layer, OpenShape, declare, shape_of
from ncc.dialects.ncnn.plumbing import InputOp
from ncc.dialects.onnx.attribute import integer, integers, real, strings
from ncc.dialects.onnx.operator import (
    Array,
    Builder,
    NotYet,
    Operator,
    Shape,
    Tensor,
    known,
    objects,
    operator,
)
from ncc.dialects.shapes import DYNAMIC

_LETTERS = {4: "nchw", 5: "ncdhw"}
"""What ONNX calls the axes of a batch of images; other inputs are no images in general."""


class OnnxInputOp(InputOp):
    """An input of the network, as ONNX states it: -1 is an open extent, no extents an open rank.

    axes: the names of open extents, "" where one has none. Two that are called the same need not be
    equal: layers say which ones are, and files name extents "?" or "None" that are not.
    """

    TYPED: ClassVar[bool] = True

    w = h = d = c = feature_mask = None  # type: ignore[assignment]
    extents = integers()
    axes = strings(())

    def axis_names(self, rank: int) -> Sequence[str]:
        """Those of the file, if no other axis has the same; else letters or numbers."""
        usual = _LETTERS.get(rank) or list(map(str, range(rank)))
        names = [re.sub(r"[^A-Za-z0-9]+", "_", name).strip("_") for name in self.axes or ()]
        if len(names) != rank:
            return usual
        unique = [bool(name) and names.count(name) == 1 for name in names]
        return [
            name if is_unique else other
            for name, other, is_unique in zip(names, usual, unique, strict=True)
        ]

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

    def of_sizes(self, x: Array) -> Array:
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
        return [known(self.of_shape(shape), i64, self.layer_name, self.blob_names[0])]

    def of_shape(self, x: Shape) -> Array:
        """What is asked for, as Python's integers."""
        raise NotImplementedError

    def reference(self, x: Array) -> Array:
        return np.array(self.of_shape(x.shape), np.int64)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        raise NotImplementedError(f"{self.name} is folded")


@operator("Shape", since=1)
class ShapeOp(ShapeAsked):
    """The extents of x, from axis `start` to axis `end`."""

    start = integer(0)
    end = integer()

    def infer(self, x: Shape) -> Shape:
        return (len(x[slice(self.start, self.end)]),)

    def of_shape(self, x: Shape) -> Array:
        asked = x[slice(self.start, self.end)]
        return objects(asked, (len(asked),))


@operator("Size")
class SizeOp(ShapeAsked):
    """The number of elements of x."""

    def infer(self, x: Shape) -> Shape:
        return ()

    def of_shape(self, x: Shape) -> Array:
        return objects([prod(x)], ())


class ViewOp(Operator):
    """The same elements in the same order under another shape: the border to ncnn's blobs."""

    extents = integers(())

    @staticmethod
    def of(x: SSAValue, shape: Shape, name: str = "", blob: str = "") -> ViewOp:
        """x under another shape."""
        made = ViewOp.make([x], {"extents": tuple(shape)}, name=name, blobs=[blob])
        Rewriter.replace_value_with_new_type(made.results[0], tensor_type(element_of(x), shape))
        return made

    def infer(self, x: Shape) -> Shape:
        return self.extents

    def reference(self, x: Array) -> Array:
        return x.reshape(self.extents)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return b.reshape(x, self.extents)


declare(ViewOp, "View", (1, 1), (1, 1))
ViewOp.name = "onnx.View"


@operator("Dropout", since=12, inputs=(1, 3), outputs=(1, 2))
class DropoutOp(Operator):
    """x, and a mask that holds everywhere: nothing is dropped at inference."""

    SETTLES: ClassVar[tuple[int, ...]] = (2,)

    seed = integer()

    def infer(self, x: Shape, *others: Shape | None) -> list[Shape]:
        training = self.optional(2)
        if training is not None and training.reshape(()):
            raise NotYet("Dropout in training")
        return [x, x]

    def element_types(self, *operands: Attribute) -> list[Attribute]:
        return [operands[0], i1]

    def reference(self, x: Array, *others: Array | None) -> list[Array]:
        return [x, np.ones(x.shape, np.bool_)]

    def lower(self, b: Builder, x: Tensor, *others: Tensor | None) -> list[Tensor]:
        if len(self.results) == 1:
            return [x]
        return [x, b.full(x.shape or (1,), 1, i1)]


@operator("Dropout", since=7, until=11, outputs=(1, 2))
class DropoutV7Op(DropoutOp):
    """The same; the ratio is an attribute."""

    SETTLES = ()

    ratio = real(0.5)
    seed: Any = None

    def infer(self, x: Shape, *others: Shape | None) -> list[Shape]:
        return [x, x]
