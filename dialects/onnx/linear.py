"""Products of matrices."""

from __future__ import annotations

from collections.abc import Container
from typing import ClassVar

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.onnx.attribute import integer, real
from ncc.dialects.onnx.broadcast import broadcast, read
from ncc.dialects.onnx.operator import Array, LayerError, Operator, Shape, operator
from ncc.dialects.scalar import Scalar
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal, is_equal


@operator("MatMul", inputs=2)
class MatMulOp(Operator):
    """numpy's matmul: the axes before the last two are broadcast; vectors are rows, or columns."""

    ALIKE: ClassVar[Container[int]] = (0, 1)

    def infer(self, x: Shape, y: Shape) -> Shape:
        return product_shape(x, y)

    def reference(self, x: Array, y: Array) -> Array:
        return np.asarray(np.matmul(x, y))

    def lower(self, b: Builder, x: Tensor, y: Tensor) -> Tensor:
        return product(b, x, y)


def product_shape(x: Shape, y: Shape) -> Shape:
    """The shape of a product as numpy's matmul has it."""
    if not x or not y:
        raise LayerError("a matrix is multiplied by a scalar")
    rows, columns = (x if len(x) > 1 else (1, *x)), (y if len(y) > 1 else (*y, 1))
    if not is_equal(rows[-1], columns[-2]):
        raise LayerError(f"{shown(x)} times {shown(y)}: {rows[-1]} columns, {columns[-2]} rows")
    found = broadcast(rows[:-2], columns[:-2])
    return (*found, *x[-2:-1], *(y[-1:] if len(y) > 1 else ()))


def product(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    """numpy's matmul."""
    shape = product_shape(x.shape, y.shape)
    left = x if x.rank > 1 else b.reshape(x, (1, *x.shape))
    right = y if y.rank > 1 else b.reshape(y, (*y.shape, 1))
    batch = broadcast(left.shape[:-2], right.shape[:-2])
    loops = b.loops_of([*batch, left.shape[-2], right.shape[-1], left.shape[-1]])
    *outer, m, n, k = loops
    of = read(left, [*outer, m, k]) * read(right, [*outer, k, n])
    return b.reshape(b.sum([*outer, m, n], over=[k], of=of), shape)


@operator("Gemm", since=7, inputs=(2, 3))
class GemmOp(Operator):
    """alpha * A B + beta * C, where A and B may be transposed, and C is broadcast."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2)

    alpha = real(1.0)
    beta = real(1.0)
    transA = integer(0)
    transB = integer(0)

    def infer(self, a: Shape, b: Shape, c: Shape | None = None) -> Shape:
        if len(a) != 2 or len(b) != 2:
            raise LayerError(f"{shown(a)} and {shown(b)} are not two matrices")
        (m, k), (rows, n) = a[:: -1 if self.transA else 1], b[:: -1 if self.transB else 1]
        if not is_equal(k, rows):
            raise LayerError(f"a product of {shown((m, k))} and {shown((rows, n))}")
        if c is not None and not are_equal(broadcast(c, (m, n)), (m, n)):
            raise LayerError(f"C is {shown(c)}, and the product {shown((m, n))}")
        return (m, n)

    def reference(self, a: Array, b: Array, c: Array | None = None) -> Array:
        product = (a.T if self.transA else a) @ (b.T if self.transB else b)
        scaled = product if self.alpha == 1 else (product * a.dtype.type(self.alpha))
        return scaled if c is None else scaled + a.dtype.type(self.beta) * c

    def lower(self, b: Builder, x: Tensor, y: Tensor, c: Tensor | None = None) -> Tensor:
        m, n = self.infer(x.shape, y.shape)
        k = x.shape[0 if self.transA else 1]
        i, j, at_k = b.loops_of([m, n, k])
        left = x[at_k, i] if self.transA else x[i, at_k]
        right = y[j, at_k] if self.transB else y[at_k, j]
        product = b.sum([i, j], over=[at_k], of=left * right)
        if c is None and self.alpha == 1:
            return product
        at = b.loops_of([m, n])
        scaled: Scalar = product[at] if self.alpha == 1 else product[at] * self.alpha
        if c is None:
            return b.map(at, scaled)
        term = read(c, at)
        return b.map(at, scaled + (term if self.beta == 1 else term * self.beta))
