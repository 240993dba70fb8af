"""Elements at places that another operand says."""

from __future__ import annotations

from collections.abc import Container
from math import ceil, isfinite, prod
from typing import ClassVar

import numpy as np
from xdsl.dialects.builtin import bf16, i64
from xdsl.ir import Attribute

from ncc.dialects.casts import cast
from ncc.dialects.element import element_of, is_integer
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.operator import (
    Array,
    LayerError,
    NotYet,
    Operator,
    Shape,
    axis_of,
    constant_of,
    has_sizes,
    is_sizes,
    operator,
)
from ncc.dialects.onnx.size_arithmetic import whole
from ncc.dialects.scalar import (
    Scalar,
    equal,
    maximum,
    minimum,
    number_of_index,
    number_of_size,
    select,
    to_index,
)
from ncc.dialects.shapes import shown
from ncc.dialects.size import NeedsNumbers, are_equal, is_open


def wrapped(index: Scalar, extent: int) -> Scalar:
    """An index as int64: from the back where it is negative, and inside of the extent anyway."""
    wide = cast(index, i64)
    size = number_of_size(extent, i64)
    positive = select(wide < 0, wide + size, wide)
    return minimum(maximum(positive, 0), size - 1)


def place(index: Scalar, extent: int) -> Scalar:
    """The same, to read at."""
    return to_index(wrapped(index, extent))


def place_of_number(index: int, extent: int) -> int:
    """The same of a number, which lies inside of the extent."""
    return index + extent if index < 0 else index


@operator("Gather", inputs=2)
class GatherOp(Operator):
    """Slices of x along an axis, at the places that the indices say."""

    axis = integer(0)

    def infer(self, x: Shape, indices: Shape) -> Shape:
        axis = axis_of(self.axis, len(x))
        if not x:
            raise LayerError("a scalar has nothing to gather")
        known, extent = constant_of(self.operands[1]), x[axis]
        indices_known = () if known is None else {int(index) for index in known.flat}
        if any(not -extent <= index < extent for index in indices_known):
            raise LayerError(f"an index is beyond the {x[axis]} elements of axis {axis}")
        return (*x[:axis], *indices, *x[axis + 1 :])

    def reference(self, x: Array, indices: Array) -> Array:
        return np.take(x, indices, self.axis)

    def of_sizes(self, x: Array, indices: Array) -> Array | None:
        return None if has_sizes(indices) else self.reference(x, indices)

    def lower(self, b: Builder, x: Tensor, indices: Tensor) -> Tensor:
        axis = axis_of(self.axis, x.rank)
        shape = self.infer(x.shape, indices.shape)
        known = constant_of(self.operands[1])
        if known is not None and known.size == 1:
            at = place_of_number(int(known.reshape(())), x.shape[axis])
            return b.reshape(b.cut(x, axis, at, at + 1), shape)
        loops = b.loops_of(shape)
        before, inner = loops[:axis], loops[axis : axis + indices.rank]
        behind = loops[axis + indices.rank :]
        chosen = place(indices[inner], x.shape[axis])
        return b.map(loops, x.at(*map(b.index, before), chosen, *map(b.index, behind)))


@operator("GatherElements", since=11, inputs=2)
class GatherElementsOp(Operator):
    """Elements of x: of each place the axis is what the index there says."""

    axis = integer(0)

    def infer(self, x: Shape, indices: Shape) -> Shape:
        axis_of(self.axis, len(x))
        if len(x) != len(indices):
            raise LayerError(f"indices {shown(indices)} into {shown(x)}")
        return indices

    def reference(self, x: Array, indices: Array) -> Array:
        axis = axis_of(self.axis, x.ndim)
        cut = tuple(slice(None) if k == axis else slice(0, n) for k, n in enumerate(indices.shape))
        positive = np.where(indices < 0, indices + x.shape[axis], indices)
        return np.take_along_axis(x[cut], positive, axis)

    def lower(self, b: Builder, x: Tensor, indices: Tensor) -> Tensor:
        axis = axis_of(self.axis, x.rank)
        loops = b.loops_of(indices.shape)
        at = [b.index(loop) for loop in loops]
        at[axis] = place(indices[loops], x.shape[axis])
        return b.map(loops, x.at(*at))


