"""Operands of several shapes as one shape, by numpy's rules."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Tensor
from ncc.dialects.ncnn.param import LayerError
from ncc.dialects.scalar import Scalar
from ncc.dialects.shapes import Shape, shown


def broadcast(*shapes: Shape) -> Shape:
    """The shape that all these become. Raises `LayerError` where there is none."""
    try:
        return tuple(map(int, np.broadcast_shapes(*shapes)))
    except ValueError:
        raise LayerError(f"{' and '.join(map(shown, shapes))} cannot be broadcast") from None


def read(x: Tensor, loops: Sequence[AffineExpr]) -> Scalar:
    """The element of x at loops over a shape that x is broadcast to."""
    own = loops[len(loops) - x.rank :]
    return x[[0 if extent == 1 else loop for loop, extent in zip(own, x.shape, strict=True)]]
