"""Levels of a compilation: which are made, and where they are written."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import click
import pytest

from ncc.compiler.commands.emit import levels, levels_of, refuse_mixed_output, write_levels
from ncc.compiler.diagnostics import Unsupported

TEXTS = {"ncnn": b"layers\n", "obj": b"\x7fELF"}


def test_levels_by_name() -> None:
    """One that is named twice is written once; what is none is told with those that are."""
    assert levels("llvm,ncnn,llvm") == ("llvm", "ncnn")
    with pytest.raises(click.BadParameter, match="linalg"):
        levels("ncnn,mlir")


def test_no_level_behind_the_last_is_made() -> None:
    """Machine code takes longest, and is rarely asked for."""

    def stages() -> Iterator[tuple[str, object]]:
        yield "param", b"7767517\n"
        yield "ncnn", "layers \n\n"
        raise AssertionError("made in vain")

    assert levels_of(stages(), ["ncnn"]) == {"ncnn": b"layers\n"}


def test_where_levels_are_written(
    tmp_path: Path, capsysbinary: pytest.CaptureFixture[bytes]
) -> None:
    """One goes into a file or a folder that is there, several into a folder that need not be."""
    write_levels(TEXTS, ["ncnn"], "net", str(tmp_path / "text"))
    write_levels(TEXTS, ["ncnn"], "net", str(tmp_path))
    write_levels(TEXTS, ["ncnn", "obj"], "net", str(tmp_path / "new" / "all"))
    write_levels(TEXTS, ["ncnn"], "net", "-")
    found = {p.relative_to(tmp_path).as_posix(): p.read_bytes() for p in tmp_path.rglob("*.*")}
    assert found == {
        "net.ncnn.mlir": b"layers\n",
        "new/all/net.ncnn.mlir": b"layers\n",
        "new/all/net.o": b"\x7fELF",
    }
    assert (tmp_path / "text").read_bytes() == b"layers\n"
    assert capsysbinary.readouterr().out == b"layers\n"


def test_what_is_not_written(tmp_path: Path) -> None:
    """Several levels in one file, machine code amid text, and what a network has not."""
    (tmp_path / "file").touch()
    with pytest.raises(click.UsageError, match="is a file"):
        write_levels(TEXTS, ["ncnn", "obj"], "net", str(tmp_path / "file"))
    with pytest.raises(click.UsageError, match="an object is no text"):
        refuse_mixed_output(["ncnn", "obj"])
    with pytest.raises(Unsupported, match="--emit=asm"):
        write_levels(TEXTS, ["asm"], "net", None)
