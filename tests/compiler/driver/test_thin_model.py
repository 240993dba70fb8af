"""Thin models of models: when they are followed, when not, and that nothing else changes."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver import assemble, models
from ncc.compiler.driver.cache import cache_of
from ncc.compiler.driver.keys import model_key
from ncc.compiler.driver.models import Entry
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.dialects.weights.sources import Derived, Inline, Random
from ncc.dialects.weights.stored import Stored

PARAM = """7767517
4 4
Input            data   0 1 data 0=6 1=5 2=4
Convolution      conv   1 1 data a 0=8 1=3 4=1 5=1 6=288
BatchNorm        norm   1 1 a b 0=8
Convolution      last   1 1 b c 0=5 1=1 5=1 6=40
"""

SIZES = {"conv": (288, 8), "norm": (8, 8, 8, 8), "last": (40, 5)}
TAGGED = ("conv", "last")


def weights(**changed: float) -> bytes:
    """A .bin for the network; the first weight of a layer is what it is told here."""
    generator = np.random.default_rng(0)
    parts = []
    for name, sizes in SIZES.items():
        values = [generator.uniform(0.5, 1, size).astype("<f4") for size in sizes]
        values[0][0] = changed.get(name, values[0][0])
        parts.append(bytes(4 * (name in TAGGED)) + b"".join(v.tobytes() for v in values))
    return b"".join(parts)


@pytest.fixture
def network(tmp_path: Path, own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A network that counts as large, with its weights, and a cache of its own."""
    monkeypatch.setattr(models, "LARGE", 100)
    path = tmp_path / "net.param"
    path.write_text(PARAM)
    path.with_suffix(".bin").write_bytes(weights())
    return path


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The networks that went through all levels since the test began."""
    names: list[str] = []
    whole = assemble.assemble

    def counted(compilation: Compilation, *given: Any) -> Any:
        names.append(str(compilation.param))
        return whole(compilation, *given)

    monkeypatch.setattr(assemble, "assemble", counted)
    return names


def image() -> Any:
    return np.random.default_rng(1).standard_normal((4, 5, 6)).astype(np.float32)


def same(network: Path, monkeypatch: pytest.MonkeyPatch) -> bool:
    """Whether a compilation gives the artifact that it gives without any cache."""
    found = ncc.compile(network).artifact
    with monkeypatch.context() as patch:
        patch.setenv("NCC_CACHE", "off")
        fresh = ncc.compile(network).artifact
    packed = bytes(np.asarray(found.weights)) == bytes(np.asarray(fresh.weights))
    told = (found.objects, found.info, found.inputs, found.outputs, found.arena_bytes)
    return packed and told == (
        fresh.objects,
        fresh.info,
        fresh.inputs,
        fresh.outputs,
        fresh.arena_bytes,
    )


def test_the_second_compilation_follows_the_thin_model(
    network: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """It gives the same model, and leaves out all levels."""
    cold = ncc.compile(network)
    assert len(made) == 1
    assert ncc.compile(network)(image()).tobytes() == cold(image()).tobytes()
    assert len(made) == 1
    assert same(network, monkeypatch)


def test_it_takes_neither_ir_nor_llvm(network: Path) -> None:
    """They are not even imported by the process that follows it."""
    ncc.compile(network)
    code = (
        "import ncc, sys\n"
        "from ncc.compiler.driver import models, separate_process\n"
        "models.LARGE, separate_process.ask = 100, None\n"
        "ncc.compile(sys.argv[1])\n"
        "print(*(name for name in ('xdsl.ir', 'llvmlite.binding') if name in sys.modules))"
    )
    command = [sys.executable, "-c", code, str(network)]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"


def test_sources_of_weights_take_no_ir() -> None:
    """A thin model may hold any of them."""

    def kinds(source: type[Any]) -> Iterator[type[Any]]:
        yield source
        for kind in source.__subclasses__():
            yield from kinds(kind)

    sources = (Inline, Random, Stored, Derived)
    modules = sorted({kind.__module__ for source in sources for kind in kinds(source)})
    assert {"ncc.dialects.weights.derived", "ncc.dialects.weights.narrow"} <= {*modules}
    code = f"import sys, {', '.join(modules)}; print('xdsl.ir' in sys.modules)"
    command = [sys.executable, "-c", code]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "False\n"


def test_values_that_nobody_looked_at_may_change(
    network: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """They are packed anew from the file."""
    before = ncc.compile(network)(image())
    network.with_suffix(".bin").write_bytes(weights(last=7.0))
    after = ncc.compile(network)(image())
    assert len(made) == 1
    assert not np.array_equal(before, after)
    assert same(network, monkeypatch)


@pytest.mark.parametrize("layer", ["conv", "norm"])
def test_values_that_a_rewrite_looked_at_may_not(
    layer: str, network: Path, made: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The batch norm is folded into the filters, which the thin model has: it holds no longer."""
    before = ncc.compile(network)(image())
    network.with_suffix(".bin").write_bytes(weights(**{layer: 7.0}))
    assert not np.array_equal(ncc.compile(network)(image()), before)
    assert len(made) == 2
    assert same(network, monkeypatch)


