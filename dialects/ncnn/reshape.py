"""Other shapes for the same elements in the same order: views, never copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod

from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import opt_prop_def

from ncc.dialects.ncnn.axes import EXTENT_NAMES, extents, resolve_axis
from ncc.dialects.ncnn.expression import check_expression, evaluate_expression
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    MovingLayer,
    Shape,
    Tensor,
    integer,
    integers,
    layer,
    string,
)

ABSENT = -233
"""What an extent of Reshape says that the result does not have."""

NO_BATCH = 233
"""What Reshape's batch axes say when there is none."""

MAX_RANK = 4


class View(MovingLayer):
    """A layer that only says another shape; the first input has the elements."""

    def infer(self, x: Shape, *others: Shape) -> Shape:
        """The shape of the result."""
        raise NotImplementedError(f"{self.name} has no shape rule")

    def reference(self, x: Array, *others: Array) -> Array:
        return x.reshape(self.infer(x.shape, *(other.shape for other in others)))

    def expand(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        return b.reshape(x, self.infer(x.shape, *(other.shape for other in others)))


@layer("Reshape", inputs=(1, None))
class ReshapeOp(View):
    """The extents w, h, d, c: stated, 0 (as the input has it) or -1 (what remains).

    The rank is the run of extents that are not -233, in the order w, h, c, d. A `shape_expr`
    computes them from the shapes of all inputs instead: w; w, h; w, h, c; or w, h, d, c.
    """

    w = integer(0, ABSENT)
    h = integer(1, ABSENT)
    d = integer(11, ABSENT)
    c = integer(2, ABSENT)
    shape_expr = string(6)
    batch_from = integer(12, NO_BATCH)
    batch_to = integer(13, NO_BATCH)

    def check(self) -> None:
        for name in ("batch_from", "batch_to"):
            if getattr(self, name) != NO_BATCH:
                raise LayerError("a Reshape from or to a batch is not supported", name)
        if self.shape_expr:
            rank = check_expression(self.shape_expr, len(self.operands), "shape_expr")
            if rank > MAX_RANK:
                raise LayerError(f"shape_expr makes {rank} extents; 4 are the most", "shape_expr")
            return
        if len(self.operands) != 1:
            raise LayerError(f"a Reshape without shape_expr has 1 input, not {len(self.operands)}")
        _check_extents(self._stated())

    def _stated(self) -> dict[str, int]:
        """The extents that the params say, outermost first, for the rank that they mean."""
        given = {"w": self.w, "h": self.h, "c": self.c, "d": self.d}
        rank = next((k for k, n in enumerate(given.values()) if n == ABSENT), MAX_RANK)
        if rank == 0:
            raise LayerError("a Reshape without any extent", "w")
        return {name: given[name] for name in EXTENT_NAMES[rank]}

    def infer(self, x: Shape, *others: Shape) -> Shape:
        if self.shape_expr:
            values = evaluate_expression(self.shape_expr, [x, *others], "shape_expr")
            stated = dict(zip(EXTENT_NAMES[len(values)], reversed(values), strict=True))
            _check_extents(stated)
        else:
            stated = self._stated()
        own = extents(x)
        shape = [own[name] if n == 0 else n for name, n in stated.items()]
        if -1 in shape:
            known = -prod(shape)
            shape[shape.index(-1)] = prod(x) // known if known > 0 else 0
        return _same_count(x, shape)


def _check_extents(stated: Mapping[str, int]) -> None:
    for name, extent in stated.items():
        if extent < -1:
            raise LayerError(f"an extent of {extent}", name)
    if sum(extent == -1 for extent in stated.values()) > 1:
        raise LayerError("only one extent can be -1, what remains", next(iter(stated)))


def _same_count(x: Shape, shape: Sequence[int]) -> Shape:
    """The shape, if it has as many elements as x."""
    if prod(shape) != prod(x):
        raise LayerError(f"{x} has {prod(x)} elements and does not fit {tuple(shape)}")
    return tuple(shape)


@layer("Flatten")
class FlattenOp(View):
    """All elements in one row; with `axis`, ONNX's: (extents before the axis, extents from it on).

    `axis` is no param of ncnn's: 0 to the rank, negative ones counted from the end. Absent means
    one row. With it the result has rank 2 always.
    """

    axis = opt_prop_def(IntegerAttr)

    def infer(self, x: Shape, *others: Shape) -> Shape:
        if self.axis is None:
            return (prod(x),)
        axis, rank = self.axis.value.data, len(x)
        if not -rank <= axis <= rank:
            raise LayerError(f"axis {axis} is out of range for {x}", "axis")
        split = axis if axis >= 0 else axis + rank
        return (prod(x[:split]), prod(x[split:]))


@layer("Squeeze")
class SqueezeOp(View):
    """Without the extents of 1 that are named, by flags or by axes; at least one axis stays.

    Axes that only a higher rank has are ignored.
    """

    squeeze_w = integer(0)
    squeeze_h = integer(1)
    squeeze_d = integer(11)
    squeeze_c = integer(2)
    axes = integers(3)

    def check(self) -> None:
        for axis in self.axes:
            resolve_axis(axis, MAX_RANK, "axes")

    def infer(self, x: Shape, *others: Shape) -> Shape:
        if self.axes:
            named = {axis if axis >= 0 else axis + len(x) for axis in self.axes}
        else:
            flags = {
                "w": self.squeeze_w,
                "h": self.squeeze_h,
                "d": self.squeeze_d,
                "c": self.squeeze_c,
            }
            named = {k for k, name in enumerate(EXTENT_NAMES[len(x)]) if flags[name]}
        kept = tuple(n for k, n in enumerate(x) if n != 1 or k not in named)
        return kept or (1,)


@layer("ExpandDims")
class ExpandDimsOp(View):
    """With extents of 1 put in, at axes of the result; the input itself where rank 4 is too small.

    Of several axes, those that only a higher rank has go outermost; such an axis alone is ignored.
    """

    axes = integers(3)

    def check(self) -> None:
        for axis in self.axes:
            resolve_axis(axis, MAX_RANK, "axes")

    def infer(self, x: Shape, *others: Shape) -> Shape:
        rank = len(x) + len(self.axes)
        added = {axis % rank for axis in self.axes if -rank <= axis < rank}
        if not added or rank > MAX_RANK:
            return x
        while len(added) < len(self.axes):
            added.add(min(set(range(rank)) - added))
        rest = iter(x)
        return tuple(1 if k in added else next(rest) for k in range(rank))
