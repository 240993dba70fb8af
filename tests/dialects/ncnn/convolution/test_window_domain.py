"""Phases of a transposed convolution along one axis."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.dialects.ncnn.convolution.window_domain import crossed, phases
from ncc.dialects.ncnn.window import Window


@pytest.mark.parametrize("before", [0, 1, 3])
@pytest.mark.parametrize("dilation", [1, 2, 3])
@pytest.mark.parametrize("stride", [1, 2, 3, 4])
@pytest.mark.parametrize("kernel", [1, 2, 3, 5])
def test_each_place_takes_the_taps_that_meet_it(
    kernel: int, stride: int, dilation: int, before: int
) -> None:
    """Place p - before of the result is the sum of x[q] * w[k] over q * stride + k * dilation = p.

    No phase reads outside of x with its padding, and no place is written twice.
    """
    window, size = Window(kernel, stride, dilation), 5
    full = (size - 1) * stride + window.extent
    out = full - before
    x, w = np.arange(1.0, size + 1), 10.0 ** np.arange(kernel)
    expected = np.zeros(full)
    for q in range(size):
        for k in range(kernel):
            expected[q * stride + k * dilation] += x[q] * w[k]
    low, high, sweeps = phases(window, size, out, before)
    wide = np.pad(x, (low, high))
    found, written = np.zeros(out), np.zeros(out, int)
    for s in sweeps:
        for y in range(s.count):
            at = y * s.out_step + s.out_start
            written[at] += 1
            for u in range(s.taps):
                place = y * s.x_step + u * s.x_tap + s.x_start
                assert 0 <= place < len(wide)
                found[at] += wide[place] * w[u * s.tap_step + s.tap_start]
    np.testing.assert_allclose(found, expected[before:])
    assert written.max() <= 1


def test_a_stride_beyond_the_taps_costs_nothing() -> None:
    """There are no more phases than taps."""
    _, _, sweeps = phases(Window(3, stride=2**31 - 1), 2, 2**31 + 2, before=1)
    assert [(s.out_start, s.count, s.taps) for s in sweeps] == [
        (0, 2, 1),
        (1, 2, 1),
        (2**31 - 2, 1, 1),
    ]


def test_phases_are_not_too_many() -> None:
    """Along one axis or several: each would be an operation. Taps that share one may be any."""
    with pytest.raises(NotImplementedError, match="1048576 phases of a result, at most 4096"):
        phases(Window(1 << 20, stride=1 << 20), 2, 1 << 21, before=0)
    _, _, [domain] = phases(Window(1 << 30), 2, 1 << 30, before=0)
    assert (domain.taps, domain.tap_start, domain.tap_step) == (1 << 30, (1 << 30) - 1, -1)
    _, _, sweeps = phases(Window(80, stride=80), 2, 160, before=0)
    assert len(list(crossed([sweeps[:40], sweeps]))) == 3200
    with pytest.raises(NotImplementedError, match="6400 phases"):
        crossed([sweeps, sweeps])
