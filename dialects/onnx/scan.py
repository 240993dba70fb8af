"""Running sums and products along an axis."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i1

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.reduction.scan import scan
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.carried import as_elements, carried
from ncc.dialects.onnx.operator import Array, NotYet, Operator, Shape, axis_of, operator
from ncc.dialects.scalar import index, number_of_size
from ncc.dialects.size import is_open


class _Running(Operator):
    """What all elements up to each place make; `exclusive`: but for itself; `reverse`: from the
    back.
    """

    SETTLES = (1,)

    COMBINE: ClassVar[str]
    NEUTRAL: ClassVar[float]
    FUNCTION: ClassVar[Any]

    exclusive = integer(0)
    reverse = integer(0)

    def along(self, rank: int) -> int:
        """The axis."""
        return axis_of(int(self.constant(1).reshape(())), rank)

    def infer(self, x: Shape, *others: Shape) -> Shape:
        self.along(len(x))
        return x

    def reference(self, x: Array, *others: Array) -> Array:
        axis = self.along(x.ndim)
        given = np.flip(x, axis) if self.reverse else x
        found = type(self).FUNCTION(given, axis, dtype=x.dtype)
        if self.exclusive:
            found = np.roll(found, 1, axis)
            found[(*[slice(None)] * axis, 0)] = self.NEUTRAL
        return np.flip(found, axis) if self.reverse else found

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        if x.element_type == i1:
            raise NotYet(f"{self.type_name} of bool")
        axis, extent, element = self.along(x.rank), x.shape[self.along(x.rank)], x.element_type
        given = carried(b, _backwards(b, x, axis) if self.reverse else x)
        if self.exclusive:
            first = [int(k == axis) for k in range(x.rank)]
            given = b.cut(b.pad(given, first, [0] * x.rank, self.NEUTRAL), axis, 0, extent)
        found = as_elements(b, scan(b, given, axis, self.COMBINE), element)
        return _backwards(b, found, axis) if self.reverse else found


def _backwards(b: Builder, x: Tensor, axis: int) -> Tensor:
    """The elements along an axis from the back."""
    loops = b.loops_of(x.shape)
    if is_open(x.shape[axis]):
        places = [b.index(loop) for loop in loops]
        places[axis] = number_of_size(x.shape[axis] - 1, index) - places[axis]
        return b.map(loops, x.at(*places))
    at = [x.shape[k] - 1 + loop * -1 if k == axis else loop for k, loop in enumerate(loops)]
    return b.map(loops, x[at])


@operator("CumSum", since=11, inputs=2)
class CumSumOp(_Running):
    """Running sums."""

    COMBINE = "add"
    NEUTRAL = 0.0
    FUNCTION = np.cumsum


@operator("CumProd", since=26, inputs=2)
class CumProdOp(_Running):
    """Running products."""

    COMBINE = "mul"
    NEUTRAL = 1.0
    FUNCTION = np.cumprod
