"""Banks of filters: those that are stored, and those that are inputs."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32

from ncc.dialects.ncnn.convolution.contraction import Channels, FilterParams
from ncc.dialects.ncnn.convolution.filtering import Filtering
from ncc.dialects.ncnn.layer import LAYERS, ParamValue, Shape
from ncc.dialects.ncnn.window import Window


def layer(type: str, inputs: int, **params: ParamValue) -> Filtering:
    sources = test.TestOp(result_types=[TensorType(f32, [1])] * inputs)
    op = LAYERS[type].make(sources.results, params)
    assert isinstance(op, Filtering)
    op.check()
    return op


def test_stored_filters_are_what_the_params_say() -> None:
    """The channels of the input are what is left of the weights."""
    op = layer("ConvolutionDepthWise", 1, num_output=6, kernel_w=3, weight_data_size=108, group=2)
    params = op.params((4, 9, 9))
    assert params == FilterParams(Channels(2, 3, 2), (Window(3), Window(3)))
    assert (params.num_input, params.num_output, params.shape) == (4, 6, (2, 3, 2, 3, 3))


@pytest.mark.parametrize(
    ("type", "filters", "shape"),
    [
        ("Convolution", (6, 4, 2, 3), (1, 6, 4, 2, 3)),
        ("Convolution", (6, 2, 3), (1, 6, 1, 2, 3)),
        ("Deconvolution", (4, 6, 2, 3), (1, 6, 4, 2, 3)),
        ("Convolution1D", (6, 4, 3), (1, 6, 4, 3)),
        ("Deconvolution1D", (4, 6, 3), (1, 6, 4, 3)),
        ("ConvolutionDepthWise", (6, 2, 2, 3), (2, 3, 2, 2, 3)),
        ("DeconvolutionDepthWise", (4, 3, 2, 3), (2, 3, 2, 2, 3)),
        ("ConvolutionDepthWise1D", (6, 2, 3), (2, 3, 2, 3)),
        ("DeconvolutionDepthWise1D", (4, 3, 3), (2, 3, 2, 3)),
    ],
)
def test_filters_that_are_inputs(type: str, filters: Shape, shape: Shape) -> None:
    """(group, outputs, inputs, *kernel), whichever of the channels the blob has first."""
    group = {"group": 2} if "DepthWise" in type else {}
    params = layer(type, 2, dynamic_weight=1, stride_w=2, **group).params((4, 9, 9), filters)
    assert params.shape == shape
    assert all(window.stride == 2 for window in params.windows)
