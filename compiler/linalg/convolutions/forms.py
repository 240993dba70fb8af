"""Forms of Winograd's convolution, F(m, r): m results of a window of r by m + r - 1 products.

Lavin & Gray's matrices ("Fast Algorithms for Convolutional Neural Networks", 2015), along one axis;
`winograd` nests two of them. Each stands for points at which polynomials are multiplied: the more
there are, the fewer products a result takes, and the more coarsely it is rounded.

At stride 2, a convolution along an axis is the sum of one of the even cells with the even taps and
one of the odd cells with the odd taps: F(m, r) and F(m, r-1) for 2r-1 taps. B, G and A hold the
matrices of both, side by side, and a tile reads x[i, 2mt+k, 2mu+l] for k, l < 2(m + r) - 3. For
windows of 3x3, 25, 49 and 81 multiplications in place of 36, 81 and 144 for m = 2, 3 and 4.

Two forms are nested for a window with rows and columns. A window of a single row has F(1, 1) along
the other axis, which multiplies by one: it rounds as one form does, which allows for more points.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import prod

from ncc.compiler.linalg.analysis.attributes import Matrix

BOTH = (True, True)
"""Rows and columns."""


@dataclass(frozen=True)
class Form:
    """F(m, r) along an axis: tiles of m results of windows of r, by the matrices B, G and A.

    G has the rows of all parts of a window, one behind the other.
    """

    input: Matrix
    filter: Matrix
    output: Matrix
    stride: int = 1

    @property
    def tile(self) -> int:
        """Cells of a tile of the result along one axis."""
        return len(self.output)

    @property
    def window(self) -> int:
        """Cells of the input that a tile is transformed from along one axis."""
        return len(self.input)

    @property
    def parts(self) -> int:
        """Windows, side by side, that its window consists of; a tile reads V of so many."""
        return len(self.filter) // self.window

    @property
    def taps(self) -> int:
        """Cells of the convolution's window along one axis."""
        return len(self.filter[0])

    @property
    def step(self) -> int:
        """Cells of the input from one tile to the next along one axis."""
        return self.tile * self.stride


