"""Operations that many networks of these tests have."""

from __future__ import annotations

import numpy as np
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import exp, maximum
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.weight import WeightAttr


def ones(*shape: int) -> WeightAttr:
    return WeightAttr.of(np.ones(shape, np.float32))


def whole_numbers(b: Builder, *shape: int) -> Tensor:
    """Weights whose sums are exact in any order."""
    numbers = np.random.default_rng(shape).integers(-3, 4, shape)
    return b.weight(WeightAttr.of(numbers.astype(np.float32)))


def work(b: Builder, x: Tensor) -> Tensor:
    """Some operation: a kernel of its own where its result has two readers."""
    at = b.loops_of(x.shape)
    return b.map(at, exp(x[at]))


def flip(b: Builder, x: Tensor) -> Tensor:
    """What reads elsewhere than it writes: always a kernel of its own."""
    y, z = b.loops_of(x.shape[::-1])
    return b.map((y, z), x[z, y])


def turned(b: Builder, x: Tensor) -> Tensor:
    """Rows of an image as columns."""
    c, y, z = b.loops_of((x.shape[0], x.shape[2], x.shape[1]))
    return b.map((c, y, z), x[c, z, y])


def relu(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, maximum(x[at], 0.0))


def add(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] + y[at])


def pointwise_convolution(b: Builder, x: Tensor, outputs: int) -> Tensor:
    w = whole_numbers(b, outputs, x.shape[0])
    o, y, z, i = b.loops(f"o y:{x.shape[1]} z:{x.shape[2]} i")
    return b.sum((o, y, z), over=(i,), of=x[i, y, z] * w[o, i])


def depthwise(b: Builder, x: Tensor) -> Tensor:
    w = b.weight(ones(x.shape[0], 3, 3))
    c, y, z, k, m = b.loops(f"c y:{x.shape[1] - 2} z:{x.shape[2] - 2} k m")
    return b.sum((c, y, z), over=(k, m), of=x[c, y + k, z + m] * w[c, k, m])


def every_other(b: Builder, x: Tensor) -> Tensor:
    """Half of the rows and half of the columns of an image."""
    c, p, q = b.loops(f"c:{x.shape[0]} p:{x.shape[1] // 2} q:{x.shape[2] // 2}")
    return b.map((c, p, q), maximum(x[c, 2 * p, 2 * q], 0.0))


ELSEWHERE: dict[str, Shape] = {
    "without channels": (24, 24),
    "without columns": (32, 24),
    "turned": (32, 24, 24),
    "rows as channels": (24, 32, 24),
    "channels further on in each row": (55, 24, 24),
    "rows upside down": (32, 24, 24),
    "columns from behind": (32, 24, 24),
    "rows further on in each column": (32, 47, 24),
    "further down": (32, 26, 24),
}
"""Ways to read one value for another one of (32, 24, 24), and its shape."""


def add_from_elsewhere(b: Builder, x: Tensor, y: Tensor, how: str) -> Tensor:
    """x plus a cell of y for each, read in such a way."""
    c, p, q = b.loops_of(x.shape)
    cells: dict[str, tuple[AffineExpr, ...]] = {
        "without channels": (p, q),
        "without columns": (c, p),
        "turned": (c, q, p),
        "rows as channels": (p, c, q),
        "channels further on in each row": (c + p, p, q),
        "rows upside down": (c, p * -1 + 23, q),
        "columns from behind": (c, p, q * -1 + 23),
        "rows further on in each column": (c, p + q, q),
        "further down": (c, p + 2, q),
    }
    return b.map((c, p, q), x[c, p, q] + y[cells[how]])


def sum_of(b: Builder, x: Tensor, init: Tensor | float = 0.0) -> Tensor:
    """out[y, z] = init + the sum of x[y, k] * x[k', z] over k, as far as rows go."""
    y, z, k = b.loops(f"y:{x.shape[0]} z:{x.shape[1]} k:{x.shape[0]}")
    return b.sum((y, z), over=(k,), of=x[y, 0] * x[k, z], init=init)


def row_sums(b: Builder, x: Tensor, init: float = 0.0) -> Tensor:
    """What stands in a row, added."""
    r, c = b.loops_of(x.shape)
    return b.sum((r,), over=(c,), of=x[r, c], init=init)


def last_row(b: Builder, x: Tensor) -> Tensor:
    """The last row in place of each."""
    y, z = b.loops_of(x.shape)
    return b.map((y, z), x[x.shape[0] - 1, z])
