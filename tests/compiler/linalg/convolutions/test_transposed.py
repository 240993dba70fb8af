"""Phases of transposed convolutions: which taps meet the cells of each, in which window."""

from __future__ import annotations

from ncc.compiler.linalg.convolutions.transposed import Axis, Walk

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


def test_reversed() -> None:
    """Later cells by earlier taps, as a transposed convolution has them and another one has not."""
    assert EVEN.is_reversed and ODD.is_reversed
    assert not Walk(1, 0, {-1: 0, 0: 1, 1: 2}).is_reversed
    assert not Walk(1, 0, {0: 0}).is_reversed
