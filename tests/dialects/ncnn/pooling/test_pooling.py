"""Pooling: windows, tails, what a mean counts."""

from __future__ import annotations

from collections.abc import Callable
from math import isqrt
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Operation
from xdsl.utils.hints import isa

from ncc.compiler.linalg.analysis.linalg_op import shape_of
from ncc.dialects.ncnn.layer import LayerError
from ncc.dialects.ncnn.pooling import pooling
from tests.conftest import build_layer
from tests.dialects.ncnn.arrays import array, ramp

Check = Callable[..., Any]


@pytest.mark.layer("Pooling", "Pooling1D", "Pooling3D")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


X = ramp(1, 3, 3)
AVERAGE = {"pooling_type": 1, "kernel_w": 2, "stride_w": 2}


def test_full_mode_counts_the_partial_window(check_layer: Check) -> None:
    """In mode 0 a tail makes the last window whole; the largest ignores what it adds."""
    params = {"kernel_w": 2, "stride_w": 2}
    check_layer("Pooling", params, [X], expected=array([[4, 5], [7, 8]]))
    check_layer("Pooling", {**params, "pad_mode": 1}, [X], expected=array([[4]]))


def test_a_window_of_padding_only_has_the_lowest_number(check_layer: Check) -> None:
    """Outside stands -FLT_MAX, so that negative values are kept."""
    params = {"kernel_w": 1, "pad_left": 1, "pad_mode": 1}
    lowest = np.finfo(np.float32).min
    (expected,) = array([[lowest, lowest, lowest], [lowest, -5, lowest], [lowest, lowest, lowest]])
    check_layer("Pooling", params, [np.full((1, 1, 1), -5, np.float32)], expected=[expected])


def test_a_mean_counts_real_cells_or_the_window(check_layer: Check) -> None:
    """The divisor is the number of cells inside, or always that of the window."""
    inside = array([[2, 3.5], [6.5, 8]])
    check_layer("Pooling", AVERAGE, [X], expected=inside)
    window = array([[2, 7 / 4], [13 / 4, 2]])
    check_layer("Pooling", {**AVERAGE, "avgpool_count_include_pad": 1}, [X], expected=window)


def test_same_padding_counts_as_real(check_layer: Check) -> None:
    """In modes 2 and 3 the padding that SAME adds is counted in a mean."""
    upper = array([[2, 7 / 4], [13 / 4, 2]])
    lower = array([[0, 3 / 4], [9 / 4, 6]])
    check_layer("Pooling", {**AVERAGE, "pad_mode": 2}, [X], expected=upper)
    check_layer("Pooling", {**AVERAGE, "pad_mode": 3}, [X], expected=lower)


@pytest.mark.parametrize("pooling_type", [0, 1])
def test_same_padding_needs_no_pads(pooling_type: int, check_layer: Check) -> None:
    """Where the mode says SAME, files write -233 for pads."""
    params = {"pooling_type": pooling_type, "kernel_w": 2, "pad_mode": 2}
    [expected] = check_layer("Pooling", params, [X])
    check_layer("Pooling", {**params, "pad_left": -233}, [X], expected=[expected])


def test_a_mean_of_no_real_cell_is_nan(check_layer: Check) -> None:
    """A window in the padding divides zero by zero."""
    params = {"pooling_type": 1, "kernel_w": 1, "pad_left": 1, "pad_right": 0, "pad_top": 0}
    expected = array([[np.nan, 7.0]])
    check_layer("Pooling", {**params, "pad_mode": 1}, [np.full((1, 1, 1), 7.0)], expected=expected)


def test_means_of_no_real_cell_at_all_are_nan(
    check_layer: Check, expand: Callable[..., list[Operation]]
) -> None:
    """Where SAME adds cells, and nothing is left between what the pads say; no value of nothing is
    made of that.
    """
    pads = {"pad_left": 0, "pad_top": 0, "pad_bottom": 2}
    params = {"pooling_type": 1, "kernel_w": 2, "pad_mode": 3, **pads}
    check_layer("Pooling", params, [ramp(2, 1, 3)], expected=[np.full((2, 1, 3), np.nan)])
    results = [result for op in expand("Pooling", params, [(2, 1, 3)]) for result in op.results]
    assert all(0 not in shape_of(result) for result in results if isa(result.type, TensorType))


@pytest.mark.parametrize(
    "params", [{"kernel_w": 2}, {"global_pooling": 1}, {"adaptive_pooling": 1, "out_w": 1}]
)
def test_the_largest_of_a_window_is_a_number(params: dict[str, int], check_layer: Check) -> None:
    """NaN counts for nothing."""
    x = np.array([[[np.nan, -2], [-3, -np.inf]], [[4, np.nan], [np.nan, 5]]], np.float32)
    [found] = check_layer("Pooling", params, [x])
    assert found.reshape(-1).tolist() == [-2.0, 5.0]


