"""What is told of inputs: names first, then files; what is missing is named."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"

Refused: TypeAlias = Callable[..., str]


@pytest.fixture
def refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> Refused:
    """refused("run", ..., code=1): the last line of what a command says that ends so. It works in
    a folder of its own.
    """
    monkeypatch.chdir(tmp_path)

    def run(*arguments: object, code: int) -> str:
        capfd.readouterr()
        assert cli.run(list(map(str, arguments))) == code
        out, err = capfd.readouterr()
        assert out == ""
        return err.splitlines()[-1]

    return run


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ("data", ""),
        ("x.npy", ""),
        ("data=", ": the name of the file is missing"),
        ("data=@", ": the name of the file is missing"),
        ("data@", ": the name of the file is missing"),
        ("=@x.npy", ": the name of the blob is missing"),
        ("=x.npy", ": the name of the blob is missing"),
        ("@x.npy", ": the name of the blob is missing"),
        ("data=x.npy", "; did you mean data=@x.npy?"),
        ("data@x.npy", "; did you mean data=@x.npy?"),
        ("data = @x.npy", "; did you mean data=@x.npy?"),
        ("data=1x8x8", "; did you mean --shape data=1x8x8?"),
    ],
)
def test_an_array_in_another_spelling(refused: Refused, given: str, said: str) -> None:
    """Is told in that of ncc; what is missing is named."""
    told = refused("run", DIGITS, "--input", given, code=exit_codes.USAGE)
    assert told.endswith(f"{given!r} is not of the form data=@x.npy{said}")


@pytest.mark.parametrize("given", ["prob=@", "=@y.npy"])
def test_a_result_in_another_spelling(refused: Refused, given: str) -> None:
    """The same."""
    told = refused("run", DIGITS, "--output", given, code=exit_codes.USAGE)
    assert "the name of the" in told and told.endswith("is missing")


@pytest.mark.parametrize("command", ["run", "verify", "bench", "tune"])
@pytest.mark.parametrize(
    "option", [("--input", "dta=@missing.npy"), ("--shape", "dta=1x8x8"), ("--type", "dta=int8")]
)
def test_a_wrong_name_is_told_before_a_missing_file(
    refused: Refused, command: str, option: tuple[str, str]
) -> None:
    """Whichever option has it."""
    given = [*option, "--input", "data=@missing.npy"]
    told = refused(command, DIGITS, *given, code=exit_codes.WRONG)
    assert told == ("ncc: the model has no input 'dta': expected 'data'; did you mean 'data'?")


def test_so_is_that_of_a_result(refused: Refused) -> None:
    """Before arrays that are not there, and before places that are none."""
    for given in (
        ["--output", "prb=@y.npy", "--input", "data=@missing.npy"],
        ["--output", "prb=@nowhere/y.npy"],
    ):
        told = refused("run", DIGITS, *given, code=exit_codes.WRONG)
        assert told == "  did you mean 'prob'?"


def test_so_it_is_of_a_compiled_model(refused: Refused) -> None:
    """Whose inputs and outputs are all that has a name."""
    assert cli.run(["compile", str(DIGITS), "-o", "net.ncc"]) == exit_codes.OK
    for option, given, said in (
        ("--input", "dta=@missing.npy", "no input 'dta': expected 'data'"),
        ("--input", "conv1=@missing.npy", "no input 'conv1': expected 'data'"),
        ("--output", "conv1=@nowhere/y.npy", "no output 'conv1': expected 'prob'"),
        ("--input", "data=@missing.npy", "missing.npy cannot be read: No such file"),
    ):
        assert said in refused("run", "net.ncc", option, given, code=exit_codes.WRONG)


def test_files_are_told_where_names_are_right(refused: Refused) -> None:
    """Any blob of a network can be fed."""
    for name in ("data", "conv1", "prob"):
        told = refused("run", DIGITS, "--input", f"{name}=@none.npy", code=exit_codes.WRONG)
        assert told == "ncc: none.npy cannot be read: No such file or directory"


def test_the_file_is_told_where_names_cannot_be_known(refused: Refused) -> None:
    """A network that is broken says so when its inputs are there."""
    Path("net.param").write_text("7767517\n2 2\nInput data 0 1 data\nReLU r 1 1 data out 0=\n")
    told = refused("run", "net.param", "--input", "dta=@none.npy", code=exit_codes.WRONG)
    assert told.startswith("ncc: none.npy cannot be read")


def test_a_file_of_the_user(refused: Refused, monkeypatch: pytest.MonkeyPatch) -> None:
    """No shell puts the folder in the place of ~ behind an @."""
    monkeypatch.setenv("HOME", str(Path.cwd()))
    np.save("x.npy", np.zeros((1, 8, 8), np.float32))
    given = ["--input", "data=@~/x.npy", "--output", "prob=@~/y.npy"]
    assert cli.run(["run", str(DIGITS), *given]) == exit_codes.OK
    assert np.load("y.npy").shape == (10,)


def test_two_shapes_of_one_input(refused: Refused) -> None:
    """Neither is passed over in silence; an extent that is open fits any."""
    np.save("x.npy", np.zeros((1, 8, 8), np.float32))
    given = ["--input", "data=@x.npy", "--shape"]
    told = refused("run", DIGITS, *given, "data=1x9x9", code=exit_codes.USAGE)
    assert told == "Error: --shape says 1x9x9 of data, and the array for it is 1x8x8"
    assert cli.run(["run", str(DIGITS), *given, "data=1x?x8"]) == exit_codes.OK


def test_a_result_takes_no_place_of_an_input(refused: Refused) -> None:
    """Nor of another result."""
    np.save("x.npy", np.zeros((1, 8, 8), np.float32))
    before = Path("x.npy").read_bytes()
    given = ["--input", "data=@x.npy", "--output", "prob=@./x.npy"]
    told = refused("run", DIGITS, *given, code=exit_codes.USAGE)
    assert told == "Error: ./x.npy is read: it is not written over"
    given = ["--output", "prob=@y.npy", "--output", "score=@y.npy"]
    told = refused("run", DIGITS, *given, code=exit_codes.USAGE)
    assert told == "Error: y.npy is written twice"
    assert Path("x.npy").read_bytes() == before and not Path("y.npy").exists()
