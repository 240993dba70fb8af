"""`ncc run`: what is told of results."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"


def test_results_for_programs(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    """What is in every output, and which inputs were made up; arrays are files."""

    def told(*arguments: str) -> dict[str, Any]:
        assert cli.run(["run", str(DIGITS), *arguments, "--json"]) == exit_codes.OK
        found: dict[str, Any] = json.loads(capfd.readouterr().out)
        return found

    random = told("--output", f"prob=@{tmp_path / 'y.npy'}")
    (output,), y = random["outputs"], np.load(tmp_path / "y.npy")
    assert random["random"] == ["data"]
    assert output == {
        "name": "prob",
        "type": "float32",
        "shape": [10],
        "min": y.min(),
        "mean": y.mean(),
        "max": y.max(),
        "max_at": y.argmax(),
    }
    np.save(tmp_path / "x.npy", np.zeros((1, 8, 8), np.float32))
    assert told("--input", f"data=@{tmp_path / 'x.npy'}")["random"] == []
