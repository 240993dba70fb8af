"""Regions sampled between cells: the reference and the compiled statements against ncnn.

What all regions share is tested in `test_regions.py`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Pool = Callable[..., Array]

MAP = np.arange(20, dtype=np.float32).reshape(1, 4, 5)


@pytest.mark.layer("ROIAlign")
def test_recorded(case: Any, check_layer: Check, pool: Pool) -> None:
    """Reference and compiled expansion pool as ncnn recorded."""
    check_layer(case)
    found = pool(case.type, case.params, *case.inputs)
    np.testing.assert_allclose(found, case.outputs[0], rtol=case.eps, atol=case.eps)


def test_roi_align_interpolates(pool: Pool) -> None:
    """On a plane, the mean of a bin is the value at its middle."""
    plane = np.add.outer(np.arange(8.0) * 10, np.arange(8.0)).astype(np.float32)[None]
    for version in (0, 1):
        params = {"pooled_width": 2, "pooled_height": 1, "version": version, "sampling_ratio": 3}
        found = pool("ROIAlign", params, plane, [1, 2, 5, 4])
        np.testing.assert_allclose(found, [[[32, 34]]], rtol=1e-6)
        found = pool("ROIAlign", {**params, "aligned": 1}, plane, [1, 2, 5, 4])
        np.testing.assert_allclose(found, [[[26.5, 28.5]]], rtol=1e-6)


def test_roi_align_has_about_one_sample_a_cell(pool: Pool) -> None:
    """Without sampling_ratio, 2.5 cells have 3 samples; they all lie on a line."""
    steps = np.array([[[0, 0, 1, 0, 0, 0]]], np.float32)
    params = {"pooled_width": 1, "pooled_height": 1, "version": 1}
    at = (np.arange(3) + 0.5) * 2.5 / 3
    expected = np.interp(at, np.arange(6), steps[0, 0]).mean()
    np.testing.assert_allclose(
        pool("ROIAlign", params, steps, [0, 0, 2.5, 1]), [[[expected]]], rtol=1e-6
    )


def test_a_small_region_is_a_cell_unless_aligned(pool: Pool) -> None:
    """Corners in one point: one cell from there on; aligned, nothing."""
    params = {"pooled_width": 1, "pooled_height": 1, "version": 1}
    assert pool("ROIAlign", params, MAP, [1, 1, 1, 1]).tolist() == [[[9]]]
    assert pool("ROIAlign", {**params, "aligned": 1}, MAP, [1, 1, 1, 1]).tolist() == [[[0]]]


def test_samples_up_to_a_cell_outside_count(pool: Pool) -> None:
    """From -1 to the extent itself they have the value of the cell at the border."""
    params = {"pooled_width": 1, "pooled_height": 1, "version": 1, "sampling_ratio": 1}
    found = [pool("ROIAlign", params, MAP, [x - 1, 1, x + 1, 3])[0, 0, 0] for x in (-1, 5)]
    assert found == [10, 14]
    found = [pool("ROIAlign", params, MAP, [x - 1, 1, x + 1, 3])[0, 0, 0] for x in (-1.125, 5.125)]
    assert found == [0, 0]


def test_version_0_goes_on_in_the_next_row(pool: Pool) -> None:
    """A bin of 4 cells, cut to one: the only sample lies 2 cells on, behind the border."""
    params = {"pooled_width": 1, "pooled_height": 1, "sampling_ratio": 0}
    found = pool("ROIAlign", params, MAP, [4, 0, 8, 1])
    assert found.tolist() == [[[6 * 0.5 + 11 * 0.5]]]
