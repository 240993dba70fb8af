"""What docs/walk.md shows is what ncc writes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from ncc.compiler import cli
from ncc.compiler.commands import exit_codes

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "walk.md").read_text()
SHOWN = re.findall(r"^```\w+\n// (ir/\S+)\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the page's first command was run."""
    (command,) = re.findall(r"^ncc (compile .*) --dump ir$", PAGE, re.MULTILINE)
    folder: Path = tmp_path_factory.mktemp("walk")
    words = [str(ROOT / word) if word.endswith(".param") else word for word in command.split()]
    assert cli.run([*words, "--dump", str(folder / "ir")]) == exit_codes.OK
    return folder


def pattern(line: str) -> str:
    """A line as a regular expression: … is anything, values may have other numbers."""
    line = re.sub(r"%\d+", "%0", line.strip())
    return re.escape(line).replace("%0", r"%\d+").replace("…", ".*")


@pytest.mark.parametrize(("file", "excerpt"), SHOWN, ids=[file for file, _ in SHOWN])
def test_excerpts_stand_in_the_files(folder: Path, file: str, excerpt: str) -> None:
    """Every line, in that order, with others between them."""
    (path,) = folder.glob(file)
    rest = iter(path.read_text().splitlines())
    for line in excerpt.splitlines():
        wanted = re.compile(pattern(line))
        assert any(wanted.match(found.strip()) for found in rest), line


def test_every_level_is_shown() -> None:
    """From the file that is read to machine code."""
    assert [Path(file).suffix for file, _ in SHOWN] == [".mlir"] * 5 + [".kernels", ".mlir", ".s"]
