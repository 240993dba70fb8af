"""Small models that are kept whole: when their file is given again, when not."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver import assemble, models
from ncc.compiler.driver.compile import compile_file
from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from ncc.compiler.stopwatch import Stopwatch
from tests.onnx.models import model

DIGITS = Path(__file__).parents[3] / "examples" / "digits"


@pytest.fixture
def network(tmp_path: Path, own_cache: Path) -> Path:
    """A network with its weights, and a cache of its own."""
    for name in ("digits.param", "digits.bin"):
        shutil.copy(DIGITS / name, tmp_path)
    return tmp_path / "digits.param"


@pytest.fixture
def made(monkeypatch: pytest.MonkeyPatch) -> list[Compilation]:
    """The compilations that went through all levels since the test began."""
    found: list[Compilation] = []
    whole = assemble.assemble

    def noted(compilation: Compilation, *given: Any) -> Any:
        found.append(compilation)
        return whole(compilation, *given)

    monkeypatch.setattr(assemble, "assemble", noted)
    return found


def compiled(network: Path, options: Options | None = None) -> bytes:
    """The bytes of the file."""
    path = network.with_suffix(".ncc")
    compile_file(network, None, options or Options.of(), path, Stopwatch())
    return path.read_bytes()


def kept(network: Path) -> list[Path]:
    """What is kept."""
    return list((network.parent / "kernels").glob("*.ncc"))


def test_the_same_files_give_the_same_file(network: Path, made: list[Compilation]) -> None:
    """Without a compilation; and they do for each choice."""
    first = compiled(network)
    assert compiled(network) == first and len(made) == 1
    other = compiled(network, Options.of(opt_level=0))
    assert other != first and len(made) == 2
    assert compiled(network, Options.of(opt_level=0)) == other and len(made) == 2


def test_a_model_for_python_is_the_same(network: Path, made: list[Compilation]) -> None:
    """Whichever way it was compiled first. Its weights lie in memory, not in the cache's file."""
    file = compiled(network)
    model = ncc.compile(network)
    assert len(made) == 1
    model.save(network.with_name("again.ncc"))
    assert network.with_name("again.ncc").read_bytes() == file
    (path,) = kept(network)
    path.write_bytes(bytes(path.stat().st_size))
    x = np.ones(model.inputs[0].shape, np.float32)
    found, wanted = model.run({"data": x}), ncc.load(network.with_suffix(".ncc")).run({"data": x})
    assert all(np.array_equal(found[name], wanted[name]) for name in wanted)


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


def test_another_weight_is_another_model(network: Path, made: list[Compilation]) -> None:
    """Any bit of the .bin counts, whether a rewrite has looked at it or not."""
    first = compiled(network)
    weights = network.with_suffix(".bin")
    data = bytearray(weights.read_bytes())
    data[-1] ^= 1
    weights.write_bytes(data)
    second = compiled(network)
    assert second != first and len(made) == 2
    assert compiled(network) == second and len(made) == 2


@pytest.mark.parametrize("damage", [b"", b"PK\3\4"])
def test_what_is_broken_is_made_again(
    network: Path, made: list[Compilation], damage: bytes
) -> None:
    """It counts as absent, and is kept anew."""
    first = compiled(network)
    (model,) = kept(network)
    model.write_bytes(damage)
    assert compiled(network) == first and len(made) == 2
    assert not list(network.parent.glob(".*"))
    model.write_bytes(damage)
    ncc.compile(network)
    assert compiled(network) == first and len(made) == 3


def test_a_path_that_cannot_be_written_is_told(network: Path) -> None:
    """Also where the model is kept; and what stands there stays."""
    compiled(network)
    for path in (network.parent / "nowhere" / "net.ncc", network.parent / "kernels"):
        with pytest.raises(OSError, match="no such folder|no plain file"):
            compile_file(network, None, Options.of(), path, Stopwatch())
    assert kept(network)


@pytest.mark.parametrize("largest", [100, 20000])
def test_large_models_are_not_kept_whole(
    network: Path, made: list[Compilation], monkeypatch: pytest.MonkeyPatch, largest: int
) -> None:
    """By the size of their .bin, or by that of their weights: their thin model is."""
    size = network.with_suffix(".bin").stat().st_size
    monkeypatch.setattr(models, "LARGE", largest if largest == 100 else size)
    first = compiled(network)
    assert len(first) > models.LARGE
    assert not kept(network)
    assert compiled(network) == first and len(made) == 1
    ncc.compile(network)
    assert len(made) == 1


@pytest.mark.parametrize("time_stays", [False, True])
def test_what_depends_on_more_than_the_files_is_not_kept(
    network: Path, monkeypatch: pytest.MonkeyPatch, time_stays: bool
) -> None:
    """Of layers from outside, and of a .bin that changes meanwhile, its time too or not."""
    with monkeypatch.context() as patch:
        patch.setattr(assemble, "OWN", ("xdsl.",))
        compiled(network)
    assert not kept(network)
    make = assemble.assemble

    def disturbed(*given: Any, **named: Any) -> object:
        made = make(*given, **named)
        weights = network.with_suffix(".bin")
        before = weights.stat().st_mtime_ns
        data = bytearray(weights.read_bytes())
        data[-1] ^= 1
        weights.write_bytes(data)
        if time_stays:
            os.utime(weights, ns=(before, before))
        return made

    monkeypatch.setattr(assemble, "assemble", disturbed)
    compiled(network)
    ncc.compile(network)
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


def test_weights_in_a_file_beside_the_model_are_packed_anew(
    tmp_path: Path, own_cache: Path, made: list[Compilation]
) -> None:
    """The key does not know the file: other values need no compilation, another size does."""
    onnx = pytest.importorskip("onnx")
    weights = np.arange(48, dtype=np.float32).reshape(4, 12)
    node = onnx.helper.make_node("Gemm", ["x", "w"], ["y"], "gemm", transB=1)
    network = model([node], {"x": (1, 12)}, ["y"], {"w": weights})
    path = tmp_path / "net.onnx"
    onnx.save(network, path, save_as_external_data=True, location="w.data", size_threshold=0)
    x = np.ones((1, 12), np.float32)
    np.testing.assert_allclose(ncc.compile(path)(x), x @ weights.T)
    np.testing.assert_allclose(ncc.compile(path)(x), x @ weights.T)
    assert len(made) == 1
    (tmp_path / "w.data").write_bytes((weights * 2).tobytes())
    np.testing.assert_allclose(ncc.compile(path)(x), x @ weights.T * 2)
    (tmp_path / "w.data").write_bytes(weights.tobytes()[:-4])
    with pytest.raises(ncc.ModelError, match="w.data"):
        ncc.compile(path)
