"""Blobs live from their layer to their last reader; weights for ever."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.memory_estimate import blob_bytes, weight_bytes
from ncc.compiler.read.read_network import read
from ncc.dialects.ncnn.layer import WeightAttr
from ncc.dialects.ncnn.network import Network


def network(folder: Path, *lines: str) -> ModuleOp:
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} 20", *lines, ""]))
    module = read(path, random_weights=1).module
    infer_shapes(module)
    return module


def test_a_chain_needs_two_blobs(tmp_path: Path) -> None:
    """The one that is read and the one that is written."""
    layers = ["AbsVal b 1 1 a b", "AbsVal c 1 1 b c", "AbsVal d 1 1 c d"]
    assert blob_bytes(network(tmp_path, "Input a 0 1 a 0=10", *layers)) == 2 * 40


def test_a_blob_stays_until_its_last_reader(tmp_path: Path) -> None:
    """Across a Split, which takes no memory of its own; outputs stay to the end."""
    given = ["Input a 0 1 a 0=10", "Split s 1 2 a a0 a1", "AbsVal b 1 1 a0 b", "TanH c 1 1 b c"]
    assert blob_bytes(network(tmp_path, *given, "BinaryOp d 2 1 c a1 d")) == 3 * 40
    assert blob_bytes(network(tmp_path, *given, "AbsVal d 1 1 a1 d")) == 3 * 40


def test_views_take_nothing(tmp_path: Path) -> None:
    """And hold what they look at."""
    given = ["Input a 0 1 a 0=5 1=2", "Flatten b 1 1 a b", "AbsVal c 1 1 b c"]
    assert blob_bytes(network(tmp_path, *given)) == 2 * 40


def test_without_shapes_there_is_no_estimate(tmp_path: Path) -> None:
    """None is not 0."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n2 2\nInput a 0 1 a\nAbsVal b 1 1 a b\n")
    assert blob_bytes(read(path).module) is None


def test_weights(tmp_path: Path) -> None:
    """Four bytes a value, one for int8; constants are weights."""
    lines = ["Input a 0 1 a 0=4", "InnerProduct b 1 1 a b 0=3 1=1 2=12", "MemoryData m 0 1 m 0=3"]
    module = network(tmp_path, *lines, "BinaryOp c 2 1 b m c")
    assert weight_bytes(module) == 4 * (12 + 3 + 3)
    product = Network.of(module).layers[1]
    product.properties["weight"] = WeightAttr.of(np.zeros((3, 4), np.int8))
    assert weight_bytes(module) == 12 + 4 * (3 + 3)
