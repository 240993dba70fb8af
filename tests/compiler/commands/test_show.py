"""`ncc show`: what is printed of a network, and of a compiled file."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from onnx import helper

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.runtime.file_kinds import GET_PNNX
from tests.onnx.models import model, written

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"


def test_a_network(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Its inputs and outputs, then a line a layer and the sums; the .param is enough."""
    (tmp_path / "net.param").write_bytes(DIGITS.read_bytes())
    assert cli.run(["show", str(tmp_path / "net.param")]) == exit_codes.OK
    out, err = capfd.readouterr()
    lines = out.splitlines()
    assert lines[:2] == ["input   data  float32 1x8x8", "output  prob  float32 10"]
    assert lines[4].split() == ["Convolution", "conv1", "conv1", "16x8x8", "160", "9,216"]
    assert lines[-1].split() == ["11", "layers", "5,130", "83,264"]
    assert not err


def test_a_shape_that_is_not_known(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Is a warning that says how to tell it."""
    (tmp_path / "net.param").write_text("7767517\n2 2\nInput x 0 1 x\nReLU y 1 1 x y\n")
    assert cli.run(["show", str(tmp_path / "net.param")]) == exit_codes.OK
    out, err = capfd.readouterr()
    assert out.startswith("input   x  float32 ?\n")
    assert err.startswith("warning: shapes are not all known") and "--shape x=" in err
    assert cli.run(["show", str(tmp_path / "net.param"), "--shape", "x=5"]) == exit_codes.OK
    assert capfd.readouterr().out.startswith("input   x  float32 5\noutput  y  float32 5\n")


def test_open_axes_of_an_onnx(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Are shown with their names."""
    nodes = [helper.make_node("Relu", ["x"], ["y"])]
    path = written(tmp_path, model(nodes, {"x": ("batch", 3, "height", "width")}, ["y"]))
    assert cli.run(["show", str(path)]) == exit_codes.OK
    out, _ = capfd.readouterr()
    assert out.startswith("input   x  float32 ?x3x?x?, batch, height, width\noutput  y")


UNKNOWN = """7767517
4 4
Input x 0 1 x 0=4
Convolutoin c 1 1 x y
nn.MultiheadAttention attention 1 1 y z
ReLU r 1 1 z out 7=1
"""


@pytest.mark.parametrize("form", [(), ("--json",)], ids=["lines", "json"])
def test_types_that_nobody_knows(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], form: tuple[str, ...]
) -> None:
    """All is shown, and all that a compilation says, with its exit code."""
    path = tmp_path / "net.param"
    path.write_text(UNKNOWN)
    assert cli.run(["compile", str(path)]) == exit_codes.WRONG
    refused = capfd.readouterr().err
    assert cli.run(["show", str(path), *form]) == exit_codes.WRONG
    out, err = capfd.readouterr()
    assert refused in err and "left PyTorch's operator 'nn.MultiheadAttention'" in refused
    assert "net.param:6: warning: ReLU 'r' has no parameter 7" in err
    if form:
        assert json.loads(out)["unknown_types"] == ["Convolutoin", "nn.MultiheadAttention"]
    else:
        assert "nn.MultiheadAttention  attention" in out and "4 layers" in out


