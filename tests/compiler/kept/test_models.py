"""Small models that are kept whole: when their file is given again, when not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from ncc.compiler import front, pipeline
from ncc.compiler.kept import models
from ncc.compiler.kept.models import compile_file
from ncc.compiler.measure.stopwatch import Stopwatch
from ncc.compiler.options import Options

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


@pytest.fixture
def network(tmp_path: Path, own_cache: Path) -> Path:
    """A network with its weights, and a cache of its own."""
    for name in ("digits.param", "digits.bin"):
        shutil.copy(DIGITS / name, tmp_path)
    return tmp_path / "digits.param"


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Whatever was made by a recipe, or by all levels, since the test began."""
    found: list[object] = []
    make = front._compiled

    def noted(*given: Any, **named: Any) -> object:
        found.append(make(*given, **named))
        return found[-1]

    monkeypatch.setattr(front, "_compiled", noted)
    return found


def compiled(network: Path, options: Options | None = None) -> bytes:
    """The bytes of the file."""
    path = network.with_suffix(".ncc")
    compile_file(network, None, options or Options.of(), path, Stopwatch())
    return path.read_bytes()


def kept(network: Path) -> list[Path]:
    """What is kept."""
    return list((network.parent / "kernels").glob("*.ncc"))


def test_the_same_files_give_the_same_file(network: Path, asked: list[object]) -> None:
    """Without a recipe; and they do for each choice."""
    first = compiled(network)
    assert compiled(network) == first and len(asked) == 1
    other = compiled(network, Options.of(opt_level=0))
    assert other != first and len(asked) == 2
    assert compiled(network, Options.of(opt_level=0)) == other and len(asked) == 2


def test_it_takes_no_numpy(network: Path) -> None:
    """The process that gets it does not even import it."""
    first = compiled(network)
    code = (
        "import sys; from ncc.compiler import cli\n"
        "assert cli.run(['compile', sys.argv[1], '-o', sys.argv[2]]) == 0\n"
        "assert 'numpy' not in sys.modules and 'xdsl' not in sys.modules"
    )
    path = network.with_name("again.ncc")
    subprocess.run([sys.executable, "-c", code, str(network), str(path)], check=True)
    assert path.read_bytes() == first


def test_another_weight_is_another_model(network: Path, asked: list[object]) -> None:
    """Any bit of the .bin counts, whether a rewrite has looked at it or not."""
    first = compiled(network)
    weights = network.with_suffix(".bin")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    second = compiled(network)
    assert second != first and len(asked) == 2
    assert compiled(network) == second and len(asked) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\3\4"])
def test_what_is_broken_is_made_again(network: Path, asked: list[object], damage: bytes) -> None:
    """It counts as absent, and is kept anew."""
    first = compiled(network)
    (model,) = kept(network)
    model.write_bytes(damage)
    assert compiled(network) == first and len(asked) == 2
    assert not list(network.parent.glob(".*"))
    assert compiled(network) == first and len(asked) == 2


def test_a_path_that_cannot_be_written_is_told(network: Path) -> None:
    """Also where the model is kept; and what stands there stays."""
    compiled(network)
    for path in (network.parent / "nowhere" / "net.ncc", network.parent / "kernels"):
        with pytest.raises(OSError, match="no such folder|no plain file"):
            compile_file(network, None, Options.of(), path, Stopwatch())
    assert kept(network)


@pytest.mark.parametrize("largest", [100, 21000])
def test_large_models_are_not_kept(
    network: Path, monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    """Neither by the size of their .bin, nor by their own."""
    assert 100 < network.with_suffix(".bin").stat().st_size < 21000
    monkeypatch.setattr(models, "LARGE", largest)
    assert len(compiled(network)) > largest
    assert not kept(network)


@pytest.mark.parametrize("time_stays", [False, True])
def test_what_depends_on_more_than_the_files_is_not_kept(
    network: Path, monkeypatch: pytest.MonkeyPatch, time_stays: bool
) -> None:
    """Of layers from outside, and of a .bin that changes meanwhile, its time too or not."""
    with monkeypatch.context() as patch:
        patch.setattr(pipeline, "OWN", ("xdsl.",))
        compiled(network)
    assert not kept(network)
    make = front._compiled

    def disturbed(*given: Any, **named: Any) -> object:
        made = make(*given, **named)
        weights = network.with_suffix(".bin")
        before = weights.stat().st_mtime_ns
        weights.write_bytes(weights.read_bytes()[:-1] + b"?")
        if time_stays:
            os.utime(weights, ns=(before, before))
        return made

    monkeypatch.setattr(front, "_compiled", disturbed)
    compiled(network)
    assert not kept(network)


def test_the_environment_may_want_kernels_only(
    network: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """No model is kept then, nor looked for."""
    compiled(network)
    (model,) = kept(network)
    used = os.stat(model).st_mtime_ns - 10**13
    os.utime(model, ns=(used, used))
    monkeypatch.setenv("NCC_CACHE", "kernels")
    compiled(network)
    assert os.stat(model).st_mtime_ns == used
    monkeypatch.setenv("NCC_CACHE", "on")
    compiled(network)
    assert os.stat(model).st_mtime_ns > used
