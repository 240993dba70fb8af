"""Winograd's F(4x4, 3x3): a convolution on tiles, as three exact generics.

For the 4x4 tiles (t, u) of a result, with B, G and A of Lavin & Gray ("Fast Algorithms for
Convolutional Neural Networks", 2015):

    V[i, a, b, t, u] = sum over k, l of B[a, k] * B[b, l] * x[i, 4t+k, 4u+l]       k, l < 6
    M[o, a, b, t, u] = sum over i of V[i, a, b, t, u] * U[a, b, o, i]              U = G w G^T
    Y[o, t, r, u, s] = init[o] + sum over a, b of A[r, a] * A[s, b] * M[o, a, b, t, u]

36 multiplications a tile and pair of channels in place of 144. Y is the result once (t, r) and
(u, s) are collapsed and what the tiles cover beyond it is cut off.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import Matrix
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.weight import WeightAttr, Weights

TILE, WINDOW = 4, 6
"""Cells of a tile of the result, and of the input that it depends on, along one axis."""

INPUT: Matrix = (
    (4.0, 0.0, -5.0, 0.0, 1.0, 0.0),
    (0.0, -4.0, -4.0, 1.0, 1.0, 0.0),
    (0.0, 4.0, -4.0, -1.0, 1.0, 0.0),
    (0.0, -2.0, -1.0, 2.0, 1.0, 0.0),
    (0.0, 2.0, -1.0, -2.0, 1.0, 0.0),
    (0.0, 4.0, 0.0, -5.0, 0.0, 1.0),
)
FILTER: Matrix = (
    (1 / 4, 0.0, 0.0),
    (-1 / 6, -1 / 6, -1 / 6),
    (-1 / 6, 1 / 6, -1 / 6),
    (1 / 24, 1 / 12, 1 / 6),
    (1 / 24, -1 / 12, 1 / 6),
    (0.0, 0.0, 1.0),
)
OUTPUT: Matrix = (
    (1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
    (0.0, 1.0, -1.0, 2.0, -2.0, 0.0),
    (0.0, 1.0, 1.0, 4.0, 4.0, 0.0),
    (0.0, 1.0, -1.0, 8.0, -8.0, 1.0),
)

# Costs count the multiply-adds that one core does in the same time, measured on a Zen 4 (a 1 MB L2,
# 32 MB of L3) for 16 to 512 channels and results of 7x7 to 224x224. All other costs are a byte's.
NEAR, MIDDLE, FAR = 0.7, 2.0, 3.0
"""A byte of V or M, written and read again, where a chunk of them fits L2, L3, or neither."""
HELD_NEAR, HELD_MIDDLE = 3 << 19, 16 << 20
"""Bytes of V and M up to which that holds. More than L2: what was read of V makes room for M."""
L2, L3 = 1 << 20, 16 << 20
"""Caches, as far as weights find room in them."""
STREAMED = 1.0
"""A byte of weights, which are in no cache when their layer is reached."""
AGAIN, AGAIN_FAR = 0.3, 2.5
"""A byte of weights read once more for the next chunk: from L3, or from memory."""
CALL = 300_000
"""The three calls of a chunk, their barriers, and the time to compile them."""


@dataclass(frozen=True)
class Tiling:
    """The tiles of a convolution `inputs` -> `outputs` channels with a height x width result."""

    outputs: int
    inputs: int
    height: int
    width: int

    @property
    def rows(self) -> int:
        """Rows of tiles."""
        return -(-self.height // TILE)

    @property
    def columns(self) -> int:
        """Tiles of a row."""
        return -(-self.width // TILE)

    @property
    def direct(self) -> float:
        """The cost of the convolution as it is."""
        weights = 9 * self.outputs * self.inputs
        return weights * (self.height * self.width + 4 * STREAMED)

    def cost(self, rows: int) -> float:
        """The cost in chunks of `rows` rows of tiles."""
        chunks = -(-self.rows // rows)
        points = WINDOW * WINDOW * self.rows * self.columns
        between = 4 * points * (self.inputs + self.outputs)
        held = between / chunks
        weights = 4 * WINDOW * WINDOW * self.outputs * self.inputs
        again = 0.0 if weights <= L2 / 2 else AGAIN if weights <= L3 else AGAIN_FAR
        return (
            points * self.outputs * self.inputs
            + between * (NEAR if held <= HELD_NEAR else MIDDLE if held <= HELD_MIDDLE else FAR)
            + weights * (STREAMED + again * (chunks - 1))
            + chunks * CALL
        )

    def chunk(self) -> int:
        """The cheapest number of rows of tiles in a chunk, all chunks equal."""
        return min((n for n in range(1, self.rows + 1) if self.rows % n == 0), key=self.cost)


@dataclass(frozen=True)
class Constants:
    """The matrices and the transformed weights as values of the structured level."""

    input: Tensor
    output: Tensor
    weights: Tensor

    @staticmethod
    def of(b: Builder, weights: Weights) -> Constants:
        """For weights (outputs, inputs, 3, 3)."""
        return Constants(
            b.table(np.array(INPUT)),
            b.table(np.array(OUTPUT)),
            b.weight(WeightAttr(weights.transformed(FILTER))),
        )


def tiled(
    b: Builder,
    x: Tensor,
    constants: Constants,
    init: Tensor | float,
    grid: tuple[int, int],
    keep: tuple[int, int],
) -> Tensor:
    """The convolution of x (inputs, 4*rows + 2 or more, 4*columns + 2 or more) in tiles.

    grid: rows and columns of tiles. keep: rows and columns of the result that somebody reads.
    The result is (outputs, rows, 4, columns, 4).
    """
    rows, columns = grid
    i, p, q, t, u, k, m = b.loops(f"i p q t:{rows} u:{columns} k m")
    data = x[i, t * TILE + k, u * TILE + m]
    first, second = constants.input[p, k], constants.input[q, m]
    v = b.sum((i, p, q, t, u), over=(k, m), of=first * (second * data))
    _mark(v, INPUT)
    o, p, q, t, u, i = b.loops("o p q t u i")
    product = b.sum((o, p, q, t, u), (i,), v[i, p, q, t, u] * constants.weights[p, q, o, i])
    if isinstance(init, Tensor):
        shape = (product.shape[0], rows, TILE, columns, TILE)
        init = b.spread(init, shape, axis=0)
    o, t, r, u, s, p, q = b.loops("o t r u s p q")
    first, second = constants.output[r, p], constants.output[s, q]
    y = b.sum((o, t, r, u, s), (p, q), first * (second * product[o, p, q, t, u]), init)
    _mark(y, OUTPUT)
    if keep != (TILE * rows, TILE * columns):
        _attributes(y)["tails"] = _integers([[1, 2, keep[0]], [3, 4, keep[1]]])
    return y


def _mark(result: Tensor, matrix: Matrix) -> None:
    rows = [ArrayAttr([FloatAttr(number, f32) for number in row]) for row in matrix]
    _attributes(result)["separable"] = ArrayAttr(rows)


def _attributes(result: Tensor) -> dict[str, Attribute]:
    owner = result.value.owner
    if not isinstance(owner, Operation):
        raise CompilerBug("a computation that is an argument")
    return owner.attributes


def _integers(rows: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(n, i64) for n in row]) for row in rows])
