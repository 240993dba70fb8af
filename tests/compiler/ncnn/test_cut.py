"""A part of a network is a network, with the inputs and outputs that it needs."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.ncnn.cut import cut
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError

LINES = """
Input data 0 1 data 0=5
Input other 0 1 other 0=5
MemoryData two 0 1 two 0=1
Split s0 1 2 two two_0 two_1
BinaryOp a 2 1 data two_0 a 0=2
Split s1 1 3 a a_0 a_1 a_2
TanH b 1 1 a_0 b
AbsVal c 1 1 a_1 c
BinaryOp d 2 1 b c d
BinaryOp e 2 1 d two_1 e 0=1
BinaryOp f 2 1 e a_2 f
BinaryOp g 2 1 f other g
"""


@pytest.fixture
def network(tmp_path: Path) -> ModuleOp:
    lines = LINES.strip().splitlines()
    path = tmp_path / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 20", *lines, ""]))
    module = read(path, random_weights=1).module
    infer_shapes(module)
    return module


def layers(module: ModuleOp) -> list[str]:
    return [op.layer_name for op in Network.of(module).layers]


def test_the_whole_is_no_cut(network: ModuleOp) -> None:
    """No names, or those of the first and the last layer."""
    before = str(network)
    cut(network)
    cut(network, "data", "g")
    assert str(network) == before


def test_the_start_gets_inputs(network: ModuleOp) -> None:
    """One for each value, whatever the Splits call it; constants stay constants."""
    cut(network, "b")
    module = Network.of(network)
    assert list(module.inputs) == ["a", "other"]
    assert list(module.outputs) == ["g"]
    assert layers(network) == ["a", "other", "two", "b", "c", "d", "e", "f", "g"]
    assert [shape_of(value) for value in module.inputs.values()] == [(5,), (5,)]
    network.verify()


def test_the_end_gets_outputs(network: ModuleOp) -> None:
    """All that layers behind it read, under the names of their layers' blobs."""
    cut(network, None, "c")
    module = Network.of(network)
    assert list(module.outputs) == ["a", "b", "c"]
    assert list(module.inputs) == ["data"]
    assert layers(network) == ["data", "two", "a", "b", "c"]
    network.verify()


def test_the_parts_compute_what_the_whole_does(network: ModuleOp) -> None:
    """The first part's outputs, fed to the second."""
    x = {"data": np.arange(5, dtype=np.float32), "other": np.ones(5, np.float32)}
    whole = interpret(network, x, ["a", "d", "g"])
    part = network.clone()
    cut(part, "b", "d")
    assert interpret(part, {"a": whole["a"]})["d"].tolist() == whole["d"].tolist()
    cut(network, "e", "g")
    found = interpret(network, {"d": whole["d"], "a": whole["a"], "other": x["other"]})
    assert found["g"].tolist() == whole["g"].tolist()


@pytest.mark.parametrize(
    "start, end, message",
    [
        ("nobody", None, "no layer 'nobody'"),
        (None, "nobody", "no layer 'nobody'"),
        ("e", "b", "stands before"),
        ("data", "data", "no output"),
    ],
)
def test_cuts_that_cannot_be(
    network: ModuleOp, start: str | None, end: str | None, message: str
) -> None:
    """Names of no layer, in the wrong order, or around nothing."""
    with pytest.raises(InputError, match=message):
        cut(network, start, end)
