"""Layers that put one blob into another, larger one: CopyTo and Diag."""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.axes import EXTENT_NAMES, extents, resolve_axes
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
from ncc.dialects.size import are_equal

WHOLE = -233
"""The value of a start that means 0."""


@layer("CopyTo", inputs=2)
class CopyToOp(JoiningLayer):
    """The first input with the second one laid over a box of it.

    The box begins at `starts` of the `axes` listed (all, if none is), negative ones counted from
    the end and -233 for 0; without starts at the offsets of w, h, d and c. A blob of a lower rank
    has extents of 1 for the axes that it does not have. One of equal shape is the result itself,
    wherever it would begin.
    """

    woffset = integer(0)
    hoffset = integer(1)
    doffset = integer(13)
    coffset = integer(2)
    starts = integers(9)
    axes = integers(11)

    def begin(self, x: Shape, source: Shape) -> Shape:
        """Where the second input begins in the first; `LayerError` where it does not fit."""
        if are_equal(source, x):
            return (0,) * len(x)
        begin = self._starts(x) if self.starts else self._offsets(x)
        size = self.box(x, source)
        if any(p < 0 or p + n > m for p, n, m in zip(begin, size, x, strict=True)):
            raise LayerError(f"the box from {begin} of size {size} leaves {x}")
        return begin

    def box(self, x: Shape, source: Shape) -> Shape:
        """The second input's shape in the rank of the first."""
        if len(source) > len(x):
            raise LayerError(f"{source} has a higher rank than {x}, into which it is copied")
        named = extents(source)
        return tuple(named[name] for name in EXTENT_NAMES[len(x)])

    def _starts(self, x: Shape) -> Shape:
        axes = resolve_axes(self.axes, len(x)) or tuple(range(len(x)))
        if len(self.starts) < len(axes):
            raise LayerError(f"{len(self.starts)} starts for axes {axes}", "starts")
        begin = [0] * len(x)
        for axis, start in zip(axes, self.starts, strict=False):
            begin[axis] = 0 if start == WHOLE else start + x[axis] * (start < 0)
        return tuple(begin)

    def _offsets(self, x: Shape) -> Shape:
        return tuple(getattr(self, f"{name}offset") for name in EXTENT_NAMES[len(x)])

    def infer(self, x: Shape, source: Shape) -> Shape:
        self.begin(x, source)
        return x

    def reference(self, x: Array, source: Array) -> Array:
        begin, size = self.begin(x.shape, source.shape), self.box(x.shape, source.shape)
        y = x.copy()
        y[tuple(slice(p, p + n) for p, n in zip(begin, size, strict=True))] = source.reshape(size)
        return y

    def lower(self, b: Builder, x: Tensor, source: Tensor) -> Tensor:
        begin = self.begin(x.shape, source.shape)
        if are_equal(source.shape, x.shape):
            return b.named(source, x.shape)
        source = b.reshape(source, self.box(x.shape, source.shape))
        return b.named(_laid_over(b, x, source, begin, 0), x.shape)


def _laid_over(b: Builder, x: Tensor, source: Tensor, begin: Shape, axis: int) -> Tensor:
    """x with the source over the box at `begin`: along this axis what is before, in and behind it.

    The axes before this one have equal extents.
    """
    if source.shape == x.shape:
        return source
    first, last = begin[axis], begin[axis] + source.shape[axis]

    def part(start: int, stop: int) -> Tensor:
        at = [start if k == axis else 0 for k in range(x.rank)]
        size = [stop - start if k == axis else n for k, n in enumerate(x.shape)]
        return b.slice(x, at, size)

    parts = [part(0, first)] if first > 0 else []
    parts.append(_laid_over(b, part(first, last), source, begin, axis + 1))
    parts += [part(last, x.shape[axis])] if last < x.shape[axis] else []
    return b.concat(parts, axis)


@layer("Diag")
class DiagOp(MovingLayer):
    """Of a vector the square matrix with it on a diagonal, of a matrix the diagonal.

    `diagonal` tells which: 0 the main one, positive ones right of it, negative ones below. One
    that lies outside has no elements.
    """

    diagonal = integer(0)

    def _first(self) -> tuple[int, int]:
        """The row and the column in which the diagonal begins."""
        return max(-self.diagonal, 0), max(self.diagonal, 0)

    def infer(self, x: Shape) -> Shape:
        row, column = self._first()
        if len(x) == 1:
            return (x[0] + row + column,) * 2
        if len(x) != 2:
            raise LayerError(f"Diag takes a vector or a matrix, not {x}")
        return (max(min(x[0] - row, x[1] - column), 0),)

    def reference(self, x: Array) -> Array:
        self.infer(x.shape)
        return np.diag(x, self.diagonal)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        row, column = self._first()
        shape = self.infer(x.shape)
        [i] = b.loops_of(shape[:1] if x.rank == 2 else x.shape)
        if x.rank == 2:
            square = b.slice(x, (row, column), shape * 2)
            return b.map((i,), square[i, i])
        size = shape[0]
        zeros = b.full((size * size,), 0.0, x.element_type)
        at = i * (size + 1) + (row * size + column)
        return b.reshape(b.map((at,), x[i], into=zeros), shape)
