"""Computations that many networks of these tests have."""

from __future__ import annotations

from xdsl.ir.affine import AffineExpr

from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import maximum
from ncc.dialects.shapes import Shape


def relu(b: Builder, x: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, maximum(x[at], 0.0))


def add(b: Builder, x: Tensor, y: Tensor) -> Tensor:
    at = b.loops_of(x.shape)
    return b.map(at, x[at] + y[at])


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
