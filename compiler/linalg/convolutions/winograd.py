"""Winograd's F(m x m, r x r): a convolution on tiles, as three exact generics.

For the m x m tiles (t, u) of a result, with B, G and A of Lavin & Gray ("Fast Algorithms for
Convolutional Neural Networks", 2015):

    V[i, a, b, t, u] = sum over k, l of B[a, k] * B[b, l] * x[i, mt+k, mu+l]     k, l < m + r - 1
    M[o, a, b, t, u] = sum over i of V[i, a, b, t, u] * U[a, b, o, i]              U = G w G^T
    Y[o, t, r, u, s] = init[o] + sum over a, b of A[r, a] * A[s, b] * M[o, a, b, t, u]

For each tile and pair of channels:

    window   m   multiplications   instead of   weights grow by
    3x3      4         36             144            4
    3x3      2         16              36           16/9
    5x5      4         64             400           64/25
    5x5      2         36             100           36/25

A collapse of (t, r) and (u, s) makes the result of Y, and a slice cuts off the elements beyond it.
In groups of channels, V is the same, and group g sums V[g*I + i, ..] * U[a, b, g, o, i].

In a volume, each slice is transformed once, for all taps along the depth:

    M[o, a, b, z, t, u] = sum over i, d of V[i, a, b, s*z + e*d, t, u] * U[a, b, o, i, d]

With a dilation of d, elements that are d apart form a separate image, one of d * d phases (e, f).
So do results. The tiles of all phases are neighbours:

    V[i, a, b, (t, e), (u, f)] = sum over k, l of B[a, k] * B[b, l] * x[i, d*(mt+k)+e, d*(mu+l)+f]
    Y[o, t, r, e, u, s, f] = the same sum of M[o, a, b, (t, e), (u, f)]

Windows of one row, or of one column, use F(1, 1) along the other axis, which multiplies by one. A
form along one axis rounds by the square root of its rounding along both axes. So these windows may
use forms with more points. They may also be longer: if r >= m in F(m, r), a window of more than r
taps consists of several windows that are m apart. Their tiles in V are m apart, too:

    M[o, b, u] = sum over i, n of V[i, b, u+n] * U[n, b, o, i]       U[n] = G w[mn : mn + m, or + r]

Winograd is three exact generics and not an attribute of a convolution, so that other passes can
pack and fuse them, and plan their memory, as they do for any generic. Only the emitter of the
transforms (`loops/emit/transform.py`) knows that their matrices are small.

V says how many rows of tiles are computed at a time, so that what they hand on stays in L2, and a
pool reads them there (`fusion/tile_and_fuse.py`). Where there is a single row of tiles, as in a
sequence, these are columns.

ncc does not use Strassen's algorithm for matrix products. It would need seven products instead of
eight. But it adds the weights of other channels to those of a channel and subtracts them again.
So errors depend on other channels: they reach 2e-4 of the largest value of a channel with small
weights, if blocks of weights have unequal scale. Scaling cannot prevent that, and weights would
take 7/4 of the memory.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from xdsl.dialects.builtin import AnyFloat
from xdsl.ir.affine import AffineExpr

from ncc.compiler.linalg.analysis.attributes import FACTORS, SEPARABLE, TILE, VALID_EXTENTS, Matrix
from ncc.compiler.linalg.convolutions.forms import Form, Plane
from ncc.compiler.linalg.rewrite.insert import generic_of
from ncc.dialects.body import dim_of
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.weights.derived import Transformed
from ncc.dialects.weights.sources import Weights
from ncc.dialects.weights.weight import WeightAttr


class Depth(NamedTuple):
    """The windows along the depth of a volume: slice z of the result reads slices
    stride * z + dilation * d for d < taps. An image is one slice.
    """

    slices: int = 1
    taps: int = 1
    stride: int = 1
    dilation: int = 1

    @property
    def reach(self) -> int:
        """How many slices lie between the first and the last one read, with both."""
        return self.stride * (self.slices - 1) + self.dilation * (self.taps - 1) + 1


IMAGE = Depth()


class TransformConstants(NamedTuple):
    """The matrices of each axis, and the weights, as tensors.

    filter: the matrix by which the sum over channels transforms weights; None if they already are.
    """

    plane: Plane
    input: tuple[Tensor, ...]
    output: tuple[Tensor, ...]
    weights: Tensor
    filter: Tensor | None = None

    @staticmethod
    def of(b: Builder, plane: Plane, weights: Weights, formed: bool = False) -> TransformConstants:
        """For weights (outputs, inputs, r, r), (groups, outputs, inputs, r, r), or, for a volume,
        (outputs, inputs, depth, r, r).

        formed: whether the run transforms weights (outputs, inputs, r, r).
        """
        rows, columns = plane.forms

        def both(first: Matrix, second: Matrix) -> tuple[Tensor, Tensor]:
            table = b.table(np.array(first))
            return table, table if first is second else b.table(np.array(second))

        made = weights if formed else Transformed(weights, rows.filter, columns.filter).weights
        return TransformConstants(
            plane,
            both(rows.input, columns.input),
            both(rows.output, columns.output),
            b.weight(WeightAttr(made)),
            b.table(np.array(rows.filter)) if formed else None,
        )


def transformed(
    b: Builder,
    x: Tensor,
    constants: TransformConstants,
    grid: tuple[int, int],
    strip: tuple[int, int] | None = None,
) -> Tensor:
    """V of an image (inputs, height, width), or of each slice of a volume (inputs, depth, height,
    width). grid: rows and columns of tiles, which need not cover it. strip: the axis along which
    tiles run in strips, and the tiles of one strip.
    """
    rows, columns = grid
    plane = constants.plane
    (step, across), (down_phases, phases) = (
        [form.step for form in plane.forms],
        plane.dilations,
    )
    slices = "z" if x.rank == 4 else ""
    if plane.dilations == (1, 1):
        i, p, q, *z, t, u, k, m = b.loops(f"i p q {slices} t u k m", t=rows, u=columns)
        tiles = [t, u]
        data = x[(i, *z, t * step + k, u * across + m)]
    else:
        names = f"i p q {slices} t e u f k m"
        i, p, q, *z, t, e, u, f, k, m = b.loops(names, t=rows, e=down_phases, u=columns, f=phases)
        tiles = [t, e, u, f]
        row, column = t * step + k, u * across + m
        data = x[(i, *z, row * down_phases + e, column * phases + f)]
    first, second = constants.input[0][p, k], constants.input[1][q, m]
    v = b.sum((i, p, q, *z, *tiles), over=(k, m), of=first * (second * data))
    _mark(v, [form.input for form in plane.forms])
    if strip is not None:
        axis, size = strip
        TILE.put(generic_of(v), (dim_of((t, u)[axis]), size))
    return v if plane.dilations == (1, 1) else b.collapse(v, _phases(v.rank))


def _phases(rank: int) -> list[list[int]]:
    """The collapse of the last four axes: rows of tiles with their phases, then columns."""
    return [*([axis] for axis in range(rank - 4)), [rank - 4, rank - 3], [rank - 2, rank - 1]]


def tiled(
    b: Builder,
    v: Tensor,
    constants: TransformConstants,
    init: Tensor | float,
    keep: tuple[int, int],
    depth: Depth,
    factors: AnyFloat | None = None,
) -> Tensor:
    """The convolution in tiles, made of V.

    keep: rows and columns of the result that have readers, as many in each phase.
    depth: `IMAGE`, or that of a volume.
    factors: the type of products over channels (`LinalgOp.factors`); None leaves it open.
    The result is (outputs, rows, m, columns, m), with the outputs of all groups, or
    (outputs, slices, rows, m, columns, m). An axis for phases follows each m, if there are several.
    """
    plane, volume = constants.plane, v.rank > 5
    if constants.filter is not None:
        product = _formed(b, v, constants.weights, constants.filter)
        _mark(product, [form.filter for form in plane.forms])
    else:
        product = _summed(b, v, constants, depth if volume else None, factors)
    y = _transformed_back(b, product, constants, init)
    down, across = plane.dilations
    rows, columns = product.shape[-2] // down, product.shape[-1] // across
    if keep != (plane.spans[0] * rows, plane.spans[1] * columns):
        # The axes of y: outputs, slices, rows of tiles, in a tile, phases, columns in the same way.
        row = 2 if volume else 1
        column = row + (2 if plane.dilations == (1, 1) else 3)
        valid_extents = (row, row + 1, keep[0] // down), (column, column + 1, keep[1] // across)
        VALID_EXTENTS.put(generic_of(y), valid_extents)
    return y


def _transformed_back(
    b: Builder, product: Tensor, constants: TransformConstants, init: Tensor | float
) -> Tensor:
    """Y of M, plus the initial value of the convolution."""
    plane = constants.plane
    slices, apart = product.shape[3:-2], plane.dilations != (1, 1)
    rows, columns = (n // d for n, d in zip(product.shape[-2:], plane.dilations, strict=True))
    tile, wide = (form.tile for form in plane.forms)
    down, across = ([d] if apart else [] for d in plane.dilations)
    if apart:
        shape = (*product.shape[:-2], rows, *down, columns, *across)
        product = b.expand(product, _phases(len(shape)), shape)
    if isinstance(init, Tensor):
        place = (rows, tile, *down, columns, wide, *across)
        init = b.spread(init, (product.shape[0], *slices, *place), axis=0)
    e, f = ("e", "f") if apart else ("", "")
    names = f"o {'z' if slices else ''} t r {e} u s {f} p q".split()
    loops = dict(zip(names, b.loops(" ".join(names)), strict=True))
    rows_of, columns_of = constants.output
    first, second = rows_of[loops["r"], loops["p"]], columns_of[loops["s"], loops["q"]]
    read = product[tuple(loops[name] for name in "opqzteuf" if name in loops)]
    over = (loops["p"], loops["q"])
    y = b.sum([loops[name] for name in names[:-2]], over, first * (second * read), init)
    _mark(y, [form.output for form in plane.forms])
    return y


def _formed(b: Builder, v: Tensor, weights: Tensor, matrix: Tensor) -> Tensor:
    """M, with weights that the sum transforms, for an image or one slice of a volume."""
    o, p, q, *z, t, u, i, k, m = b.loops(f"o p q {'z' if v.rank > 5 else ''} t u i k m")
    weight = matrix[p, k] * (matrix[q, m] * weights[o, i, k, m])
    return b.sum((o, p, q, *z, t, u), (i, k, m), weight * v[(i, p, q, *z, t, u)])


def _summed(
    b: Builder,
    v: Tensor,
    constants: TransformConstants,
    depth: Depth | None,
    factors: AnyFloat | None,
) -> Tensor:
    """M for all groups, or for the slices of a volume; sums over parts of a window, too."""
    plane, weights = constants.plane, constants.weights
    grouped = depth is None and weights.rank > 4
    (window, wide), (rows, columns) = (
        [form.window for form in plane.forms],
        [
            tiles - (form.parts - 1) * phases
            for tiles, form, phases in zip(v.shape[-2:], plane.forms, plane.dilations, strict=True)
        ],
    )
    sizes = {"p": window, "q": wide, "t": rows, "u": columns}
    sizes |= {"z": depth.slices, "d": depth.taps} if depth else {}
    sizes |= {"n": plane.parts} if plane.parts > 1 else {}
    slices, taps, parts = "z" if depth else "", "d" if depth else "", "n" * (plane.parts > 1)
    letters = f"{'g' if grouped else ''} o p q {slices} t u i {taps} {parts}".split()
    at = dict(zip(letters, b.loops(" ".join(letters), **sizes), strict=True))

    def in_part(loop: str, form: Form, step: int) -> AffineExpr:
        return at["n"] * step + at[loop] if form.parts > 1 else at[loop]

    component = [in_part(*axis, axis[1].window) for axis in zip("pq", plane.forms, strict=True)]
    tile = [in_part(*axis) for axis in zip("tu", plane.forms, plane.dilations, strict=True)]
    output = [at[name] for name in "go" if name in at]
    read = output[0] * weights.shape[-1] + at["i"] if grouped else at["i"]
    place = [at["z"] * depth.stride + at["d"] * depth.dilation] if depth else []
    terms = (
        v[(read, at["p"], at["q"], *place, *tile)]
        * weights[(*component, *output, at["i"], *([at["d"]] if depth else []))]
    )
    result = [at[name] for name in "gopqztu" if name in at]
    product = b.sum(result, [at[name] for name in "idn" if name in at], terms)
    if factors is not None:
        FACTORS.put(generic_of(product), factors)
    return b.collapse(product, [[0, 1], [2], [3], [4], [5]]) if grouped else product


def _mark(result: Tensor, matrices: Sequence[Matrix]) -> None:
    """Mark a result as a transform by these matrices, of rows and of columns."""
    rows, columns = matrices
    SEPARABLE.put(generic_of(result), (rows, columns))
