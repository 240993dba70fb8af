"""What a command line may not say: an input twice, a folder for a file, a file for a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import pytest

from ncc.compiler import cli
from ncc.compiler.commands import arguments, exit_codes

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"

Captured: TypeAlias = pytest.CaptureFixture[str]


@pytest.mark.parametrize(
    ("command", "option"),
    [
        ("compile", ("--shape", "data=1x8x8", "--shape", "data=1x9x9")),
        ("verify", ("--shape", "data=1x8x8", "--shape", "data=1x8x8")),
        ("run", ("--type", "data=int8", "--type", "data=float32")),
        ("run", ("--input", "data=@x.npy", "--input", "data=@y.npy")),
    ],
)
def test_an_input_is_told_of_once(capfd: Captured, command: str, option: tuple[str, ...]) -> None:
    """None of two words about it is passed over in silence."""
    assert cli.run([command, str(DIGITS), *option]) == exit_codes.USAGE
    assert "data is given more than once" in capfd.readouterr().err


@pytest.mark.parametrize("path", [".", "..", "/"])
@pytest.mark.parametrize("command", ["compile", "run", "show"])
def test_a_folder_is_no_network(capfd: Captured, command: str, path: str) -> None:
    """By whatever name it is called, though a .ncc beside it would have none."""
    assert cli.run([command, path]) == exit_codes.WRONG
    assert "Is a directory" in capfd.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        ["compile", ""],
        ["compile", DIGITS, ""],
        ["compile", DIGITS, "-o", ""],
        ["compile", DIGITS, "--dump", ""],
        ["run", ""],
        ["show", ""],
        ["verify", DIGITS, ""],
        ["bench", DIGITS, "--onnx", ""],
        ["explain", DIGITS, ""],
        ["optimize", "", "null", "a.param", "a.bin", "0"],
        ["optimize", DIGITS, "null", "", "a.bin", "0"],
    ],
    ids=lambda words: " ".join(map(str, words)).replace(str(DIGITS), "net.param"),
)
def test_a_path_is_not_empty(capfd: Captured, words: list[object]) -> None:
    """As that of a variable is which nobody has set: it would be the folder at hand."""
    assert cli.run(list(map(str, words))) == exit_codes.USAGE
    assert "the path is empty" in capfd.readouterr().err


@pytest.mark.parametrize(
    "arguments",
    [
        ("compile", "--output", ""),
        ("run", "--output", ""),
        ("explain", "--blob", ""),
    ],
)
def test_a_blob_has_a_name(capfd: Captured, arguments: tuple[str, ...]) -> None:
    """Which no layer could make."""
    command, *options = arguments
    assert cli.run([command, str(DIGITS), *options]) == exit_codes.USAGE
    assert "the name of a blob is empty" in capfd.readouterr().err


def test_arrays_are_written_by_another_command(capfd: Captured) -> None:
    """`ncc compile` computes none."""
    assert cli.run(["compile", str(DIGITS), "--output", "prob=@y.npy"]) == exit_codes.USAGE
    assert "`ncc run` writes arrays, by --output prob=@y.npy" in capfd.readouterr().err


@pytest.mark.parametrize(
    ("shape", "said"),
    [
        ("data", ""),
        ("data=", ""),
        ("1x8x8", ": the name of the input is missing"),
        ("=1x8x8", ": the name of the input is missing"),
        ("data=1,8,8", "; did you mean 'data=1x8x8'?"),
        ("data=[1,8,?]", "; did you mean 'data=1x8x?'?"),
        ("data=1X8X8", "; did you mean 'data=1x8x8'?"),
        ("data=1*8*8", "; did you mean 'data=1x8x8'?"),
        ("data=3xaxb", "; did you mean 'data=3'?"),
        ("data=0x8", "; an extent is 1 or more"),
        ("data=@x.npy", "; `ncc run` takes arrays, by --input data=@x.npy"),
    ],
)
def test_a_shape_in_another_spelling(capfd: Captured, shape: str, said: str) -> None:
    """Is told in that of ncc; what is missing is named."""
    assert cli.run(["compile", str(DIGITS), "--shape", shape]) == exit_codes.USAGE
    err = capfd.readouterr().err
    assert err.endswith(f"{shape!r} is not of the form data=3x224x224{said}\n")


def test_several_levels_need_a_folder(tmp_path: Path, capfd: Captured) -> None:
    """A file that is there stays what it is."""
    there = tmp_path / "there"
    there.write_text("what it is")
    levels = ["compile", str(DIGITS), "--emit=param,ncnn", "-o", str(there)]
    assert cli.run(levels) == exit_codes.USAGE
    assert "a folder for several levels" in capfd.readouterr().err
    assert there.read_text() == "what it is"


@pytest.mark.parametrize(
    ("text", "shape"),
    [
        ("3x?x?", (3, None, None)),
        ("3x64..1024x?", (3, (64, 1024), None)),
        ("64..x5", ((64, None), 5)),
        ("5..5", ((5, 5),)),
        ("0..4x0..", ((0, 4), (0, None))),
    ],
)
def test_a_shape_may_have_ranges(text: str, shape: object) -> None:
    """Where a command takes them."""
    assert arguments.asked_shape(f"data={text}") == ("data", shape)


@pytest.mark.parametrize("text", ["..64", "64..32", "0..0", "4...8", "4..?", "..", "4..8.."])
def test_what_is_no_range_is_refused(capfd: Captured, text: str) -> None:
    """With the form of a range."""
    assert cli.run(["compile", str(DIGITS), "--shape", f"data=1x{text}x8"]) == exit_codes.USAGE
    assert "; a range is 64..1024 or 64.., the least extent first" in capfd.readouterr().err


@pytest.mark.parametrize("command", ["run", "show", "verify", "explain"])
def test_ranges_are_for_the_compilation_alone(capfd: Captured, command: str) -> None:
    """Others want one shape."""
    assert cli.run([command, str(DIGITS), "--shape", "data=1x8..9x8"]) == exit_codes.USAGE
    assert "has ranges, which `ncc compile` and `ncc explain --sizes`" in capfd.readouterr().err


@pytest.mark.parametrize("file", ["net.param", "net.param.bin", "net.onnx", "net.ncc"])
def test_what_is_written_has_the_name_of_the_network(file: str) -> None:
    """Without the ending of its format."""
    assert arguments.stem(f"folder/{file}") == "net"
