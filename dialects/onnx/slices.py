"""Parts of a value, Slice and Split; and what repeats it, Expand and Tile."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, integers, required
from ncc.dialects.onnx.broadcast import broadcast, read
from ncc.dialects.onnx.operator import (
    Array,
    LayerError,
    Operator,
    Shape,
    axes_of,
    axis_of,
    has_sizes,
    operator,
)
from ncc.dialects.shapes import shown
from ncc.dialects.size import NeedsNumbers, is_equal, is_open, smallest

BEYOND = 10**9
"""More elements than an axis has: where slices end that have no end."""


class _Slice(Operator):
    """The elements from `starts` to `ends`, every `steps`-th, along some axes."""

    def bounds(self) -> tuple[Sequence[int], Sequence[int], Sequence[int] | None, Sequence[int]]:
        """Starts, ends, axes (None for the first ones) and steps."""
        raise NotImplementedError

    def slices(self, x: Shape) -> list[tuple[int, int, int]]:
        """The first element, the number of elements and the step, along each axis."""
        starts, ends, given, steps = self.bounds()
        axes = axes_of(range(len(starts)) if given is None else given, len(x))
        if not len(starts) == len(ends) == len(axes) == len(steps):
            raise LayerError("starts, ends, axes and steps are not as many")
        found = [(0, extent, 1) for extent in x]
        for axis, start, end, step in zip(axes, starts, ends, steps, strict=True):
            if step == 0:
                raise LayerError("a step of 0")
            found[axis] = _taken(x[axis], start, end, step)
        return found

    def infer(self, x: Shape, *others: Shape) -> Shape:
        return tuple(count for _, count, _ in self.slices(x))

    def reference(self, x: Array, *others: Array) -> Array:
        for axis, (start, count, step) in enumerate(self.slices(x.shape)):
            x = np.take(x, start + step * np.arange(count), axis)
        return x

    def of_sizes(self, x: Array, *others: Array) -> Array | None:
        decided = any(map(has_sizes, (other for other in others if other is not None)))
        return None if decided else self.reference(x, *others)

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        slices = self.slices(x.shape)
        if all(step == 1 for _, _, step in slices):
            starts, sizes, _ = zip(*slices, strict=True)
            return b.slice(x, starts, sizes)
        low = [min(s, s + (n - 1) * step) for s, n, step in slices]
        reach = [abs((n - 1) * step) + 1 for _, n, step in slices]
        box = b.slice(x, low, reach)
        loops = b.loops_of([n for _, n, _ in slices])
        at = [
            loop * step if step > 0 else (n - 1) * -step + loop * step
            for loop, (_, n, step) in zip(loops, slices, strict=True)
        ]
        return b.map(loops, box[at])


def _taken(extent: int, start: int, end: int, step: int) -> tuple[int, int, int]:
    """The first element, the number of elements and the step of a slice, as Python takes it."""
    if not is_open(extent, start, end):
        taken = range(extent)[slice(start, end, step)]
        return taken.start, len(taken), step
    if step < 0:
        raise NeedsNumbers("a slice of an open axis from back to front")
    first, last = (_inside(n, extent) for n in (start, end))
    if last <= first:
        return first, 0, step
    return first, (last - first + step - 1) // step, step


def _inside(place: int, extent: int) -> int:
    """A place counted from the front, from 0 to the extent, which is below `BEYOND`."""
    if place < 0:
        place = 0 if place <= -BEYOND else place + extent
        return place if place >= 0 else 0
    return extent if place >= BEYOND or place > extent else place


@operator("Slice", since=10, inputs=(3, 5))
class SliceOp(_Slice):
    """Starts, ends, axes and steps are operands."""

    SETTLES = (1, 2, 3, 4)

    def bounds(self) -> tuple[Sequence[int], Sequence[int], Sequence[int] | None, Sequence[int]]:
        starts, ends, axes, steps = (self.optional_numbers(place) for place in self.SETTLES)
        starts, ends = starts or [], ends or []
        return starts, ends, axes, [1] * len(starts) if steps is None else steps


@operator("Slice", since=1, until=9)
class SliceV1Op(_Slice):
    """Starts, ends and axes are attributes."""

    axes = integers()
    starts = integers()
    ends = integers()

    def bounds(self) -> tuple[Sequence[int], Sequence[int], Sequence[int] | None, Sequence[int]]:
        starts = required(self.starts, "starts")
        return starts, required(self.ends, "ends"), self.axes, [1] * len(starts)


class _Split(Operator):
    axis = integer(0)

    def sizes(self) -> Sequence[int] | None:
        """The extents of the parts, where they are said."""
        raise NotImplementedError

    def parts(self, x: Shape) -> tuple[int, list[int]]:
        """The axis, and the extent of each part."""
        axis, count = axis_of(self.axis, len(x)), len(self.results)
        sizes = self.sizes()
        if sizes is None:
            each = -(-x[axis] // count)
            sizes = [smallest(each, x[axis] - each * k) for k in range(count)]
        if len(sizes) != count or not is_equal(sum(sizes), x[axis]) or any(n < 0 for n in sizes):
            raise LayerError(f"parts {tuple(sizes)} of {x[axis]} elements, for {count} outputs")
        return axis, list(sizes)

    def infer(self, x: Shape, *others: Shape) -> list[Shape]:
        axis, sizes = self.parts(x)
        return [(*x[:axis], size, *x[axis + 1 :]) for size in sizes]

    def reference(self, x: Array, *others: Array) -> list[Array]:
        axis, sizes = self.parts(x.shape)
        return np.split(x, list(accumulate(sizes))[:-1], axis)

    def of_sizes(self, x: Array, *others: Array) -> list[Array] | None:
        return None if any(map(has_sizes, others)) else self.reference(x, *others)

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> list[Tensor]:
        axis, sizes = self.parts(x.shape)
        ends = accumulate(sizes)
        return [b.cut(x, axis, end - size, end) for size, end in zip(sizes, ends, strict=True)]


@operator("Split", since=18, inputs=(1, 2), outputs=(1, None))
class SplitOp(_Split):
    """Parts along an axis: of the extents that are said, or equal ones."""

    SETTLES = (1,)

    num_outputs = integer()

    def check(self) -> None:
        if self.num_outputs is not None and self.num_outputs != len(self.results):
            raise LayerError(f"num_outputs is {self.num_outputs}", "num_outputs")

    def sizes(self) -> Sequence[int] | None:
        return self.optional_numbers(1)


@operator("Split", since=13, until=17, inputs=(1, 2), outputs=(1, None))
class SplitV13Op(SplitOp):
    """The same; equal parts by default."""


@operator("Split", since=2, until=12, outputs=(1, None))
class SplitV2Op(_Split):
    """The extents are an attribute."""

    split = integers()

    def sizes(self) -> Sequence[int] | None:
        return self.split


@operator("Expand", since=8, inputs=2)
class ExpandOp(Operator):
    """x, broadcast with a shape."""

    SETTLES = (1,)

    def infer(self, x: Shape, *others: Shape) -> Shape:
        return broadcast(x, tuple(self.numbers(1)))

    def reference(self, x: Array, shape: Array) -> Array:
        return np.broadcast_to(x, np.broadcast_shapes(x.shape, tuple(map(int, shape))))

    def of_sizes(self, x: Array, shape: Array) -> Array | None:
        return None if has_sizes(shape) else self.reference(x, shape)

    def lower(self, b: Builder, x: Tensor, shape: Tensor) -> Tensor:
        result = self.infer(x.shape)
        if result == x.shape:
            return x
        loops = b.loops_of(result)
        return b.map(loops, read(x, loops))


@operator("Tile", since=6, inputs=2)
class TileOp(Operator):
    """x, repeated along each axis."""

    SETTLES = (1,)

    def repeats(self, x: Shape) -> list[int]:
        """How often along each axis."""
        found = self.numbers(1)
        if len(found) != len(x) or any(count < 0 for count in found):
            raise LayerError(f"repeats {tuple(found)} of {shown(x)}")
        return found

    def infer(self, x: Shape, *others: Shape) -> Shape:
        return tuple(n * count for n, count in zip(x, self.repeats(x), strict=True))

    def reference(self, x: Array, repeats: Array) -> Array:
        return np.tile(x, [int(count) for count in repeats])

    def of_sizes(self, x: Array, repeats: Array) -> Array | None:
        return None if has_sizes(repeats) else self.reference(x, repeats)

    def lower(self, b: Builder, x: Tensor, repeats: Tensor) -> Tensor:
        pairs = list(zip(self.repeats(x.shape), x.shape, strict=True))
        loops = b.loops_of([n for pair in pairs for n in pair])
        tiled = b.map(loops, x[loops[1::2]])
        return b.reshape(tiled, self.infer(x.shape))
