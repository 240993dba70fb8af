"""Operators that move elements and compute nothing."""

from __future__ import annotations

from collections.abc import Container, Sequence
from math import prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir import Attribute

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.movement.movement import permuted
from ncc.dialects.onnx.attribute import integer, integers, required, string, tensor
from ncc.dialects.onnx.operator import (
    Array,
    LayerError,
    Operator,
    Shape,
    axes_of,
    axis_of,
    operator,
)
from ncc.dialects.scalar import constant
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal, is_equal


class ViewOperator(Operator):
    """The elements of the first operand in their order, under another shape."""

    def infer(self, x: Shape, *others: Shape) -> Shape:
        raise NotImplementedError

    def reference(self, x: Array, *others: Array) -> Array:
        return x.reshape(self.infer(x.shape, *(other.shape for other in others)))

    def of_sizes(self, x: Array, *others: Array) -> Array:
        return self.reference(x, *others)

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        return b.reshape(x, self.infer(x.shape, *(other.shape for other in others)))


@operator("Reshape", since=5, inputs=2)
class ReshapeOp(ViewOperator):
    """x under the shape: 0 keeps an extent (unless `allowzero`), -1 is what remains."""

    SETTLES = (1,)

    allowzero = integer(0)

    def infer(self, x: Shape, *others: Shape) -> Shape:
        wanted = self.numbers(1)
        for axis, extent in enumerate(wanted):
            if extent == 0 and not self.allowzero:
                if axis >= len(x):
                    raise LayerError(f"{shown(x)} has no axis {axis} to keep")
                wanted[axis] = x[axis]
        if wanted.count(-1) > 1 or any(extent < -1 for extent in wanted):
            raise LayerError(f"{tuple(wanted)} is no shape")
        if -1 in wanted:
            rest = prod(extent for extent in wanted if extent != -1)
            if rest == 0 or not is_equal(prod(x) % rest, 0):
                raise LayerError(f"{shown(x)} cannot become {tuple(wanted)}")
            wanted[wanted.index(-1)] = prod(x) // rest
        if not is_equal(prod(wanted), prod(x)):
            raise LayerError(f"{shown(x)} cannot become {shown(tuple(wanted))}")
        return tuple(wanted)


@operator("Flatten")
class FlattenOp(ViewOperator):
    """A matrix: the axes before `axis`, and those from there on."""

    axis = integer(1)

    def infer(self, x: Shape, *others: Shape) -> Shape:
        axis = self.axis + len(x) if self.axis < 0 else self.axis
        if not 0 <= axis <= len(x):
            raise LayerError(f"axis {self.axis} of a value of {len(x)} axes", "axis")
        return (prod(x[:axis]), prod(x[axis:]))


class _Squeeze(ViewOperator):
    def dropped(self) -> Sequence[int] | None:
        """The axes to leave out; None for all of extent 1."""
        raise NotImplementedError

    def infer(self, x: Shape, *others: Shape) -> Shape:
        given = self.dropped()
        if given is None:
            return tuple(extent for extent in x if not is_equal(extent, 1))
        axes = axes_of(given, len(x))
        if not all(is_equal(x[axis], 1) for axis in axes):
            raise LayerError(f"{shown(x)} has other extents than 1 at the axes {axes}")
        return tuple(extent for axis, extent in enumerate(x) if axis not in axes)


@operator("Squeeze", since=13, inputs=(1, 2))
class SqueezeOp(_Squeeze):
    """x without axes of extent 1."""

    SETTLES = (1,)

    def dropped(self) -> Sequence[int] | None:
        axes = self.optional(1)
        return None if axes is None else [int(axis) for axis in axes.reshape(-1)]


@operator("Squeeze", since=1, until=12)
class SqueezeV1Op(_Squeeze):
    """x without axes of extent 1."""

    axes = integers()

    def dropped(self) -> Sequence[int] | None:
        return self.axes


class _Unsqueeze(ViewOperator):
    def added(self) -> Sequence[int]:
        """The axes of extent 1 of the result."""
        raise NotImplementedError

    def infer(self, x: Shape, *others: Shape) -> Shape:
        given = self.added()
        rank = len(x) + len(given)
        axes, rest = axes_of(given, rank), iter(x)
        return tuple(1 if axis in axes else next(rest) for axis in range(rank))


@operator("Unsqueeze", since=13, inputs=2)
class UnsqueezeOp(_Unsqueeze):
    """x with more axes, of extent 1."""

    SETTLES = (1,)

    def added(self) -> Sequence[int]:
        return [int(axis) for axis in self.constant(1).reshape(-1)]


@operator("Unsqueeze", since=1, until=12)
class UnsqueezeV1Op(_Unsqueeze):
    """x with more axes, of extent 1."""

    axes = integers()

    def added(self) -> Sequence[int]:
        return required(self.axes, "axes")


