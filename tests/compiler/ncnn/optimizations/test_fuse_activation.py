"""Activations go into the layers before them; two in a row become one."""

from __future__ import annotations

from itertools import product
from typing import Any

import numpy as np
import pytest

from ncc.compiler.ncnn.optimizations.fuse_activation import Activation, compose
from ncc.compiler.ncnn.optimize import explain
from ncc.dialects.ncnn.elementwise.activation import Activated, activate_array
from ncc.dialects.ncnn.layer import LAYERS
from ncc.dialects.ncnn.network import Network

LAYERS_OF = {
    "ReLU y 1 1 c y": (1, ()),
    "ReLU y 1 1 c y 0=0.25": (2, (0.25,)),
    "Clip y 1 1 c y 0=-1 1=2": (3, (-1.0, 2.0)),
    "Sigmoid y 1 1 c y": (4, ()),
    "Mish y 1 1 c y": (5, ()),
    "HardSwish y 1 1 c y 0=0.25 1=0.5": (6, (0.25, 0.5)),
}
HOSTS = {
    "Convolution": ("0=5 1=4 2=2", "0=3 1=3 6=54"),
    "ConvolutionDepthWise": ("0=5 1=4 2=2", "0=2 1=3 6=18 7=2"),
    "Convolution1D": ("0=9 1=2", "0=3 1=3 6=18"),
    "ConvolutionDepthWise1D": ("0=9 1=2", "0=2 1=3 6=6 7=2"),
    "Convolution3D": ("0=5 1=4 11=3 2=2", "0=3 1=2 6=48"),
    "ConvolutionDepthWise3D": ("0=5 1=4 11=3 2=2", "0=2 1=2 6=16 7=2"),
    "Deconvolution": ("0=5 1=4 2=2", "0=3 1=3 6=54"),
    "DeconvolutionDepthWise": ("0=5 1=4 2=2", "0=2 1=3 6=18 7=2"),
    "Deconvolution1D": ("0=9 1=2", "0=3 1=3 6=18"),
    "DeconvolutionDepthWise1D": ("0=9 1=2", "0=2 1=3 6=6 7=2"),
    "Deconvolution3D": ("0=5 1=4 11=3 2=2", "0=3 1=2 6=48"),
    "DeconvolutionDepthWise3D": ("0=5 1=4 11=3 2=2", "0=2 1=2 6=16 7=2"),
    "DeformableConv2D": ("0=5 1=4 2=2", "0=3 1=3 6=54"),
    "InnerProduct": ("0=5 1=4 2=2", "0=3 2=120"),
}
ACTIVATIONS = [
    Activation(1),
    Activation(2, (0.5,)),
    Activation(2, (-0.5,)),
    Activation(3, (-1.0, 2.0)),
    Activation(3, (0.5, 6.0)),
    Activation(3, (-3.0, -1.0)),
    Activation(3, (-1.0, 0.75)),
    Activation(3, (3.0, -1.0)),
    Activation(4),
    Activation(5),
    Activation(6, (0.25, 0.5)),
]


def test_all_hosts_are_tried() -> None:
    """The table of hosts is that of the dialect."""
    hosts = {name for name, kind in LAYERS.items() if issubclass(kind, Activated)}
    assert hosts == set(HOSTS)


@pytest.mark.parametrize("host", HOSTS)
def test_each_host_takes_each_activation(net: Any, optimized: Any, host: str) -> None:
    """ReLU, leaky or not, Clip, Sigmoid, Mish and HardSwish go in, with their params."""
    shape, params = HOSTS[host]
    for line, (kind, wanted) in LAYERS_OF.items():
        text = f"Input x 0 1 x {shape}\n{host} c 1 1 x c {params}\n{line}"
        if host == "DeformableConv2D":
            text = "Input o 0 1 o 0=3 1=2 2=18\n" + text.replace("c 1 1 x", "c 2 1 x o")
        module = net(text)
        assert optimized(module) == [f"fuse_{host.lower()}_activation"]
        layer = Network.of(module).layers[-1]
        assert isinstance(layer, Activated)
        assert (layer.activation_type, layer.activation_params) == (kind, wanted)
        assert (layer.layer_name, layer.blob_names) == ("c", ("y",))


@pytest.mark.parametrize(("first", "second"), list(product(ACTIVATIONS, ACTIVATIONS)), ids=str)
def test_composition_is_the_composition(first: Activation, second: Activation) -> None:
    """What two activations compose to is what one behind the other computes."""
    together = compose(first, second)
    if together is None:
        return
    x = np.linspace(-8, 8, 4001, dtype=np.float32)
    expected = activate_array(
        activate_array(x, first.kind, first.params), second.kind, second.params
    )
    found = activate_array(x, together.kind, together.params)
    np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-7)


