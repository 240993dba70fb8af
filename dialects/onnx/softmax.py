"""Numbers as parts of a whole."""

from __future__ import annotations

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.reduction.reduction import softmax
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.operator import Array, Operator, Shape, axis_of, operator
from ncc.dialects.scalar import exp, log


@operator("Softmax", since=13)
class SoftmaxOp(Operator):
    """exp(x) over its sum along an axis."""

    axis = integer(-1)

    def region(self, x: Shape) -> tuple[int, ...]:
        """The axes along which the results are parts of 1."""
        return (axis_of(self.axis, len(x)),)

    def infer(self, x: Shape) -> Shape:
        self.region(x)
        return x

    def reference(self, x: Array) -> Array:
        region = self.region(x.shape)
        grown = np.exp(x - x.max(region, keepdims=True))
        return np.asarray(grown / grown.sum(region, keepdims=True))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        if not x.rank:
            return b.full((1,), 1.0, x.element_type)
        return softmax(b, x, self.region(x.shape))


@operator("Softmax", since=1, until=12)
class SoftmaxV1Op(SoftmaxOp):
    """exp(x) over its sum along all axes from one on."""

    axis = integer(1)

    def region(self, x: Shape) -> tuple[int, ...]:
        return tuple(range(axis_of(self.axis, len(x)), len(x)))


@operator("LogSoftmax", since=1, until=12)
class LogSoftmaxV1Op(SoftmaxV1Op):
    """The logarithm of Softmax; since op set 13 the standard defines it as a function."""

    def reference(self, x: Array) -> Array:
        region = self.region(x.shape)
        below = x - x.max(region, keepdims=True)
        return np.asarray(below - np.log(np.exp(below).sum(region, keepdims=True)))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        loops, to, over = b.loops_around(x.shape, self.region(x.shape))
        largest = b.max(to, over=over, of=x[loops])
        b.loops_of(x.shape)
        below = b.map(loops, x[loops] - largest[to])
        b.loops_of(x.shape)
        total = b.sum(to, over=over, of=exp(below[loops]))
        b.loops_of(x.shape)
        return b.map(loops, below[loops] - log(total[to]))
