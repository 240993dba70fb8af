"""A `linalg.generic` that sums products, as one matrix product.

    out[b, m, n] += sum over k of x[b, m, k] * y[b, k, n]

where b are the parallel loops that both operands use, m those of the left one only, n those of the
right one only, and k the reduced loops. Windows need no special case: a loop space over a strided
view is already the matrix that im2col would make.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, prod
from typing import cast

import numpy as np
from xdsl.dialects import arith
from xdsl.dialects.builtin import bf16
from xdsl.ir import Attribute, Block, BlockArgument, Operation, SSAValue

from ncc.dialects.weights.sources import Array
from tests.structured.loop_views import LoopViews, Window, part
from tests.structured.scalar_semantics import Float, dtype_of

_WIDENING = (arith.ExtFOp, arith.ExtSIOp, arith.SIToFPOp)
_PAIRS = ((arith.AddfOp, arith.MulfOp), (arith.AddiOp, arith.MuliOp))


@dataclass(frozen=True)
class Contraction:
    """The positions of the two factors among the operands, and the type they are multiplied in."""

    left: int
    right: int
    element: Attribute

    @staticmethod
    def of(body: Block) -> Contraction | None:
        """`acc + f(x) * g(y)` with casts f and g, or None where the body is something else."""
        total = cast(Operation, body.last_op).operands[0].owner
        accumulator = body.args[-1]
        if not isinstance(total, Operation) or len(total.operands) != 2:
            return None
        addends = [operand for operand in total.operands if operand is not accumulator]
        if len(addends) != 1 or accumulator.uses.get_length() != 1:
            return None
        times = addends[0].owner
        if (type(total), type(times)) not in _PAIRS or not isinstance(times, Operation):
            return None
        left, right = (_argument(body, operand) for operand in times.operands)
        if left is None or right is None:
            return None
        return Contraction(left, right, times.results[0].type)

    def add(self, views: LoopViews, arrays: Sequence[Array], chunk: int, dtype: Float) -> None:
        """Add the products to the last array, making about `chunk` elements at a time."""
        bigger = max(self.left, self.right, key=lambda k: views.points(views.used(k)))
        loops = [d for d in views.used(bigger) if d in views.parallel]
        for window in views.split(loops, ceil(views.points(views.used(bigger)) / chunk)):
            factors = [
                part(arrays[k], window).astype(dtype_of(self.element, dtype), copy=False)
                for k in (self.left, self.right)
            ]
            target = views.target(arrays[-1], window)
            target += _product(factors[0], factors[1], views, window)


def _argument(body: Block, value: SSAValue) -> int | None:
    while isinstance(value.owner, _WIDENING) and value.owner.operands[0].type != bf16:
        value = value.owner.operands[0]  # an array of bfloat16 has its bits
    if isinstance(value, BlockArgument) and value.owner is body:
        return value.index if value is not body.args[-1] else None
    return None


def _product(x: Array, y: Array, views: LoopViews, window: Window) -> Array:
    """The sum of products over the reduced loops; extent 1 where neither factor has a loop."""
    sizes = [stop - start for start, stop in window]
    in_x = [extent > 1 for extent in x.shape]
    in_y = [extent > 1 for extent in y.shape]
    repeats = prod(sizes[d] for d in views.reduced if not in_x[d] and not in_y[d])
    x = _sum(x, [d for d in views.reduced if in_x[d] and not in_y[d]])
    y = _sum(y, [d for d in views.reduced if in_y[d] and not in_x[d]])
    batch = [d for d in views.parallel if in_x[d] and in_y[d]]
    rows = [d for d in views.parallel if in_x[d] and not in_y[d]]
    columns = [d for d in views.parallel if in_y[d] and not in_x[d]]
    inner = [d for d in views.reduced if in_x[d] and in_y[d]]
    left = _grouped(x, batch, rows, inner)
    right = _grouped(y, batch, inner, columns)
    result: Array = _matrix_product(left, right) * x.dtype.type(repeats)
    order = [*batch, *rows, *columns]
    ordered = result.reshape([sizes[d] for d in order]).transpose(np.argsort(order))
    return ordered.reshape([sizes[d] if d in order else 1 for d in range(len(sizes))])


def _sum(array: Array, axes: Sequence[int]) -> Array:
    if not axes:
        return array
    return np.asarray(array.sum(axis=tuple(axes), keepdims=True, dtype=array.dtype))


def _grouped(array: Array, *groups: Sequence[int]) -> Array:
    """One axis a loop of the first group, then one axis a group."""
    first, second, third = groups
    kept = [*first, *second, *third]
    rest = [d for d in range(array.ndim) if d not in kept]
    shape = [array.shape[d] for d in first]
    shape += [prod(array.shape[d] for d in group) for group in (second, third)]
    return array.transpose(kept + rest).reshape(shape)


def _matrix_product(left: Array, right: Array) -> Array:
    if left.shape[-2] == right.shape[-1] == 1:  # many small dot products: matmul would loop
        product = np.einsum("...k,...k->...", left[..., 0, :], right[..., 0])
        return np.asarray(product)[..., None, None]
    if left.dtype.kind == "i":
        return _integer_product(left, right)
    return np.asarray(np.matmul(left, right))


def _integer_product(left: Array, right: Array) -> Array:
    """Exact in double precision while sums stay below 2^53, which is much faster."""
    largest = [float(np.abs(factor.astype(np.int64)).max(initial=0)) for factor in (left, right)]
    if largest[0] * largest[1] * left.shape[-1] >= 2.0**53:
        return np.asarray(np.matmul(left, right))
    exact = np.matmul(left.astype(np.float64), right.astype(np.float64))
    return np.asarray(exact.astype(np.int64).astype(left.dtype))
