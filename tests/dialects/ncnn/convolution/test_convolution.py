"""Convolutions and their transposes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.linalg.ops import GenericOp

from ncc.dialects.ncnn.layer import LayerError, shape_of
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]
TYPES = ["Convolution", "ConvolutionDepthWise", "Deconvolution", "DeconvolutionDepthWise"]


@pytest.mark.layer(*TYPES)
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


CONV = {"num_output": 1, "kernel_w": 2, "weight_data_size": 4}


def test_convolution_slides_a_window(check_layer: Check) -> None:
    """A 2x2 window of ones sums four neighbours; the bias is added to each sum."""
    expected = np.array([[[8, 12], [20, 24]]], np.float32) + 0.5
    params = {**CONV, "bias_term": 1}
    check_layer(
        "Convolution", params, [ramp(1, 3, 3)], [np.ones(4), np.array([0.5])], expected=[expected]
    )


def test_convolution_pads_with_its_value(check_layer: Check) -> None:
    """What stands outside is pad_value; a fused activation comes last."""
    params = {**CONV, "stride_w": 2, "pad_left": 1, "pad_value": -1.0, "activation_type": 1}
    expected = np.array([[[0, 1], [7, 24]]], np.float32)
    check_layer("Convolution", params, [ramp(1, 3, 3)], [np.ones(4)], expected=[expected])


def test_convolution_same_padding_puts_the_odd_cell_behind_or_before(check_layer: Check) -> None:
    """SAME_UPPER keeps the extents with the border behind, SAME_LOWER with it before."""
    x = ramp(1, 2, 2)
    upper = np.array([[[6, 4], [5, 3]]], np.float32)
    lower = np.array([[[0, 1], [2, 6]]], np.float32)
    for code, expected in ((-233, upper), (-234, lower)):
        check_layer(
            "Convolution", {**CONV, "pad_left": code}, [x], [np.ones(4)], expected=[expected]
        )


def test_convolution_of_a_vector_is_an_inner_product(check_layer: Check) -> None:
    """A vector of all channels into a 1x1 kernel gives a vector."""
    params = {"num_output": 2, "kernel_w": 1, "weight_data_size": 6}
    check_layer("Convolution", params, [ramp(3)], [ramp(6)], expected=[np.array([5.0, 14.0])])


def test_convolution_of_a_matrix_is_of_one_channel(check_layer: Check) -> None:
    """(h, w) is read as (1, h, w)."""
    expected = np.array([[[8, 12], [20, 24]]], np.float32)
    check_layer("Convolution", CONV, [ramp(3, 3)], [np.ones(4)], expected=[expected])


def test_grouped_filters_see_only_their_channels(check_layer: Check) -> None:
    """Two groups of two channels, one filter each."""
    params = {"num_output": 2, "kernel_w": 1, "weight_data_size": 4, "group": 2}
    x = np.array([1, 10, 100, 1000], np.float32).reshape(4, 1, 1)
    expected = np.array([21, 4300], np.float32).reshape(2, 1, 1)
    check_layer("ConvolutionDepthWise", params, [x], [ramp(4) + 1], expected=[expected])


@pytest.mark.parametrize("outputs", [2, 4])
@pytest.mark.parametrize("kernel", [1, 3])
def test_depthwise_with_and_without_multiplier(
    outputs: int, kernel: int, check_layer: Check
) -> None:
    """One input channel a group: as many outputs as channels, or more."""
    size = outputs * kernel**2
    params = {"num_output": outputs, "kernel_w": kernel, "weight_data_size": size, "group": 2}
    check_layer("ConvolutionDepthWise", {**params, "bias_term": 1}, [ramp(2, 4, 5)],
                [ramp(size), ramp(outputs)])  # fmt: skip


def test_deconvolution_adds_the_windows(check_layer: Check) -> None:
    """Each cell adds its window: with stride 1 neighbours overlap."""
    expected = np.array([[[0, 1, 1], [2, 6, 4], [2, 5, 3]]], np.float32)
    check_layer("Deconvolution", CONV, [ramp(1, 2, 2)], [np.ones(4)], expected=[expected])


@pytest.mark.parametrize("kernel", [1, 2, 3, 4, 5])
@pytest.mark.parametrize("stride", [1, 2, 3])
@pytest.mark.parametrize("dilation", [1, 2, 3])
def test_deconvolution_by_phases_is_the_scattered_sum(
    kernel: int, stride: int, dilation: int, check_layer: Check
) -> None:
    """Kernel, stride and dilation in any relation, cropped and with output padding."""
    extent = dilation * (kernel - 1) + 1
    params = {
        "num_output": 2, "kernel_w": kernel, "weight_data_size": 6 * kernel**2,
        "stride_w": stride, "dilation_w": dilation, "output_pad_right": stride - 1,
        "pad_left": 1 if extent > 1 else 0, "bias_term": 1,
    }  # fmt: skip
    x = np.random.default_rng(3).standard_normal((3, 3, 4)).astype(np.float32)
    check_layer("Deconvolution", params, [x], [ramp(6 * kernel**2) - 3, np.ones(2)])


def test_an_output_size_of_a_deconvolution_crops_by_code(check_layer: Check) -> None:
    """output_w and -233 crop the smaller half before, -234 behind; without a code it is refused."""
    params = {**CONV, "kernel_w": 2, "output_w": 2}
    for code, expected in ((-233, [[0, 1], [2, 6]]), (-234, [[6, 4], [5, 3]])):
        check_layer("Deconvolution", {**params, "pad_left": code}, [ramp(1, 2, 2)], [np.ones(4)],
                    expected=[np.array([expected], np.float32)])  # fmt: skip
    with pytest.raises(LayerError, match="an output size needs pads"):
        check_layer("Deconvolution", params, [ramp(1, 2, 2)], [np.ones(4)])


def test_a_kernel_of_one_has_no_loops_of_its_own(expand: Callable[..., Any]) -> None:
    """A 1x1 convolution is a matrix product: one reduced loop, filters of two axes."""
    params = {"num_output": 2, "kernel_w": 1, "weight_data_size": 6}
    generic = expand("Convolution", params, [(3, 4, 5)], [ramp(6)])[-1]
    assert isinstance(generic, GenericOp)
    assert [str(kind.data) for kind in generic.iterator_types].count("reduction") == 1
    assert shape_of(generic.inputs[1]) == (2, 3)


@pytest.mark.parametrize(
    ("params", "param"),
    [
        ({"stride_w": 0}, "stride_w"),
        ({"kernel_h": 0}, "kernel_h"),
        ({"kernel_w": -1}, "kernel_w"),
        ({"dilation_w": 0}, "dilation_w"),
        ({"num_output": 0}, "num_output"),
        ({"weight_data_size": 0}, "weight_data_size"),
        ({"weight_data_size": 5}, "weight_data_size"),
        ({"pad_left": -7}, "pad_left"),
        ({"activation_type": 9}, "activation_type"),
    ],
)
def test_refuses_params(params: dict[str, int], param: str, check_layer: Check) -> None:
    """Params that ncnn cannot run are refused by name."""
    with pytest.raises(LayerError) as caught:
        check_layer("Convolution", {**CONV, **params}, [ramp(1, 3, 3)], [np.ones(4)])
    assert caught.value.param == param


def test_refuses_groups_that_do_not_divide(check_layer: Check) -> None:
    """num_output must be divisible by group."""
    params = {"num_output": 3, "kernel_w": 1, "weight_data_size": 3, "group": 2}
    with pytest.raises(LayerError, match="not divisible by group 2"):
        check_layer("ConvolutionDepthWise", params, [ramp(2, 1, 1)], [ramp(3)])


@pytest.mark.parametrize(
    ("shape", "message"),
    [((1, 1, 9), "does not fit into 1x9"), ((2, 3, 3), "takes 1 channel"), ((4,), "not fit")],
)
def test_refuses_shapes(shape: tuple[int, ...], message: str, check_layer: Check) -> None:
    """A kernel larger than the padded input, and other channels than the filters have."""
    with pytest.raises(LayerError, match=message):
        check_layer("Convolution", CONV, [ramp(*shape)], [np.ones(4)])


DYNAMIC_CONVOLUTION = {"dynamic_weight": 1, "bias_term": 1}


def test_weights_are_inputs(check_layer: Check) -> None:
    """The shape of the second input says the number of filters and their kernel, not the params."""
    x, w, bias = ramp(2, 2, 3), np.ones((1, 2, 2, 2), np.float32), np.array([0.5], np.float32)
    expected = np.array([[[x[:, :, k : k + 2].sum() + 0.5 for k in (0, 1)]]], np.float32)
    check_layer("Convolution", DYNAMIC_CONVOLUTION, [x, w, bias], expected=[expected])
    params = {"dynamic_weight": 1, "kernel_w": 3, "num_output": 7}
    check_layer("Convolution", params, [x, w], expected=[expected - 0.5])


def test_filters_without_channels_are_of_one(check_layer: Check) -> None:
    """As in ncnn, whose blobs have all four extents: (1, 2, 2) is one filter of one channel."""
    expected = np.array([[[8, 12], [20, 24]]], np.float32)
    w = np.ones((1, 2, 2), np.float32)
    check_layer("Convolution", {"dynamic_weight": 1}, [ramp(1, 3, 3), w], expected=[expected])


def test_filters_of_groups_are_inputs(check_layer: Check) -> None:
    """Of each group its own, one behind the other."""
    x, w = ramp(4, 1, 2), np.arange(1, 5, dtype=np.float32).reshape(2, 2, 1, 1)
    params = {"dynamic_weight": 1, "group": 2}
    expected = np.stack([x[0] + 2 * x[1], 3 * x[2] + 4 * x[3]])
    check_layer("ConvolutionDepthWise", params, [x, w], expected=[expected])


def test_filters_of_a_transpose_have_its_inputs_first(check_layer: Check) -> None:
    """(inputs, outputs, *kernel), where stored ones are (outputs, inputs, *kernel)."""
    x, w = ramp(2, 1, 2), np.arange(1, 7, dtype=np.float32).reshape(2, 3, 1, 1)
    expected = np.stack([k * x[0] + (k + 3) * x[1] for k in (1, 2, 3)])
    check_layer("Deconvolution", {"dynamic_weight": 1}, [x, w], expected=[expected])
    x = ramp(4, 1, 2)
    w = np.arange(1, 5, dtype=np.float32).reshape(4, 1, 1, 1)
    expected = np.stack([x[0] + 2 * x[1], 3 * x[2] + 4 * x[3]])
    params = {"dynamic_weight": 1, "group": 2}
    check_layer("DeconvolutionDepthWise", params, [x, w], expected=[expected])


@pytest.mark.parametrize(
    ("params", "shapes", "message"),
    [
        ({}, [(1, 3, 3)], "has 1 inputs, but takes 2 here"),
        ({"bias_term": 1}, [(1, 3, 3), (1, 1, 2, 2)], "has 2 inputs, but takes 3 here"),
        ({}, [(2, 3, 3), (1, 1, 2, 2)], "takes 1 channel"),
        ({"bias_term": 1}, [(1, 3, 3), (2, 1, 2, 2), (3,)], "the bias .* is not of 2 channels"),
        ({"int8_scale_term": 1}, [(1, 3, 3), (2, 1, 2, 2)], "no int8 scales"),
        ({}, [(1, 3, 3), (1, 1, 4, 4)], "a kernel of 4x4 does not fit"),
    ],
)
def test_refuses_inputs_that_are_no_filters(
    params: dict[str, int], shapes: list[tuple[int, ...]], message: str, check_layer: Check
) -> None:
    """Their number and their shapes."""
    with pytest.raises(LayerError, match=message):
        check_layer("Convolution", {"dynamic_weight": 1, **params}, [ramp(*s) for s in shapes])


def test_refuses_filters_that_groups_do_not_divide(check_layer: Check) -> None:
    """Three filters in two groups."""
    params = {"dynamic_weight": 1, "group": 2}
    with pytest.raises(LayerError, match="do not fall into 2 groups"):
        check_layer("ConvolutionDepthWise", params, [ramp(2, 3, 3), ramp(3, 1, 2, 2)])
