"""Files that read back to the network they were written from, or no files at all."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from xdsl.dialects.builtin import FloatAttr, ModuleOp, f32
from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug, ModelError, Unsupported
from ncc.compiler.ncnn.canonicalize import canonicalize
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.compiler.write.weights import weights_of
from ncc.compiler.write.write_network import network_text, write
from ncc.dialects.ncnn.layer import WeightAttr
from ncc.dialects.ncnn.network import Network
from ncc.runtime.errors import InputError

Build: TypeAlias = Callable[[str], ModuleOp]

MODELS = sorted((Path(__file__).parents[4] / "shared" / "models").rglob("*.param"))
LARGE = 60_000
"""Bytes of a file that holds the same layers many times over."""

each_model = pytest.mark.parametrize(
    "path",
    [
        pytest.param(
            path,
            id=path.stem,
            marks=[pytest.mark.slow] if place % 3 or path.stat().st_size > LARGE else [],
        )
        for place, path in enumerate(MODELS)
    ],
)

NETWORK = """
    Input data 0 1 data 0=8 1=8 2=3
    Convolution conv 1 1 data conv 0=4 1=3 5=1 6=108 9=2 -23310=1,0.1
    Split split 1 2 conv conv_splitncnn_0 conv_splitncnn_1
    Pooling pool 1 1 conv_splitncnn_0 pool 0=1 4=1
    BinaryOp add 1 1 conv_splitncnn_1 add 1=1 2=0.123456789
    InnerProduct fc 1 1 pool fc 0=2 1=1 2=8 31=2
"""

TEXT = """7767517
6 7
Input                    data                     0 1 data -23330=5,3,8,8,1,3 0=8 1=8 2=3
Convolution              conv                     1 1 data conv -23330=5,3,6,6,1,4 \
0=4 1=3 5=1 6=108 9=2 -23310=1,0.1
Split                    split                    1 2 conv conv_splitncnn_0 conv_splitncnn_1 \
-23330=10,3,6,6,1,4,3,6,6,1,4
Pooling                  pool                     1 1 conv_splitncnn_0 pool -23330=5,1,4,1,1,1 \
0=1 4=1
BinaryOp                 add                      1 1 conv_splitncnn_1 add -23330=5,3,6,6,1,4 \
1=1 2=0.12345679
InnerProduct             fc                       1 1 pool fc -23330=5,1,2,1,1,1 0=2 1=1 2=8 31=2
"""


def content(module: ModuleOp) -> list[Any]:
    """All that a network is: layers, names, params, values of weights, wires, outputs."""
    network = Network.of(module)
    blobs: dict[SSAValue, str] = {}
    found: list[Any] = []
    for op in network.layers:
        blobs.update(zip(op.results, op.blob_names, strict=True))
        params = {name: getattr(op, name) for name in op.LAYER.params}
        held = {
            name: (value.shape, value.array().tobytes())
            for name, value in op.properties.items()
            if isinstance(value, WeightAttr)
        }
        reads = [blobs[value] for value in op.operands]
        found.append((op.LAYER.type, op.layer_name, op.blob_names, reads, params, held))
    return [*found, {name: blobs[value] for name, value in network.outputs.items()}]


def test_the_text(network: Build) -> None:
    """As ncnn's own tools lay it out, with hints of our own."""
    module = network(NETWORK)
    infer_shapes(module)
    assert network_text(module) == TEXT


def test_files_read_back_to_the_same_network(network: Build, tmp_path: Path) -> None:
    """Layer by layer, weight by weight."""
    module = network(NETWORK)
    written = write(module, tmp_path / "out.param", tmp_path / "out.bin")
    assert (written.layers, written.blobs, written.kept_wide) == (6, 7, ())
    again = read(tmp_path / "out.param", tmp_path / "out.bin")
    assert not again.warnings
    assert content(again.module) == content(module)
    assert written.bin_bytes == (tmp_path / "out.bin").stat().st_size == 4 * (1 + 112 + 1 + 10)


