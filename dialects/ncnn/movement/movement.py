"""Layers that put elements elsewhere: joined, cut, permuted, repeated."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ncc.dialects.ncnn.axes import EXTENT_NAMES, resolve_axes, resolve_axis
from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    integer,
    integers,
    layer,
)
from ncc.dialects.ncnn.moving import JoiningLayer, MovingLayer
from ncc.dialects.scalar import index, number_of_size
from ncc.dialects.size import are_equal, is_open

REST = -233
"""The value of sizes and ends that take the whole axis."""


@layer("Concat", inputs=(1, None))
class ConcatOp(JoiningLayer):
    """The inputs one behind the other along an axis."""

    axis = integer(0)

    def infer(self, *xs: Shape) -> Shape:
        axis = resolve_axis(self.axis, len(xs[0]))
        if not all(are_equal(_without(x, axis), _without(xs[0], axis)) for x in xs):
            raise LayerError(
                f"{', '.join(map(str, xs))} differ in more than the extent of axis {axis}"
            )
        return (*xs[0][:axis], sum(x[axis] for x in xs), *xs[0][axis + 1 :])

    def reference(self, *xs: Array) -> Array:
        return np.concatenate(xs, axis=self.axis)

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        axis, first = resolve_axis(self.axis, xs[0].rank), xs[0].shape
        shapes = [(*first[:axis], x.shape[axis], *first[axis + 1 :]) for x in xs]
        return b.concat(list(map(b.named, xs, shapes)), axis)


def _without(shape: Shape, axis: int) -> Shape:
    return shape[:axis] + shape[axis + 1 :]


@layer("Slice", outputs=(1, None))
class SliceOp(MovingLayer):
    """The input cut along an axis, by the sizes of the parts or by the places of the cuts.

    A size of -233 is the rest divided by the outputs left, rounded down. With `indices` the last
    part takes the rest, and negative places count from the end.
    """

    slices = integers(0)
    axis = integer(1)
    indices = integers(2)

    def check(self) -> None:
        count = len(self.results)
        if self.indices and len(self.indices) < count - 1:
            raise LayerError(f"{len(self.indices)} cuts do not make {count} outputs", "indices")
        if not self.indices and len(self.slices) < count:
            raise LayerError(f"{len(self.slices)} sizes for {count} outputs", "slices")
        for size in self.slices:
            if size <= 0 and size != REST:
                raise LayerError(f"a part of size {size}", "slices")

    def _parts(self, x: Shape) -> list[tuple[int, int]]:
        """Where each output begins and how long it is, along the axis."""
        extent, count = x[resolve_axis(self.axis, len(x))], len(self.results)
        parts: list[tuple[int, int]] = []
        begin = 0
        for k in range(count):
            if self.indices:
                end = self.indices[k] if k < count - 1 else extent
                size = (end + extent if end < 0 else end) - begin
            else:
                size = self.slices[k]
                size = (extent - begin) // (count - k) if size == REST else size
            if size <= 0 or begin + size > extent:
                param = "indices" if self.indices else "slices"
                raise LayerError(
                    f"part {k} is [{begin}, {begin + size}) of axis {self.axis} of {x}", param
                )
            parts.append((begin, size))
            begin += size
        return parts

    def infer(self, x: Shape) -> list[Shape]:
        axis = resolve_axis(self.axis, len(x))
        return [(*x[:axis], size, *x[axis + 1 :]) for _, size in self._parts(x)]

    def reference(self, x: Array) -> list[Array]:
        cuts = [begin + size for begin, size in self._parts(x.shape)]
        return np.split(x, cuts, axis=self.axis)[: len(cuts)]

    def lower(self, b: Builder, x: Tensor) -> list[Tensor]:
        axis = resolve_axis(self.axis, x.rank)
        begins = [
            [begin if k == axis else 0 for k in range(x.rank)] for begin, _ in self._parts(x.shape)
        ]
        return [
            b.slice(x, begin, size) for begin, size in zip(begins, self.infer(x.shape), strict=True)
        ]


PERMUTATIONS = {
    1: ["w"] * 24,
    2: "wh hw".split(),
    3: "whc hwc wch cwh hcw chw".split(),
    4: (
        "whdc hwdc wdhc dwhc hdwc dhwc whcd hwcd wchd cwhd hcwd chwd "
        "wdch dwch wcdh cwdh dcwh cdwh hdcw dhcw hcdw chdw dchw cdhw"
    ).split(),
}
"""By rank and order_type: the input's axis that becomes the result's w, then its h, ..."""


def permuted(b: Builder, x: Tensor, order: Sequence[int]) -> Tensor:
    """x with its axes in another order. order: the axis of x for each axis of the result."""
    at = b.loops_of([x.shape[axis] for axis in order])
    return b.map(at, x[[at[order.index(axis)] for axis in range(x.rank)]])


@layer("Permute")
class PermuteOp(MovingLayer):
    """The axes in another order; rank 1 has only one."""

    order_type = integer(0)

    def check(self) -> None:
        check_choice(self, "order_type", range(24))

    def order(self, rank: int) -> tuple[int, ...]:
        """The input's axis that becomes each axis of the result, in numpy order."""
        orders = PERMUTATIONS[rank]
        if self.order_type >= len(orders):
            raise LayerError(
                f"order_type {self.order_type} needs a higher rank than {rank}", "order_type"
            )
        names = EXTENT_NAMES[rank]
        return tuple(names.index(name) for name in reversed(orders[self.order_type]))

    def infer(self, x: Shape) -> Shape:
        return tuple(x[axis] for axis in self.order(len(x)))

    def reference(self, x: Array) -> Array:
        return x.transpose(self.order(x.ndim))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        order = self.order(x.rank)
        if order == tuple(range(x.rank)):
            return x
        return permuted(b, x, order)