@pytest.mark.parametrize(
    ("first", "second", "wanted"),
    [
        (Activation(1), Activation(1), Activation(1)),
        (Activation(1), Activation(2, (0.1,)), Activation(1)),
        (Activation(1), Activation(3, (-1.0, 6.0)), Activation(3, (0.0, 6.0))),
        (Activation(1), Activation(3, (-3.0, -1.0)), Activation(3, (-1.0, -1.0))),
        (Activation(2, (0.5,)), Activation(1), Activation(1)),
        (Activation(2, (0.5,)), Activation(2, (0.5,)), Activation(2, (0.25,))),
        (Activation(2, (0.5,)), Activation(3, (0.0, 6.0)), None),
        (Activation(3, (-1.0, 6.0)), Activation(1), Activation(3, (0.0, 6.0))),
        (Activation(3, (-1.0, 6.0)), Activation(2, (0.1,)), None),
        (Activation(3, (0.5, 6.0)), Activation(2, (0.1,)), Activation(3, (0.5, 6.0))),
        (Activation(4), Activation(1), Activation(4)),
        (Activation(4), Activation(3, (0.0, 1.0)), Activation(4)),
        (Activation(4), Activation(3, (0.0, 0.5)), None),
        (Activation(1), Activation(6, (0.2, 0.5)), None),
        (Activation(5), Activation(1), None),
        (Activation(1), Activation(3, (6.0, 0.0)), None),
    ],
    ids=str,
)
def test_compositions(first: Activation, second: Activation, wanted: Activation | None) -> None:
    """The table of compositions."""
    assert compose(first, second) == wanted


def test_an_existing_activation_is_not_overwritten(net: Any, optimized: Any) -> None:
    """A HardSwish behind a fused ReLU stays where it is, and the reason is told."""
    module = net("""
        Input x 0 1 x 0=5 1=4 2=2
        Convolution c 1 1 x c 0=3 1=3 6=54 9=1
        HardSwish y 1 1 c y
    """)
    assert not optimized(module)
    reason = "c has activation 1 already"
    assert explain(module, "fuse_convolution_activation") == [("y", reason)]


def test_a_result_that_others_read_has_no_activation(net: Any, optimized: Any) -> None:
    """The convolution is read before its activation, too."""
    module = net("""
        Input x 0 1 x 0=5 1=4 2=2
        Convolution c 1 1 x c 0=3 1=3 6=54
        ReLU y 1 1 c y
        Sigmoid z 1 1 c z
    """)
    assert not optimized(module)


def test_layers_in_a_row_become_one(net: Any, optimized: Any) -> None:
    """ReLU, Clip, ReLU without a host are one Clip."""
    module = net("""
        Input x 0 1 x 0=5 1=4
        ReLU a 1 1 x a
        Clip b 1 1 a b 0=-1 1=6
        ReLU y 1 1 b y
    """)
    assert set(optimized(module)) == {"fuse_activation_activation"}
    assert [layer.LAYER.type for layer in Network.of(module).layers] == ["Input", "Clip"]


@pytest.mark.parametrize("host", ["Convolution", "Deconvolution"])
def test_hosts_whose_weights_are_inputs(net: Any, optimized: Any, host: str) -> None:
    """The activation is a param of theirs all the same."""
    dynamic = "19=1" if host == "Convolution" else "28=1"
    module = net(f"""
        Input x 0 1 x 0=5 1=4 2=2
        Input w 0 1 w 0=3 1=3 11=2 2=2
        {host} c 2 1 x w c {dynamic}
        ReLU y 1 1 c y
    """)
    assert optimized(module) == [f"fuse_{host.lower()}_activation"]
    assert len(Network.of(module).layers[-1].operands) == 2


def test_a_sigmoid_is_never_negative(net: Any, optimized: Any) -> None:
    """A ReLU behind one goes."""
    module = net("Input x 0 1 x 0=5 1=4\nSigmoid a 1 1 x a\nReLU y 1 1 a y")
    assert optimized(module) == ["fuse_activation_activation"]
    assert [layer.LAYER.type for layer in Network.of(module).layers] == ["Input", "Sigmoid"]


def test_an_int8_result_has_no_activation_behind_it(net: Any, optimized: Any) -> None:
    """It is quantized before, not behind it."""
    layers = """
        Input x 0 1 x
        Convolution c 1 1 x c 0=3 1=3 6=54 8=101
        ReLU y 1 1 c y
    """
    module = net(layers, shapes=False)
    assert explain(module, "fuse_convolution_activation") == [("y", "c makes an int8 result")]