def strided(form: Form) -> Form:
    """F(m, r) of even cells beside F(m, r - 1) of odd cells, for a form whose last component is the
    value at infinity: without it, without the last cell, which nothing else reads, and without the
    last tap, the form is F(m, r - 1).
    """
    parts = [(c, phase) for c in range(form.window) for phase in (0, 1) if c + phase < form.window]

    def apart(matrix: Matrix) -> Matrix:
        cells = range(2 * len(matrix[0]) - 1)
        return tuple(
            tuple(matrix[c][k // 2] if k % 2 == phase else 0.0 for k in cells) for c, phase in parts
        )

    output = tuple(tuple(row[c] for c, _ in parts) for row in form.output)
    return Form(apart(form.input), apart(form.filter), output, stride=2)


def lengthened(form: Form, taps: int) -> Form:
    """The same tiles for windows of more taps, in as few parts as there can be: each has as many
    taps as a tile has cells, the last has what is left.
    """
    parts = 1 + -(-(taps - form.taps) // form.tile)

    def rows(part: int) -> Matrix:
        first = part * form.tile
        count = form.tile if part < parts - 1 else taps - first
        before, behind = (0.0,) * first, (0.0,) * (taps - first - count)
        return tuple((*before, *row[:count], *behind) for row in form.filter)

    return replace(form, filter=tuple(row for part in range(parts) for row in rows(part)))


POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 1 / 2, -1 / 2)
"""Where polynomials are multiplied, those of the finest rounding first."""


def form_of(tile: int, taps: int, points: Sequence[float] = POINTS) -> Form:
    """F(m, r) by the first m + r - 2 of some points p, and infinity (Toom and Cook).

    With N(x) the product of all x - q, and M(x) the same without x - p:

        for p:         B: coefficients of M(x)    G: (1, p, p^2, ..) / M(p)    A: (1, p, p^2, ..)
        for infinity:  B: coefficients of N(x)    G: (0, .., 0, 1)             A: (0, .., 0, 1)

    B and G have these as rows, A as columns. Signs are such that the row of 0 in G is positive.
    """
    points = points[: tile + taps - 2]
    input: list[tuple[float, ...]] = []
    filter: list[tuple[float, ...]] = []
    for p in points:
        others = [q for q in points if q != p]
        row, value = _product(others), prod(p - q for q in others)
        if p == 0.0 and value < 0.0:
            row, value = tuple(0.0 - c for c in row), -value
        input.append((*row, 0.0))
        filter.append(tuple(p**k / value for k in range(taps)))
    input.append(_product(points))
    filter.append((*[0.0] * (taps - 1), 1.0))
    output = ((*(p**k for p in points), float(k == tile - 1)) for k in range(tile))
    return Form(tuple(input), tuple(filter), tuple(output))


def _product(points: Sequence[float]) -> tuple[float, ...]:
    """The coefficients of the product of all x - p, that of the highest power last."""
    found = [1.0]
    for p in points:
        found = [a - p * b for a, b in zip([0.0, *found], [*found, 0.0], strict=True)]
    return tuple(found)


ONE = form_of(1, 1)
F2, F4, F6 = (form_of(tile, 3) for tile in (2, 4, 6))
F2_5, F4_5 = (form_of(tile, 5) for tile in (2, 4))
F2_2, F3_2, F4_2 = (form_of(tile, 2) for tile in (2, 3, 4))
F4_4 = form_of(4, 4, (*POINTS[:5], -1 / 2))
S2, S3, S4, S2_5, S4_5 = (strided(form) for form in (F2_2, F3_2, F4_2, F2, F4))
FORMS = (F2, F4, F2_5, F4_5, F2_2, F3_2, F4_2, S2, S3, S4, S2_5, S4_5)
"""The forms that round finely enough along both axes."""


def forms_of(taps: int, stride: int, axes: tuple[bool, bool] = BOTH) -> list[Form]:
    """The forms for windows of so many taps along each of some axes, and of one along others."""
    if axes == BOTH:
        return [form for form in FORMS if (form.taps, form.stride) == (taps, stride)]
    found = [f for f in (*FORMS, F6, F4_4) if (f.taps, f.stride) == (taps, stride)]
    longer = [lengthened(f, taps) for f in (F4_4, F4_5) if f.taps < taps and stride == 1]
    return [*found, *longer]


@dataclass(frozen=True)
class Plane:
    """The forms along rows and along columns, and the distances of cells that a window sees."""

    forms: tuple[Form, Form]
    dilations: tuple[int, int] = (1, 1)

    @cached_property
    def parts(self) -> int:
        """Windows that a window consists of, along the axis that has several."""
        return prod(form.parts for form in self.forms)

    @cached_property
    def spans(self) -> tuple[int, int]:
        """Rows of the result in a row of tiles, and columns in a column."""
        rows, columns = (f.tile * d for f, d in zip(self.forms, self.dilations, strict=True))
        return rows, columns

    @property
    def steps(self) -> tuple[int, int]:
        """Cells of the input from one row of tiles to the next, and from one column."""
        rows, columns = (f.step * d for f, d in zip(self.forms, self.dilations, strict=True))
        return rows, columns

    @property
    def beside(self) -> tuple[int, int]:
        """Cells of the input that the last tile of a row reads beyond its step, and of a column."""
        pairs = zip(self.forms, self.dilations, strict=True)
        rows, columns = ((f.window + (f.parts - 2) * f.step) * d for f, d in pairs)
        return rows, columns

    def read(self, tiles: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of tiles of V that so many of the result read."""
        rows, columns = (n + f.parts - 1 for n, f in zip(tiles, self.forms, strict=True))
        return rows, columns
