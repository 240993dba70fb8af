"""What is in the checkout is what gets installed."""

from __future__ import annotations

import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest


def test_the_list_of_packages_is_the_list_of_folders(modules: tuple[Any, ...], root: Path) -> None:
    """A folder that pyproject forgets would work in a checkout and be missing from a wheel."""
    project = tomllib.loads((root / "pyproject.toml").read_text())
    listed = project["tool"]["setuptools"]["packages"]
    folders = {
        s.module if s.path.name == "__init__.py" else s.module.rpartition(".")[0] for s in modules
    }
    assert listed == sorted(listed)
    assert set(listed) == folders


def test_every_folder_says_that_it_is_a_package(modules: tuple[Any, ...]) -> None:
    """Tools that read folders (mypy, pytest) find every package by its __init__.py."""
    bare = {s.path.parent for s in modules if not (s.path.parent / "__init__.py").exists()}
    assert not bare


def test_the_face_links_to_the_rooms(root: Path) -> None:
    """ncc/<room> is a link to <room>, so that ncc.<room> is found without an installation."""
    for room in ("compiler", "dialects", "runtime"):
        link = root / "ncc" / room
        assert link.is_symlink() and link.resolve() == (root / room).resolve()


@pytest.mark.slow
def test_a_wheel_holds_every_module(modules: tuple[Any, ...], root: Path, tmp_path: Path) -> None:
    """From the checkout, and from the source distribution, which holds tests and pages as well."""
    pytest.importorskip("build", reason="the build frontend is not installed")
    wanted = {source.module for source in modules}
    for name, options in {"both": [], "direct": ["--wheel"]}.items():
        out = tmp_path / name
        command = [sys.executable, "-m", "build", *options, "--outdir", str(out), str(root)]
        done = subprocess.run(command, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
        (wheel,) = out.glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            files = archive.namelist()
        dotted = (f.removesuffix(".py").replace("/", ".") for f in files if f.endswith(".py"))
        assert {module.removesuffix(".__init__") for module in dotted} == wanted
        page = {f"ncc/compiler/report/page.{end}" for end in ("css", "html.jinja", "js")}
        assert {"ncc/py.typed", *page} <= set(files)
    (archive_of_all,) = (tmp_path / "both").glob("*.tar.gz")
    with tarfile.open(archive_of_all) as sources:
        held = {name.partition("/")[2] for name in sources.getnames()}
    tracked = subprocess.run(
        ["git", "-C", str(root), "ls-files", "docs", "examples", "tests", "*.md"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    assert set(tracked) <= held
