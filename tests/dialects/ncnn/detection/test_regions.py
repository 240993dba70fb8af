"""Regions of a map pooled to one size: the references against ncnn, the statements against both."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import f32
from xdsl.dialects.test import TestOp as SourceOp

from ncc.compiler.verification import oracle
from ncc.dialects.ncnn.layer import LAYERS, LayerError

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]
Pool = Callable[..., Array]

TYPES = ("ROIPooling", "PSROIPooling", "ROIAlign")


@pytest.mark.layer("ROIPooling", "PSROIPooling")
def test_recorded(case: Any, check_layer: Check, pool: Pool) -> None:
    """Reference and compiled expansion pool as ncnn recorded, or as its release does.

    In ROIPooling it multiplies by an inexact reciprocal: bins of whole cells start a cell early.
    """
    if "wheel" in case.tags and not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    check_layer(case)
    found = pool(case.type, case.params, *case.inputs)
    np.testing.assert_allclose(found, case.expected[0], rtol=case.eps, atol=case.eps)


MAP = np.arange(20, dtype=np.float32).reshape(1, 4, 5)


@pytest.mark.parametrize("pooled", [2, 3, 4, 7, 14, 16])
def test_bins_of_roi_pooling_are_smaller_than_their_share(pooled: int, pool: Pool) -> None:
    """Of three cells to a bin: all bins but the first start with the cell before."""
    params = {"pooled_width": pooled, "pooled_height": 1}
    row = np.arange(3 * pooled, dtype=np.float32).reshape(1, 1, -1)
    region = [0, 0, 3 * pooled - 1, 0]
    starts = -pool("ROIPooling", params, -row, region)
    ends = pool("ROIPooling", params, row, region)
    assert starts.ravel().tolist() == [0, *range(2, 3 * pooled - 1, 3)]
    assert ends.ravel().tolist() == [*range(2, 3 * pooled, 3)]


def test_roi_pooling_takes_every_cell_that_a_bin_touches(pool: Pool) -> None:
    """Three cells in two bins: the middle one is in both. The last corner counts."""
    params = {"pooled_width": 2, "pooled_height": 2}
    assert pool("ROIPooling", params, MAP, [1, 1, 3, 3]).tolist() == [[[12, 13], [17, 18]]]
    assert pool("ROIPooling", params, -MAP, [1, 1, 3, 3]).tolist() == [[[-6, -7], [-11, -12]]]


def test_roi_pooling_rounds_halves_away_from_zero(pool: Pool) -> None:
    """0.5 is cell 1, 2.5 is cell 3; scaled first."""
    params = {"pooled_width": 1, "pooled_height": 1, "spatial_scale": 0.5}
    assert pool("ROIPooling", params, -MAP, [1, 1, 5, 5]).tolist() == [[[-6]]]
    assert pool("ROIPooling", params, MAP, [1, 1, 5, 5]).tolist() == [[[18]]]


@pytest.mark.parametrize("type", ["ROIPooling", "ROIAlign"])
def test_what_lies_outside_does_not_count(type: str, pool: Pool) -> None:
    """A bin outside of the map is 0."""
    params = {"pooled_width": 2, "pooled_height": 1}
    assert pool(type, params, MAP + 1, [-9, 0, -6, 3]).tolist() == [[[0, 0]]]
    assert pool(type, params, MAP + 1, [20, 0, 25, 3]).tolist() == [[[0, 0]]]


@pytest.mark.parametrize("type", TYPES)
@pytest.mark.parametrize("last", [np.inf, -np.inf, np.nan, 1e30])
def test_corners_that_are_no_numbers_read_no_memory_outside(
    type: str, last: float, pool: Pool
) -> None:
    """The result is one of finite values: it comes of the map, or is 0."""
    params = {"pooled_width": 1, "pooled_height": 1, "spatial_scale": 1.0}
    params |= {"output_dim": 1} if type == "PSROIPooling" else {}
    assert (np.abs(pool(type, params, MAP, [0, 0, last, 3])) <= 19).all()
    assert (np.abs(pool(type, params, MAP, [last, last, last, last])) <= 19).all()


def test_a_nan_is_the_largest_only_where_it_is_first(pool: Pool) -> None:
    """As std::max of the cells in turn."""
    params = {"pooled_width": 1, "pooled_height": 1}
    x = MAP.copy()
    x[0, 1, 1] = np.nan
    assert pool("ROIPooling", params, x, [0, 0, 2, 2]).tolist() == [[[12]]]
    assert np.isnan(pool("ROIPooling", params, x, [1, 1, 2, 2])).all()


def test_psroi_pooling_reads_channels_of_its_own_for_each_bin(pool: Pool) -> None:
    """Bin (i, j) of channel q averages channel (q * 2 + i) * 2 + j."""
    x = np.stack([MAP[0] + 100 * k for k in range(8)])
    params = {"pooled_width": 2, "pooled_height": 2, "spatial_scale": 1.0, "output_dim": 2}
    found = pool("PSROIPooling", params, x, [0, 0, 3, 3])
    first = [3.0, 105.0, 213.0, 315.0]
    assert found.reshape(2, -1).tolist() == [first, [n + 400 for n in first]]


def test_psroi_pooling_of_a_thin_region(pool: Pool) -> None:
    """A region from behind to before has a tenth of a cell, which touches one."""
    params = {"pooled_width": 1, "pooled_height": 1, "spatial_scale": 1.0, "output_dim": 1}
    assert pool("PSROIPooling", params, MAP, [2, 2, 0, 0]).tolist() == [[[12]]]


@pytest.mark.parametrize("type", TYPES)
def test_a_region_may_have_any_shape(type: str, check_layer: Check) -> None:
    """The first four values count: of a row of regions, and of a region a row."""
    params = {"pooled_width": 1, "pooled_height": 1, "spatial_scale": 1.0}
    params |= {"output_dim": 1} if type == "PSROIPooling" else {}
    region = np.array([1, 1, 2, 2], np.float32)
    more = np.stack([region, region * 0 + 3])
    expected = check_layer(type, params, [MAP, region])
    for held in (more, more[:, None], region[None, None], region.reshape(2, 2)):
        check_layer(type, params, [MAP, held], expected=expected)


@pytest.mark.parametrize("type", TYPES)
def test_no_region_is_the_one_at_the_origin(type: str, check_layer: Check) -> None:
    """What a Proposal without proposals leaves."""
    params = {"pooled_width": 1, "pooled_height": 1, "spatial_scale": 1.0}
    params |= {"output_dim": 1} if type == "PSROIPooling" else {}
    op = LAYERS[type].make(SourceOp(result_types=[f32, f32]).results, params)
    expected = op.reference_all([MAP, np.zeros(4, np.float32)])
    np.testing.assert_array_equal(op.reference_all([MAP, np.zeros((0, 1, 4))]), expected)


@pytest.mark.parametrize(
    ("type", "params", "shapes", "message"),
    [
        ("ROIPooling", {"pooled_width": 0}, [(1, 4, 5), (4,)], "pooled_width is 0"),
        ("ROIAlign", {"pooled_height": -1}, [(1, 4, 5), (4,)], "pooled_height is -1"),
        ("ROIAlign", {"version": 2}, [(1, 4, 5), (4,)], "version is 2"),
        ("ROIPooling", {}, [(4, 5), (4,)], "has 3 axes"),
        ("ROIPooling", {}, [(1, 4, 5), (3,)], "4 corners in a row"),
        ("ROIPooling", {}, [(1, 4, 5), (4, 1, 1)], "4 corners in a row"),
        ("PSROIPooling", {"output_dim": 2}, [(1, 4, 5), (4,)], "= 2"),
        ("PSROIPooling", {}, [(1, 4, 5), (4,)], "output_dim is 0"),
    ],
)
def test_refuses(
    type: str, params: dict[str, Any], shapes: Any, message: str, check_layer: Check
) -> None:
    """Bins of nothing, versions that are none, maps and regions that do not fit."""
    given = {"pooled_width": 1, "pooled_height": 1, **params}
    with pytest.raises(LayerError, match=message):
        check_layer(type, given, [np.zeros(shape, np.float32) for shape in shapes])