@layer("Flip")
class FlipOp(MovingLayer):
    """The elements in reverse order along the axes; rank 1 is reversed whatever the axes are."""

    axes = integers(0)

    def _flipped(self, rank: int) -> tuple[int, ...]:
        if rank == 1:
            return (0,) if self.axes else ()
        return resolve_axes(self.axes, rank)

    def infer(self, x: Shape) -> Shape:
        self._flipped(len(x))
        return x

    def tables(self, x: Shape) -> int:
        return sum(x[axis] for axis in self._flipped(len(x)) if not is_open(x[axis]))

    def reference(self, x: Array) -> Array:
        return np.flip(x, self._flipped(x.ndim))

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        flipped = self._flipped(x.rank)
        if not flipped:
            return x
        known = [axis for axis in flipped if not is_open(x.shape[axis])]
        back = {axis: b.table(np.arange(x.shape[axis])[::-1]) for axis in known}
        at = b.loops_of(x.shape)
        places = [back[k][i] if k in back else b.index(i) for k, i in enumerate(at)]
        for axis in set(flipped) - back.keys():
            places[axis] = number_of_size(x.shape[axis] - 1, index) - places[axis]
        return b.map(at, x.at(*places))


@layer("Tile")
class TileOp(MovingLayer):
    """The input repeated: `tiles` times along `axis`, or by `repeats` along the innermost axes.

    More repeats than axes raise the rank, by extents of 1 in front; only c stays before a new d.
    """

    axis = integer(0)
    tiles = integer(1, 1)
    repeats = integers(2)

    def check(self) -> None:
        if self.axis < 0:
            raise LayerError(f"axis is {self.axis}, not 0 or above", "axis")
        check_positive(self, ["tiles"])
        if len(self.repeats) > 4 or any(n <= 0 for n in self.repeats):
            raise LayerError(f"{self.repeats} are not up to 4 positive repeats", "repeats")

    def _aligned(self, x: Shape) -> tuple[Shape, Shape]:
        """The input's shape and the repeats, both in the rank of the result."""
        repeats = list(self.repeats)
        if not repeats:
            repeats = [1] * len(x)
            repeats[resolve_axis(self.axis, len(x))] = self.tiles
        rank = max(len(x), len(repeats))
        shape = (x[0], 1, *x[1:]) if (len(x), rank) == (3, 4) else (1,) * (rank - len(x)) + x
        return shape, (1,) * (rank - len(repeats)) + tuple(repeats)

    def infer(self, x: Shape) -> Shape:
        return tuple(n * times for n, times in zip(*self._aligned(x), strict=True))

    def reference(self, x: Array) -> Array:
        shape, repeats = self._aligned(x.shape)
        return np.tile(x.reshape(shape), repeats)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        shape, repeats = self._aligned(x.shape)
        x = b.reshape(x, shape)
        if all(times == 1 for times in repeats):
            return x
        loops: list[int] = []
        groups: list[list[int]] = []
        for extent, times in zip(shape, repeats, strict=True):
            own = [extent] if times == 1 else [times, extent]
            groups.append([len(loops) + k for k in range(len(own))])
            loops += own
        at = b.loops_of(loops)
        return b.collapse(b.map(at, x[[at[group[-1]] for group in groups]]), groups)
