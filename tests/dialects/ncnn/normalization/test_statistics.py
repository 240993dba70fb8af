"""Mean and variance of a region, and what is normalized by them."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.dialects.ncnn.normalization.statistics import normalized_array


@pytest.mark.parametrize("region", [(0,), (2,), (1, 2), (0, 1, 2)])
def test_what_is_normalized_has_mean_0_and_variance_1(region: tuple[int, ...]) -> None:
    """Over the axes of the region, any of them."""
    x = np.random.default_rng(0).normal(3, 2, (4, 5, 6)).astype(np.float32)
    y = normalized_array(x, region, 0.0)
    assert y.mean(region) == pytest.approx(0, abs=1e-6)
    assert y.var(region) == pytest.approx(1, abs=1e-5)


def test_eps_is_added_to_the_variance() -> None:
    """So that a region of equal values is 0."""
    assert normalized_array(np.full((2, 3), 7, np.float32), (1,), 1e-3).tolist() == [[0] * 3] * 2
    x = np.array([-1, 1], np.float32)
    assert normalized_array(x, (0,), 3.0) == pytest.approx(x / 2)