@operator("GatherND", since=11, inputs=2)
class GatherNDOp(Operator):
    """Slices of x at the places that rows of indices say, behind axes of a batch."""

    batch_dims = integer(0)

    def infer(self, x: Shape, indices: Shape) -> Shape:
        batch, depth = self.batch_dims, indices[-1] if indices else 0
        if not 0 <= batch < max(len(indices), 1) or batch + depth > len(x):
            raise LayerError(f"indices {shown(indices)} into {shown(x)}")
        if not are_equal(x[:batch], indices[:batch]):
            raise LayerError(f"batches of {shown(x)} and {shown(indices)}")
        return (*indices[:-1], *x[batch + depth :])

    def reference(self, x: Array, indices: Array) -> Array:
        batch, depth = self.batch_dims, indices.shape[-1]
        shape = self.infer(x.shape, indices.shape)
        flat = x.reshape(prod(x.shape[:batch]), *x.shape[batch:])
        rows = indices.reshape(len(flat), -1, depth)
        found = [flat[k][tuple(np.moveaxis(rows[k], -1, 0))] for k in range(len(flat))]
        return np.stack(found).reshape(shape)

    def lower(self, b: Builder, x: Tensor, indices: Tensor) -> Tensor:
        batch, depth = self.batch_dims, indices.shape[-1]
        outer = indices.rank - 1
        loops = b.loops_of(self.infer(x.shape, indices.shape))
        said = [indices[[*loops[:outer], k]] for k in range(depth)]
        chosen = [place(index, x.shape[batch + k]) for k, index in enumerate(said)]
        at = [*map(b.index, loops[:batch]), *chosen, *map(b.index, loops[outer:])]
        return b.map(loops, x.at(*at))


@operator("Range", since=11, inputs=3)
class RangeOp(Operator):
    """Numbers from start to before limit, delta apart."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2)

    SETTLES = (0, 1, 2)

    def bounds(self) -> tuple[int, int, int]:
        """Start, limit and delta, which are integers or sizes."""
        start, limit, delta = (self._whole(k) for k in self.SETTLES)
        return start, limit, delta

    def _whole(self, place: int) -> int:
        held = self.operand_at(place)
        if held is not None and is_sizes(held):
            return self.numbers(place)[0]
        return whole(self.constant(place).reshape(()).item())

    def _is_counted(self) -> bool:
        """Whether numbers are integers, or are as many as shapes say."""
        return is_integer(element_of(self.operands[0])) or any(map(is_sizes, self.operands))

    def infer(self, *others: Shape) -> Shape:
        if self.element_at(0) == bf16:
            raise NotYet("Range of bfloat16")
        if not self._is_counted():
            begin, end, step = (float(self.constant(k).reshape(())) for k in self.SETTLES)
            if step == 0 or not isfinite((end - begin) / step):
                raise LayerError(f"numbers from {begin} to {end}, {step} apart")
            return (max(0, ceil((end - begin) / step)),)
        start, limit, delta = self.bounds()
        if delta == 0:
            raise LayerError("a delta of 0")
        if is_open(delta) or (is_open(start, limit) and delta < 0):
            raise NeedsNumbers("Range of an open number of numbers, backwards")
        if not is_open(start, limit):
            return (len(range(start, limit, delta)),)
        return ((limit - start + delta - 1) // delta if start < limit else 0,)

    def reference(self, start: Array, limit: Array, delta: Array) -> Array:
        return np.asarray(start + np.arange(*self.infer()) * delta, start.dtype).reshape(-1)

    def lower(self, b: Builder, *others: Tensor) -> Tensor:
        kind = element_of(self.results[0])
        if not self._is_counted():
            raise NotYet("Range of so many numbers, of no integers")
        start, _, delta = self.bounds()
        loops = b.loops_of(self.infer())
        index = number_of_index(b.index(loops[0]), kind)
        return b.map(loops, index * number_of_size(delta, kind) + number_of_size(start, kind))


@operator("OneHot", since=9, inputs=3)
class OneHotOp(Operator):
    """For each index a row, with one value at its place and another one elsewhere."""

    SETTLES = (1,)

    axis = integer(-1)

    def depth(self) -> int:
        """The length of the rows."""
        return self.numbers(1)[0]

    def tables(self, *shapes: Shape) -> int:
        return 0 if is_open(self.depth()) else self.depth()

    def infer(self, indices: Shape, depth: Shape, values: Shape) -> Shape:
        axis = axis_of(self.axis, len(indices) + 1)
        return (*indices[:axis], self.depth(), *indices[axis:])

    def element_types(self, *operands: Attribute) -> Attribute:
        return operands[2]

    def reference(self, indices: Array, depth: Array, values: Array) -> Array:
        axis, count = axis_of(self.axis, indices.ndim + 1), int(depth.reshape(()))
        wide = np.asarray(indices, np.int64)
        positive = np.where(wide < 0, wide + count, wide)
        places = np.arange(count).reshape([-1 if k == axis else 1 for k in range(indices.ndim + 1)])
        hit = np.expand_dims(positive, axis) == places
        return np.asarray(np.where(hit, values[1], values[0]))

    def lower(self, b: Builder, indices: Tensor, depth: Tensor, values: Tensor) -> Tensor:
        shape = self.infer(indices.shape, (), (2,))
        axis, count = axis_of(self.axis, len(shape)), self.depth()
        numbers = b.numbers(count)
        loops = b.loops_of(shape)
        rest = [loop for k, loop in enumerate(loops) if k != axis]
        wide = cast(indices[rest], i64)
        positive = select(wide < 0, wide + count, wide)
        hit = equal(numbers[loops[axis]], positive)
        return b.map(loops, select(hit, values[1], values[0]))
