"""Crop: a box of a blob, given by ends, by offsets and sizes, by another blob or by a vector."""

from __future__ import annotations

from xdsl.dialects.builtin import i32
from xdsl.ir import Attribute, SSAValue

from ncc.dialects.ncnn.axes import EXTENT_NAMES, extents, resolve_axes
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
from ncc.dialects.ncnn.movement.movement import REST
from ncc.dialects.ncnn.moving import MovingLayer
from ncc.dialects.ncnn.plumbing import MemoryDataOp, SplitOp
from ncc.dialects.size import smallest


@layer("Crop", inputs=(1, None))
class CropOp(MovingLayer):
    """A box of the input, given in one of four ways.

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
                stop = smallest(end, extent) if end > 0 else extent + end
            pairs[axis] = (begin, stop - begin)
        return pairs

    def _limited(self, x: Shape) -> list[tuple[int, int]]:
        pairs = []
        for name, extent in zip(EXTENT_NAMES[len(x)], x, strict=True):
            begin = getattr(self, f"{name}offset")
            limit = getattr(self, f"out{name}")
            left = extent - begin - getattr(self, f"{name}offset2")
            pairs.append((begin, left if limit == REST else smallest(limit, left)))
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

    def lower(self, b: Builder, *xs: Tensor) -> Tensor:
        return b.slice(xs[0], *self.box(*(x.shape for x in xs)))


def constant_of(value: SSAValue) -> WeightAttr | None:
    """The constant that a blob is, maybe by way of a Split; None where it is none."""
    op = value.owner
    while isinstance(op, SplitOp):
        op = op.operands[0].owner
    return op.values if isinstance(op, MemoryDataOp) else None
