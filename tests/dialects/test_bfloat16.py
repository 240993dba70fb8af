"""bfloat16 as the upper bits of float32."""

from __future__ import annotations

import numpy as np

from ncc.dialects.bfloat16 import bf16_pairs, from_bfloat16, to_bfloat16


def test_the_nearest() -> None:
    """Halves go to the even one, on both sides of zero, and across powers of two."""
    low, step = np.float32(1.0), np.float32(2.0**-7)
    above = np.array([low + step * n for n in (0.5, 0.51, 1.5, 255.9)], np.float32)
    for sign in (1, -1):
        found = from_bfloat16(to_bfloat16(sign * above))
        assert (sign * found).tolist() == [1.0, 1 + 2.0**-7, 1 + 2.0**-6, 3.0]


def test_what_is_no_number_stays_so() -> None:
    """Also a NaN whose upper bits alone are those of infinity."""
    odd = np.array([0x7F800001, 0xFFFFFFFF, 0x7F800000], np.uint32).view(np.float32)
    found = from_bfloat16(to_bfloat16(odd))
    assert np.isnan(found[:2]).all() and found[2] == np.inf


def test_halves_hold_sixteen_bits() -> None:
    """What is left beside both is at most 2 ** -17 of the value."""
    x = np.random.default_rng(0).standard_normal(1000).astype(np.float32)
    high, low = map(from_bfloat16, bf16_pairs(x))
    assert (abs(x - high - low) <= abs(x) * 2.0**-17).all()
    assert (abs(x - high) > abs(x) * 2.0**-10).any()
    (high, low) = map(from_bfloat16, bf16_pairs(np.array([np.inf, 3.4e38], np.float32)))
    assert (high == np.inf).all() and not low.any()