@pytest.mark.parametrize(("kind", "expected"), [(0, [8.0]), (1, [4.0])])
def test_global_pooling_makes_a_vector(
    kind: int, expected: list[float], check_layer: Check
) -> None:
    """The space of each channel becomes one value."""
    params = {"pooling_type": kind, "global_pooling": 1}
    check_layer("Pooling", params, [X], expected=[np.array(expected, np.float32)])


@pytest.mark.parametrize("kind", [0, 1])
@pytest.mark.parametrize("size", [(1, 1), (2, 4), (5, 6), (3, -233), (7, 9)])
def test_adaptive_pooling_divides_any_size(
    kind: int, size: tuple[int, int], check_layer: Check
) -> None:
    """Parts that are equal, that overlap, and that are smaller than a cell; -233 keeps."""
    params = {"pooling_type": kind, "adaptive_pooling": 1, "out_h": size[0], "out_w": size[1]}
    check_layer("Pooling", params, [ramp(2, 5, 6)])


def test_parts_of_unequal_length_keep_infinities(check_layer: Check) -> None:
    """A short part's last cell, which stands in for those it lacks, counts once."""
    x = np.arange(25, dtype=np.float32).reshape(1, 5, 5)
    x[0, 1, 1], x[0, 4, 3] = np.inf, -np.inf
    params = {"pooling_type": 1, "adaptive_pooling": 1, "out_w": 3}
    [found] = check_layer("Pooling", params, [x])
    assert np.isinf(found).sum() == 6 and not np.isnan(found).any()


@pytest.mark.parametrize("shape", [(3, 4), (2, 3, 4), (2, 5, 3, 4)])
def test_adaptive_to_its_own_extents_hands_on(shape: tuple[int, ...], check_layer: Check) -> None:
    """A matrix stays a matrix and a volume a volume, where other poolings make three axes."""
    x = ramp(*shape)
    params = {"adaptive_pooling": 1, "out_w": 4, "out_h": 3}
    check_layer("Pooling", params, [x], expected=[x])
    check_layer("Pooling3D", {"adaptive_pooling": 1, "out_w": -233}, [x], expected=[x])


def test_fewer_or_more_axes_than_three(check_layer: Check) -> None:
    """A matrix is one channel; of (c, d, h, w) the first of d is read."""
    params = {"kernel_w": 3, "pad_mode": 1}
    check_layer("Pooling", params, [ramp(3, 3)], expected=array([[8]]))
    check_layer("Pooling", params, [ramp(1, 2, 3, 3)], expected=array([[8]]))


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"kernel_w": 0}, "kernel_w"),
        ({"stride_h": 0}, "stride_h"),
        ({"pad_left": -1}, "pad_left"),
        ({"pad_mode": 4}, "pad_mode"),
        ({"pooling_type": 2}, "pooling_type"),
        ({"adaptive_pooling": 1, "out_w": 0}, "out_w"),
    ],
)
def test_refuses_params(params: dict[str, int], param: str, check_layer: Check) -> None:
    """Params that ncnn cannot run are refused by name."""
    with pytest.raises(LayerError) as caught:
        check_layer("Pooling", {"kernel_w": 2, **params}, [X])
    assert caught.value.param == param


@pytest.mark.parametrize(
    "params",
    [
        {"kernel_w": 4},
        {"kernel_w": 4, "stride_w": 2, "pad_mode": 1},
        {"kernel_w": 5, "stride_w": 2},
        {"kernel_w": 8, "stride_w": 2},
    ],
)
def test_refuses_a_window_that_does_not_fit(params: dict[str, int], check_layer: Check) -> None:
    """In mode 1, and where strides of mode 0 miss no part of one, or two and more."""
    with pytest.raises(LayerError, match="does not fit into 3x3"):
        check_layer("Pooling", params, [X])


def test_a_window_larger_than_the_image_is_padded(check_layer: Check) -> None:
    """In mode 0, if less than two strides are missing: with less than one there are two windows."""
    lowest, nan = np.finfo(np.float32).min, np.nan
    x = ramp(1, 3, 2)
    params = {"kernel_w": 3, "stride_w": 2}
    check_layer("Pooling", params, [x], expected=array([[5, lowest]]))
    check_layer("Pooling", {**params, "pooling_type": 1}, [x], expected=array([[2.5, nan]]))
    params = {"kernel_w": 5, "stride_w": 3, "pad_left": 1, "pooling_type": 1}
    check_layer("Pooling", params, [x], expected=array([[2.5, nan]]))
    params = {"kernel_w": 7, "stride_w": 3, "pooling_type": 1}
    check_layer("Pooling", params, [x], expected=array([[2.5]]))
    params = {**params, "kernel_w": 5, "avgpool_count_include_pad": 1}
    check_layer("Pooling1D", params, [ramp(2, 1)], expected=array([0], [0.2]))
    expected = array([[[4.5, nan], [nan, nan]], [[nan, nan], [nan, nan]]])
    params = {"kernel_w": 3, "stride_w": 2, "pooling_type": 1}
    check_layer("Pooling3D", params, [ramp(1, 2, 2, 2) + 1], expected=expected)