def test_halves_are_halves(network: Build, tmp_path: Path) -> None:
    """The flag is for tagged weights, which take half the room."""
    module = network(NETWORK)
    write(module, tmp_path / "out.param", tmp_path / "out.bin", fp16=True)
    halves = Network.of(read(tmp_path / "out.param").module).layers
    singles = Network.of(module).layers
    for half, single in zip(halves, singles, strict=True):
        for _, weight, held in weights_of(single):
            values = held.array()
            expected = values.astype(np.float16).astype(np.float32) if weight.tagged else values
            found = half.properties[weight.name]
            assert isinstance(found, WeightAttr) and np.array_equal(found.array(), expected)


@pytest.mark.skipif(not MODELS, reason="there is no ../shared/models beside the checkout")
@each_model
def test_models_come_back(path: Path, tmp_path: Path) -> None:
    """Their text, after a rewrite without Splits as well, is read to a network of the same text."""
    try:
        module = read(path, random_weights=1).module
    except (ModelError, Unsupported) as error:
        pytest.skip(str(error))
    file = tmp_path / "again.param"
    for rewrite in (lambda module: None, canonicalize):
        rewrite(module)
        text = network_text(module)
        file.write_text(text)
        again = read(file, random_weights=1).module
        assert network_text(again) == text
        assert list(Network.of(again).inputs) == list(Network.of(module).inputs)
        if rewrite is not canonicalize:
            assert list(Network.of(again).outputs) == list(Network.of(module).outputs)


def test_a_network_may_be_written_over_itself(network: Build, tmp_path: Path) -> None:
    """Weights come from the very file that is replaced."""
    write(network(NETWORK), tmp_path / "net.param", tmp_path / "net.bin")
    module = read(tmp_path / "net.param").module
    expected = content(module)
    write(module, tmp_path / "net.param", tmp_path / "net.bin")
    assert content(read(tmp_path / "net.param").module) == expected


def test_nothing_is_written_of_what_cannot_be_said(network: Build, tmp_path: Path) -> None:
    """The last layer of a network is refused before its first."""
    given = NETWORK.replace("2=0.123456789", "2=0.5")
    module = network(given)
    add = Network.of(module).layers[4]
    add.properties["b"] = FloatAttr(float("inf"), f32)
    with pytest.raises(Unsupported, match="layer 'add' on line 7"):
        write(module, tmp_path / "out.param", tmp_path / "out.bin")
    assert not list(tmp_path.glob("out*"))


def test_a_layer_without_its_weights_is_a_bug(network: Build, tmp_path: Path) -> None:
    """It would shift every weight behind it."""
    module = network(NETWORK)
    del Network.of(module).layers[1].properties["bias"]
    with pytest.raises(CompilerBug, match="'bias' is missing"):
        write(module, tmp_path / "out.param", tmp_path / "out.bin")


def test_a_failure_leaves_what_was_there(network: Build, tmp_path: Path) -> None:
    """Both files are new, or both are old, and no draft stays behind."""
    module = network(NETWORK)
    (tmp_path / "out.param").write_text("old")
    (tmp_path / "out.bin").write_text("old")

    class Broken(Exception):
        pass

    def fail(*_: Any, **__: Any) -> None:
        raise Broken

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("ncc.compiler.write.write_network.write_weights", fail)
        with pytest.raises(Broken):
            write(module, tmp_path / "out.param", tmp_path / "out.bin")
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "given.param",
        "out.bin",
        "out.param",
    ]
    assert {path.read_text() for path in tmp_path.glob("out.*")} == {"old"}


@pytest.mark.parametrize(
    "names, message",
    [
        (("out", "out"), "two files at once"),
        (("out.bin", "out.param"), "swapped"),
        (("nowhere/out.param", "out.bin"), "there is no folder"),
        (("out.param", "."), "no plain file"),
        (("out.param", "/dev/null"), "no plain file"),
    ],
)
def test_paths_that_cannot_be_written(
    network: Build, tmp_path: Path, names: tuple[str, str], message: str
) -> None:
    """Told before anything is written."""
    with pytest.raises(InputError, match=re.escape(message)):
        write(network(NETWORK), *(tmp_path / name for name in names))
    assert [path.name for path in tmp_path.iterdir()] == ["given.param"]
