"""The key of a model: another one where anything differs that its code or recipe depends on."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ncc.compiler.kept import keys
from ncc.compiler.kept.keys import key_of
from ncc.compiler.options import Options
from ncc.compiler.target import AVX2, BASELINE

CHOSEN = Options(target=BASELINE)


@pytest.fixture(name="param")
def net(tmp_path: Path) -> Path:
    """The files of a network; nobody reads what is in them."""
    (tmp_path / "net.param").write_text("7767517")
    (tmp_path / "net.bin").write_bytes(b"1234")
    return tmp_path / "net.param"


def test_a_key_is_the_same_until_something_differs(
    param: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Text, the size of the weights, their file, name, options, and ncc itself."""
    bin = param.with_name("net.bin")
    found = [key_of(param, bin, CHOSEN)]
    assert found[0] == key_of(str(param), str(bin), replace(CHOSEN))
    others = (
        replace(CHOSEN, opt_level=1),
        replace(CHOSEN, num_threads=2),
        replace(CHOSEN, target=AVX2),
        replace(CHOSEN, target=replace(BASELINE, features=AVX2.features)),
        replace(CHOSEN, outputs=("a",)),
        replace(CHOSEN, input_shapes={"data": (3, 8, 8)}),
    )
    found += [key_of(param, bin, options) for options in others]
    found.append(key_of(param, None, CHOSEN))  # which names the file that is missing
    renamed = param.rename(param.with_name("other.param"))
    found.append(key_of(renamed, bin, CHOSEN))
    renamed.rename(param)
    bin.write_bytes(b"12345")
    found.append(key_of(param, bin, CHOSEN))
    param.write_text("7767517\n")
    found.append(key_of(param, bin, CHOSEN))
    monkeypatch.setattr(keys, "compiler_version", lambda: "another")
    found.append(key_of(param, bin, CHOSEN))
    assert None not in found and len(set(found)) == len(found)


def test_what_the_numbers_are_makes_no_difference(param: Path) -> None:
    """They are looked up when a recipe is followed."""
    before = key_of(param, None, CHOSEN)
    param.with_name("net.bin").write_bytes(b"4321")
    assert key_of(param, None, CHOSEN) == before


def test_what_is_read_once_has_no_key(param: Path) -> None:
    """A pipe, and a file that is not there; weights may be missing, as where they are made up."""
    os.mkfifo(param.with_name("pipe"))
    assert key_of(param.with_name("pipe"), None, CHOSEN) is None
    assert key_of(param, param.with_name("pipe"), CHOSEN) is None
    assert key_of(param.with_name("none.param"), None, CHOSEN) is None
    assert key_of(param, param.with_name("none.bin"), CHOSEN) is not None