def test_an_input_that_no_layer_reads(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Is a warning, and an output."""
    path = tmp_path / "net.param"
    path.write_text("7767517\n3 3\nInput x 0 1 x 0=4\nInput y 0 1 y 0=4\nReLU r 1 1 x z\n")
    assert cli.run(["show", str(path)]) == exit_codes.OK
    assert capfd.readouterr().err == (
        f"{path}:4: warning: no layer reads the input 'y': it is an output, too\n"
    )


@pytest.mark.parametrize("command", ["show", "run", "compile"])
def test_an_archive_that_is_no_compiled_model(
    tmp_path: Path, capfd: pytest.CaptureFixture[str], command: str
) -> None:
    """Every command says the same of it."""
    path = tmp_path / "net.pt"
    with zipfile.ZipFile(path, "w") as file:
        file.writestr("net/data.pkl", b"")
        file.writestr("net/constants.pkl", b"")
    assert cli.run([command, str(path)]) == exit_codes.WRONG
    assert capfd.readouterr().err.splitlines() == [
        f"ncc: {path}: error: this is a TorchScript model, as PyTorch writes them; here ncnn's "
        ".param is wanted",
        f"  to go on: pnnx converts it: {GET_PNNX}; pnnx net.pt fp16=0 inputshape=[1,3,224,224]",
    ]


def test_a_compiled_file(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """For another CPU, too: what it was made of, what it takes, and the kernels with their layers.
    Its shapes are settled.
    """
    path = str(tmp_path / "net.ncc")
    command = ["compile", str(DIGITS), "-o", path, "--target", "avx2", "--threads", "2"]
    assert cli.run(command) == exit_codes.OK
    capfd.readouterr()
    assert cli.run(["show", path]) == exit_codes.OK
    lines = capfd.readouterr().out.splitlines()
    assert lines[:3] == [
        "digits.param at -O2 for avx2, at most 2 threads",
        "input   data  float32 1x8x8",
        "output  prob  float32 10",
    ]
    assert lines[3].startswith("code ") and " weights " in lines[3]
    assert any(line.startswith("contraction_") and line.endswith("  conv1") for line in lines)
    assert cli.run(["show", path, "--shape", "data=1x8x8"]) == exit_codes.USAGE


def test_a_network_for_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """One object; null is what nobody knows."""
    assert cli.run(["show", str(DIGITS), "--json"]) == exit_codes.OK
    told = json.loads(capfd.readouterr().out)
    assert told["inputs"] == [{"name": "data", "type": "float32", "shape": [1, 8, 8], "axes": []}]
    assert [blob["name"] for blob in told["outputs"]] == ["prob"]
    assert told["unknown_types"] == []
    assert (len(told["layers"]), told["weights"], told["multiply_adds"]) == (11, 5130, 83264)
    (tmp_path / "net.param").write_text("7767517\n2 2\nInput x 0 1 x\nReLU y 1 1 x y\n")
    assert cli.run(["show", str(tmp_path / "net.param"), "--json"]) == exit_codes.OK
    open = json.loads(capfd.readouterr().out)
    assert open["inputs"][0]["shape"] is None and open["multiply_adds"] is None


def test_a_compiled_file_for_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What it runs on, what it takes and the steps of a run."""
    path = str(tmp_path / "net.ncc")
    assert cli.run(["compile", str(DIGITS), "-o", path, "--target", "avx2"]) == exit_codes.OK
    capfd.readouterr()
    assert cli.run(["show", path, "--json"]) == exit_codes.OK
    told = json.loads(capfd.readouterr().out)
    data = {"name": "data", "type": "float32", "shape": [1, 8, 8], "dynamic": False, "ranges": None}
    assert (told["model"], told["target"], told["threads"]) == ("digits.param", "avx2", 1)
    assert told["inputs"] == [data]
    assert ["conv1"] in [step["layers"][:1] for step in told["steps"]]


def test_a_compiled_file_that_is_damaged(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Each bit of its content is compared with a checksum, weights as well."""
    path = tmp_path / "net.ncc"
    assert cli.run(["compile", str(DIGITS), "-o", str(path)]) == exit_codes.OK
    with zipfile.ZipFile(path) as archive:
        ends = [info.header_offset for info in archive.infolist()][1:] + [archive.start_dir]
        names = archive.namelist()
    content = path.read_bytes()
    for end, name in zip(ends, names, strict=True):
        data = bytearray(content)
        data[end - 1] ^= 1
        path.write_bytes(data)
        capfd.readouterr()
        assert cli.run(["show", str(path)]) == exit_codes.WRONG
        assert f"{name} does not match its checksum" in capfd.readouterr().err