def test_a_line_slides_along_rows(check_layer: Check) -> None:
    """Each row of a matrix is a channel, a vector is one; global pooling is a value a row."""
    x = ramp(2, 4)
    check_layer("Pooling1D", {"kernel_w": 2}, [x], expected=array([1, 2, 3], [5, 6, 7]))
    check_layer("Pooling1D", {"kernel_w": 2}, [x[0]], expected=array([1, 2, 3]))
    params = {"global_pooling": 1, "pooling_type": 1}
    check_layer("Pooling1D", params, [x], expected=[np.array([1.5, 5.5], np.float32)])


def test_a_line_adapts(check_layer: Check) -> None:
    """Parts may overlap; the extent is stated, -233 is none."""
    params = {"adaptive_pooling": 1, "pooling_type": 1, "out_w": 3}
    check_layer("Pooling1D", params, [ramp(1, 4)], expected=array([0.5, 1.5, 2.5]))
    with pytest.raises(LayerError, match="out_w is -233"):
        check_layer("Pooling1D", {**params, "out_w": -233}, [ramp(1, 4)])


def test_the_depth_has_params_of_its_own(check_layer: Check) -> None:
    """Kernel, stride and pads of depth follow those of width where absent."""
    x = ramp(1, 2, 2, 2)
    check_layer("Pooling3D", {"kernel_w": 2}, [x], expected=array([[[7]]]))
    params = {"kernel_w": 2, "kernel_d": 1}
    check_layer("Pooling3D", params, [x], expected=array([[[3]], [[7]]]))
    params = {**params, "pooling_type": 1, "pad_front": 1, "pad_behind": 0, "pad_mode": 1}
    expected = array([[[np.nan]], [[1.5]], [[5.5]]])
    check_layer("Pooling3D", params, [x], expected=expected)


def test_a_volume_has_its_odd_cell_of_depth_behind(check_layer: Check) -> None:
    """SAME_LOWER puts the odd cell before in the plane, but not in depth."""
    params = {"kernel_w": 2, "pad_mode": 3}
    expected = array([[[4, 5], [6, 7]], [[4, 5], [6, 7]]])
    check_layer("Pooling3D", params, [ramp(1, 2, 2, 2)], expected=expected)


@pytest.mark.parametrize("kind", [0, 1])
def test_a_volume_adapts(kind: int, check_layer: Check) -> None:
    """Parts that are equal along one axis and overlap along others; -233 keeps."""
    params = {"pooling_type": kind, "adaptive_pooling": 1, "out_w": 2, "out_h": 3, "out_d": 5}
    check_layer("Pooling3D", params, [ramp(2, 4, 5, 6)])
    check_layer("Pooling3D", {**params, "out_h": 5, "out_d": 2}, [ramp(2, 4, 5, 6)])
    wanted = check_layer("Pooling3D", {**params, "out_h": 5, "out_d": 4}, [ramp(2, 4, 5, 6)])
    kept = {**params, "out_h": -233, "out_d": -233}
    check_layer("Pooling3D", kept, [ramp(2, 4, 5, 6)], expected=wanted)


@pytest.mark.parametrize("shape", [(2, 3, 4), (2, 2, 3, 4)])
def test_a_line_slides_along_the_first_matrix(shape: tuple[int, ...], check_layer: Check) -> None:
    """ncnn reads no other one."""
    expected = array([1, 2, 3], [5, 6, 7], [9, 10, 11])
    check_layer("Pooling1D", {"kernel_w": 2}, [ramp(*shape)], expected=expected)
    params = {"pooling_type": 1, "global_pooling": 1}
    check_layer("Pooling1D", params, [ramp(*shape)], expected=array(1.5, 5.5, 9.5))


@pytest.mark.parametrize("lead", [(), (1,), (1, 1)])
def test_fewer_axes_than_four_are_a_volume_of_depth_1(
    lead: tuple[int, ...], check_layer: Check
) -> None:
    """A matrix has one channel."""
    params = {"kernel_w": 2, "kernel_d": 1}
    check_layer("Pooling3D", params, [ramp(*lead, 2, 3)], expected=array([[[4, 5]]]))
    params = {"adaptive_pooling": 1, "out_w": 1, "out_h": 2, "out_d": 1}
    check_layer("Pooling3D", params, [ramp(*lead, 2, 3)], expected=array([[[2], [5]]]))


@pytest.mark.parametrize(
    "params", [{"pad_left": 1}, {"pad_mode": 2}, {"pad_left": 1, "kernel_h": 2}]
)
def test_what_means_count_in_large_planes_is_computed_by_the_run(
    params: dict[str, int], check_layer: Check
) -> None:
    """By the cells along each axis, with the same results."""
    side = isqrt(pooling.MOST_CONSTANT) + 2
    x = np.random.default_rng(0).standard_normal((1, side, 2 * side + 1)).astype(np.float32)
    params = {"pooling_type": 1, "kernel_w": 3, "stride_w": 2, "stride_h": 1, **params}
    check_layer("Pooling", params, [x], eps=1e-6)
    op = build_layer("Pooling", params, [x], [], 1)
    assert op.tables(x.shape) == sum(op.infer_all([x.shape])[0][1:])
