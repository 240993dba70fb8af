"""What onnxruntime makes of the network that a .param was converted from is compared, and said."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.commands.bench import compared
from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.verification import onnx_outputs
from ncc.compiler.verification.onnx_outputs import OnnxRow, against_onnx, compare_outputs, summary
from ncc.runtime.errors import InputError

onnx = pytest.importorskip("onnx", reason="onnx is not installed")
pytest.importorskip("onnxruntime", reason="onnxruntime is not installed")

PARAM = "7767517\n2 2\nInput in0 0 1 in0 0=40\nInnerProduct fc 1 1 in0 out0 0=3 2=120\n"
FACTORS = np.random.default_rng(0).standard_normal((3, 40)).astype(np.float32)

Model: TypeAlias = Callable[..., Path]


@pytest.fixture
def model(tmp_path: Path) -> Model:
    """Write a product with a matrix as net.onnx."""

    def written(
        factors: np.ndarray = FACTORS, given: str = "x", made: str = "y", inputs: int = 1
    ) -> Path:
        helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
        given_names = [given, *(f"{given}{n}" for n in range(1, inputs))]
        graph = helper.make_graph(
            [helper.make_node("Gemm", [given, "w"], [made], transB=1)],
            "net",
            [helper.make_tensor_value_info(name, numbers, [1, 40]) for name in given_names],
            [helper.make_tensor_value_info(made, numbers, [1, len(factors)])],
            [onnx.numpy_helper.from_array(factors, "w")],
        )
        imports = [helper.make_opsetid("", 13)]
        path = tmp_path / "net.onnx"
        onnx.save(helper.make_model(graph, opset_imports=imports, ir_version=8), path)
        return path

    return written


@pytest.fixture
def network(tmp_path: Path) -> Path:
    """The same, converted."""
    path = tmp_path / "net.param"
    path.write_text(PARAM)
    path.with_suffix(".bin").write_bytes(bytes(4) + FACTORS.tobytes())
    return path


def test_a_right_conversion_gives_the_same(network: Path, model: Model) -> None:
    """Inputs and outputs are paired by their order, or by their names."""
    for names, told in ({}, "out0 (y)"), ({"given": "in0", "made": "out0"}, "out0"):
        path = model(**names)
        (row,) = rows = against_onnx(network, None, path)
        assert row.difference < 1e-6 and not row.differs
        assert summary(path, rows).startswith(f"net.onnx gives the same in onnxruntime: {told} ")


def test_a_wrong_one_differs(network: Path, model: Model) -> None:
    """By as much as it says."""
    path = model(1.1 * FACTORS)
    (row,) = rows = against_onnx(network, None, path, seed=3)
    assert row.differs and row.difference == pytest.approx(0.1 / 1.1, rel=1e-3)
    assert summary(path, rows).startswith("warning: net.onnx gives something else")
    assert "out0 (y) 9.1e-02" in summary(path, rows)


def test_another_shape_is_said(network: Path, model: Model) -> None:
    """Where axes of one element do not make the difference."""
    path = model(FACTORS[:2])
    (row,) = rows = against_onnx(network, None, path)
    assert row.differs and row.as_object()["difference"] is None
    assert "out0 is 3, y 1x2" in summary(path, rows)


def test_small_values_are_no_difference() -> None:
    """What is next to zero everywhere is compared with a least value."""
    assert onnx_outputs.difference_of(np.full(3, 1e-8), np.full((1, 3), 7e-8)) < 1e-3
    assert onnx_outputs.difference_of(np.full(3, 1.0), np.full(3, np.nan)) == np.inf
    assert onnx_outputs.difference_of(np.full(3, np.inf), np.full(3, np.inf)) == 0


def test_what_cannot_be_compared_is_an_error(network: Path, model: Model, tmp_path: Path) -> None:
    """Of the .onnx, which is named."""
    with pytest.raises(InputError, match=r"2 inputs \(x, x1\), and the network 1 \(in0\)"):
        against_onnx(network, None, model(inputs=2))
    with pytest.raises(InputError, match="onnxruntime refuses .*net.onnx: "):
        compare_outputs(model(), {"in0": np.zeros(7, np.float32)}, {"out0": np.zeros(3)})
    other = tmp_path / "other.onnx"
    other.write_bytes(b"nothing")
    with pytest.raises(ModelError, match="other.onnx: error: is no ONNX model"):
        against_onnx(network, None, other)


def test_without_onnxruntime_it_is_said_how_to_have_it(
    network: Path, model: Model, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A benchmark goes on without."""
    path = model()
    monkeypatch.setattr(onnx_outputs, "available", lambda: False)
    with pytest.raises(Unsupported, match=re.escape("pip install 'ncnn-compiler[onnx]'")):
        against_onnx(network, None, path)
    rows, told = compared(str(network), None, str(path), {}, {})
    assert not rows and "pip install 'ncnn-compiler[onnx]'" in told


