"""Borders go into the layer behind them where it makes the same."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.network import Network

PADDED = "Padding p 1 1 x p 0=1 1=2 2=3 3=4 {}"
CONVOLUTION = "Convolution y 1 1 p y 0=6 1=3 6=162 {}"
NAME = "fuse_padding_convolution"


def lines(padding: str, layer: str, shape: str = "0=8 1=7 2=3") -> str:
    return f"Input x 0 1 x {shape}\n{padding}\n{layer}"


@pytest.mark.parametrize(
    ("value", "params", "fires"),
    [
        ("", "", True),
        ("5=1.5", "", True),
        ("5=1.5", "4=1 18=1.5", True),
        ("", "4=1", True),
        ("5=1.5", "4=1", False),
        ("", "4=1 18=2", False),
        ("", "4=-233", False),
        ("4=1", "", False),
        ("4=2", "", False),
        ("6=3", "", False),
        ("7=1 6=0", "", False),
    ],
)
def test_borders_of_convolutions(
    net: Any, optimized: Any, value: str, params: str, fires: bool
) -> None:
    """A border of one value goes in unless the convolution pads with another, or by codes."""
    text = lines(PADDED.format(value), CONVOLUTION.format(params))
    if "7=1" in value:
        text = text.replace("2=3\n", "2=2\n")
    assert optimized(net(text)) == ([NAME] if fires else [])


def test_borders_of_sequences_and_volumes(net: Any, optimized: Any) -> None:
    """The axes of a Padding are those of its input: depth of a volume, w of a sequence."""
    volume = net(
        lines(
            "Padding p 1 1 x p 0=1 1=2 2=3 3=4 7=1 8=2",
            "ConvolutionDepthWise3D y 1 1 p y 0=3 1=2 6=24 7=3",
            "0=5 1=4 11=3 2=3",
        )
    )
    assert optimized(volume) == [NAME]
    sequence = "Convolution1D y 1 1 p y 0=4 1=3 6={}"
    assert optimized(net(lines("Padding p 1 1 x p 2=3", sequence.format(36), "0=8 1=3"))) == [NAME]
    channels = net(lines("Padding p 1 1 x p 0=1", sequence.format(48), "0=8 1=3"))
    assert not optimized(channels)
    assert explain(channels, NAME) == [("y", "it pads the channels")]


def test_a_border_that_others_read_stays(net: Any, optimized: Any) -> None:
    """The convolution reads past the Padding, which stays for its other reader."""
    text = lines(PADDED.format(""), CONVOLUTION.format("")) + "\nAbsVal z 1 1 p z"
    module = net(text)
    assert optimized(module) == [NAME]
    assert len(Network.of(module).layers) == 4


@pytest.mark.parametrize(
    ("before", "padding", "pooling", "fires"),
    [
        ("", "0=1 2=1 5=-3.4028235e38", "0=0 1=3 5=1", True),
        ("ReLU r 1 1 x r", "0=1 2=1", "0=0 1=3 5=1", True),
        ("Sigmoid r 1 1 x r", "0=1 3=2", "0=0 1=3 2=2 5=1", True),
        ("ReLU r 1 1 x r 0=0.1", "0=1 2=1", "0=0 1=3 5=1", False),
        ("ReLU r 1 1 x r", "0=1 2=1 5=1", "0=0 1=3 5=1", False),
        ("", "0=1 2=1", "0=0 1=3 5=1", False),
        ("ReLU r 1 1 x r", "0=3 2=1", "0=0 1=3 5=1", False),
        ("ReLU r 1 1 x r", "0=1 2=1", "0=0 1=3 3=1 5=1", False),
        ("ReLU r 1 1 x r", "0=1", "0=0 1=3 2=2", False),
        ("ReLU r 1 1 x r", "0=1 1=1 2=1 3=1", "0=0 1=2 2=2 5=1", True),
        ("ReLU r 1 1 x r", "0=1 1=1 2=1 3=1", "0=0 1=2 2=2 5=2", False),
        ("", "1=4 3=4", "0=1 1=3 2=3 5=3", False),
        ("", "0=1 2=2", "0=1 1=3 5=1", True),
        ("", "0=1 2=2", "0=1 1=3 5=1 6=1", True),
        ("", "0=1 2=2 5=1", "0=1 1=3 5=1", False),
        ("", "0=1 2=2", "0=1 4=1", False),
        ("", "0=1 2=2", "0=1 7=1 8=2", False),
    ],
)
def test_borders_of_poolings(
    net: Any, optimized: Any, before: str, padding: str, pooling: str, fires: bool
) -> None:
    """The largest pads with -FLT_MAX, or with 0 where nothing is negative; a mean with 0."""
    source = "r" if before else "x"
    module = net(
        lines(
            f"{before}\nPadding p 1 1 {source} p {padding}",
            f"Pooling y 1 1 p y {pooling}",
            "0=8 1=8 2=3",
        )
    )
    assert optimized(module) == (["fuse_padding_pooling"] if fires else [])


def test_weights_that_are_inputs_stay(net: Any, optimized: Any) -> None:
    """The borders go into the params, and the second operand is the weights as before."""
    text = f"""
        {lines(PADDED.format(""), "")}
        Input w 0 1 w 0=3 1=3 11=3 2=6
        Convolution y 2 1 p w y 19=1
    """
    module = net(text)
    assert optimized(module) == [NAME]
    layer = Network.of(module).layers[-1]
    assert [value.name_hint for value in layer.operands] == ["x", "w"]


def test_borders_of_int8_convolutions_stay(net: Any) -> None:
    """They would be quantized."""
    module = net(lines(PADDED.format(""), CONVOLUTION.format("8=1")))
    assert explain(module, NAME) == [("y", "y is int8")]
