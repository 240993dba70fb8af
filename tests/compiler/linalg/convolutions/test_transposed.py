"""Phases of transposed convolutions: which taps meet the cells of each, in which window."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr

from ncc.compiler.linalg.convolutions.join_phases import JoinPhases
from ncc.compiler.linalg.convolutions.transposed import Axis, Walk
from ncc.compiler.linalg.network import network_of
from ncc.dialects.comprehension import Builder, Tensor
from ncc.dialects.scalar import maximum
from tests.compiler.linalg.computations import add
from tests.compiler.linalg.convolutions.layers import weights
from tests.structured.evaluate import evaluate

Phase = Callable[[Builder, Tensor, Tensor, Tensor | float], Tensor]
"""What sums a phase of x by weights, on top of others."""

EVEN, ODD = Walk(2, 0, {-1: 3, 0: 1}), Walk(2, 1, {0: 2, 1: 0})
"""Four taps at a stride of 2, one cell cropped."""


def test_a_cell_in_front_moves_every_phase() -> None:
    """The first becomes the second, and the last begins a cell of the image later."""
    assert EVEN.behind(1) == Walk(2, 1, EVEN.taps)
    assert ODD.behind(1) == Walk(2, 0, {-1: 2, 0: 0})
    assert ODD.behind(2) == Walk(2, 1, {-1: 2, 0: 0})


def test_as_many_cells_are_in_front_as_make_the_window_narrow() -> None:
    """Two taps of each phase meet in a window of two, not of three."""
    axis = Axis.of([EVEN, ODD])
    assert axis == Axis(before=1, first=-1, places=((2, 0), (3, 1)))
    assert (axis.stride, axis.window) == (2, 2)
    assert [axis.cells(extent) for extent in (7, 8)] == [4, 5]


def test_a_phase_without_a_tap_has_none_in_the_window() -> None:
    """Three taps at a stride of 2; cells that no tap meets are a phase, too."""
    axis = Axis.of([Walk(2, 0, {0: 1}), Walk(2, 1, {0: 2, 1: 0})])
    assert axis.places == ((1, -1), (2, 0))
    assert Axis.of([Walk(3, 0, {0: 0}), Walk(3, 1, {0: 1})]).places == ((0,), (1,), (-1,))


def test_a_phase_by_itself_has_none_in_front() -> None:
    """Its own taps, and zeros between them."""
    assert Axis.of_phase(EVEN) == Axis(before=0, first=-1, places=((3, 1),))
    assert Axis.of_phase(Walk(2, 1, {0: 2, 2: 0})).places == ((2, -1, 0),)


def test_cells_that_see_one_cell_are_phases() -> None:
    """Of four taps around it the first is cropped; cells beyond them see nothing."""
    axis = Axis.of_one_cell([EVEN, ODD], at=0, extent=4)
    assert axis == Axis(before=0, first=0, places=((1,), (2,), (3,), (-1,)))
    assert (axis.stride, axis.window, axis.cells(4)) == (4, 1, 1)


def test_reversed() -> None:
    """Later cells by earlier taps, as a transposed convolution has them and another one has not."""
    assert EVEN.is_reversed and ODD.is_reversed
    assert not Walk(1, 0, {-1: 0, 0: 1, 1: 2}).is_reversed
    assert not Walk(1, 0, {0: 0}).is_reversed


PLACES = [(0, 0), (0, 1), (1, 0), (1, 1)]
"""The phases of a stride of 2."""


def phase(
    row: int,
    column: int,
    *,
    stride: tuple[int, int] = (2, 2),
    cells: tuple[int, int] = (6, 6),
    taps: Callable[[AffineExpr, AffineExpr], Sequence[AffineExpr]] = lambda u, v: (u, v),
    first: int = 0,
) -> Phase:
    """Every other row and column from that one on, by two taps along each axis."""

    def write(b: Builder, x: Tensor, w: Tensor, y: Tensor | float) -> Tensor:
        loops = f"o:2 p:{cells[0]} q:{cells[1]} i:{x.shape[0]} u:2 v:2"
        o, p, q, i, u, v = b.loops(loops)
        at = (o, p * stride[0] + row, q * stride[1] + column)
        places = taps(u * -2 + 2 + row % 2, v * -2 + 2 + column % 2)
        return b.sum(at, (i, u, v), x[i, p + u + first, q + v + first] * w[(o, i, *places)], y)

    return write


def joined(
    make_network: Callable[..., ModuleOp], phases: Sequence[Phase], follow: Callable[..., Tensor]
) -> bool:
    """Whether phases of 12 x 12 cells become one convolution, of the same numbers."""
    shape = (16, 9, 9)

    def write(b: Builder, x: Tensor) -> Tensor:
        w = weights(b, (2, 16, 4, 4))
        bias = b.spread(weights(b, (2,), 1), (2, 12, 12), axis=0)
        y: Tensor = bias
        for each in phases:
            y = each(b, x, w, y)
        return follow(b, y)

    module = make_network([shape], write)
    before, array = str(module), np.random.default_rng(1).standard_normal(shape)
    x = [array.astype(np.float32)]
    (want,) = evaluate(network_of(module), x, dtype=np.float64)
    JoinPhases().apply(Context(), module)
    module.verify()
    (got,) = evaluate(network_of(module), x, dtype=np.float64)
    np.testing.assert_allclose(got, want, rtol=0, atol=1e-12)
    return str(module) != before


ALL = [phase(*place) for place in PLACES]


@pytest.mark.parametrize(
    "phases",
    [
        [phase(0, 0), phase(1, 1)],
        ALL[:3],
        [*ALL, phase(1, 1)],
        [*ALL[:3], phase(1, 1, first=1)],
        [*ALL[:3], phase(1, 1, cells=(5, 6))],
        [*ALL[:3], phase(1, 1, cells=(6, 5))],
        [phase(row + 2, column, cells=(5, 6)) for row, column in PLACES],
        [*ALL[:3], phase(1, 1, stride=(3, 2), cells=(4, 6))],
        [phase(*place, taps=lambda u, v: (v, u)) for place in PLACES],
    ],
    ids=[
        "on a diagonal",
        "one missing",
        "one twice",
        "one elsewhere",
        "not the last row",
        "not the last column",
        "not the first row",
        "other distances",
        "turned windows",
    ],
)
def test_other_sums(make_network: Callable[..., ModuleOp], phases: Sequence[Phase]) -> None:
    """Sums of which no axis tells the taps stay as they are."""
    assert not joined(make_network, phases, lambda _, y: y)


def by_rows(b: Builder, y: Tensor) -> Tensor:
    """Scaled row by row."""
    scales = weights(b, y.shape[1:2], 2)
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), y[o, p, q] * scales[p])


def residual(b: Builder, y: Tensor) -> Tensor:
    """Added to what the run makes."""
    at = b.loops_of(y.shape)
    other = b.map(at, maximum(weights(b, y.shape, 2)[at], 0.0))
    return add(b, y, other)


@pytest.mark.parametrize("follow", [lambda _, y: y, by_rows, residual])
def test_what_follows(
    make_network: Callable[..., ModuleOp], follow: Callable[[Builder, Tensor], Tensor]
) -> None:
    """All phases are joined; what is not of a channel alone waits for them."""
    assert joined(make_network, ALL, follow)