@operator("Transpose")
class TransposeOp(Operator):
    """The axes of x in another order; by default the reverse."""

    perm = integers()

    def order(self, rank: int) -> tuple[int, ...]:
        """The axis of x for each axis of the result."""
        perm = self.perm if self.perm is not None else tuple(reversed(range(rank)))
        if sorted(perm) != list(range(rank)):
            raise LayerError(f"{perm} is no order of {rank} axes", "perm")
        return perm

    def infer(self, x: Shape) -> Shape:
        return tuple(x[axis] for axis in self.order(len(x)))

    def reference(self, x: Array) -> Array:
        return x.transpose(self.order(x.ndim))

    def of_sizes(self, x: Array) -> Array:
        return self.reference(x)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return permuted(b, x, self.order(x.rank))


@operator("Concat", since=4, inputs=(1, None))
class ConcatOp(Operator):
    """The operands one after the other along an axis."""

    ALIKE: ClassVar[Container[int]] = range(1 << 31)

    axis = integer()

    def infer(self, *xs: Shape) -> Shape:
        axis = self.along(xs[0])
        first, *rest = [(*x[:axis], *x[axis + 1 :]) for x in xs]
        if not all(are_equal(first, one) for one in rest):
            raise LayerError(f"{', '.join(map(shown, xs))} differ at other axes than {axis}")
        return (*xs[0][:axis], sum(x[axis] for x in xs), *xs[0][axis + 1 :])

    def along(self, x: Shape) -> int:
        """The axis, counted from the front."""
        return axis_of(required(self.axis, "axis"), len(x))

    def reference(self, *xs: Array) -> Array:
        return np.concatenate(xs, self.along(xs[0].shape))

    def of_sizes(self, *xs: Array) -> Array:
        return self.reference(*xs)

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        return b.concat(xs, self.along(xs[0].shape))


@operator("ConstantOfShape", since=9)
class ConstantOfShapeOp(Operator):
    """One value everywhere; the operand is the shape."""

    SETTLES = (0,)

    value = tensor()

    @property
    def element(self) -> Array:
        """The value, an array of one element."""
        return np.zeros(1, np.float32) if self.value is None else self.value.array()

    def infer(self, shape: Shape) -> Shape:
        return tuple(self.numbers(0))

    def element_types(self, *operands: Attribute) -> Attribute:
        return f32 if self.value is None else self.value.element_type

    def reference(self, shape: Array) -> Array:
        return np.full([int(extent) for extent in shape], self.element.reshape(()))

    def lower(self, b: Builder, shape: Tensor) -> Tensor:
        value = constant(self.element.reshape(()).item(), self.element_types())
        return b.map(b.loops_of(self.infer(shape.shape)), value)


class _Blocks(Operator):
    """Blocks of pixels, and of channels."""

    blocksize = integer()
    mode = string("DCR")

    def check(self) -> None:
        if self.mode not in ("DCR", "CRD"):
            raise LayerError(f"mode is {self.mode!r}", "mode")

    def split(self, x: Shape) -> tuple[Shape, tuple[int, ...]]:
        """The axes of x in parts, and their order in the result."""
        raise NotImplementedError

    def infer(self, x: Shape) -> Shape:
        raise NotImplementedError

    def reference(self, x: Array) -> Array:
        parts, order = self.split(x.shape)
        return x.reshape(parts).transpose(order).reshape(self.infer(x.shape))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        parts, order = self.split(x.shape)
        return b.reshape(permuted(b, b.reshape(x, parts), order), self.infer(x.shape))


@operator("DepthToSpace", since=1)
class DepthToSpaceOp(_Blocks):
    """Blocks of channels become blocks of pixels."""

    def split(self, x: Shape) -> tuple[Shape, tuple[int, ...]]:
        if len(x) != 4:
            raise LayerError(f"an image {shown(x)}")
        n, c, h, w = x
        b = required(self.blocksize, "blocksize")
        if b < 1 or c % (b * b):
            raise LayerError(f"{c} channels for blocks of {b}", "blocksize")
        rest = c // (b * b)
        if self.mode == "DCR":
            return (n, b, b, rest, h, w), (0, 3, 4, 1, 5, 2)
        return (n, rest, b, b, h, w), (0, 1, 4, 2, 5, 3)

    def infer(self, x: Shape) -> Shape:
        self.split(x)
        b = required(self.blocksize, "blocksize")
        return (x[0], x[1] // (b * b), x[2] * b, x[3] * b)


@operator("SpaceToDepth", since=1)
class SpaceToDepthOp(_Blocks):
    """Blocks of pixels become blocks of channels."""

    def split(self, x: Shape) -> tuple[Shape, tuple[int, ...]]:
        b = required(self.blocksize, "blocksize")
        if len(x) != 4 or b < 1 or not are_equal((x[2] % b, x[3] % b), (0, 0)):
            raise LayerError(f"an image {shown(x)} for blocks of {b}", "blocksize")
        order = (0, 3, 5, 1, 2, 4) if self.mode == "DCR" else (0, 1, 3, 5, 2, 4)
        return (*x[:2], x[2] // b, b, x[3] // b, b), order

    def infer(self, x: Shape) -> Shape:
        (n, c, h, b, w, _), _ = self.split(x)
        return (n, c * b * b, h, w)
