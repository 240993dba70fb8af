"""A value with other elements at the places that another operand says.

Where the places are constants, each element of the result knows where it comes from. Otherwise the
elements are written one after the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import i1, i64

from ncc.dialects.element import ui64
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, string
from ncc.dialects.onnx.carried import as_elements, carried
from ncc.dialects.onnx.gather import wrapped
from ncc.dialects.onnx.operator import (
    Array,
    LayerError,
    NotYet,
    Operator,
    Shape,
    axis_of,
    constant_of,
    operator,
)
from ncc.dialects.scalar import Scalar, maximum, number_of_index, select, to_index
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal
from ncc.dialects.statements import Code

COMBINE = {"add": "add", "mul": "mul", "max": "max", "min": "min"}
"""The operation of statements for each reduction; "none" overwrites."""

_UFUNCS: dict[str, Any] = {
    "add": np.add,
    "mul": np.multiply,
    "max": np.maximum,
    "min": np.minimum,
}


class _Scatter(Operator):
    """The operands are x, indices and updates."""

    reduction: Any = string("none")

    REDUCTIONS: ClassVar[Sequence[str]] = ("none", *COMBINE)

    def check(self) -> None:
        if self.reduction not in self.REDUCTIONS:
            raise LayerError(f"reduction is {self.reduction!r}", "reduction")

    def inner(self, x: Shape, indices: Shape) -> int:
        """How many neighbours are written at each place."""
        raise NotImplementedError

    def first(self, x: Shape, indices: Array) -> Array:
        """The number of the first of these in x, for each place."""
        raise NotImplementedError

    def place(self, b: Builder, x: Shape, indices: Tensor) -> Tensor:
        """The same, as int64 in one axis."""
        raise NotImplementedError

    def reference(self, x: Array, indices: Array, updates: Array) -> Array:
        inner = self.inner(x.shape, indices.shape)
        rows = np.arange(inner) + self.first(x.shape, indices).reshape(-1, 1)
        flat = x.reshape(-1).copy()
        if self.reduction == "none":
            flat[rows] = updates.reshape(rows.shape)
        else:
            _UFUNCS[self.reduction].at(flat, rows, updates.reshape(rows.shape))
        return flat.reshape(x.shape)

    def lower(self, b: Builder, x: Tensor, indices: Tensor, updates: Tensor) -> Tensor:
        known = constant_of(self.operands[1])
        if known is not None and self.reduction == "none":
            return self._chosen(b, x, known, updates)
        inner = self.inner(x.shape, indices.shape)
        rows = b.reshape(updates, (prod(updates.shape) // inner, inner))
        found = scattered(b, x, self.place(b, x.shape, indices), rows, self.reduction)
        return b.reshape(found, x.shape)

    def _chosen(self, b: Builder, x: Tensor, indices: Array, updates: Tensor) -> Tensor:
        """Each element of x, or the update that is written there last."""
        inner, count = self.inner(x.shape, indices.shape), prod(x.shape)
        rows = np.arange(inner) + self.first(x.shape, indices).reshape(-1, 1)
        sources = np.full(count, -1)
        sources[rows.reshape(-1)] = np.arange(rows.size)
        written = b.constant(sources, i64)
        flat = b.reshape(x, (count,))
        new = b.reshape(updates, (rows.size,))
        (k,) = b.loops_of((count,))
        update = new.at(to_index(maximum(written[k], 0)))
        return b.reshape(b.map((k,), select(written[k] < 0, flat[k], update)), x.shape)


def scattered(
    b: Builder, x: Tensor, places: Tensor, updates: Tensor, reduction: str = "none"
) -> Tensor:
    """x in one axis, with each row of updates from its place on, one row after the other."""
    element = x.element_type
    if reduction != "none" and element in (i1, ui64):
        raise NotYet(f"the reduction {reduction!r} of bool or uint64")
    count, inner = prod(x.shape), updates.shape[1]
    flat, new = carried(b, b.reshape(x, (count,))), carried(b, updates)
    code = Code([flat, places, new], [((count,), flat.element_type)])
    source, at, rows = code.inputs
    (result,) = code.results
    with code.lanes(count) as k:
        result[k] = source[k]
    with code.range(updates.shape[0]) as row, code.lanes(inner) as k:
        value, to = rows[row, k], at[row] + k
        result[to] = value if reduction == "none" else code.binary(reduction, result[to], value)
    (made,) = b.code(code.operation())
    return as_elements(b, made, element)


@operator("ScatterElements", since=16, inputs=3)
class ScatterElementsOp(_Scatter):
    """x with updates: of each place the axis is what the index there says."""

    axis = integer(0)

    def infer(self, x: Shape, indices: Shape, updates: Shape) -> Shape:
        axis_of(self.axis, len(x))
        fits = len(x) == len(indices) and are_equal(indices, updates)
        if not fits or any(
            n > m for k, (n, m) in enumerate(zip(indices, x, strict=True)) if k != self._along(x)
        ):
            raise LayerError(f"indices {shown(indices)} and updates {shown(updates)} to {shown(x)}")
        return x

    def _along(self, x: Shape) -> int:
        return axis_of(self.axis, len(x))

    def inner(self, x: Shape, indices: Shape) -> int:
        return 1

    def first(self, x: Shape, indices: Array) -> Array:
        axis = self._along(x)
        at: list[Array] = list(np.indices(indices.shape))
        at[axis] = np.where(indices < 0, indices + x[axis], indices)
        return np.asarray(np.ravel_multi_index(tuple(at), x))

    def place(self, b: Builder, x: Shape, indices: Tensor) -> Tensor:
        axis = self._along(x)
        loops = b.loops_of(indices.shape)
        at: list[Scalar] = [number_of_index(b.index(loop), i64) for loop in loops]
        at[axis] = wrapped(indices[loops], x[axis])
        numbers = [number * step for number, step in zip(at, _steps(x), strict=True)]
        return b.reshape(b.map(loops, sum(numbers[1:], numbers[0])), (prod(indices.shape),))


@operator("ScatterElements", since=11, until=15, inputs=3)
class ScatterElementsV11Op(ScatterElementsOp):
    """The same; updates overwrite."""

    reduction: Any = "none"


@operator("Scatter", since=9, until=10, inputs=3)
class ScatterOp(ScatterElementsV11Op):
    """The name of ScatterElements before op set 11."""


@operator("ScatterND", since=16, inputs=3)
class ScatterNDOp(_Scatter):
    """x with slices of updates, at the places that rows of indices say."""

    def infer(self, x: Shape, indices: Shape, updates: Shape) -> Shape:
        depth = indices[-1] if indices else 0
        if not 0 < depth <= len(x) or not are_equal(updates, (*indices[:-1], *x[depth:])):
            raise LayerError(f"indices {shown(indices)} and updates {shown(updates)} to {shown(x)}")
        return x

    def inner(self, x: Shape, indices: Shape) -> int:
        return prod(x[indices[-1] :])

    def first(self, x: Shape, indices: Array) -> Array:
        depth = indices.shape[-1]
        wide = np.asarray(indices, np.int64)
        positive = np.where(wide < 0, wide + x[:depth], wide)
        if (positive < 0).any() or (positive >= x[:depth]).any():
            raise LayerError(f"an index is beyond {shown(x)}")
        return np.asarray(positive @ np.array(_steps(x)[:depth]))

    def place(self, b: Builder, x: Shape, indices: Tensor) -> Tensor:
        depth = indices.shape[-1]
        loops = b.loops_of(indices.shape[:-1])
        numbers = [
            wrapped(indices[[*loops, k]], x[k]) * step for k, step in enumerate(_steps(x)[:depth])
        ]
        found = b.map(loops, sum(numbers[1:], numbers[0]))
        return b.reshape(found, (prod(indices.shape[:-1]),))


@operator("ScatterND", since=11, until=15, inputs=3)
class ScatterNDV11Op(ScatterNDOp):
    """The same; updates overwrite."""

    reduction: Any = "none"


def _steps(x: Shape) -> list[int]:
    """How far apart neighbours along each axis are."""
    return [prod(x[axis + 1 :]) for axis in range(len(x))]
