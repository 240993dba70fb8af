"""Values shifted and scaled by their mean and variance, or by stored ones."""

from __future__ import annotations

from collections.abc import Container
from math import prod
from typing import ClassVar

import numpy as np

from ncc.dialects.casts import cast
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, real
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, operator
from ncc.dialects.scalar import over_size, sqrt
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal


def per_channel(x: Array, of: Array) -> Array:
    """Numbers of channels against (batch, channels, ...)."""
    return of.reshape([-1 if axis == 1 else 1 for axis in range(x.ndim)])


@operator("BatchNormalization", since=7, inputs=5, outputs=(1, 5))
class BatchNormalizationOp(Operator):
    """(x - mean) / sqrt(variance + epsilon) * scale + bias, by channel, of stored statistics."""

    epsilon = real(1e-5)
    momentum = real(0.9)
    training_mode = integer(0)
    spatial = integer(1)

    def check(self) -> None:
        if self.training_mode or len(self.results) > 1:
            raise NotYet("BatchNormalization in training")
        if not self.spatial:
            raise NotYet("BatchNormalization with spatial=0")

    def infer(self, x: Shape, *of: Shape) -> Shape:
        if len(x) < 2 or not all(are_equal(one, x[1:2]) for one in of):
            raise LayerError(f"statistics {', '.join(map(shown, of))} of {shown(x)}")
        return x

    def reference(self, x: Array, *of: Array) -> Array:
        scale, bias, mean, variance = (per_channel(x, one) for one in of)
        root = np.sqrt(variance + x.dtype.type(self.epsilon))
        return np.asarray((x - mean) / root * scale + bias)

    def lower(self, b: Builder, x: Tensor, *of: Tensor) -> Tensor:
        loops = b.loops_of(x.shape)
        kind = x.element_type
        scale, bias, mean, variance = (cast(one[loops[1]], kind) for one in of)
        y = (x[loops] - mean) / sqrt(variance + self.epsilon) * scale + bias
        return b.map(loops, y)


@operator("InstanceNormalization", since=6, inputs=3)
class InstanceNormalizationOp(Operator):
    """Each channel of each image to mean 0 and variance 1, then scaled and shifted."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2)

    epsilon = real(1e-5)

    def infer(self, x: Shape, scale: Shape, bias: Shape) -> Shape:
        if len(x) < 3 or not all(are_equal(one, x[1:2]) for one in (scale, bias)):
            raise LayerError(f"scale {shown(scale)} and bias {shown(bias)} of {shown(x)}")
        return x

    def reference(self, x: Array, scale: Array, bias: Array) -> Array:
        axes = tuple(range(2, x.ndim))
        off = x - x.mean(axes, keepdims=True)
        root = np.sqrt(np.square(off).mean(axes, keepdims=True) + x.dtype.type(self.epsilon))
        return np.asarray(off / root * per_channel(x, scale) + per_channel(x, bias))

    def lower(self, b: Builder, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        share = over_size(1.0, prod(x.shape[2:]), x.element_type)
        loops = b.loops_of(x.shape)
        to, over = loops[:2], loops[2:]
        mean = b.scaled(b.sum(to, over=over, of=x[loops]), share)
        b.loops_of(x.shape)
        off = x[loops] - mean[to]
        variance = b.scaled(b.sum(to, over=over, of=off * off), share)
        b.loops_of(x.shape)
        root = sqrt(variance[to] + self.epsilon)
        return b.map(loops, (x[loops] - mean[to]) / root * scale[loops[1]] + bias[loops[1]])
