"""Estimates of reciprocals: how far off, and for which numbers."""

from __future__ import annotations

import numpy as np

from ncc.dialects.ncnn.reciprocal import estimated_reciprocal, refined_reciprocal


def test_an_interval_has_one_estimate() -> None:
    """That of its middle, of 2048 between 1 and 2; other powers of two have the same."""
    ends = np.array([1, 1 + 1 / 2049, 1 + 1 / 2048], np.float32)
    first, second, next = estimated_reciprocal(ends)
    assert first == second == np.float32(1 - 2.0**-12) > next
    assert (estimated_reciprocal(ends * -8) * -8).tolist() == [first, second, next]


def test_estimates_have_eleven_bits() -> None:
    """Over one interval between powers of two."""
    x = np.linspace(1, 2, 100_001, dtype=np.float32)
    off = np.abs(estimated_reciprocal(x).astype(np.float64) * x - 1)
    assert 1 / 3400 < off.max() < 1 / 3300


def test_numbers_without_a_reciprocal() -> None:
    """Numbers too small for a normal float32 are zero; so are reciprocals."""
    x = np.array([0, -0.0, 1e-39, -np.inf, np.inf, 2e38, np.nan], np.float32)
    found = estimated_reciprocal(x)
    np.testing.assert_array_equal(found, [np.inf, -np.inf, np.inf, -0.0, 0, 0, np.nan])
    assert np.signbit(found[3])


def test_a_step_refines() -> None:
    """To the largest float32 below, of small whole numbers; 23 and 27 have the nearest one."""
    x = np.arange(1, 31, dtype=np.float32)
    exact = 1 / x.astype(np.float64)
    below = exact.astype(np.float32)
    below = np.where(below >= exact, np.nextafter(below, np.float32(0)), below)
    found = refined_reciprocal(x)
    assert x[found != below].tolist() == [23, 27]
    np.testing.assert_array_equal(found[[22, 26]], exact[[22, 26]].astype(np.float32))
