"""Layers that a simpler one stands for."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.elementwise.activation_layers import ReLUOp
from ncc.dialects.ncnn.network import Network
from tests.ncnn_text import types


@pytest.mark.parametrize(("count", "slopes"), [(1, [0.25]), (4, [0.25] * 4)])
def test_one_slope_is_a_leaky_relu(
    net: Any, optimized: Any, count: int, slopes: list[float]
) -> None:
    """A PReLU of one slope, or of equal ones, is a ReLU of that slope."""
    module = net(f"Input x 0 1 x 0=5 1=3 2=4\nPReLU y 1 1 x y 0={count}", {"y.slope": slopes})
    assert optimized(module) == ["replace_prelu_with_leaky_relu"]
    layer = Network.of(module).layers[-1]
    assert isinstance(layer, ReLUOp) and layer.slope == 0.25


def test_different_slopes_stay(net: Any, optimized: Any) -> None:
    """Slopes that differ are no ReLU."""
    module = net("Input x 0 1 x 0=5 1=3 2=4\nPReLU y 1 1 x y 0=4", {"y.slope": [1, 2, 3, 4]})
    assert not optimized(module)
    reasons = explain(module, "replace_prelu_with_leaky_relu")
    assert reasons == [("y", "its 4 slopes are not equal")]


CHAIN = """
    Input x 0 1 x {shape}
    Pooling p 1 1 x p 0=1 4=1
    Convolution a 1 1 p a 0=6 1={kernel} 5=1 6={weights} 4={pad} 3=2
    Swish s 1 1 a s
    Convolution b 1 1 s b 0=3 1=1 6=18 9=4
    Convolution c 1 1 b c 0=2 1=1 6=6
"""


@pytest.mark.parametrize("shape", ["0=5 1=3 2=4", ""])
def test_convolutions_of_vectors_are_products(net: Any, optimized: Any, shape: str) -> None:
    """Behind a global Pooling, an activation and an InnerProduct, whatever strides and pads say."""
    module = net(CHAIN.format(shape=shape, kernel=1, weights=24, pad=3), shapes=bool(shape))
    name = "replace_convolution_with_innerproduct"
    wanted = [f"{name}_after_global_pooling", name, f"{name}_after_innerproduct"]
    assert optimized(module) == wanted
    assert types(module) == ["Input", "Pooling", "InnerProduct", "Swish"] + ["InnerProduct"] * 2


def test_a_wide_kernel_stays_an_error(net: Any, optimized: Any) -> None:
    """A kernel of 3x3 does not take a vector, and no rewrite makes it one that does."""
    text = CHAIN.format(shape="0=5 1=3 2=4", kernel=3, weights=216, pad=0)
    module = net(text, shapes=False)
    optimized(module)
    assert types(module)[2] == "Convolution"
    name = "replace_convolution_with_innerproduct_after_global_pooling"
    assert explain(module, name) == [("a", "its kernel is not 1x1")]


def test_rows_are_no_vector(net: Any, optimized: Any) -> None:
    """An InnerProduct of rows makes a matrix: one channel to a convolution."""
    module = net("""
        Input x 0 1 x 0=4 1=3
        InnerProduct a 1 1 x a 0=6 2=24
        Convolution y 1 1 a y 0=2 1=1 6=2
    """)
    assert not optimized(module)
    name = "replace_convolution_with_innerproduct_after_innerproduct"
    assert explain(module, name) == [("y", "its input has rank 2, it is no vector")]


def test_one_channel_of_many(net: Any, optimized: Any) -> None:
    """A vector is one row of one channel where the convolution takes one; unknown without shape."""
    text = "Input x 0 1 x {}\nPooling p 1 1 x p 0=1 4=1\nConvolution y 1 1 p y 0=2 1=1 6=2"
    assert not optimized(net(text.format("0=5 1=3 2=4")))
    assert not optimized(net(text.format(""), shapes=False))
    assert optimized(net(text.format("0=5 1=3 2=1")))
