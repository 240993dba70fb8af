"""Forms of Winograd's convolution, F(m, r): m + r - 1 products make m results of a window of r.

The matrices are those of Lavin & Gray ("Fast Algorithms for Convolutional Neural Networks", 2015),
along one axis. They multiply polynomials at some points: with more points, a result takes fewer
products, and rounds more coarsely.

At stride 2, a convolution along an axis is a sum of two: even elements with even taps, and odd
elements with odd taps. So 2r-1 taps use F(m, r) and F(m, r-1). B, G and A hold the matrices of
both, and a tile reads x[i, 2mt+k, 2mu+l] for k, l < 2(m + r) - 3. Windows of 3x3 take 25, 49 and
81 multiplications instead of 36, 81 and 144 for m = 2, 3 and 4.

`winograd` nests two forms for a window with rows and columns. A window of a single row has F(1, 1)
along the other axis, which multiplies by one. It rounds like one form, so that it may use more
points.
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

    G has the rows of all parts of a window, part after part.
    """

    input: Matrix
    filter: Matrix
    output: Matrix
    stride: int = 1

    @property
    def tile(self) -> int:
        """Elements of a tile of the result along an axis."""
        return len(self.output)

    @property
    def window(self) -> int:
        """Elements of the input that a tile is made of, along an axis."""
        return len(self.input)

    @property
    def parts(self) -> int:
        """How many windows its window consists of; a tile reads as many tiles of V."""
        return len(self.filter) // self.window

    @property
    def taps(self) -> int:
        """Elements of the window of the convolution along an axis."""
        return len(self.filter[0])

    @property
    def step(self) -> int:
        """Elements of the input from one tile to the next along an axis."""
        return self.tile * self.stride


def strided(form: Form) -> Form:
    """F(m, r) of even elements and F(m, r - 1) of odd elements, as one form.

    The last component of the form must be the value at infinity. Without it, the form is
    F(m, r - 1): nothing else reads the last element and the last tap.
    """
    parts = [(c, phase) for c in range(form.window) for phase in (0, 1) if c + phase < form.window]

    def apart(matrix: Matrix) -> Matrix:
        columns = range(2 * len(matrix[0]) - 1)
        return tuple(
            tuple(matrix[c][k // 2] if k % 2 == phase else 0.0 for k in columns)
            for c, phase in parts
        )

    output = tuple(tuple(row[c] for c, _ in parts) for row in form.output)
    return Form(apart(form.input), apart(form.filter), output, stride=2)


def lengthened(form: Form, taps: int) -> Form:
    """The form for windows of more taps, in as few parts as possible: each part has as many taps as
    a tile has elements, and the last part has the remaining ones.
    """
    parts = 1 + -(-(taps - form.taps) // form.tile)

    def rows(part: int) -> Matrix:
        first = part * form.tile
        count = form.tile if part < parts - 1 else taps - first
        before, behind = (0.0,) * first, (0.0,) * (taps - first - count)
        return tuple((*before, *row[:count], *behind) for row in form.filter)

    return replace(form, filter=tuple(row for part in range(parts) for row in rows(part)))


POINTS = (0.0, 1.0, -1.0, 2.0, -2.0, 1 / 2, -1 / 2)
"""Where polynomials are multiplied; points with the finest rounding come first."""


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
    """The coefficients of the product of all x - p, with the highest power last."""
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
    """The forms for windows with `taps` taps along some axes, and one tap along the others."""
    if axes == BOTH:
        return [form for form in FORMS if (form.taps, form.stride) == (taps, stride)]
    found = [f for f in (*FORMS, F6, F4_4) if (f.taps, f.stride) == (taps, stride)]
    longer = [lengthened(f, taps) for f in (F4_4, F4_5) if f.taps < taps and stride == 1]
    return [*found, *longer]


@dataclass(frozen=True)
class Plane:
    """The forms along rows and along columns, with the dilations of the window."""

    forms: tuple[Form, Form]
    dilations: tuple[int, int] = (1, 1)

    @cached_property
    def parts(self) -> int:
        """How many windows a window consists of, along the axis that has several."""
        return prod(form.parts for form in self.forms)

    @cached_property
    def spans(self) -> tuple[int, int]:
        """Rows of the result in a row of tiles, and columns in a column."""
        rows, columns = (f.tile * d for f, d in zip(self.forms, self.dilations, strict=True))
        return rows, columns

    @property
    def steps(self) -> tuple[int, int]:
        """Elements of the input from one row of tiles to the next, and from one column."""
        rows, columns = (f.step * d for f, d in zip(self.forms, self.dilations, strict=True))
        return rows, columns

    @property
    def overlap(self) -> tuple[int, int]:
        """Elements of the input that the last tile of a row, or column, reads beyond its step."""
        pairs = zip(self.forms, self.dilations, strict=True)
        rows, columns = ((f.window + (f.parts - 2) * f.step) * d for f, d in pairs)
        return rows, columns

    def read(self, tiles: tuple[int, int]) -> tuple[int, int]:
        """Rows and columns of tiles of V that so many tiles of the result read."""
        rows, columns = (n + f.parts - 1 for n, f in zip(tiles, self.forms, strict=True))
        return rows, columns
