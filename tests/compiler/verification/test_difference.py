"""How far blobs are apart: the largest difference, and slices against a noise."""

from __future__ import annotations

from typing import Any

import numpy as np

from ncc.compiler.verification.difference import (
    FEW,
    OF_ALL,
    Comparison,
    difference,
    difference_to_wheel,
)


def array(*values: float) -> Any:
    return np.array(values, np.float32)


def test_the_difference_is_a_part_of_the_largest_value() -> None:
    """0.5 where the largest is 4: an eighth."""
    assert difference(array(1, 4.5), array(1, -4)) == 8.5 / 4
    assert difference(array(1.5, 4), array(1, 4)) == 0.125
    assert difference(array(), array()) == 0
    assert difference(array(0.25), array(0)) == 0.25


def test_large_blobs_are_compared_to_their_end() -> None:
    """The last of three million elements counts as the first does."""
    wanted = np.zeros((3, 1 << 20), np.float32)
    wanted[0, 0] = 4
    found = wanted.copy()
    found[2, -1] = 1
    assert difference(found, wanted) == 0.25
    found[2, -1] = np.nan
    assert difference(found, wanted) == np.inf


def test_denormal_numbers_are_zeros() -> None:
    """As they are where networks run: nothing but these is no other result than nothing."""
    least = float(np.finfo(np.float32).smallest_normal)
    assert difference(array(0, 0), array(least / 3, 0)) == 0
    assert difference(array(least / 2), array(-least / 2)) == 0
    assert difference(array(0), array(least)) == 1
    assert difference(array(least / 3, 1), array(0, 1)) == 0


def test_a_few_int8_may_be_one_off() -> None:
    """And what is more counts, from there on."""
    wanted = np.array([100, -50], np.int8)
    off = [difference(wanted + np.array([n, 0], np.int8), wanted) for n in (0, 1, -1, 2, 3)]
    assert off == [0, 0, 0, 0.01, 0.02]
    assert difference(wanted + np.int8(1), wanted) == 0.01


def test_the_wheel_takes_all_bits_for_those_of_floats() -> None:
    """It has no integers but those of 8 bits: what is computed tells how to read them."""
    words, bits = np.array([3, -1], np.int32), np.array([16256, 49024], np.uint16)
    assert difference_to_wheel(words, words.view(np.float32)) == 0
    assert difference_to_wheel(bits, bits.view(np.float16)) == 0
    assert difference_to_wheel(words.astype(np.int8), words.astype(np.float32)) == 0


def test_what_is_not_finite_must_be_the_same() -> None:
    """The same infinity or not a number in the same place is no difference."""
    odd = array(1, np.inf, -np.inf, np.nan)
    assert difference(odd, odd) == 0
    for wrong in (array(1, -np.inf, -np.inf, np.nan), array(1, np.inf, -np.inf, 0), array(1)):
        assert difference(wrong, odd) == np.inf
        assert difference(odd, wrong) == np.inf


def compared(found: Any, exact: Any, *samples: Any) -> Any:
    comparison = Comparison(found, exact)
    for sample in samples:
        comparison.add(sample)
    return comparison.result


def test_a_slice_is_held_against_its_own_noise() -> None:
    """A channel that is off by as much as another one may be off is wrong."""
    exact = np.ones((2, 100, 100))
    sample = exact.copy()
    sample[0] += 1e-3
    sample[1] += 1e-6
    as_noisy = compared((exact + 1e-6).astype(np.float32), exact, sample)
    assert as_noisy.times < 1
    wrong = exact.copy()
    wrong[1] += 1e-3
    apart = compared(wrong.astype(np.float32), exact, sample)
    whole = OF_ALL * (1e-3**2 / 2) ** 0.5
    assert np.isclose(apart.times, 1e-3 / (1e-6 + whole) / (1 + FEW / 100), rtol=1e-2)
    assert np.isclose(apart.error, 1e-3, rtol=1e-2) and np.isclose(apart.noise, 1e-3, rtol=1e-2)


def test_single_elements_may_lie_far_from_their_mean_square() -> None:
    """As one draw does, where a slice of many hardly does."""
    vector = compared(array(1 + 3e-6, 1), np.ones(2), array(1 + 1e-6, 1 - 1e-6))
    row = compared(
        np.full((2, 10000), 1 + 3e-6, "f4"),
        np.ones((2, 10000)),
        np.full((2, 10000), 1 + 1e-6, "f4"),
    )
    assert vector.times < 1 < row.times


def test_samples_tell_more_together() -> None:
    """One that happens to hit says nothing."""
    exact = np.ones(1)
    assert compared(array(1 + 1e-6), exact, array(1)).times == np.inf
    assert compared(array(1 + 1e-6), exact, array(1), array(1 + 1e-6)).times < 1


def test_what_noise_has_not_is_a_difference() -> None:
    """Values that are only moved have no noise; none that is none either."""
    exact = np.arange(4.0)
    assert compared(exact.astype("f4"), exact, exact.astype("f4")).times == 0
    assert compared(exact[::-1].astype("f4"), exact, exact.astype("f4")).times == np.inf
    assert compared(exact[:3].astype("f4"), exact, exact.astype("f4")).times == np.inf


def test_float32_decides_what_is_not_finite() -> None:
    """An exact value may be beyond it; elsewhere an infinity or NaN is infinitely wrong."""
    exact = np.array([1e40, 1.0])
    assert compared(array(np.inf, 1), exact, array(np.inf, 1)).error == 0
    assert compared(array(3e38, 1), exact, array(np.inf, 1)).error == np.inf
    for wrong in (np.inf, np.nan):
        apart = compared(array(wrong, 1), np.ones(2), array(1 + 1e-6, 1 - 1e-6))
        assert apart.error == apart.times == np.inf


def test_nothing_is_right() -> None:
    """No rows that were found."""
    assert compared(np.zeros((0, 6), "f4"), np.zeros((0, 6)), np.zeros((0, 6), "f4")).error == 0
