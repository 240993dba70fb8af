"""Branches that are summed become one convolution, whichever windows they have, and when not."""

from __future__ import annotations

from typing import Any

import pytest

from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.network import Network

NAME = "fuse_convolution_branches"


def branches(net: Any, first: str, second: str, weights: dict[str, object] | None = None) -> Any:
    """Two layers a and b of one value, in this order, and their sum."""
    return net(
        f"""
        Input x 0 1 x 0=9 1=8 2=6
        {first}
        {second}
        BinaryOp y 2 1 a b y 0=0
        """,
        weights,
    )


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("Convolution a 1 1 x a 0=6 1=3 4=1 5=1 6=324", "Convolution b 1 1 x b 0=6 1=1 6=36"),
        ("Convolution a 1 1 x a 0=4 1=1 3=2 6=24", "Convolution b 1 1 x b 0=4 1=3 3=2 4=1 6=216"),
        ("Convolution a 1 1 x a 0=4 1=1 11=3 14=1 6=72", "Convolution b 1 1 x b 0=4 1=3 4=1 6=216"),
        ("Convolution a 1 1 x a 0=4 1=3 2=2 4=3 6=216", "Convolution b 1 1 x b 0=4 1=1 4=1 6=24"),
        (
            "ConvolutionDepthWise a 1 1 x a 0=6 1=5 4=2 6=150 7=6",
            "ConvolutionDepthWise b 1 1 x b 0=6 1=3 4=1 5=1 6=54 7=6",
        ),
        (
            "ConvolutionDepthWise a 1 1 x a 0=4 1=3 4=1 6=108 7=2",
            "ConvolutionDepthWise b 1 1 x b 0=4 1=3 4=1 5=1 6=108 7=2",
        ),
        ("Scale a 1 1 x a 0=6 1=1", "ConvolutionDepthWise b 1 1 x b 0=6 1=3 4=1 6=54 7=6"),
        ("ConvolutionDepthWise a 1 1 x a 0=6 1=1 6=12 7=3", "Scale b 1 1 x b 0=6"),
    ],
)
def test_two_become_one(net: Any, optimized: Any, first: str, second: str) -> None:
    """Windows of which one is among the taps of the other; scales of channels."""
    module = branches(net, first, second)
    assert optimized(module).count(NAME) == 1
    assert len(Network.of(module).layers) == 2


def test_a_block_of_repvgg(net: Any, optimized: Any) -> None:
    """Three branches and the activation are one convolution."""
    module = net(
        """
        Input x 0 1 x 0=9 1=8 2=6
        Split s 1 3 x p q r
        BatchNorm a 1 1 p a 0=6
        Convolution b 1 1 q b 0=6 1=3 4=1 5=1 6=324
        Convolution c 1 1 r c 0=6 1=1 5=1 6=36
        BinaryOp d 2 1 b c d 0=0
        BinaryOp y 2 1 d a y 0=0
        ReLU z 1 1 y z
        """,
        {"a.var": [1, 2, 3, 4, 0.5, 0.25]},
    )
    assert optimized(module).count(NAME) == 2
    assert [layer.type_name for layer in Network.of(module).layers] == ["Input", "Convolution"]


@pytest.mark.parametrize(
    ("first", "second", "reason"),
    [
        (
            "Convolution a 1 1 x a 0=6 1=3 4=1 6=324 9=2 -23310=1,0.1",
            "Convolution b 1 1 x b 0=6 1=1 6=36",
            "activation 2 stands between",
        ),
        (
            "Convolution a 1 1 x a 0=6 1=3 4=1 6=324 18=0.5",
            "Scale b 1 1 x b 0=6",
            "its border is not of zeros, or follows from the shape",
        ),
        (
            "Convolution a 1 1 x a 0=6 1=1 6=36",
            "Convolution b 1 1 x b 0=6 1=3 4=-233 6=324",
            "its border is not of zeros, or follows from the shape",
        ),
        (
            "Convolution a 1 1 x a 0=6 1=1 11=3 14=1 6=108",
            "Convolution b 1 1 x b 0=6 1=3 11=1 4=1 14=0 6=108",
            "its window does not see what the other one sees",
        ),
        (
            "Convolution a 1 1 x a 0=6 1=5 3=3 6=900",
            "Convolution b 1 1 x b 0=6 1=1 3=5 6=36",
            "its window does not see what the other one sees",
        ),
        (
            "Convolution a 1 1 x a 0=6 1=3 4=1 6=324 8=1",
            "Convolution b 1 1 x b 0=6 1=1 6=36",
            "its weights are int8",
        ),
        (
            "ConvolutionDepthWise a 1 1 x a 0=6 1=3 4=1 6=54 7=6",
            "ConvolutionDepthWise b 1 1 x b 0=6 1=1 6=18 7=2",
            "the branches are of different groups",
        ),
        (
            "Convolution a 1 1 x a 0=1 1=3 4=1 6=54",
            "Convolution b 1 1 x b 0=6 1=1 6=36",
            "the terms are not known to be of one shape",
        ),
    ],
)
def test_what_stays(net: Any, first: str, second: str, reason: str) -> None:
    """Windows beside each other, other borders, groups or shapes, activations."""
    assert explain(branches(net, first, second), NAME) == [("y", reason)]


def test_weights_do_not_overflow(net: Any) -> None:
    """Sums of weights are numbers."""
    first = "Convolution a 1 1 x a 0=6 1=1 6=36"
    module = branches(
        net,
        first,
        first.replace("a 1 1 x a", "b 1 1 x b"),
        dict.fromkeys(["a.weight", "b.weight"], 3e38),
    )
    assert explain(module, NAME) == [("y", "the weights would overflow")]


def test_a_branch_that_others_read(net: Any) -> None:
    """A term that is an output, too, stays."""
    module = net(
        """
        Input x 0 1 x 0=9 1=8 2=6
        Convolution a 1 1 x a 0=6 1=1 6=36
        Convolution b 1 1 x b 0=6 1=1 6=36
        BinaryOp y 2 1 a b y 0=0
        """,
        outputs=["a", "y"],
    )
    assert explain(module, NAME) == [("y", "the result of a is read by others, too")]
