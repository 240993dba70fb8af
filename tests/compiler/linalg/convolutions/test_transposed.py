"""Phases of transposed convolutions: the taps of each phase, and the window of all."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial

import numpy as np
import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir.affine import AffineExpr

from ncc.compiler.linalg.analysis.generics import network_of
from ncc.compiler.linalg.convolutions.join_phases import JoinPhases
from ncc.compiler.linalg.convolutions.transposed import Axis, Walk
from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.scalar import maximum
from tests.compiler.linalg.convolutions.layers import weights
from tests.compiler.linalg.operations import add, relu
from tests.compiler.linalg.same_numbers import marked
from tests.structured.evaluate import evaluate

Phase = Callable[[Builder, Tensor, Tensor, Tensor | float], Tensor]
"""What sums a phase of x by weights, on top of others."""

EVEN, ODD = Walk(2, 0, {-1: 3, 0: 1}), Walk(2, 1, {0: 2, 1: 0})
"""Four taps at a stride of 2, one element cropped."""


def test_a_cell_in_front_moves_every_phase() -> None:
    """The first becomes the second, and the last begins an element of the image later."""
    assert EVEN.shifted(1) == Walk(2, 1, EVEN.taps)
    assert ODD.shifted(1) == Walk(2, 0, {-1: 2, 0: 0})
    assert ODD.shifted(2) == Walk(2, 1, {-1: 2, 0: 0})


def test_as_many_cells_are_in_front_as_make_the_window_narrow() -> None:
    """Two taps of each phase meet in a window of two, not of three."""
    axis = Axis.of([EVEN, ODD])
    assert axis == Axis(before=1, first=-1, taps=((2, 0), (3, 1)))
    assert (axis.stride, axis.window) == (2, 2)
    assert [axis.elements(extent) for extent in (7, 8)] == [4, 5]


def test_a_phase_without_a_tap_has_none_in_the_window() -> None:
    """Three taps at a stride of 2; elements that no tap meets are a phase, too."""
    axis = Axis.of([Walk(2, 0, {0: 1}), Walk(2, 1, {0: 2, 1: 0})])
    assert axis.taps == ((1, -1), (2, 0))
    assert Axis.of([Walk(3, 0, {0: 0}), Walk(3, 1, {0: 1})]).taps == ((0,), (1,), (-1,))


def test_a_phase_by_itself_has_none_in_front() -> None:
    """Its own taps, and zeros between them."""
    assert Axis.of_phase(EVEN) == Axis(before=0, first=-1, taps=((3, 1),))
    assert Axis.of_phase(Walk(2, 1, {0: 2, 2: 0})).taps == ((2, -1, 0),)


def test_cells_that_see_one_cell_are_phases() -> None:
    """The first of four taps is cropped; elements beyond them see nothing."""
    axis = Axis.of_one_element([EVEN, ODD], at=0, extent=4)
    assert axis == Axis(before=0, first=0, taps=((1,), (2,), (3,), (-1,)))
    assert (axis.stride, axis.window, axis.elements(4)) == (4, 1, 1)


def test_reversed() -> None:
    """Later elements by earlier taps, as in transposed convolutions and in no other."""
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
    first: tuple[int, int] = (0, 0),
) -> Phase:
    """Every other row and column from that one on, by two taps along each axis."""

    def write(b: Builder, x: Tensor, w: Tensor, y: Tensor | float) -> Tensor:
        loops = f"o:2 p:{cells[0]} q:{cells[1]} i:{x.shape[0]} u:2 v:2"
        o, p, q, i, u, v = b.loops(loops)
        at = (o, p * stride[0] + row, q * stride[1] + column)
        places = (tap * -2 + 2 + n % 2 for tap, n in zip(taps(u, v), (row, column), strict=True))
        return b.sum(
            at, (i, u, v), x[i, p + u + first[0], q + v + first[1]] * w[(o, i, *places)], y
        )

    return write


def joined(
    make_network: Callable[..., ModuleOp],
    phases: Sequence[Phase],
    follow: Callable[..., Tensor] = lambda _, y: y,
    *,
    shape: Sequence[int] = (16, 9, 9),
    image: Callable[[Builder, Tensor], Tensor] = lambda _, x: x,
    taps: Callable[[Builder], Tensor] = lambda b: weights(b, (2, 16, 4, 4)),
) -> bool:
    """Whether phases of 12 x 12 elements become one convolution, of the same numbers."""

    def write(b: Builder, x: Tensor) -> Tensor:
        x, w = image(b, x), taps(b)
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
        [*ALL[:3], phase(1, 1, first=(1, 1))],
        [*ALL[:3], phase(1, 1, cells=(5, 6))],
        [*ALL[:3], phase(1, 1, cells=(6, 5))],
        [phase(row + 2, column, cells=(5, 6)) for row, column in PLACES],
        [*ALL[:3], phase(1, 1, stride=(3, 2), cells=(4, 6))],
        [*ALL[:2], *(phase(1, column, stride=(3, 2), cells=(4, 6)) for column in (0, 1))],
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
        "rows of two distances",
        "turned windows",
    ],
)
def test_other_sums(make_network: Callable[..., ModuleOp], phases: Sequence[Phase]) -> None:
    """Sums of which no axis tells the taps stay as they are."""
    assert not joined(make_network, phases)


def tap(cell: AffineExpr, place: int) -> AffineExpr:
    return cell * -2 + 2 + place


def differences(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    o, p, q, i, u, v = b.loops("o:2 p:6 q:6 i u:2 v:2")
    of = x[i, p + u, q + v] - w[o, i, tap(u, row), tap(v, column)]
    return b.sum((o, p * 2 + row, q * 2 + column), (i, u, v), of, y)


def by_turned_weights(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    o, p, q, i, u, v = b.loops("o:2 p:6 q:6 i u:2 v:2")
    of = x[i, p + u, q + v] * w[i, o, tap(u, row), tap(v, column)]
    return b.sum((o, p * 2 + row, q * 2 + column), (i, u, v), of, y)


def by_a_diagonal(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    o, p, q, u, v = b.loops("o:2 p:6 q:6 u:2 v:2")
    of = x[o, p + u, q + v] * w[o, o, tap(u, row), tap(v, column)]
    return b.sum((o, p * 2 + row, q * 2 + column), (u, v), of, y)


def of_a_diagonal(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    o, p, q, i, u = b.loops("o:2 p:6 q:6 i u:2")
    of = x[i, p + u, q + u] * w[o, i, tap(u, row), tap(u, column)]
    return b.sum((o, p * 2 + row, q * 2 + column), (i, u), of, y)


def rows_of_two_loops(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    o, p, r, q, i, u, v = b.loops("o:2 p:3 r:2 q:6 i u:2 v:2")
    of = x[i, p * 2 + r + u, q + v] * w[o, i, tap(u, row), tap(v, column)]
    return b.sum((o, p * 4 + r * 2 + row, q * 2 + column), (i, u, v), of, y)


def skewed(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    """Each column reads other rows, by other taps."""
    o, p, q, i, v = b.loops("o:2 p:6 q:6 i v:2")
    of = x[i, p + q, q + v] * w[o, i, q, tap(v, column)]
    return b.sum((o, p * 2 + row, q * 2 + column), (i, v), of, y)


def taps_of_two_loops(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    """Some elements by two taps each."""
    o, p, q, i, t, u, v = b.loops("o:2 p:6 q:6 i t:2 u:2 v:2")
    of = x[i, p + t + u, q + v] * w[o, i, t * 2 + u, tap(v, column)]
    return b.sum((o, p * 2 + row, q * 2 + column), (i, t, u, v), of, y)


def the_second(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    o, p, q, i, u, v = b.loops("o:1 p:6 q:6 i u:2 v:2")
    of = x[i, p + u, q + v] * w[o + 1, i, tap(u, row), tap(v, column)]
    return b.sum((o + 1, p * 2 + row, q * 2 + column), (i, u, v), of, y)


def of_a_sequence(b: Builder, x: Tensor, w: Tensor, y: Tensor, row: int, column: int) -> Tensor:
    o, p, q, i, u = b.loops("o:2 p:6 q:6 i u:2")
    of = x[i, p + u] * w[o, i, tap(u, row), q]
    return b.sum((o, p * 2 + row, q * 2 + column), (i, u), of, y)


@pytest.mark.parametrize(
    ("write", "shape", "taps"),
    [
        (differences, (16, 9, 9), (2, 16, 4, 4)),
        (by_turned_weights, (2, 9, 9), (2, 2, 4, 4)),
        (by_a_diagonal, (2, 9, 9), (2, 2, 4, 4)),
        (of_a_diagonal, (16, 9, 9), (2, 16, 4, 4)),
        (rows_of_two_loops, (16, 9, 9), (2, 16, 4, 4)),
        (taps_of_two_loops, (16, 9, 9), (2, 16, 4, 4)),
        (skewed, (16, 12, 12), (2, 16, 6, 4)),
        (the_second, (16, 9, 9), (2, 16, 4, 4)),
        (of_a_sequence, (16, 9), (2, 16, 4, 6)),
    ],
)
def test_no_windows(
    make_network: Callable[..., ModuleOp],
    write: Callable[..., Tensor],
    shape: Sequence[int],
    taps: Sequence[int],
) -> None:
    """Sums stay unless they are over windows of an image, with another tap for each element."""
    phases = [partial(write, row=row, column=column) for row, column in PLACES]
    assert not joined(make_network, phases, shape=shape, taps=lambda b: weights(b, taps))


@pytest.mark.parametrize("first", [(9, 0), (0, 9)])
def test_windows_of_a_border(make_network: Callable[..., ModuleOp], first: tuple[int, int]) -> None:
    """Of what sees nothing of the image along an axis there is no window to read."""
    phases = [phase(*place, first=first) for place in PLACES]
    assert not joined(make_network, phases, image=lambda b, x: b.pad(x, [0, 0, 0], [0, 9, 9]))


@pytest.mark.parametrize("first", [(1, 2), (2, 0)])
@pytest.mark.parametrize("border", [(0, 0), (1, 0), (0, 3), (2, 1)])
def test_windows_that_begin_elsewhere(
    make_network: Callable[..., ModuleOp], first: tuple[int, int], border: tuple[int, int]
) -> None:
    """Within the image, or in the border around it."""
    phases = [phase(*place, first=first) for place in PLACES]
    sides = [0, *border]
    assert joined(make_network, phases, image=lambda b, x: b.pad(x, sides, sides))


def test_weights_of_the_run(make_network: Callable[..., ModuleOp]) -> None:
    """The packing of weights fixes their order, and nothing before it."""
    assert not joined(make_network, ALL, taps=lambda b: relu(b, weights(b, (2, 16, 4, 4))))


def test_marked_operations_stay(make_network: Callable[..., ModuleOp]) -> None:
    """What attributes say holds of one phase."""
    assert not joined(lambda *network: marked(make_network(*network)), ALL)


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


def by_channels(b: Builder, y: Tensor) -> Tensor:
    """Scaled channel by channel, and what that makes once more."""
    scales = weights(b, y.shape[:1], 2)
    for _ in range(2):
        o, p, q = b.loops_of(y.shape)
        y = b.map((o, p, q), y[o, p, q] * scales[o])
    return relu(b, y)


def by_scales_of_the_run(b: Builder, y: Tensor) -> Tensor:
    scales = relu(b, weights(b, y.shape[:1], 2))
    o, p, q = b.loops_of(y.shape)
    return b.map((o, p, q), y[o, p, q] * scales[o])


def by_one_number(b: Builder, y: Tensor) -> Tensor:
    number, at = weights(b, (1,), 2), b.loops_of(y.shape)
    return b.map(at, y[at] * number[0])


def by_every_other_number(b: Builder, y: Tensor) -> Tensor:
    numbers, (o, p, q) = weights(b, (3,), 2), b.loops_of(y.shape)
    return b.map((o, p, q), y[o, p, q] * numbers[o * 2])


@pytest.mark.parametrize(
    "follow",
    [
        lambda _, y: y,
        by_channels,
        by_scales_of_the_run,
        by_one_number,
        by_every_other_number,
        by_rows,
        residual,
        lambda b, y: relu(b, residual(b, by_channels(b, y))),
    ],
)
def test_what_follows(
    make_network: Callable[..., ModuleOp], follow: Callable[[Builder, Tensor], Tensor]
) -> None:
    """All phases are joined; what is not of a channel alone waits for them."""
    assert joined(make_network, ALL, follow)
