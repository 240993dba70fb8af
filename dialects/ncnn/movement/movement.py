"""Layers that put elements elsewhere: joined, cut, permuted, repeated."""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from ncc.dialects.ncnn.axes import EXTENT_NAMES, extents, resolve_axes, resolve_axis
from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.expression import check_expression, evaluate_expression
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    WeightAttr,
    integer,
    integers,
    layer,
    string,
)
from ncc.dialects.ncnn.moving import JoiningLayer, MovingLayer
from ncc.dialects.ncnn.plumbing import MemoryDataOp, SplitOp

REST = -233
"""What sizes and ends say that take all there is."""


@layer("Concat", inputs=(1, None))
class ConcatOp(JoiningLayer):
    """The inputs one behind the other along an axis."""

    axis = integer(0)

    def infer(self, *xs: Shape) -> Shape:
        axis = resolve_axis(self.axis, len(xs[0]))
        if any(len(x) != len(xs[0]) or _without(x, axis) != _without(xs[0], axis) for x in xs):
            raise LayerError(
                f"{', '.join(map(str, xs))} differ in more than the extent of axis {axis}"
            )
        return (*xs[0][:axis], sum(x[axis] for x in xs), *xs[0][axis + 1 :])

    def reference(self, *xs: Array) -> Array:
        return np.concatenate(xs, axis=self.axis)

    def expand(self, b: Builder, *xs: Tensor) -> Tensor:
        return b.concat(xs, resolve_axis(self.axis, xs[0].rank))


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

    def expand(self, b: Builder, x: Tensor) -> list[Tensor]:
        axis = resolve_axis(self.axis, x.rank)
        begins = [
            [begin if k == axis else 0 for k in range(x.rank)] for begin, _ in self._parts(x.shape)
        ]
        return [
            b.slice(x, begin, size) for begin, size in zip(begins, self.infer(x.shape), strict=True)
        ]


