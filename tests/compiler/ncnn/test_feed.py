"""Feeding blobs that layers make."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.ncnn.feed import feed
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError

Net = Callable[..., ModuleOp]

LAYERS = """
    Input    x  0 1 x  0=4
    Input    y  0 1 y  0=4
    Split    s  1 2 x  x1 x2
    ReLU     a  1 1 x1 a
    BinaryOp b  2 1 a y b
    BinaryOp c  2 1 b x2 c
"""


def fed(net: Net, *names: str) -> tuple[list[str], list[str]]:
    """The types of the layers that are left, and the inputs."""
    module = net(LAYERS, shapes=False)
    feed(module, names)
    module.verify()
    network = Network.of(module)
    return [layer.type_name for layer in network.layers], list(network.inputs)


def test_what_only_a_fed_blob_needed_is_left_out(net: Net) -> None:
    """Layers, and inputs."""
    assert fed(net, "b") == (["Input", "Input", "Split", "BinaryOp"], ["b", "x"])
    assert fed(net, "b", "x2") == (["Input", "Input", "BinaryOp"], ["b", "x2"])


def test_what_others_read_stays(net: Net) -> None:
    """One branch of a Split is fed, the other one is computed."""
    kept = ["Input", "Input", "Input", "Split", "ReLU", "BinaryOp", "BinaryOp"]
    assert fed(net, "x2") == (kept[:], ["x2", "x", "y"])


def test_inputs_and_unknown_names_change_nothing(net: Net) -> None:
    """That a name is no blob is told by who looks for its shape."""
    everything = ["Input", "Input", "Split", "ReLU", "BinaryOp", "BinaryOp"]
    assert fed(net, "x", "nobody") == (everything, ["x", "y"])


def test_an_output_may_be_fed(net: Net) -> None:
    """It is handed through."""
    assert fed(net, "c") == (["Input"], ["c"])


def test_an_input_that_nothing_needs_any_more_is_told(net: Net) -> None:
    """By its name: there is such an input, but not beside what is fed."""
    with pytest.raises(InputError, match="no layer needs the input 'y' beside 'b': leave it out"):
        fed(net, "y", "b", "x")
