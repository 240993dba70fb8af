"""Operands of several shapes as one shape, by numpy's rules."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Tensor
from ncc.dialects.ncnn.param import LayerError
from ncc.dialects.scalar import Scalar
from ncc.dialects.shapes import Shape, shown
from ncc.dialects.size import is_equal


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all these become. Raises `LayerError` where there is none."""
    rank = max(map(len, shapes), default=0)
    columns = zip(*((1,) * (rank - len(shape)) + shape for shape in shapes), strict=True)
    found = []
    for column in columns:
        extent, *others = [n for n in column if n != 1] or [1]
        if not all(is_equal(extent, other) for other in others):
            raise LayerError(f"{' and '.join(map(shown, shapes))} cannot be broadcast")
        found.append(extent)
    return tuple(found)


def read(x: Tensor, loops: Sequence[AffineExpr]) -> Scalar:
    """The element of x at loops over a shape that x is broadcast to."""
    own = loops[len(loops) - x.rank :]
    return x[[0 if extent == 1 else loop for loop, extent in zip(own, x.shape, strict=True)]]
