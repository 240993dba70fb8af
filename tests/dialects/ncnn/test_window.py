"""The arithmetic of sliding windows."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.window import (
    SAME_LOWER,
    SAME_UPPER,
    Adaptive,
    Window,
    convolution_pads,
    output_sizes,
    tap_places,
    windows_of,
)
from ncc.dialects.size import Size, assuming, form_of


@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
@pytest.mark.parametrize("size", [5, 6, 7])
def test_same_gives_a_window_every_stride(size: int, kernel: int, stride: int) -> None:
    """With either code the output is ceil(size / stride), and the halves differ by one at most."""
    window = Window(kernel, stride)
    for code in (SAME_UPPER, SAME_LOWER):
        before, behind = window.same(size, code)
        assert window.output(before + size + behind) == -(-size // stride)
        assert (behind - before if code == SAME_UPPER else before - behind) in (0, 1)


def test_a_tail_completes_the_last_window() -> None:
    """Cells are added until the last window is whole; none where it is."""
    assert [Window(3, 2).tail(n) for n in (3, 4, 5, 6)] == [0, 1, 0, 1]
    assert [Window(2, 3).tail(n) for n in (2, 3, 4, 5)] == [0, 2, 1, 0]


@pytest.mark.parametrize(
    ("window", "outputs"),
    [
        (Window(2, 2), [2, 1, 2, 2]),
        (Window(3, 2), [0, 2, 1, 2]),
        (Window(5, 2), [0, 1, 0, 2, 1, 2]),
        (Window(5, 3), [1, 0, 2, 2, 1, 2]),
        (Window(7, 3), [0, 1, 1, 0, 2, 2, 1, 2]),
        (Window(3, 1), [0, 0, 1, 2]),
    ],
)
def test_a_window_that_is_larger_than_all_may_have_a_tail(
    window: Window, outputs: list[int]
) -> None:
    """How many windows ncnn has for 1, 2, 3 .. elements; it refuses where there is none."""
    for size, count in enumerate(outputs, 1):
        assert max(0, window.output(size + window.tail(size))) == count, size


@pytest.mark.parametrize("window", [Window(3, 2), Window(5, 3), Window(7, 3), Window(2, 5)])
@pytest.mark.parametrize("hint", [1, 2, 3, 50])
def test_a_tail_of_an_open_extent_is_right_for_every_number(window: Window, hint: int) -> None:
    """For those that meet what was assumed, which is no more than that a window fits."""
    with assuming() as assumed:
        tail = form_of(window.tail(Size.symbol("h", hint)))
    met = [n for n in range(1, 60) if all(one.holds(one.form.value({"h": n})) for one in assumed)]
    assert all(tail.value({"h": n}) == window.tail(n) for n in met)
    assert hint < 50 or len(met) >= 60 - window.kernel


def test_pads_are_explicit_or_a_code_or_none() -> None:
    """A code holds only where all pads are that code; one positive pad makes all explicit."""
    windows, sizes = [Window(3), Window(3)], [4, 4]
    assert convolution_pads([(0, 1), (0, 0)], windows, sizes) == [(0, 1), (0, 0)]
    assert convolution_pads([(-233, -233)] * 2, windows, sizes) == [(1, 1), (1, 1)]
    assert convolution_pads([(-233, -233), (0, 0)], windows, sizes) == [(0, 0), (0, 0)]


def test_windows_are_views_with_stride_and_dilation() -> None:
    """Every other cell, in windows that start two apart."""
    windows = windows_of(np.arange(7), [Window(2, 2, 2)])
    assert windows.tolist() == [[0, 2], [2, 4], [4, 6]]
    with pytest.raises(LayerError, match="a kernel of 3 does not fit into 2"):
        output_sizes([Window(2, 1, 2)], [2], "kernel")


def test_adaptive_parts_cover_everything() -> None:
    """Parts overlap where the sizes do not divide; the shares of each add up to one."""
    parts = Adaptive(5, 3)
    assert list(zip(*parts.bounds, strict=True)) == [(0, 2), (1, 4), (3, 5)]
    assert parts.elements().tolist() == [[0, 1, 1], [1, 2, 3], [3, 4, 4]]
    np.testing.assert_allclose(parts.shares().sum(1), 1, rtol=1e-6)
    assert parts.regular is None
    assert Adaptive(6, 3).regular == Window(2, 2)
    assert Adaptive(2, 5).elements().tolist() == [[0, 0], [0, 0], [0, 1], [1, 1], [1, 1]]


def test_places_of_a_tap() -> None:
    """The cells that a tap of all windows falls on are those that the windows show there."""
    x, windows = np.arange(60).reshape(6, 10), [Window(2, 3, 2), Window(3, 2, 1)]
    view = windows_of(x, windows)
    for tap in ((0, 0), (1, 2), (0, 1)):
        np.testing.assert_array_equal(x[tap_places(tap, windows, view.shape[:2])], view[..., *tap])