@layer("Crop", inputs=(1, None))
class CropOp(MovingLayer):
    """A box of the input, said in one of four ways.

    - `starts` and `ends`, for the `axes` listed (all, if none is), as numbers or as expressions:
      negative ones count from the end; a start of -233 is 0, an end of 0 or -233 is the extent.
    - Else by offsets at both sides and the largest size (-233: no limit) of w, h, d and c.
    - If sizes and far offsets are all 0, the second input's shape is the size.
    - If woffset is -233 besides, the second input is a vector of int32: where the box begins in w,
      h, c (of rank 4 w, h, d, c), and behind all three (four) of these its sizes.
    """

    woffset = integer(0)
    hoffset = integer(1)
    doffset = integer(13)
    coffset = integer(2)
    outw = integer(3)
    outh = integer(4)
    outd = integer(14)
    outc = integer(5)
    woffset2 = integer(6)
    hoffset2 = integer(7)
    doffset2 = integer(15)
    coffset2 = integer(8)
    starts = integers(9)
    ends = integers(10)
    axes = integers(11)
    starts_expr = string(19)
    ends_expr = string(20)
    axes_expr = string(21)

    @property
    def by_expressions(self) -> bool:
        return bool(self.starts_expr and self.ends_expr)

    @property
    def by_ends(self) -> bool:
        return bool(self.starts and self.ends) or self.by_expressions

    @property
    def by_reference(self) -> bool:
        sizes = (self.outw, self.outh, self.outd, self.outc)
        far = (self.woffset2, self.hoffset2, self.doffset2, self.coffset2)
        return not self.by_ends and not any(sizes) and not any(far)

    @property
    def by_vector(self) -> bool:
        return self.by_reference and self.woffset == REST

    def check(self) -> None:
        if self.by_expressions:
            for name in ("starts_expr", "ends_expr", "axes_expr"):
                if text := getattr(self, name):
                    check_expression(text, len(self.operands), name)
            return
        wanted = 2 if self.by_reference else 1
        if len(self.operands) != wanted:
            raise LayerError(f"this form of Crop has {wanted} inputs, not {len(self.operands)}")
        if self.by_vector:
            return
        for axis in "whdc":
            for name in (f"{axis}offset", f"{axis}offset2"):
                if getattr(self, name) < 0:
                    raise LayerError(f"an offset of {getattr(self, name)}", name)

    def settling(self) -> tuple[int, ...]:
        return (1,) if self.by_vector else ()

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return (i32,) if position in self.settling() else super().takes(position)

    def box(self, *xs: Shape, vector: Array | None = None) -> tuple[Shape, Shape]:
        """Where the result begins in the first input, and its shape.

        vector: what is fed for the second input, if it is no constant.
        """
        if self.by_ends:
            pairs = self._ends(*xs)
        elif self.by_vector:
            pairs = self._at_vector(xs[0], vector)
        elif self.by_reference:
            pairs = self._like(*xs)
        else:
            pairs = self._limited(xs[0])
        for (begin, size), extent in zip(pairs, xs[0], strict=True):
            if begin < 0 or size <= 0 or begin + size > extent:
                raise LayerError(
                    f"the box from {tuple(p for p, _ in pairs)} of size "
                    f"{tuple(n for _, n in pairs)} is empty or leaves the input {xs[0]}"
                )
        return tuple(begin for begin, _ in pairs), tuple(size for _, size in pairs)

    def _ends(self, *xs: Shape) -> list[tuple[int, int]]:
        starts, ends, axes = self.starts, self.ends, self.axes
        if self.by_expressions:
            starts = evaluate_expression(self.starts_expr, xs, "starts_expr")
            ends = evaluate_expression(self.ends_expr, xs, "ends_expr")
            axes = evaluate_expression(self.axes_expr, xs, "axes_expr") if self.axes_expr else ()
        shape = xs[0]
        listed = resolve_axes(axes, len(shape)) or tuple(range(len(shape)))
        if len(starts) < len(listed) or len(ends) < len(listed):
            raise LayerError(f"{len(starts)} starts and {len(ends)} ends for axes {listed}")
        pairs = [(0, extent) for extent in shape]
        for axis, start, end in zip(listed, starts, ends, strict=False):
            extent = shape[axis]
            begin = 0 if start == REST else start + extent if start < 0 else start
            if end == REST:
                stop = extent
            else:
                stop = min(end, extent) if end > 0 else extent + end
            pairs[axis] = (begin, stop - begin)
        return pairs

    def _limited(self, x: Shape) -> list[tuple[int, int]]:
        pairs = []
        for name, extent in zip(EXTENT_NAMES[len(x)], x, strict=True):
            begin = getattr(self, f"{name}offset")
            limit = getattr(self, f"out{name}")
            left = extent - begin - getattr(self, f"{name}offset2")
            pairs.append((begin, left if limit == REST else min(limit, left)))
        return pairs

    def _like(self, x: Shape, like: Shape) -> list[tuple[int, int]]:
        size = extents(like)
        if len(like) != len(x):
            size["c"] = extents(x)["c"]
        return [(getattr(self, f"{name}offset"), size[name]) for name in EXTENT_NAMES[len(x)]]

    def _at_vector(self, x: Shape, vector: Array | None) -> list[tuple[int, int]]:
        if vector is None:
            held = constant_of(self.operands[1])
            if held is None:
                raise LayerError("where the box lies is known only to the run", "woffset")
            vector = held.array()
        numbers = vector.ravel()
        sizes = 4 if len(x) == 4 else 3
        if len(numbers) < sizes + len(x):
            raise LayerError(f"{len(numbers)} numbers do not say a box of {x}", "woffset")
        inner_first = [(int(numbers[k]), int(numbers[sizes + k])) for k in range(len(x))]
        return inner_first[::-1]

    def infer(self, *xs: Shape) -> Shape:
        return self.box(*xs)[1]

    def reference(self, *xs: Array) -> Array:
        vector = xs[1] if self.by_vector else None
        begin, size = self.box(*(x.shape for x in xs), vector=vector)
        return xs[0][tuple(slice(p, p + n) for p, n in zip(begin, size, strict=True))]

    def expand(self, b: Builder, *xs: Tensor) -> Tensor:
        return b.slice(xs[0], *self.box(*(x.shape for x in xs)))


def constant_of(value: SSAValue) -> WeightAttr | None:
    """The constant that a blob is, maybe by way of a Split; None where it is none."""
    op = value.owner
    while isinstance(op, SplitOp):
        op = op.operands[0].owner
    return op.values if isinstance(op, MemoryDataOp) else None


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

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        order = self.order(x.rank)
        if order == tuple(range(x.rank)):
            return x
        at = b.loops_of([x.shape[axis] for axis in order])
        return b.map(at, x[[at[order.index(axis)] for axis in range(x.rank)]])


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

    def reference(self, x: Array) -> Array:
        return np.flip(x, self._flipped(x.ndim))

    def expand(self, b: Builder, x: Tensor) -> Tensor:
        flipped = self._flipped(x.rank)
        if not flipped:
            return x
        back = {axis: b.table(np.arange(x.shape[axis])[::-1]) for axis in flipped}
        at = b.loops_of(x.shape)
        places = [back[k][i] if k in back else b.index(i) for k, i in enumerate(at)]
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

    def expand(self, b: Builder, x: Tensor) -> Tensor:
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