def test_tags_are_looked_at(network: Path, made: list[str]) -> None:
    """Another tag is another reading of the same bytes."""
    ncc.compile(network)
    other = bytearray(weights())
    other[:4] = (0x0002C056).to_bytes(4, "little")
    network.with_suffix(".bin").write_bytes(other)
    ncc.compile(network)
    assert len(made) == 2


def test_a_lost_kernel_is_made_again(network: Path, made: list[str], tmp_path: Path) -> None:
    """The thin model is not followed half-way."""
    cold = ncc.compile(network)
    next((tmp_path / "kernels").glob("*.o")).unlink()
    assert ncc.compile(network).artifact.objects == cold.artifact.objects
    assert len(made) == 2
    ncc.compile(network)
    assert len(made) == 2


def test_files_that_change_meanwhile_leave_no_thin_model(
    network: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Nobody could tell which content it is of."""
    whole = assemble.assemble

    def disturbed(compilation: Compilation, *given: Any) -> Any:
        os.utime(network.with_suffix(".bin"), (0, 0))
        return whole(compilation, *given)

    monkeypatch.setattr(assemble, "assemble", disturbed)
    ncc.compile(network)
    assert not list((tmp_path / "kernels").glob("*.thin"))


def test_layers_from_outside_leave_no_thin_model(
    network: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Their code is no part of ncc's version."""
    monkeypatch.setattr(assemble, "OWN", ("xdsl.",))
    ncc.compile(network)
    assert not list((tmp_path / "kernels").glob("*.thin"))


def test_what_is_to_be_warned_of_leaves_no_thin_model(network: Path, made: list[str]) -> None:
    """Who follows a thin model reads no network, and could not tell."""
    with open(network.with_suffix(".bin"), "ab") as file:
        file.write(bytes(3))
    for _ in range(2):
        with pytest.warns(ncc.ModelWarning, match="3 bytes behind the last weight are ignored"):
            ncc.compile(network)
    assert len(made) == 2


def test_the_environment_may_want_kernels_only(
    network: Path, made: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Thin models are neither kept nor followed then."""
    monkeypatch.setenv("NCC_CACHE", "kernels")
    ncc.compile(network)
    assert not list((tmp_path / "kernels").glob("*.thin"))
    assert list((tmp_path / "kernels").glob("*.o"))
    monkeypatch.setenv("NCC_CACHE", "on")
    ncc.compile(network)
    monkeypatch.setenv("NCC_CACHE", "kernels")
    ncc.compile(network)
    assert len(made) == 3


def test_large_thin_models_are_not_kept(
    network: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """A cache is no place for folded weights of a whole network."""
    monkeypatch.setattr(models, "LARGEST_THIN_MODEL", 1000)
    ncc.compile(network)
    assert not list((tmp_path / "kernels").glob("*.thin"))


def test_there_is_no_thin_model_for_a_file_that_is_not_there(tmp_path: Path) -> None:
    """The compilation itself says what is wrong."""
    assert model_key(tmp_path / "net.param", None, Options()) is None
    cache = cache_of({"NCC_CACHE_DIR": str(tmp_path)})
    assert Entry.of(cache, tmp_path / "net.param", None, Options()) is None


def test_a_pipe_is_left_to_the_reader(network: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """It can be read only once, so that there is no key for it."""
    pipe = network.with_name("pipe.param")
    os.mkfifo(pipe)
    assert model_key(pipe, network.with_suffix(".bin"), Options()) is None
    assert model_key(network, pipe, Options()) is None
    writer = Thread(target=pipe.write_text, args=(PARAM,))
    writer.start()
    model = ncc.compile(pipe, network.with_suffix(".bin"))
    writer.join()
    x = image()
    assert np.array_equal(model(x), ncc.compile(network)(x))


def test_a_thin_model_does_not_hide_broken_weights(network: Path, made: list[str]) -> None:
    """Whoever packs weights that are to be warned of goes through all levels, and is warned."""
    ncc.compile(network)
    ncc.compile(network)
    assert len(made) == 1
    network.with_suffix(".bin").write_bytes(weights(norm=np.inf))
    for _ in range(2):
        with pytest.warns(ncc.ModelWarning, match="'slope' of BatchNorm 'norm' has infinite"):
            ncc.compile(network)
    assert len(made) == 3
