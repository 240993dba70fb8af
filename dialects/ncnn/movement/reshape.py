"""Other shapes for the same elements in the same order: views, never copies."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from xdsl.dialects.builtin import IntegerAttr
from xdsl.irdl import OptPropertyDef, base

from ncc.dialects.ncnn.axes import EXTENT_NAMES, extents, resolve_axis
from ncc.dialects.ncnn.expression import check_expression, evaluate_expression
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    LayerError,
    Shape,
    Tensor,
    integer,
    integers,
    layer,
    string,
)
from ncc.dialects.ncnn.moving import MovingLayer
from ncc.dialects.size import is_equal

ABSENT = -233
"""The value of an extent of Reshape that the result does not have."""

NO_BATCH = 233
"""The value of Reshape's batch axes if there is none."""

MAX_RANK = 4


class View(MovingLayer):
    """A layer that only says another shape; the first input has the elements."""

    def infer(self, x: Shape, *others: Shape) -> Shape:
        """The shape of the result."""
        raise NotImplementedError(f"{self.name} has no shape rule")

    def reference(self, x: Array, *others: Array) -> Array:
        return x.reshape(self.infer(x.shape, *(other.shape for other in others)))

    def lower(self, b: Builder, x: Tensor, *others: Tensor) -> Tensor:
        return b.reshape(x, self.infer(x.shape, *(other.shape for other in others)))


@layer("Reshape", inputs=(1, None))
class ReshapeOp(View):
    """The extents w, h, d, c: stated, 0 (as the input has it) or -1 (what remains).

    The rank is the run of extents that are not -233, in the order w, h, c, d. A `shape_expr`
    computes them from the shapes of all inputs instead: w; w, h; w, h, c; or w, h, d, c.

    A blob may be a batch: samples of one shape, which every other layer takes one by one. With
    `batch_from` the samples stand along that axis of the elements that are read, with `batch_to`
    along that axis of those that are made; see `Batching`.
    """

    w = integer(0, ABSENT)
    h = integer(1, ABSENT)
    d = integer(11, ABSENT)
    c = integer(2, ABSENT)
    shape_expr = string(6)
    batch_from = integer(12, NO_BATCH)
    batch_to = integer(13, NO_BATCH)

    def check(self) -> None:
        if self.shape_expr:
            rank = check_expression(self.shape_expr, len(self.operands), "shape_expr")
            most = MAX_RANK + (self.batch_to != NO_BATCH)
            if rank > most:
                raise LayerError(
                    f"shape_expr makes {rank} extents; {most} are the most", "shape_expr"
                )
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

    @property
    def has_batch(self) -> bool:
        """Whether the file gives one of the batch axes."""
        return (self.batch_from, self.batch_to) != (NO_BATCH, NO_BATCH)

    def infer(self, x: Shape, *others: Shape) -> Shape:
        if self.has_batch:
            batching = self.batching(x, 1, *others)
            sample = batching.sample
            if batching.samples != 1:
                raise LayerError(f"its result is a batch of {batching.samples}", "batch_to")
            return sample
        if self.shape_expr:
            values = evaluate_expression(self.shape_expr, [x, *others], "shape_expr")
            stated = dict(zip(EXTENT_NAMES[len(values)], reversed(values), strict=True))
            _check_extents(stated)
        else:
            stated = self._stated()
        own = extents(x)
        return _completed([own[name] if n == 0 else n for name, n in stated.items()], x)

    def batching(self, x: Shape, samples: int, *others: Shape) -> Batching:
        """How samples of shape x become the samples of the result; `LayerError` if they do not."""
        if self.batch_from == NO_BATCH:
            if samples != 1:
                raise LayerError(f"a batch of {samples} is read without an axis", "batch_from")
            read = x
        else:
            axis = resolve_axis(self.batch_from, len(x) + 1, "batch_from")
            read = (*x[:axis], samples, *x[axis:])
        if self.shape_expr:
            values = evaluate_expression(self.shape_expr, [x, *others], "shape_expr")
            stated = tuple(reversed(values))
        else:
            stated = tuple(self._stated().values())
        if any(n == 0 and k >= len(read) for k, n in enumerate(stated)):
            raise LayerError(f"{read} has no extents for all the 0 of {stated}")
        made = _completed([read[k] if n == 0 else n for k, n in enumerate(stated)], read)
        from_axis, to_axis = (
            None if axis == NO_BATCH else resolve_axis(axis, len(shape), name)
            for name, axis, shape in (
                ("batch_from", self.batch_from, read),
                ("batch_to", self.batch_to, made),
            )
        )
        return Batching(read, from_axis, made, to_axis)


class Batching(NamedTuple):
    """The extents that a Reshape reads and makes, and which axis of each tells the samples.

    Elements stay in their order over all samples. An extent of 0 is the one that is read at the
    same place from the outside; None stands for the axis of a single sample.
    """

    read: Shape
    read_axis: int | None
    made: Shape
    made_axis: int | None

    @property
    def samples(self) -> int:
        """How many samples the result has."""
        return 1 if self.made_axis is None else self.made[self.made_axis]

    @property
    def sample(self) -> Shape:
        """The shape of each of them; `LayerError` where no blob has it."""
        axis = self.made_axis
        shape = self.made if axis is None else self.made[:axis] + self.made[axis + 1 :]
        if not 1 <= len(shape) <= MAX_RANK:
            raise LayerError(f"samples of shape {shape} are no blobs", "batch_to")
        return shape


TOLD_BY_RUN = "the run tells the shape of the result, and params of a Reshape are numbers"
"""Why a rewrite makes no Reshape of a shape that is open."""


def reshape_params(shape: Shape) -> dict[str, int]:
    """The params of the Reshape that makes this shape, whatever it is given.

    Whoever asks for them sees to it that no extent is open.
    """
    return dict(zip(EXTENT_NAMES[len(shape)], shape, strict=True))


def _completed(stated: Sequence[int], x: Shape) -> Shape:
    """The extents, with -1 replaced by the rest, if they have as many elements as x."""
    shape = list(stated)
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
    if not is_equal(prod(shape), prod(x)):
        raise LayerError(f"{x} has {prod(x)} elements and does not fit {tuple(shape)}")
    return tuple(shape)


@layer("Flatten")
class FlattenOp(View):
    """All elements in one row; with `axis`, ONNX's: (extents before the axis, extents from it on).

    `axis` is no param of ncnn's: 0 to the rank, negative ones counted from the end. Absent means
    one row. With it the result has rank 2 always.
    """

    PROPERTIES = {"axis": OptPropertyDef(base(IntegerAttr))}

    @property
    def axis(self) -> int | None:
        held = self.properties.get("axis")
        return held.value.data if isinstance(held, IntegerAttr) else None

    def infer(self, x: Shape, *others: Shape) -> Shape:
        if self.axis is None:
            return (prod(x),)
        axis, rank = self.axis, len(x)
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
        kept = tuple(n for k, n in enumerate(x) if k not in named or not is_equal(n, 1))
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
