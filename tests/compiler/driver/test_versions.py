"""Versions of ncc in keys of the cache: which edits leave no key as it was."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ncc.compiler.driver import keys, versions
from ncc.compiler.driver.keys import kernel_key
from ncc.compiler.target import AVX2

ROOT = Path(versions.__file__).parents[2]


@pytest.fixture
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An ncc that has nearly nothing."""
    for room in ("compiler/ncnn", "compiler/driver", "compiler/llvm", "compiler/loops"):
        (tmp_path / room).mkdir(parents=True)
    for room in ("dialects", "runtime"):
        (tmp_path / room).mkdir()
    for name in ("compiler/loops/nest.py", *versions.GENERATORS):
        if name.endswith(".py"):
            (tmp_path / name).write_text("before")
    monkeypatch.setattr(versions, "__file__", str(tmp_path / "compiler/driver/versions.py"))
    return tmp_path


def test_key_changes_with_the_generator(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An edit of a file that makes code leaves no key as it was; other files do not matter."""
    version = versions.generator_version.__wrapped__
    before = version()
    (home / "compiler/options.py").write_text("unrelated")
    assert version() == before
    (home / "compiler/loops/nest.py").write_text("after")
    after = version()
    assert after != before
    monkeypatch.setattr(keys, "generator_version", lambda: before)
    old = kernel_key("a kernel", AVX2)
    monkeypatch.setattr(keys, "generator_version", lambda: after)
    assert kernel_key("a kernel", AVX2) != old


def test_generator_version_sees_all_that_makes_code() -> None:
    """Every place that is named exists, and the two folders are not empty."""
    for name in versions.GENERATORS:
        assert (ROOT / name).exists()
    assert list((ROOT / "compiler/loops").glob("*.py"))
    assert list((ROOT / "compiler/llvm").glob("*.py"))


def test_an_edit_of_ncc_leaves_no_model(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever file it is in, or its name; nor does another version of a library."""
    version = versions.compiler_version.__wrapped__
    found = {version()}
    for file in ("compiler/ncnn/fold.py", "dialects/rt.py", "runtime/cpu.py"):
        (home / file).write_text("edited")
        found.add(version())
    os.rename(home / "dialects/rt.py", home / "dialects/st.py")
    found.add(version())
    installed = versions.installed_version
    for library in ("llvmlite", "xdsl", "numpy"):
        with monkeypatch.context() as patch:
            other = {library: "another"}
            patch.setattr(
                versions, "installed_version", lambda n, o=other: o.get(n) or installed(n)
            )
            found.add(version())
    assert len(found) == 8
