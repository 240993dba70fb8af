"""Whole networks, in both forms of .param."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, SSAValue

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.read.layer_types import LAYER_TYPES
from ncc.compiler.read.read_network import read
from ncc.compiler.read.records import Graph, LayerRecord, RawValue, Spelling
from ncc.compiler.read.resolve import mean_bits
from ncc.dialects.ncnn.layer import LAYERS, Layer
from tests.crossed import in_turn

MODELS = Path(__file__).parents[4] / "shared" / "models"
PARAMS = sorted(MODELS.rglob("*.param"))


def to_binary(graph: Graph) -> bytes:
    """The .param.bin of a network, numbers stored as its schema takes them."""
    blobs: dict[str, int] = {}
    for record in graph.layers:
        for blob in (*record.inputs, *record.outputs):
            blobs.setdefault(blob.text, len(blobs))
    layers = (_layer_to_binary(record, blobs) for record in graph.layers)
    return struct.pack("<3i", 7767517, len(graph.layers), len(blobs)) + b"".join(layers)


def _layer_to_binary(record: LayerRecord, blobs: dict[str, int]) -> bytes:
    head = (LAYER_TYPES.index(record.type.text), len(record.inputs), len(record.outputs))
    wires = (blobs[blob.text] for blob in (*record.inputs, *record.outputs))
    data = b"".join(struct.pack("<i", word) for word in (*head, *wires))
    for id, raw in record.params.items():
        param = LAYERS[record.type.text].LAYER.param_of_id(id)
        data += _value_to_binary(id, raw, param is not None and param.kind in ("float", "floats"))
    return data + struct.pack("<i", -233)


def _value_to_binary(id: int, raw: RawValue, as_floats: bool) -> bytes:
    if raw.spelling is Spelling.STRING:
        text = str(raw.values[0]).encode()
        return struct.pack("<2i", -23400 - id, len(text)) + text + bytes(-len(text) % 4)
    as_floats = (as_floats and not mean_bits(raw)) or raw.spelling is Spelling.FLOAT
    words = struct.pack(f"<{len(raw.values)}{'f' if as_floats else 'i'}", *raw.values)
    if raw.is_array:
        return struct.pack("<2i", -23300 - id, len(raw.values)) + words
    return struct.pack("<i", id) + words


def structure(module: ModuleOp) -> list[tuple[str, dict[str, Attribute], list[int]]]:
    """What is left of a network without names: types, properties, wires."""
    numbers: dict[SSAValue, int] = {}
    found = []
    for op in module.walk():
        if isinstance(op, Layer):
            found.append((op.name, dict(op.properties), [numbers[value] for value in op.operands]))
            for result in op.results:
                numbers[result] = len(numbers)
    return found


@pytest.mark.skipif(not PARAMS, reason="there is no ../shared/models beside the checkout")
@pytest.mark.parametrize("path", in_turn(PARAMS, 3), ids=lambda path: path.stem)
def test_both_forms_of_a_model_give_one_module(path: Path, tmp_path: Path) -> None:
    """Text, and the binary made of it, but for the names."""
    try:
        text = read(path, random_weights=1)
    except (ModelError, Unsupported) as error:
        if isinstance(error, Unsupported) or "not supported yet" in str(error):
            pytest.skip(str(error).splitlines()[0])
        raise
    text.module.verify()
    assert not text.warnings
    binary = tmp_path / "net.param.bin"
    binary.write_bytes(to_binary(text.graph))
    assert structure(read(binary, random_weights=1).module) == structure(text.module)


def test_a_binary_made_by_ncnn_is_read() -> None:
    """squeezenet_v1.1 comes in both forms, which differ only in what its Input says."""
    path = MODELS / "squeezenet_v1.1.param"
    if not path.exists():
        pytest.skip("there is no ../shared/models beside the checkout")
    try:
        text = read(path, random_weights=1)
    except Unsupported as error:
        pytest.skip(str(error).splitlines()[0])
    binary = read(path.with_suffix(".param.bin"), random_weights=1)
    assert structure(binary.module)[1:] == structure(text.module)[1:]
