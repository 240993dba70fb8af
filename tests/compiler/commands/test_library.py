"""`ncc compile --emit=lib`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from onnx import helper

import ncc
from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.driver import compile
from ncc.compiler.library.layout import HEAD_BYTES
from ncc.compiler.options import Options
from ncc.compiler.stopwatch import Stopwatch
from tests.c_programs import Loaded
from tests.onnx.models import model, written

NETWORK = """7767517
3 3
Input in0 0 1 data{shape}
Pooling pool 1 1 data 1 0=1 4=1
InnerProduct fc 1 1 1 prob 0=4 1=1 2=12
"""
FILES = {"lib{0}.a", "lib{0}.so", "{0}.h", "{0}.hpp", "{0}Config.cmake"}


@pytest.fixture
def param(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """my-net.param in a folder to be in."""
    monkeypatch.chdir(tmp_path)
    path = tmp_path / "my-net.param"
    path.write_text(NETWORK.format(shape=" 0=8 1=8 2=3"))
    return path


def files(folder: str) -> set[str]:
    return {path.name for path in Path(folder).iterdir()}


def named(name: str) -> set[str]:
    return {file.format(name) for file in FILES}


def test_a_library_of_a_network(param: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Named after the network, beside it or in the folder that -o names; nothing else is left."""
    command = ["compile", "my-net.param", "--random-weights", "1", "--emit=lib"]
    assert cli.run([*command, "--timing"]) == exit_codes.OK
    said = capsys.readouterr().out
    assert "my-net: libmy_net.a, " in said and "input   data  float32 3x8x8" in said
    assert " ms  " in said
    assert files("my-net") == named("my_net")
    assert cli.run([*command, "-o", "for/others", "--name", "net"]) == exit_codes.OK
    assert files("for/others") == named("net")
    assert files(".") == {"my-net.param", "my-net", "for"}


def test_a_name_that_is_no_text(param: Path) -> None:
    """Its bytes that no UTF-8 has become question marks in texts."""
    odd = param.rename(os.fsdecode(b"odd\xff.param"))
    command = ["compile", str(odd), "--random-weights", "1"]
    assert cli.run([*command, "--emit=lib", "-o", "net", "--name", "net"]) == exit_codes.OK
    assert "odd?.param" in Path("net/net.h").read_text()


def test_a_disk_that_is_full(
    param: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The error names the folder of the library, not the compiled model that goes before it."""

    def full(param: str, bin: str | None, options: Options, out: Path, watch: Stopwatch) -> None:
        raise OSError(28, "No space left on device", str(out))

    monkeypatch.setattr(compile, "compile_file", full)
    command = ["compile", param.name, "--random-weights", "1", "--emit=lib"]
    assert cli.run(command) == exit_codes.WRONG
    assert capsys.readouterr().err == "ncc: my-net: No space left on device\n"
    assert files(".") == {"my-net.param"}


def test_a_library_of_a_compiled_model(param: Path) -> None:
    """It is that of the network: the same code, and the same weights."""
    assert cli.run(["compile", str(param), "--random-weights", "1"]) == exit_codes.OK
    command = ["compile", str(param), "--random-weights", "1", "--emit=lib", "-o", "one"]
    assert cli.run(command) == exit_codes.OK
    assert cli.run(["compile", "my-net.ncc", "--emit=lib", "-o", "two"]) == exit_codes.OK
    for name in named("my_net"):
        assert Path("one", name).read_bytes() == Path("two", name).read_bytes()
    inside = ["compile", "my-net.ncc", "--emit=lib", "-o", "three", "--weights=file"]
    assert cli.run(inside) == exit_codes.OK
    weights = bytes(ncc.load("my-net.ncc").artifact.weights)
    assert Path("three", "my_net.weights").read_bytes()[HEAD_BYTES:] == weights
    assert Loaded(Path("three"), "my_net").call("check", None, 1) != 0


def test_a_library_of_an_onnx(param: Path) -> None:
    """Named after the network, too."""
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": [1, 3, 8]}, ["y"])
    written(Path(), made, "my-net.onnx")
    assert cli.run(["compile", "my-net.onnx", "--emit=lib"]) == exit_codes.OK
    assert files("my-net") == named("my_net")


@pytest.mark.parametrize(
    ("words", "code", "says"),
    [
        ("my-net.param --name net", exit_codes.USAGE, "--emit=lib"),
        ("my-net.param --weights file", exit_codes.USAGE, "--emit=lib"),
        ("my-net.param --emit=lib,obj", exit_codes.USAGE, "stands alone"),
        ("my-net.param --emit=lib -o -", exit_codes.USAGE, "folder"),
        ("my-net.param --emit=lib -o file", exit_codes.USAGE, "file is a file"),
        ("my-net.param --emit=lib -o file/below", exit_codes.USAGE, "file is a file"),
        ("my-net.param --emit=lib --name my-net", exit_codes.WRONG, "like my_net"),
        ("my-net.ncc --emit=lib -O1", exit_codes.USAGE, "settled"),
        ("my-net.ncc --emit=lib --shape data=3x9x9", exit_codes.USAGE, "settled"),
        ("my-net.ncc x.bin --emit=lib", exit_codes.USAGE, "settled"),
        ("open.param --emit=lib --random-weights 1", exit_codes.WRONG, "--shape data=3x"),
        ("none.param --emit=lib", exit_codes.WRONG, "none.param"),
    ],
)
def test_what_is_refused(
    words: str, code: int, says: str, param: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """With the way to go on; no folder is made."""
    if words.startswith("my-net.ncc"):
        assert cli.run(["compile", str(param), "--random-weights", "1"]) == exit_codes.OK
    Path("file").touch()
    Path("open.param").write_text(NETWORK.format(shape=""))
    before = files(".")
    assert cli.run(["compile", *words.split()]) == code
    assert says in capfd.readouterr().err
    assert files(".") == before