@pytest.mark.slow
def test_a_benchmark_says_thedifference_of(
    network: Path, model: Model, capfd: pytest.CaptureFixture[str]
) -> None:
    """In a line, and as JSON; weights that are made up are not compared."""
    path = str(model(2 * FACTORS))
    command = ["bench", str(network), "--onnx", path, "--rounds", "1"]
    assert cli.run([*command, "--json"]) == exit_codes.OK
    captured = capfd.readouterr()
    (told,) = json.loads(captured.out)["onnx"]
    assert told["blob"] == "out0" and told["differs"] and told["difference"] == pytest.approx(0.5)
    assert "warning: net.onnx gives something else in onnxruntime: out0 (y) 5.0e-01" in captured.err
    rows, told = compared(str(network), None, path, {}, {"random_weights": 1})
    assert not rows and "made up" in told


@pytest.mark.parametrize(
    ("factor", "code"),
    [pytest.param(1, exit_codes.OK, marks=pytest.mark.slow), (2, exit_codes.DIFFERS)],
)
def test_verify_says_it_last(
    network: Path, model: Model, capfd: pytest.CaptureFixture[str], factor: float, code: int
) -> None:
    """And by its exit code; the inputs are those of all else."""
    path = str(model(factor * FACTORS))
    command = ["verify", str(network), "--onnx", path, "--range", "0,1"]
    assert cli.run(command) == code
    *_, agree, last = capfd.readouterr().out.splitlines()
    assert agree == "all blobs agree"
    assert last.startswith("warning: net.onnx gives something else") == (code != exit_codes.OK)
    assert cli.run([*command, "--json"]) == code
    (told,) = json.loads(capfd.readouterr().out)["onnx"]
    assert told["differs"] == (code != exit_codes.OK)


def test_verify_asks_for_onnxruntime_first(
    network: Path, model: Model, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Before it works for minutes; and for the file, and weights that are its."""
    path = str(model())
    made_up = ["--onnx", path, "--random-weights", "1"]
    assert cli.run(["verify", str(network), *made_up]) == exit_codes.USAGE
    missing = ["--onnx", str(tmp_path / "missing.onnx")]
    assert cli.run(["verify", str(network), *missing]) == exit_codes.WRONG
    monkeypatch.setattr(onnx_outputs, "available", lambda: False)
    assert cli.run(["verify", str(network), "--onnx", path]) == exit_codes.UNSUPPORTED


def test_a_row_is_of_one_name_where_both_are() -> None:
    """Else it says both."""
    assert str(OnnxRow("a", "a", (3,), (1, 3), 0.25)) == "a 2.5e-01"
    assert str(OnnxRow("a", "b", (3,), (1, 3), 0.25)) == "a (b) 2.5e-01"


def test_the_first_blob_that_differs_is_named(tmp_path: Path) -> None:
    """Blobs inside of the network are compared by their names, but for names that are numbers."""
    helper, numbers = onnx.helper, onnx.TensorProto.FLOAT
    kinds = {"hidden": "Relu", "scaled": "Sigmoid", "7": "Tanh", "out0": "Neg"}
    names = ["in0", *kinds]
    nodes = [
        helper.make_node(kind, [names[k]], [names[k + 1]]) for k, kind in enumerate(kinds.values())
    ]
    ends = [helper.make_tensor_value_info(name, numbers, [1, 40]) for name in ("in0", "out0")]
    graph = helper.make_graph(nodes, "net", ends[:1], ends[1:])
    path = tmp_path / "net.onnx"
    onnx.save(helper.make_model(graph, ir_version=8), path)
    param = tmp_path / "net.param"
    layers = ["ReLU", "Sigmoid", "TanH", "UnaryOp"]
    params = ["", "", "", " 0=1"]
    lines = ["7767517", "5 5", "Input in0 0 1 in0 0=40"]
    lines += [
        f"{kind} l{k} 1 1 {names[k]} {names[k + 1]}{params[k]}" for k, kind in enumerate(layers)
    ]
    param.write_text("\n".join(lines) + "\n")
    param.with_suffix(".bin").write_bytes(b"")
    rows = against_onnx(param, None, path)
    assert [(row.blob, row.is_inner) for row in rows] == [
        ("hidden", True),
        ("scaled", True),
        ("out0", False),
    ]
    assert summary(path, rows).endswith(", and 2 blobs of the same names")
    param.write_text(param.read_text().replace("Sigmoid", "HardSwish"))
    told = summary(path, against_onnx(param, None, path))
    assert re.search(r"warning: .*: blob scaled .*, the first, out0 ", told)
