"""Scans (prefix sums): each element of the result sums all up to its place along an axis."""

from __future__ import annotations

from math import prod

import numpy as np

from ncc.dialects.ncnn.axes import only_axis
from ncc.dialects.ncnn.layer import Array, Builder, Layer, Shape, Tensor, integer, layer
from ncc.dialects.size import is_open
from ncc.dialects.statements import Code

ROWS = 8
"""Rows that one iteration sums side by side."""

PIECE = 1024
"""Neighbours that one iteration sums, if threads have nothing else to share."""


@layer("CumulativeSum")
class CumulativeSumOp(Layer):
    """y[i] = x[0] + ... + x[i] along the axis, added in this order; a vector has only one axis."""

    axis = integer(0)

    def along(self, rank: int) -> int:
        """The axis; that of a vector is always 0."""
        return only_axis(self.axis, rank)

    def infer(self, x: Shape) -> Shape:
        self.along(len(x))
        return x

    def reference(self, x: Array) -> Array:
        return np.cumsum(x, axis=self.along(x.ndim), dtype=x.dtype)

    def lower(self, b: Builder, x: Tensor) -> Tensor:
        return scan(b, x, self.along(x.rank))


def scan(b: Builder, x: Tensor, axis: int, combine: str = "add") -> Tensor:
    """The sums of all elements up to each place along an axis; their products by "mul".

    Elements are of a type that `Code` computes with.
    """
    outer, extent, inner = prod(x.shape[:axis]), x.shape[axis], prod(x.shape[axis + 1 :])
    folded = b.reshape(x, (outer, extent, inner))
    code = _rows(folded, combine) if inner == 1 else _planes(folded, combine)
    (y,) = b.code(code.operation())
    return b.reshape(y, x.shape)


def _rows(x: Tensor, combine: str) -> Code:
    """Sums along the last axis: some rows side by side, since each waits for its last sum."""
    rows, extent, _ = x.shape
    code = Code([x], [(x.shape, x.element_type)], iterations=-(-rows // ROWS))
    source, sums = code.inputs[0], code.results[0]
    together = ROWS if is_open(rows) else min(ROWS, rows)  # the last row again where there is none
    own = [code.minimum(code.iteration * ROWS + k, rows - 1) for k in range(together)]
    for row in own:
        sums[row, 0, 0] = source[row, 0, 0]
    with code.range(extent, 1) as i:
        for row in own:
            sums[row, i, 0] = code.binary(combine, sums[row, i - 1, 0], source[row, i, 0])
    return code


def _planes(x: Tensor, combine: str) -> Code:
    """Sums of neighbours at once; threads share the outer axes, or else pieces of the inner one."""
    outer, extent, inner = x.shape
    pieces = -(-inner // PIECE) if outer == 1 else 1
    code = Code([x], [(x.shape, x.element_type)], iterations=outer * pieces)
    place = code.iteration if outer != 1 else 0
    start = code.iteration * PIECE if pieces != 1 else 0
    stop = code.minimum(start + PIECE, inner) if pieces != 1 else inner
    source, sums = code.inputs[0].part(place), code.results[0].part(place)
    with code.lanes(stop, start) as k:
        sums[0, k] = source[0, k]
    with code.range(extent, 1) as i, code.lanes(stop, start) as k:
        sums[i, k] = code.binary(combine, sums[i - 1, k], source[i, k])
    return code
