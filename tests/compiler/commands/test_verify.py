"""`ncc verify`: its verdict."""

from __future__ import annotations

from pathlib import Path

import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes


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
