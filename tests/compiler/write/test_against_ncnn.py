"""ncnn loads what is written, and computes the numbers that it computed before."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.dialects.func import FuncOp, ReturnOp
from xdsl.ir import Block, Region

from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.write.write_network import network_text, write
from ncc.dialects.ncnn.layer import LAYERS, LayerError, WeightAttr
from ncc.dialects.ncnn.network import Network
from ncc.dialects.ncnn.plumbing import InputOp

pytestmark = pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")

NOT_SAID = {
    # The wheel's tables of shapes are int32, and its Input makes float32.
    "Embed",
}
"""Layer types whose recorded cases are no networks of float32 inputs."""


def network_of(case: Any) -> ModuleOp | None:
    """The recorded layer as a network of its own; None where this is no network of ncc's."""
    names = [f"in{k}" for k in range(len(case.inputs))]
    inputs = [
        InputOp.make([], {}, name=name, blobs=[name], shapes=[array.shape])
        for name, array in zip(names, case.inputs, strict=True)
    ]
    given = [op.results[0] for op in inputs]
    blobs = [f"out{k}" for k in range(len(case.outputs))]
    op = LAYERS[case.type].make(given, case.params, name="layer", blobs=blobs)
    try:
        op.check()
    except LayerError:
        return None
    declared = [(w.name, shape) for w in op.LAYER.weights.values() if (shape := w.shape(op))]
    if len(declared) != len(case.weights):
        return None
    for (name, shape), array in zip(declared, case.weights, strict=True):
        op.properties[name] = WeightAttr.of(array.reshape(shape))
    types = [result.type for result in op.results]
    function = FuncOp("network", ((), types), Region(Block([*inputs, op, ReturnOp(*op.results)])))
    function.attributes["outputs"] = ArrayAttr([StringAttr(blob) for blob in blobs])
    return ModuleOp([function])


def is_plain(case: Any) -> bool:
    """Whether ncnn's tests and its wheel ran the case on float32, and agreed."""
    arrays = [*case.entry["inputs"], *case.entry["weights"], *case.entry["outputs"]]
    odd = {"int8", "elempack", "wheel", "empty_input", "empty_output", "block_quant"}
    return not odd & case.tags and all(array["dtype"] == "f4" for array in arrays)


def check(cases: Sequence[Any], folder: Path) -> None:
    """Write each case, read it to the same text, and let ncnn compute what was recorded."""
    jobs, written = [], []
    for number, case in enumerate(cases):
        module = network_of(case)
        if module is None:
            continue
        files = folder / f"{number}.param", folder / f"{number}.bin"
        write(module, *files)
        assert network_text(read(*files).module) == network_text_without_hints(module), str(case)
        inputs = {f"in{k}": array for k, array in enumerate(case.inputs)}
        jobs.append(oracle.Job(*files, inputs, [f"out{k}" for k in range(len(case.outputs))]))
        written.append(case)
    assert jobs or not cases
    for case, found in zip(written, oracle.run_all(jobs), strict=True):
        assert not isinstance(found, oracle.OracleError), f"{case}: {found}"
        for array, expected in zip(found.values(), case.outputs, strict=True):
            assert array.shape == expected.shape, str(case)
            scale = np.maximum(1, np.maximum(np.abs(array), np.abs(expected)))
            with np.errstate(invalid="ignore"):
                near = np.abs(array - expected) <= max(case.eps, 1e-3) * scale
            assert (near | (array == expected) | np.isnan(expected)).all(), str(case)


def network_text_without_hints(module: ModuleOp) -> str:
    """Only the Inputs know their shapes here, and a file says them as params."""
    lines = network_text(module).splitlines()
    words = [[w for w in line.split(" ") if not w.startswith("-23330=")] for line in lines]
    return "\n".join([*map(" ".join, words), ""])


def test_a_layer_of_each_type(recorded_cases: Callable[[str], list[Any]], tmp_path: Path) -> None:
    """One recorded case each, the one that says most."""
    cases = []
    for type in LAYERS:
        if type not in NOT_SAID:
            plain = [case for case in recorded_cases(type) if is_plain(case)]
            cases += sorted(plain, key=lambda case: len(case.entry["pd"]))[-1:]
    assert len(cases) > len(LAYERS) * 0.8
    check(cases, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("type", sorted(LAYERS.keys() - NOT_SAID))
def test_all_cases(type: str, recorded_cases: Callable[[str], list[Any]], tmp_path: Path) -> None:
    """Every recorded case of a type."""
    check([case for case in recorded_cases(type) if is_plain(case)], tmp_path)


WIRES = """func.func @network() -> (tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32>)
attributes {outputs = ["in_again", "a", "b", "b_too"]} {
%x = ncnn.Input() {w = 3 : i32, layer = "x", blobs = ["x"]} : () -> tensor<3xf32>
%a = ncnn.UnaryOp(%x) {op_type = 1 : i32, layer = "a", blobs = ["a"]}
    : (tensor<3xf32>) -> tensor<3xf32>
%b = ncnn.BinaryOp(%a, %a) {op_type = 2 : i32, layer = "b", blobs = [""]}
    : (tensor<3xf32>, tensor<3xf32>) -> tensor<3xf32>
func.return %x, %a, %b, %b : tensor<3xf32>, tensor<3xf32>, tensor<3xf32>, tensor<3xf32> }"""


def test_outputs_that_are_shared(parse: Callable[[str], ModuleOp], tmp_path: Path) -> None:
    """An input, a value that is read as well, and one value under two names."""
    files = tmp_path / "net.param", tmp_path / "net.bin"
    write(parse(WIRES), *files)
    assert set(Network.of(read(*files).module).outputs) == {"in_again", "a", "b", "b_too"}
    x = np.array([1, -2, 3], np.float32)
    found = oracle.run(*files, {"x": x}, ["in_again", "a", "b", "b_too"])
    assert [array.tolist() for array in found.values()] == [
        x.tolist(),
        (-x).tolist(),
        (x * x).tolist(),
        (x * x).tolist(),
    ]
