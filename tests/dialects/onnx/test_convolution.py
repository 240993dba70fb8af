"""Convolutions, their transposes, pools and products, at any rank and batch."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError
from tests.onnx.models import check_operator

RNG = np.random.default_rng(1)


def _numbers(*shape: int) -> Any:
    return RNG.standard_normal(shape, np.float32)


@pytest.mark.parametrize("space", [(7,), (6, 5), (4, 3, 5)])
def test_convolutions_of_a_batch_in_groups(space: tuple[int, ...]) -> None:
    """With strides, dilations and pads."""
    rank = len(space)
    attributes = {"group": 2, "strides": [2] * rank, "pads": [1] * rank + [2] * rank}
    x, w, bias = _numbers(2, 4, *space), _numbers(6, 2, *[2] * rank), _numbers(6)
    check_operator("Conv", attributes, [x, w, bias], rtol=1e-4, atol=1e-5)
    check_operator("ConvTranspose", attributes, [x, _numbers(4, 3, *[3] * rank)], rtol=1e-4)


@pytest.mark.parametrize("strides", [[1, 1], [1, 2]])
def test_a_transposed_convolution_cut_as_far_as_its_filters_reach(strides: list[int]) -> None:
    """Nothing is added before an axis, and zeros are behind it."""
    attributes = {"pads": [0, 2, 1, 0], "strides": strides}
    check_operator("ConvTranspose", attributes, [_numbers(1, 2, 4, 3), _numbers(2, 3, 2, 3)])


def test_a_convolution_of_ones() -> None:
    """Sums of windows."""
    x, w = np.ones((1, 1, 3, 3), np.float32), np.ones((1, 1, 2, 2), np.float32)
    check_operator("Conv", {}, [x, w], expected=[np.full((1, 1, 2, 2), 4, np.float32)])


def test_filters_that_do_not_fit_are_told() -> None:
    """With both shapes."""
    with pytest.raises(ModelError, match="filters 6x3x1x1 of 1 groups for 4 channels"):
        check_operator("Conv", {}, [_numbers(1, 4, 2, 2), _numbers(6, 3, 1, 1)])


@pytest.mark.parametrize("ceil_mode", [0, 1])
def test_pools(ceil_mode: int) -> None:
    """The last window may end outside."""
    attributes = {"kernel_shape": [3, 2], "strides": [2, 2], "ceil_mode": ceil_mode}
    x = _numbers(2, 3, 6, 5)
    check_operator("MaxPool", {**attributes, "pads": [1, 0, 1, 1]}, [x])
    check_operator("AveragePool", {**attributes, "pads": [1, 0, 1, 1]}, [x])


def test_products_of_matrices() -> None:
    """Outer axes are broadcast, vectors are rows and columns."""
    x, y = _numbers(2, 1, 3, 4), _numbers(5, 4, 2)
    check_operator("MatMul", {}, [x, y], expected=[x @ y])
    check_operator("MatMul", {}, [x[0, 0, 0], y], expected=[x[0, 0, 0] @ y])
    a, b, c = _numbers(4, 3), _numbers(2, 4), _numbers(2)
    attributes = {"transA": 1, "transB": 1, "alpha": 0.5, "beta": 2.0}
    wanted = np.float32(0.5) * (a.T @ b.T) + 2 * c
    check_operator("Gemm", attributes, [a, b, c], expected=[wanted])


def test_batch_normalization() -> None:
    """By stored statistics."""
    x, scale, bias, mean = _numbers(2, 3, 4), _numbers(3), _numbers(3), _numbers(3)
    variance = np.abs(_numbers(3))
    root = np.sqrt(variance + np.float32(1e-5))[:, None]
    wanted = (x - mean[:, None]) / root * scale[:, None] + bias[:, None]
    operands = [x, scale, bias, mean, variance]
    check_operator("BatchNormalization", {}, operands, expected=[wanted])
