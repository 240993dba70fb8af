"""What a command line may not say: an input twice, a folder for a file, a file for a folder."""

from __future__ import annotations

from pathlib import Path
from typing import TypeAlias

import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes

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


@pytest.mark.parametrize("path", ["", ".", "..", "/"])
@pytest.mark.parametrize("command", ["compile", "run", "show"])
def test_a_folder_is_no_network(capfd: Captured, command: str, path: str) -> None:
    """By whatever name it is called, though a .ncc beside it would have none."""
    assert cli.run([command, path]) == exit_codes.WRONG
    assert "Is a directory" in capfd.readouterr().err


def test_several_levels_need_a_folder(tmp_path: Path, capfd: Captured) -> None:
    """A file that is there stays what it is."""
    there = tmp_path / "there"
    there.write_text("what it is")
    levels = ["compile", str(DIGITS), "--emit=param,ncnn", "-o", str(there)]
    assert cli.run(levels) == exit_codes.USAGE
    assert "a folder for several levels" in capfd.readouterr().err
    assert there.read_text() == "what it is"
