"""Strassen's product in Winograd's form: a pointwise convolution with 7/8 of the products.

Halves of the output channels (m), of the input channels (k), and rows two by two (n) make 2 x 2
blocks of the product. With A, B and C below:

    V[s, i, r, w] = sum over k, n of B[s, k, n] * x[k*I/2 + i, 2r + n, w]          s < 7
    M[o, s, r, w] = sum over i of V[s, i, r, w] * U[o, s, i]
    U[o, s, i]    = sum over m, k of A[s, m, k] * weights[m*O/2 + o, k*I/2 + i]
    Y[m, o, r, n, w] = sum over s of C[m, n, s] * M[o, s, r, w]

Y is the result once (m, o) and (r, n) are collapsed and a row beyond it is cut off. U is made at
compile time and has 7/4 of the size of the weights. V and Y are sums only: V may be made of sums
that a kernel holds of a depthwise convolution, and Y is made of those that it holds of M.

The error is less than 5 times the bound of that of the sums themselves (Higham, "Accuracy and
Stability of Numerical Algorithms", 23.2), and about twice theirs as a rule.
"""

from __future__ import annotations

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Operation
from xdsl.ir.affine import AffineExpr

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import Matrix
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import Scalar
from ncc.dialects.sources import Weights
from ncc.dialects.weight import WeightAttr

A: Matrix = (
    (1.0, 0.0, 0.0, 0.0),
    (-1.0, 0.0, 1.0, 1.0),
    (1.0, 0.0, -1.0, 0.0),
    (0.0, 0.0, 0.0, -1.0),
    (0.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 1.0, 1.0),
    (1.0, 1.0, -1.0, -1.0),
)
"""What is multiplied of the weights: a row for each product, of the blocks (m, k)."""

B: Matrix = (
    (1.0, 0.0, 0.0, 0.0),
    (1.0, -1.0, 0.0, 1.0),
    (0.0, -1.0, 0.0, 1.0),
    (1.0, -1.0, -1.0, 1.0),
    (0.0, 0.0, 1.0, 0.0),
    (-1.0, 1.0, 0.0, 0.0),
    (0.0, 0.0, 0.0, 1.0),
)
"""What is multiplied of the image: a row for each product, of the blocks (k, n)."""

C: Matrix = (
    (1.0, 0.0, 0.0, 0.0, 1.0, 0.0, 0.0),
    (1.0, 1.0, 0.0, 0.0, 0.0, 1.0, 1.0),
    (1.0, 1.0, 1.0, 1.0, 0.0, 0.0, 0.0),
    (1.0, 1.0, 1.0, 0.0, 0.0, 1.0, 0.0),
)
"""Which products are summed: a row for each block (m, n) of the result. The last two products are
in blocks n = 1 only."""


def of_weights(b: Builder, weights: Weights) -> Tensor:
    """U of weights (outputs, inputs): once, for all chunks of an image."""
    return b.weight(WeightAttr(weights.quartered(A)))


def product(b: Builder, v: Tensor, u: Tensor, rows: int) -> Tensor:
    """The convolution with weights of which U was made, of an image of which V was made.

    rows: of the result that somebody reads. It is (2, outputs / 2, pairs of rows, 2, columns).
    """
    o, s, r, w, i = b.loops("o s r w i")
    m = b.sum((o, s, r, w), (i,), v[s, i, r, w] * u[o, s, i])
    return results(b, m, rows)


def of_image(b: Builder, x: Tensor, pairs: int, stride: tuple[int, int] = (1, 1)) -> Tensor:
    """V of x (inputs, height, width), for so many pairs of rows of the result."""
    inputs, height, width = x.shape
    down, across = stride
    columns = -(-width // across)
    halved = b.expand(x, [[0, 1], [2], [3]], [2, inputs // 2, height, width])
    s, i, r, w, k, n = b.loops(f"s i r:{pairs} w:{columns} k n")
    return _combined(b, (s, i, r, w), (k, n), halved[k, i, r * (2 * down) + n * down, w * across])


def of_blocks(b: Builder, x: Tensor) -> Tensor:
    """V of x (inputs / 2, 2, pairs of rows, 2, columns)."""
    s, i, r, w, k, n = b.loops("s i r w k n")
    return _combined(b, (s, i, r, w), (k, n), x[i, k, r, n, w])


def _combined(
    b: Builder, to: tuple[AffineExpr, ...], over: tuple[AffineExpr, ...], data: Scalar
) -> Tensor:
    table = b.table(np.array(B).reshape(len(B), 2, 2))
    v = b.sum(to, over, table[to[0], *over] * data)
    _mark(v, B)
    return v


def results(b: Builder, m: Tensor, rows: int) -> Tensor:
    """Y of the products, of which so many rows are read."""
    table = b.table(np.array(C).reshape(2, 2, len(B)))
    row, o, r, column, w, s = b.loops("row o r column w s")
    y = b.sum((row, o, r, column, w), (s,), table[row, column, s] * m[o, s, r, w])
    _mark(y, C)
    if rows % 2:
        tail = [IntegerAttr(n, i64) for n in (2, 3, rows)]
        _operation(y).attributes["tails"] = ArrayAttr([ArrayAttr(tail)])
    return y


def _mark(result: Tensor, matrix: Matrix) -> None:
    rows = [ArrayAttr([FloatAttr(number, f32) for number in row]) for row in matrix]
    _operation(result).attributes["combination"] = ArrayAttr(rows)


def _operation(result: Tensor) -> Operation:
    owner = result.value.owner
    if not isinstance(owner, Operation):
        raise CompilerBug("a computation that is an argument")
    return owner
