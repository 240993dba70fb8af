"""`ncc report` writes one page, or says what it needs."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from ncc.compiler.cli import run
from tests.compiler.report.conftest import NETWORK

QUICK = ["--random-weights", "0", "--no-bench", "--no-verify"]


@pytest.fixture
def param(tmp_path: Path) -> str:
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    return str(path)


def test_the_page_is_beside_the_network(param: str, capsys: pytest.CaptureFixture[str]) -> None:
    """It is named after the network, and a line says how large it is."""
    pytest.importorskip("pygraphviz", reason="pygraphviz is not installed")
    pytest.importorskip("vl_convert", reason="vl-convert-python is not installed")
    assert run(["report", param, *QUICK]) == 0
    page = Path(param).with_suffix(".html")
    told = capsys.readouterr()
    assert told.out == f"{page}: {page.stat().st_size:,} bytes\n" and not told.err
    assert page.read_text().startswith("<!doctype html>")


def test_facts_for_programs(param: str, capsys: pytest.CaptureFixture[str]) -> None:
    """They need no package but the compiler's."""
    assert run(["report", param, "--json", *QUICK]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert facts["model"] == "net.param" and len(facts["file"]) == 7
    assert not Path(param).with_suffix(".html").exists()


@pytest.mark.parametrize("package", ["jinja2", "pygraphviz", "vl_convert"])
def test_a_package_that_is_missing(
    param: str,
    package: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """It is told at once, with the command that installs it."""
    for module in ("page", "charts", "layout"):
        monkeypatch.delitem(sys.modules, f"ncc.compiler.report.{module}", raising=False)
        monkeypatch.delattr(f"ncc.compiler.report.{module}", raising=False)
    monkeypatch.setitem(sys.modules, package, None)
    assert run(["report", param, *QUICK]) == 1
    told = capsys.readouterr().err
    assert "ncc report needs " in told and "pip install 'ncnn-compiler[report]'" in told


def test_what_it_does_not_write_over(param: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Neither the network, nor a page beside facts for programs."""
    assert run(["report", param, "-o", param, *QUICK]) == 2
    assert "is read: it is not written over" in capsys.readouterr().err
    assert run(["report", param, "--json", "-o", "x.html"]) == 2
    assert "leave out -o" in capsys.readouterr().err


def test_a_place_that_cannot_be_written_is_told_first(
    param: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """It is told before anything is compiled."""
    pytest.importorskip("pygraphviz", reason="pygraphviz is not installed")
    assert run(["report", param, "-o", "/no/such/folder/x.html", *QUICK]) == 1
    assert "/no/such/folder" in capsys.readouterr().err
