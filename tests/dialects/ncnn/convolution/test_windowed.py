"""Kernels and pads by axis, as params say them."""

from __future__ import annotations

import pytest
from xdsl.dialects import test
from xdsl.dialects.builtin import TensorType, f32

from ncc.dialects.ncnn.convolution.windowed import OnPlane
from ncc.dialects.ncnn.layer import LAYERS, LayerError, ParamValue
from ncc.dialects.ncnn.window import SAME_LOWER, SAME_UPPER, Window


def convolution(**params: ParamValue) -> OnPlane:
    source = test.TestOp(result_types=[TensorType(f32, [1])])
    op = LAYERS["Convolution"].make(source.results, params)
    assert isinstance(op, OnPlane)
    return op


def test_what_the_second_axis_does_not_say_is_as_along_the_first() -> None:
    """Windows and pads are in numpy order: h first. What is behind is as what is in front."""
    op = convolution(kernel_w=3, stride_w=2, dilation_h=4, pad_left=1, pad_bottom=5)
    assert op.windows == [Window(3, 2, 4), Window(3, 2, 1)]
    assert op.pads == [(1, 5), (1, 1)]
    assert op.names("kernel", "stride") == ["kernel_w", "kernel_h", "stride_w", "stride_h"]


@pytest.mark.parametrize("code", [SAME_UPPER, SAME_LOWER])
def test_a_pad_below_zero_is_a_code_that_the_others_bear_out(code: int) -> None:
    """Zeros beside a code say nothing against it; a real pad does, and so does any other number."""
    convolution(kernel_w=3, pad_left=code).check_pads()
    convolution(kernel_w=3, pad_left=code, pad_right=0, pad_top=0).check_pads()
    with pytest.raises(LayerError, match=f"pad_left is {code}"):
        convolution(kernel_w=3, pad_left=code, pad_bottom=1).check_pads()
    with pytest.raises(LayerError, match="pad_right is -1"):
        convolution(kernel_w=3, pad_right=-1).check_pads()
