"""What is handed over in place of a path is named, and so is the way to one."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.runtime.errors import InputError
from ncc.runtime.paths import path_of

TEXT = "7767517\n1 1\nInput x 0 1 x 0=4\n"


class Named(os.PathLike[str]):
    """A path of somebody's own."""

    def __fspath__(self) -> str:
        return "net.param"


class NamedInBytes(os.PathLike[bytes]):
    """One that nobody here reads."""

    def __fspath__(self) -> bytes:
        return b"net.param"


@pytest.mark.parametrize("path", ["net.param", Path("net.param"), Named()])
def test_a_path_is_a_path(path: Any) -> None:
    """A str, and whatever says one."""
    assert path_of(path, "the .param") == "net.param"


@pytest.mark.parametrize("name", ["a\nb", "7767517", "ü", "n" * 9999])
def test_any_name_may_be_one(name: str) -> None:
    """Whether there is such a file is for the system to say."""
    assert path_of(name, "the .param") == name


WRONG: list[tuple[Any, str]] = [
    (io.StringIO(TEXT), "a file in memory: give the path of one on disk"),
    (io.BytesIO(b""), "a file in memory: give the path of one on disk"),
    (TEXT, "the text of a file: give the path of that file"),
    ("a\0b", "the text of a file: give the path of that file"),
    (TEXT.encode(), "bytes: give the path of a file that holds them"),
    (bytes(8), "bytes: give the path of a file that holds them"),
    (bytearray(8), "bytes: give the path of a file that holds them"),
    (b"", "bytes: give the path of a file that holds them"),
    (b"net.param", "bytes: os.fsdecode makes a path of them"),
    (NamedInBytes(), "bytes: os.fsdecode makes a path of them"),
    ("", "an empty text"),
    (None, "None"),
    (3, "a int"),
    (np.zeros(3), "a ndarray"),
]


@pytest.mark.parametrize(("value", "found"), WRONG, ids=[found for _, found in WRONG])
def test_what_is_none_is_named(value: Any, found: str) -> None:
    """With what was wanted there, and the way on."""
    with pytest.raises(InputError) as caught:
        path_of(value, "the .param")
    wanted = "no path to the .param: expected a str or a pathlib.Path, found"
    assert str(caught.value) == f"{wanted} {found}"


def test_an_open_file_has_a_path(tmp_path: Path) -> None:
    """Which is what to give."""
    (tmp_path / "net.param").write_text(TEXT)
    for mode in ("r", "rb", "r+"):
        with open(tmp_path / "net.param", mode) as file:
            with pytest.raises(InputError, match="found an open file: give '.*net.param'$"):
                path_of(file, "the .param")


def open_model(param: Path, bin: Path) -> ncc.OpenModel:
    """A model of open shapes."""
    model = ncc.compile(param, bin, input_shapes={"x": (None,)})
    assert isinstance(model, ncc.OpenModel)
    return model


def _users(folder: Path, wrong: Any) -> dict[str, Any]:
    """Every function of ncc's that takes a path, with a wrong one at each place for one."""
    from ncc.compiler.feeds import read_arrays
    from ncc.compiler.measure.bench import bench
    from ncc.compiler.measure.schedulings import Schedulings
    from ncc.compiler.optimizer import optimize_network
    from ncc.compiler.pipeline import stages
    from ncc.compiler.read.read_network import read, read_graph
    from ncc.compiler.summary import summary_of
    from ncc.compiler.verification.verify import verify

    param, bin = folder / "net.param", folder / "net.bin"
    out = folder / "out"
    return {
        "compile": lambda: ncc.compile(wrong),
        "compile bin": lambda: ncc.compile(param, wrong),
        "load": lambda: ncc.load(wrong),
        "Model.load": lambda: ncc.Model.load(wrong),
        "save": lambda: ncc.compile(param, bin).save(wrong),
        "save open": lambda: open_model(param, bin).save(wrong, {"x": (4,)}),
        "optimize in": lambda: ncc.optimize(wrong, bin, out, out.with_suffix(".bin")),
        "optimize in bin": lambda: ncc.optimize(param, wrong, out, out.with_suffix(".bin")),
        "optimize out": lambda: ncc.optimize(param, bin, wrong, out),
        "optimize out bin": lambda: ncc.optimize(param, bin, out, wrong),
        "optimize_network": lambda: optimize_network(wrong, bin),
        "verify": lambda: verify(wrong),
        "verify bin": lambda: verify(param, wrong),
        "bench": lambda: bench(wrong),
        "Schedulings": lambda: Schedulings(wrong, bin, ncc.Options()),
        "stages": lambda: next(stages(wrong)),
        "stages bin": lambda: next(stages(param, wrong)),
        "read": lambda: read(wrong),
        "read bin": lambda: read(param, wrong),
        "read_graph": lambda: read_graph(wrong),
        "summary_of": lambda: summary_of(wrong),
        "read_arrays": lambda: read_arrays({"x": wrong}),
    }


BY_PATH = {"save", "save open", "optimize out", "optimize out bin", "read_arrays"}
"""Those that take a path alone; all others read bytes and open files too."""


@pytest.mark.parametrize("user", _users(Path(), None))
def test_all_that_take_a_path_ask_for_one(tmp_path: Path, user: str) -> None:
    """By an error of ncc's, wherever the path stands."""
    (tmp_path / "net.param").write_text("7767517\n2 2\nInput x 0 1 x 0=4\nReLU r 1 1 x y\n")
    (tmp_path / "net.bin").touch()
    with open(tmp_path / "net.param") as file:
        for wrong in (file, b"net.param", "", 3, *([bytes(9)] if user in BY_PATH else [])):
            with pytest.raises(InputError, match="^no (path to|bytes of) the "):
                _users(tmp_path, wrong)[user]()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["net.bin", "net.param"]
