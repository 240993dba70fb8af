"""`ncc verify`: its verdict."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.verification.report import TIMES, TIMES_OF_OUTPUTS

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"


def test_it_says_how_to_go_on_where_random_inputs_make_nan(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    """The square root of what is negative, of which the ReLU of a convolution makes 0."""
    param = tmp_path / "roots.param"
    param.write_text(
        "7767517\n4 4\nInput x 0 1 x 0=4 1=4 2=1\nUnaryOp root 1 1 x root 0=5\n"
        "Convolution c 1 1 root c 0=1 1=1 6=1\nReLU y 1 1 c y\n"
    )
    assert cli.run(["verify", str(param), "--random-weights", "1"]) == exit_codes.DIFFERS
    assert "by --input" in capfd.readouterr().out


def test_the_help_has_the_limits(capfd: pytest.CaptureFixture[str]) -> None:
    """How many times the noise an error may be."""
    assert cli.run(["verify", "--help"]) == exit_codes.OK
    told = " ".join(capfd.readouterr().out.split())
    assert f"An output differs from {TIMES_OF_OUTPUTS:g} times on." in told
    assert f"and differs from {TIMES:g} times on." in told


def test_an_image_and_a_range_are_inputs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """Of the channels that the network takes, and of no others."""
    image = pytest.importorskip("PIL.Image", reason="Pillow is not installed")
    for name, size in (("right.png", (8, 8)), ("wrong.png", (8, 8, 3))):
        image.fromarray(np.full(size, 51, np.uint8)).save(tmp_path / name)
    given = ["verify", str(DIGITS), "--range", "0,1", "--outputs", "--input"]
    assert cli.run([*given, f"data=@{tmp_path / 'right.png'}"]) == exit_codes.OK
    assert "as compiled for use" in capfd.readouterr().out
    assert cli.run([*given, f"data=@{tmp_path / 'wrong.png'}"]) == exit_codes.WRONG
    assert cli.run(["verify", str(DIGITS), "--range", "1,0"]) == exit_codes.USAGE
    assert "not of the form 0,1" in capfd.readouterr().err


def test_outputs_alone_are_judged_where_that_is_asked_for(
    capfd: pytest.CaptureFixture[str],
) -> None:
    """A row each, and none of layers."""
    assert cli.run(["verify", str(DIGITS), "--outputs", "--json"]) == exit_codes.OK
    blobs = json.loads(capfd.readouterr().out)["blobs"]
    assert [(blob["blob"], blob["fused"]) for blob in blobs] == [("prob", True)]
