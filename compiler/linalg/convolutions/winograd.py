"""Winograd's F(m x m, r x r): a convolution on tiles, as three exact generics.

For the m x m tiles (t, u) of a result, with B, G and A of Lavin & Gray ("Fast Algorithms for
Convolutional Neural Networks", 2015):

    V[i, a, b, t, u] = sum over k, l of B[a, k] * B[b, l] * x[i, mt+k, mu+l]     k, l < m + r - 1
    M[o, a, b, t, u] = sum over i of V[i, a, b, t, u] * U[a, b, o, i]              U = G w G^T
    Y[o, t, r, u, s] = init[o] + sum over a, b of A[r, a] * A[s, b] * M[o, a, b, t, u]

For windows of 3x3 and m = 4, 36 multiplications a tile and pair of channels in place of 144, by
weights of four times the size; for m = 2, 16 in place of 36, by weights of 16/9 of the size. For
windows of 5x5, 36 in place of 100 by weights of 36/25 for m = 2, and 64 in place of 400 by weights
of 64/25 for m = 4. Y is the result once (t, r) and (u, s) are collapsed and what the tiles cover
beyond it is cut off. In groups of channels, all of V are made as above, and a group g sums
V[g*I + i, ..] * U[a, b, g, o, i].

Of a volume, each slice is transformed once, for all taps along the depth:

    M[o, a, b, z, t, u] = sum over i, d of V[i, a, b, s*z + e*d, t, u] * U[a, b, o, i, d]

With a dilation of d, cells that are d apart are an image of their own, a phase (e, f) of d * d, and
so are results. Tiles of all phases lie side by side:

    V[i, a, b, (t, e), (u, f)] = sum over k, l of B[a, k] * B[b, l] * x[i, d*(mt+k)+e, d*(mu+l)+f]
    Y[o, t, r, e, u, s, f] = the same sum of M[o, a, b, (t, e), (u, f)]

At stride 2, a convolution along an axis is the sum of one of the even cells with the even taps and
one of the odd cells with the odd taps: F(m, r) and F(m, r-1) for 2r-1 taps. B, G and A hold the
matrices of both, side by side, and a tile reads x[i, 2mt+k, 2mu+l] for k, l < 2(m + r) - 3. For
windows of 3x3, 25, 49 and 81 multiplications in place of 36, 81 and 144 for m = 2, 3 and 4.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import numpy as np
from xdsl.dialects.builtin import ArrayAttr, FloatAttr, IntegerAttr, f32, i64
from xdsl.ir import Attribute, Operation

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.linalg.view import Matrix
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.sources import Weights
from ncc.dialects.weight import WeightAttr


@dataclass(frozen=True)
class Form:
    """F(m x m, r x r): tiles of m x m results of windows of r x r, by the matrices B, G and A."""

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
        """Cells of the input that a tile depends on along one axis."""
        return len(self.input)

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


F2 = Form(
    input=(
        (1.0, 0.0, -1.0, 0.0),
        (0.0, 1.0, 1.0, 0.0),
        (0.0, -1.0, 1.0, 0.0),
        (0.0, -1.0, 0.0, 1.0),
    ),
    filter=(
        (1.0, 0.0, 0.0),
        (1 / 2, 1 / 2, 1 / 2),
        (1 / 2, -1 / 2, 1 / 2),
        (0.0, 0.0, 1.0),
    ),
    output=(
        (1.0, 1.0, 1.0, 0.0),
        (0.0, 1.0, -1.0, 1.0),
    ),
)
F4 = Form(
    input=(
        (4.0, 0.0, -5.0, 0.0, 1.0, 0.0),
        (0.0, -4.0, -4.0, 1.0, 1.0, 0.0),
        (0.0, 4.0, -4.0, -1.0, 1.0, 0.0),
        (0.0, -2.0, -1.0, 2.0, 1.0, 0.0),
        (0.0, 2.0, -1.0, -2.0, 1.0, 0.0),
        (0.0, 4.0, 0.0, -5.0, 0.0, 1.0),
    ),
    filter=(
        (1 / 4, 0.0, 0.0),
        (-1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6),
        (1 / 24, -1 / 12, 1 / 6),
        (0.0, 0.0, 1.0),
    ),
    output=(
        (1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
        (0.0, 1.0, -1.0, 2.0, -2.0, 0.0),
        (0.0, 1.0, 1.0, 4.0, 4.0, 0.0),
        (0.0, 1.0, -1.0, 8.0, -8.0, 1.0),
    ),
)
F2_5 = Form(
    input=F4.input,
    filter=(
        (1 / 4, 0.0, 0.0, 0.0, 0.0),
        (-1 / 6, -1 / 6, -1 / 6, -1 / 6, -1 / 6),
        (-1 / 6, 1 / 6, -1 / 6, 1 / 6, -1 / 6),
        (1 / 24, 1 / 12, 1 / 6, 1 / 3, 2 / 3),
        (1 / 24, -1 / 12, 1 / 6, -1 / 3, 2 / 3),
        (0.0, 0.0, 0.0, 0.0, 1.0),
    ),
    output=(
        (1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
        (0.0, 1.0, -1.0, 2.0, -2.0, 1.0),
    ),
)
F4_5 = Form(
    input=(
        (1.0, 0.0, -21 / 4, 0.0, 21 / 4, 0.0, -1.0, 0.0),
        (0.0, 1.0, 1.0, -17 / 4, -17 / 4, 1.0, 1.0, 0.0),
        (0.0, -1.0, 1.0, 17 / 4, -17 / 4, -1.0, 1.0, 0.0),
        (0.0, 1 / 2, 1 / 4, -5 / 2, -5 / 4, 2.0, 1.0, 0.0),
        (0.0, -1 / 2, 1 / 4, 5 / 2, -5 / 4, -2.0, 1.0, 0.0),
        (0.0, 2.0, 4.0, -5 / 2, -5.0, 1 / 2, 1.0, 0.0),
        (0.0, -2.0, 4.0, 5 / 2, -5.0, -1 / 2, 1.0, 0.0),
        (0.0, -1.0, 0.0, 21 / 4, 0.0, -21 / 4, 0.0, 1.0),
    ),
    filter=(
        (1.0, 0.0, 0.0, 0.0, 0.0),
        (-2 / 9, -2 / 9, -2 / 9, -2 / 9, -2 / 9),
        (-2 / 9, 2 / 9, -2 / 9, 2 / 9, -2 / 9),
        (1 / 90, 1 / 45, 2 / 45, 4 / 45, 8 / 45),
        (1 / 90, -1 / 45, 2 / 45, -4 / 45, 8 / 45),
        (32 / 45, 16 / 45, 8 / 45, 4 / 45, 2 / 45),
        (32 / 45, -16 / 45, 8 / 45, -4 / 45, 2 / 45),
        (0.0, 0.0, 0.0, 0.0, 1.0),
    ),
    output=(
        (1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.0),
        (0.0, 1.0, -1.0, 2.0, -2.0, 1 / 2, -1 / 2, 0.0),
        (0.0, 1.0, 1.0, 4.0, 4.0, 1 / 4, 1 / 4, 0.0),
        (0.0, 1.0, -1.0, 8.0, -8.0, 1 / 8, -1 / 8, 1.0),
    ),
)
F2_2 = Form(
    input=(
        (1.0, -1.0, 0.0),
        (0.0, 1.0, 0.0),
        (0.0, -1.0, 1.0),
    ),
    filter=(
        (1.0, 0.0),
        (1.0, 1.0),
        (0.0, 1.0),
    ),
    output=(
        (1.0, 1.0, 0.0),
        (0.0, 1.0, 1.0),
    ),
)
F3_2 = Form(
    input=F2.input,
    filter=(
        (1.0, 0.0),
        (1 / 2, 1 / 2),
        (1 / 2, -1 / 2),
        (0.0, 1.0),
    ),
    output=(
        (1.0, 1.0, 1.0, 0.0),
        (0.0, 1.0, -1.0, 0.0),
        (0.0, 1.0, 1.0, 1.0),
    ),
)
F4_2 = Form(
    input=(
        (2.0, -1.0, -2.0, 1.0, 0.0),
        (0.0, -2.0, -1.0, 1.0, 0.0),
        (0.0, 2.0, -3.0, 1.0, 0.0),
        (0.0, -1.0, 0.0, 1.0, 0.0),
        (0.0, 2.0, -1.0, -2.0, 1.0),
    ),
    filter=(
        (1 / 2, 0.0),
        (-1 / 2, -1 / 2),
        (-1 / 6, 1 / 6),
        (1 / 6, 1 / 3),
        (0.0, 1.0),
    ),
    output=(
        (1.0, 1.0, 1.0, 1.0, 0.0),
        (0.0, 1.0, -1.0, 2.0, 0.0),
        (0.0, 1.0, 1.0, 4.0, 0.0),
        (0.0, 1.0, -1.0, 8.0, 1.0),
    ),
)
S2, S3, S4, S2_5, S4_5 = (strided(form) for form in (F2_2, F3_2, F4_2, F2, F4))
FORMS = (F2, F4, F2_5, F4_5, F2_2, F3_2, F4_2, S2, S3, S4, S2_5, S4_5)


@dataclass(frozen=True)
class Depth:
    """How slices of a volume are summed: slice z of the result reads stride * z + dilation * d, for
    `taps` numbers d. An image is one slice.
    """

    slices: int = 1
    taps: int = 1
    stride: int = 1
    dilation: int = 1

    @property
    def reach(self) -> int:
        """Slices from the first to the last that are read."""
        return self.stride * (self.slices - 1) + self.dilation * (self.taps - 1) + 1


IMAGE = Depth()


@dataclass(frozen=True)
class Constants:
    """The matrices and the weights as values of the structured level.

    filter: of weights that are left for the sum over channels to transform.
    """

    form: Form
    input: Tensor
    output: Tensor
    weights: Tensor
    filter: Tensor | None = None

    @staticmethod
    def of(b: Builder, form: Form, weights: Weights, formed: bool = False) -> Constants:
        """For weights (outputs, inputs, r, r), (groups, outputs, inputs, r, r), or of a volume
        (outputs, inputs, depth, r, r).

        formed: whether to leave them as they are, (outputs, inputs, r, r).
        """
        return Constants(
            form,
            b.table(np.array(form.input)),
            b.table(np.array(form.output)),
            b.weight(WeightAttr(weights if formed else weights.transformed(form.filter))),
            b.table(np.array(form.filter)) if formed else None,
        )


def transformed(
    b: Builder, x: Tensor, constants: Constants, grid: tuple[int, int], dilation: int = 1
) -> Tensor:
    """V of x (inputs, height, width), which `grid` rows and columns of tiles need not cover; of a
    volume (inputs, depth, height, width), V of each slice.
    """
    rows, columns = grid
    form, step = constants.form, constants.form.step
    slices = "z" if x.rank == 4 else ""
    if dilation == 1:
        i, p, q, *z, t, u, k, m = b.loops(f"i p q {slices} t:{rows} u:{columns} k m")
        tiles = [t, u]
        data = x[(i, *z, t * step + k, u * step + m)]
    else:
        phase = f":{dilation}"
        names = f"i p q {slices} t:{rows} e{phase} u:{columns} f{phase} k m"
        i, p, q, *z, t, e, u, f, k, m = b.loops(names)
        tiles = [t, e, u, f]
        row, column = (n * step + cell for n, cell in ((t, k), (u, m)))
        data = x[(i, *z, row * dilation + e, column * dilation + f)]
    first, second = constants.input[p, k], constants.input[q, m]
    v = b.sum((i, p, q, *z, *tiles), over=(k, m), of=first * (second * data))
    _mark(v, form.input)
    return v if dilation == 1 else b.collapse(v, _phases(v.rank))


def _phases(rank: int) -> list[list[int]]:
    """The last four axes in pairs: tiles of a row and their phases, then of a column."""
    return [*([axis] for axis in range(rank - 4)), [rank - 4, rank - 3], [rank - 2, rank - 1]]


def tiled(
    b: Builder,
    v: Tensor,
    constants: Constants,
    init: Tensor | float,
    keep: tuple[int, int],
    depth: Depth = IMAGE,
    dilation: int = 1,
) -> Tensor:
    """The convolution in m x m tiles of what V was made of.

    keep: rows and columns of the result that somebody reads, of all phases as many.
    depth: of a volume; else there is none.
    The result is (outputs, rows, m, columns, m), where outputs are those of all groups, or
    (outputs, slices, rows, m, columns, m); phases, if there are several, come behind each m.
    """
    rows, columns = (n // dilation for n in v.shape[-2:])
    form, tile = constants.form, constants.form.tile
    volume = v.rank > 5
    if constants.filter is not None:
        product = _formed(b, v, constants.weights, constants.filter)
        _mark(product, form.filter)
    else:
        product = _summed_slices(b, v, constants, depth) if volume else _summed(b, v, constants)
    slices, phases = product.shape[3:-2], [dilation] if dilation > 1 else []
    if phases:
        apart = (*product.shape[:-2], rows, dilation, columns, dilation)
        product = b.expand(product, _phases(len(apart)), apart)
    if isinstance(init, Tensor):
        lead = (product.shape[0], *slices)
        init = b.spread(init, (*lead, rows, tile, *phases, columns, tile, *phases), axis=0)
    e, f = ("e", "f") if phases else ("", "")
    names = f"o {'z' if volume else ''} t r {e} u s {f} p q".split()
    loops = dict(zip(names, b.loops(" ".join(names)), strict=True))
    first, second = (constants.output[loops[n], loops[k]] for n, k in ("rp", "sq"))
    read = product[tuple(loops[name] for name in "opqzteuf" if name in loops)]
    over = (loops["p"], loops["q"])
    y = b.sum([loops[name] for name in names[:-2]], over, first * (second * read), init)
    _mark(y, form.output)
    if keep != (dilation * tile * rows, dilation * tile * columns):
        tails = (("t", "r", keep[0]), ("u", "s", keep[1]))
        _attributes(y)["tails"] = _integers(
            [[names.index(outer), names.index(inner), n // dilation] for outer, inner, n in tails]
        )
    return y


def _formed(b: Builder, v: Tensor, weights: Tensor, matrix: Tensor) -> Tensor:
    """M by weights that the sum transforms, of an image or of the one slice of a volume."""
    o, p, q, *z, t, u, i, k, m = b.loops(f"o p q {'z' if v.rank > 5 else ''} t u i k m")
    weight = matrix[p, k] * (matrix[q, m] * weights[o, i, k, m])
    return b.sum((o, p, q, *z, t, u), (i, k, m), weight * v[(i, p, q, *z, t, u)])


def _summed(b: Builder, v: Tensor, constants: Constants) -> Tensor:
    """M, of all groups."""
    inputs = constants.weights.shape[-1]
    grouped = constants.weights.rank > 4
    *channel, p, q, t, u, i = b.loops("g o p q t u i" if grouped else "o p q t u i")
    read = channel[0] * inputs + i if grouped else i
    factors = v[read, p, q, t, u] * constants.weights[(p, q, *channel, i)]
    product = b.sum((*channel, p, q, t, u), (i,), factors)
    return b.collapse(product, [[0, 1], [2], [3], [4], [5]]) if grouped else product


def _summed_slices(b: Builder, v: Tensor, constants: Constants, depth: Depth) -> Tensor:
    """M of a volume."""
    o, p, q, z, t, u, i, d = b.loops(f"o p q z:{depth.slices} t u i d:{depth.taps}")
    data = v[i, p, q, z * depth.stride + d * depth.dilation, t, u]
    return b.sum((o, p, q, z, t, u), (i, d), data * constants.weights[p, q, o, i, d])


def _mark(result: Tensor, matrix: Matrix) -> None:
    _attributes(result)["separable"] = _rows(matrix)


@cache
def _rows(matrix: Matrix) -> ArrayAttr[ArrayAttr[FloatAttr]]:
    """A matrix of a form as an attribute. There are few, and every convolution has two."""
    return ArrayAttr([ArrayAttr([FloatAttr(number, f32) for number in row]) for row in matrix])


def _attributes(result: Tensor) -> dict[str, Attribute]:
    owner = result.value.owner
    if not isinstance(owner, Operation):
        raise CompilerBug("a computation that is an argument")
    return owner.attributes


def _integers(rows: Sequence[Sequence[int]]) -> ArrayAttr[ArrayAttr[IntegerAttr]]:
    return ArrayAttr([ArrayAttr([IntegerAttr(n, i64) for n in row]) for row in rows])
