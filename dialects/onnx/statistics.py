"""Values scaled by what the elements around them are: LayerNormalization, GroupNormalization,
RMSNormalization, LpNormalization, LRN.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import numpy as np
from xdsl.dialects.builtin import f32, f64
from xdsl.ir import Attribute

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, real, required
from ncc.dialects.onnx.broadcast import broadcast, read
from ncc.dialects.onnx.carried import as_elements
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, axis_of, operator
from ncc.dialects.scalar import absolute, divisor, over_size, power, sqrt
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal


def _wide(element: Attribute) -> Attribute:
    """The type that statistics are computed in."""
    return f64 if element == f64 else f32


class _ByLastAxes(Operator):
    """All axes from one on are one region. Operands are x, scale and bias."""

    axis = integer(-1)
    epsilon = real(1e-5)
    stash_type = integer(1)

    def region(self, x: Shape) -> tuple[int, ...]:
        """The axes of the region."""
        return tuple(range(axis_of(self.axis, len(x)), len(x)))

    def infer(self, x: Shape, *of: Shape | None) -> Any:
        self.region(x)
        for one in of:
            if one is not None and not are_equal(broadcast(x, one), x):
                raise LayerError(f"a scale or bias {shown(one)} of {shown(x)}")
        return x

    def _scaled(self, b: Builder, x: Tensor, y: Tensor, of: Sequence[Tensor | None]) -> Tensor:
        """y times a scale, plus a bias, where they are, in the elements of x."""
        y = as_elements(b, y, x.element_type)
        given = [None if one is None else as_elements(b, one, x.element_type) for one in of]
        loops = b.loops_of(x.shape)
        found = y[loops]
        for place, one in enumerate(given):
            if one is not None:
                number = read(one, loops)
                found = found + number if place else found * number
        return b.map(loops, found) if any(one is not None for one in given) else y


def folded(b: Builder, x: Tensor, region: Sequence[int], mean: Tensor | None = None) -> Tensor:
    """The mean of x over some axes, each of extent 1; of its squared distance to a mean."""
    loops, to, over = b.loops_around(x.shape, region)
    value = x[loops] if mean is None else x[loops] - read(mean, loops)
    total = b.sum(to, over=over, of=value if mean is None else value * value)
    kept = tuple(1 if axis in region else n for axis, n in enumerate(x.shape))
    count = prod(x.shape[axis] for axis in region)
    return b.reshape(b.scaled(total, over_size(1.0, count, x.element_type)), kept)


@operator("LayerNormalization", since=17, inputs=(2, 3), outputs=(1, 3))
class LayerNormalizationOp(_ByLastAxes):
    """The region to mean 0 and variance 1, then scaled and shifted; the mean, and 1 / deviation."""

    def infer(self, x: Shape, *of: Shape | None) -> list[Shape]:
        super().infer(x, *of)
        region = self.region(x)
        return [x, *[tuple(1 if axis in region else n for axis, n in enumerate(x))] * 2]

    def element_types(self, *operands: Attribute) -> list[Attribute]:
        return [operands[0], *[_wide(operands[0])] * 2]

    def reference(self, x: Array, scale: Array, bias: Array | None = None) -> list[Array]:
        region = self.region(x.shape)
        wide = x.astype(np.result_type(x, np.float32))
        mean = wide.mean(region, keepdims=True)
        inverse = 1 / np.sqrt(np.square(wide - mean).mean(region, keepdims=True) + self.epsilon)
        inverse = inverse.astype(wide.dtype)
        y = ((wide - mean) * inverse).astype(x.dtype) * scale
        return [y if bias is None else y + bias, mean, inverse]

    def lower(
        self, b: Builder, x: Tensor, scale: Tensor, bias: Tensor | None = None
    ) -> list[Tensor]:
        region, wide = self.region(x.shape), as_elements(b, x, _wide(x.element_type))
        mean = folded(b, wide, region)
        variance = folded(b, wide, region, mean)
        at = b.loops_of(variance.shape)
        inverse = b.map(at, 1.0 / sqrt(variance[at] + self.epsilon))
        loops = b.loops_of(x.shape)
        y = b.map(loops, (wide[loops] - read(mean, loops)) * read(inverse, loops))
        return [self._scaled(b, x, y, [scale, bias]), mean, inverse]


@operator("RMSNormalization", since=23, inputs=2)
class RMSNormalizationOp(_ByLastAxes):
    """x over the root of the mean of its squares in the region, then scaled."""

    def reference(self, x: Array, scale: Array) -> Array:
        wide = x.astype(np.result_type(x, np.float32))
        mean = np.square(wide).mean(self.region(x.shape), keepdims=True)
        y = (wide / np.sqrt(mean + wide.dtype.type(self.epsilon))).astype(x.dtype)
        return np.asarray(y * scale)

    def lower(self, b: Builder, x: Tensor, scale: Tensor) -> Tensor:
        region, wide = self.region(x.shape), as_elements(b, x, _wide(x.element_type))
        loops = b.loops_of(x.shape)
        squares = b.map(loops, wide[loops] * wide[loops])
        mean = folded(b, squares, region)
        at = b.loops_of(mean.shape)
        inverse = b.map(at, 1.0 / sqrt(mean[at] + self.epsilon))
        loops = b.loops_of(x.shape)
        y = b.map(loops, wide[loops] * read(inverse, loops))
        return self._scaled(b, x, y, [scale])


@operator("GroupNormalization", since=21, inputs=3)
class GroupNormalizationOp(Operator):
    """Groups of channels of each image to mean 0 and variance 1, then scaled by channel."""

    epsilon = real(1e-5)
    num_groups = integer()
    stash_type = integer(1)

    def groups(self, x: Shape) -> int:
        """The number of groups."""
        count = required(self.num_groups, "num_groups")
        if len(x) < 2 or count < 1 or x[1] % count:
            raise LayerError(f"{count} groups of {shown(x)}", "num_groups")
        return count

    def scale_count(self, x: Shape) -> int:
        """How many scales there are."""
        return x[1]

    def infer(self, x: Shape, scale: Shape, bias: Shape) -> Shape:
        self.groups(x)
        if not scale == bias == (self.scale_count(x),):
            raise LayerError(f"scale {shown(scale)} and bias {shown(bias)} of {shown(x)}")
        return x

    def reference(self, x: Array, scale: Array, bias: Array) -> Array:
        wide = x.astype(np.result_type(x, np.float32)).reshape(len(x), self.groups(x.shape), -1)
        off = wide - wide.mean(2, keepdims=True)
        root = np.sqrt(np.square(off).mean(2, keepdims=True) + wide.dtype.type(self.epsilon))
        y = (off / root).reshape(len(x), self.scale_count(x.shape), -1).astype(x.dtype)
        return np.asarray(y * scale[:, None] + bias[:, None]).reshape(x.shape)

    def lower(self, b: Builder, x: Tensor, scale: Tensor, bias: Tensor) -> Tensor:
        count, inner = self.groups(x.shape), prod(x.shape[2:])
        shape = (x.shape[0], count, x.shape[1] // count, inner)
        wide = b.reshape(as_elements(b, x, _wide(x.element_type)), shape)
        mean = folded(b, wide, (2, 3))
        variance = folded(b, wide, (2, 3), mean)
        loops = b.loops_of(shape)
        root = sqrt(read(variance, loops) + self.epsilon)
        y = b.map(loops, (wide[loops] - read(mean, loops)) / root)
        numbers = self.scale_count(x.shape)
        y = as_elements(
            b, b.reshape(y, (x.shape[0], numbers, prod(x.shape[1:]) // numbers)), x.element_type
        )
        n, c, k = b.loops_of(y.shape)
        return b.reshape(b.map((n, c, k), y[n, c, k] * scale[c] + bias[c]), x.shape)


@operator("GroupNormalization", since=18, until=20, inputs=3)
class GroupNormalizationV18Op(GroupNormalizationOp):
    """The same; scaled by group."""

    stash_type: Any = 1

    def scale_count(self, x: Shape) -> int:
        return self.groups(x)


@operator("LpNormalization", since=1)
class LpNormalizationOp(Operator):
    """x over its norm along an axis; zeros where that is zero."""

    axis = integer(-1)
    p = integer(2)

    def check(self) -> None:
        if self.p not in (1, 2):
            raise LayerError(f"p is {self.p}", "p")

    def infer(self, x: Shape) -> Shape:
        axis_of(self.axis, len(x))
        return x

    def reference(self, x: Array) -> Array:
        norm = np.linalg.norm(x, self.p, axis_of(self.axis, x.ndim), keepdims=True)
        return np.asarray(x / np.where(norm == 0, 1, norm), x.dtype)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        loops, to, over = b.loops_around(x.shape, [axis_of(self.axis, x.rank)])
        value = absolute(x[loops]) if self.p == 1 else x[loops] * x[loops]
        total = b.sum(to, over=over, of=value)
        at = b.loops_of(total.shape)
        norm = b.map(at, divisor(total[at] if self.p == 1 else sqrt(total[at])))
        b.loops_of(x.shape)
        return b.map(loops, x[loops] / norm[to])


@operator("LRN", since=1)
class LRNOp(Operator):
    """x over a power of the sum of squares of channels around it."""

    alpha = real(1e-4)
    beta = real(0.75)
    bias = real(1.0)
    size = integer()

    def around(self) -> tuple[int, int]:
        """How many channels before and behind each are summed."""
        size = required(self.size, "size")
        if size < 1:
            raise LayerError(f"size is {size}", "size")
        return (size - 1) // 2, size // 2

    def infer(self, x: Shape) -> Shape:
        self.around()
        if len(x) < 2:
            raise LayerError(f"channels of {shown(x)}")
        return x

    def reference(self, x: Array) -> Array:
        low, high = self.around()
        pads = [(low, high) if axis == 1 else (0, 0) for axis in range(x.ndim)]
        padded = np.pad(np.square(x), pads)
        total = sum(padded[:, k : k + x.shape[1]] for k in range(low + high + 1))
        return np.asarray(
            x / (self.bias + self.alpha / (low + high + 1) * total) ** self.beta, x.dtype
        )

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        low, high = self.around()
        count = low + high + 1
        loops = b.loops_of(x.shape)
        squares = b.map(loops, x[loops] * x[loops])
        before, behind = ([n if k == 1 else 0 for k in range(x.rank)] for n in (low, high))
        padded = b.pad(squares, before, behind)
        *loops, k = b.loops_of([*x.shape, count])
        at = [loop + k if axis == 1 else loop for axis, loop in enumerate(loops)]
        total = b.sum(loops, over=[k], of=padded[at])
        loops = b.loops_of(x.shape)
        root = power(total[loops] * (self.alpha / count) + self.bias, self.beta)
        return b.map(loops, x[loops] / root)
