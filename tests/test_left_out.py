"""A run says what it left out, and what tests do without the folder of things to test against."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.left_out import lines

ROOT = Path(__file__).parents[1]


def skipped(reason: str) -> pytest.TestReport:
    """Of a test that was skipped for it."""
    return pytest.TestReport("a", ("a", 1, "a"), {}, "skipped", ("a.py", 1, reason), "setup")


def test_reasons_are_counted() -> None:
    """The most frequent first; how much a folder would add is said, since it is not counted."""
    reports = [skipped("Skipped: no AMX"), skipped("b\nc"), skipped("Skipped: no AMX")]
    assert list(lines(reports)) == ["     2 skipped: no AMX", "     1 skipped: b"]
    (line,) = lines([skipped("Skipped: there is no ../shared/cases beside the checkout")])
    assert line.endswith("; else each runs for everything there")
    assert not list(lines([]))


READ_IT = (
    "golden",
    "compiler/read/test_models.py",
    "networks/test_against_ncnn.py",
    "networks/test_int8_networks.py",
)
"""Tests of whichever network is in the folder, and of those that are named."""


@pytest.mark.slow
def test_without_the_folder_tests_are_skipped(tmp_path: Path) -> None:
    """In a copy that stands alone none fails, at any length, and the summary says why."""
    copy = tmp_path / "alone" / "checkout"
    shutil.copytree(ROOT / "tests", copy / "tests", ignore=shutil.ignore_patterns("__pycache__"))
    shutil.copy(ROOT / "pyproject.toml", copy)
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-n", "0", "-m", "", *(f"tests/{at}" for at in READ_IT)],
        cwd=copy,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stdout
    for folder in ("models", "golden"):
        assert f"skipped: there is no ../shared/{folder} beside the checkout" in done.stdout
