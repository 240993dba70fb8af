"""The picture of folders in ARCHITECTURE.md is what their imports say."""

from __future__ import annotations

import importlib
from graphlib import CycleError
from pathlib import Path
from typing import Any

import pytest

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def script(monkeypatch: pytest.MonkeyPatch) -> Any:
    """docs/draw_folders.py as a module."""
    monkeypatch.syspath_prepend(str(DOCS))
    return importlib.import_module("draw_folders")


def test_the_page_has_the_picture_of_today(script: Any) -> None:
    """Where this fails, run `python docs/draw_folders.py` and read what changed."""
    assert script.picture() in script.PAGE.read_text()


def test_an_arrow_is_an_import(script: Any) -> None:
    """Of all imports of a file, those of this checkout are found."""
    files = set(script.imported_files(Path("compiler/cli.py")))
    assert Path("compiler/diagnostics.py") in files
    assert {script.node_of(one) for one in files} >= {
        "compiler/commands",
        "compiler/diagnostics.py",
    }
    assert script.file_of("numpy") is None


def test_long_ways_replace_arrows(script: Any) -> None:
    """Only arrows that no other way replaces are drawn."""
    graph = {"a": {"b", "c"}, "b": {"c"}, "c": set[str]()}
    assert script.reduced(graph) == [("a", "b"), ("b", "c")]


def test_a_cycle_is_an_error(script: Any) -> None:
    """Imports that go round have no picture."""
    with pytest.raises(CycleError):
        script.reduced({"a": {"b"}, "b": {"a"}})
