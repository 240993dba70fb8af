"""`ncc compile`: one file for every size, where the shape is left open."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import TypeAlias

import numpy as np
import pytest

import ncc
from ncc.compiler import cli
from ncc.compiler.commands import exit_codes
from ncc.compiler.driver.specialise import OpenModel

Captured: TypeAlias = pytest.CaptureFixture[str]

NET = """7767517
4 4
Input data 0 1 data
Convolution conv 1 1 data c 0=8 1=3 4=1 5=1 6=216 9=1
Pooling pool 1 1 c p 0=0 1=2 2=2
Sigmoid s 1 1 p out
"""

CROP = """7767517
3 3
Input data 0 1 data
Input box 0 1 box 0=6
Crop crop 2 1 data box out 0=-233
"""

ALONE = """
import sys
import numpy as np
import ncc

model = ncc.load(sys.argv[1])
for height, width in [(224, 224), (64, 301), (500, 333)]:
    assert model(np.ones((3, height, width), np.float32)).shape[0] == 8
assert not {"xdsl", "llvmlite", "ncc.compiler"} & set(sys.modules)
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Path]:
    """A network, and the file for heights of 64 to 512, and any width."""
    folder = tmp_path_factory.mktemp("open")
    net, path = folder / "net.param", folder / "net.ncc"
    net.write_text(NET)
    shape = ("--shape", "data=3x64..512x?")
    assert cli.run(["compile", str(net), "--random-weights", "1", *shape]) == exit_codes.OK
    return net, path


def test_an_open_file_runs_at_every_size_without_a_compiler(compiled: tuple[Path, Path]) -> None:
    """With the results of a compilation for each size; outside of its range it refuses."""
    net, path = compiled
    subprocess.run([sys.executable, "-c", ALONE, str(path)], check=True)
    model = ncc.load(path)
    for height, width in [(224, 224), (101, 97)]:
        x = np.random.default_rng(0).uniform(-1, 1, (3, height, width)).astype(np.float32)
        wanted = ncc.compile(net, random_weights=1, input_shapes={"data": x.shape})(x)
        np.testing.assert_allclose(model(x), wanted, rtol=1e-5, atol=1e-6)
    with pytest.raises(ncc.InputError, match="expected float32 3x64..512x.*, found float32 3x60x9"):
        model(np.zeros((3, 60, 9), np.float32))


def test_what_is_open_is_shown(compiled: tuple[Path, Path], capfd: Captured) -> None:
    """In lines, and as null for programs."""
    _, path = compiled
    assert cli.run(["show", str(path)]) == exit_codes.OK
    lines = capfd.readouterr().out.splitlines()
    assert lines[1:3] == ["input   data  float32 3x64..512x?", "output  out  float32 8x?x?"]
    assert lines[3].endswith("more for each run at a time, as its shapes need")
    assert cli.run(["show", str(path), "--json"]) == exit_codes.OK
    told = json.loads(capfd.readouterr().out)
    assert told["inputs"][0]["shape"] == [3, None, None]
    assert told["inputs"][0]["ranges"] == [[1, None], [64, 512], [1, None]]
    assert told["arena_bytes"] is None


def test_an_open_file_is_run_with_a_shape(compiled: tuple[Path, Path], capfd: Captured) -> None:
    """It is asked for, and has to be one that the file is for."""
    _, path = compiled
    assert cli.run(["run", str(path), "--shape", "data=3x100x120"]) == exit_codes.OK
    assert capfd.readouterr().out.startswith("out  float32 8x50x60  min ")
    assert cli.run(["run", str(path)]) == exit_codes.WRONG
    assert "open shapes must be said, of 'data' (3x64..512x?)" in capfd.readouterr().err
    assert cli.run(["run", str(path), "--shape", "data=3x10x120"]) == exit_codes.WRONG
    assert "expected 3x64..512x?, found 3x10x120" in capfd.readouterr().err
    assert cli.run(["run", str(path), "--shape", "dat=3x100x120"]) == exit_codes.WRONG
    assert "no input 'dat'" in capfd.readouterr().err
    assert cli.run(["run", str(path), "--shape", "data=3x?x120"]) == exit_codes.USAGE
    assert "a run needs a number for each extent of data  float32" in capfd.readouterr().err


def test_an_extent_of_one_value_may_be_left_open(
    compiled: tuple[Path, Path], tmp_path: Path, capfd: Captured
) -> None:
    """The channels are those that layers take, and nothing in the file depends on them."""
    net, path = compiled[0], tmp_path / "any.ncc"
    options = ("--random-weights", "1", "--shape", "data=?x?x?", "-o", str(path))
    assert cli.run(["compile", str(net), *options]) == exit_codes.OK
    x = np.random.default_rng(0).uniform(-1, 1, (3, 101, 97)).astype(np.float32)
    np.testing.assert_array_equal(ncc.load(path)(x), ncc.load(compiled[1])(x))
    with pytest.raises(ncc.InputError, match=r"expected float32 3x\?x\?, found float32 4x60x90"):
        ncc.load(path)(np.zeros((4, 60, 90), np.float32))


CHANNELS = [
    "Convolution a 1 1 data y 0=8 1=3 5=1 6=72",
    "InstanceNorm a 1 1 data y 0=1",
    "Normalize a 1 1 data y 3=1",
]


@pytest.mark.parametrize("layer", CHANNELS)
def test_one_channel_may_be_left_open(layer: str, tmp_path: Path, capfd: Captured) -> None:
    """Though an extent of 1 broadcasts: layers tell that they take no other."""
    path = tmp_path / "net.param"
    path.write_text(f"7767517\n2 2\nInput data 0 1 data\n{layer}\n")
    options = ("--random-weights", "1", "--shape", "data=?x?x?")
    assert cli.run(["compile", str(path), *options]) == exit_codes.OK
    assert "float32 1x?x?" in capfd.readouterr().out


def test_a_network_that_cannot_be_open_is_refused(tmp_path: Path, capfd: Captured) -> None:
    """With the reason, and how to go on."""
    path = tmp_path / "net.param"
    path.write_text(CROP)
    path.with_suffix(".bin").touch()
    assert cli.run(["compile", str(path), "--shape", "data=3x?x8"]) != exit_codes.OK
    assert not path.with_suffix(".ncc").exists()
    assert "the values of 'box' decide shapes" in capfd.readouterr().err


def test_a_rank_has_to_be_said(tmp_path: Path, capfd: Captured) -> None:
    """Of a network that does not tell it, as nobody can guess it."""
    path = tmp_path / "net.param"
    path.write_text(NET)
    advice = "--shape 'data=3x?x?' for all"
    for emit in ([], ["--emit=lib"]):
        assert cli.run(["compile", str(path), "--random-weights", "1", *emit]) == exit_codes.WRONG
        assert advice in capfd.readouterr().err
    assert cli.run(["explain", str(path), "null", "--sizes"]) == exit_codes.WRONG
    assert advice in capfd.readouterr().err
    with pytest.raises(ncc.InputError, match=r"how many axes input 'data' has"):
        ncc.compile(path, random_weights=1).save(path.with_suffix(".ncc"))


def test_the_code_of_a_file_is_not_that_of_a_first_call(
    compiled: tuple[Path, Path], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Both are in the cache, and each finds its own."""
    monkeypatch.setenv("NCC_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.delenv("NCC_CACHE")
    net, _ = compiled
    options = ("--random-weights", "1", "--shape", "data=3x?x?")
    for name in ("one.ncc", "other.ncc"):
        model = ncc.compile(net, random_weights=1, input_shapes={"data": (3, None, None)})
        assert isinstance(model, OpenModel)
        path = tmp_path / name
        assert cli.run(["compile", str(net), *options, "-o", str(path)]) == exit_codes.OK
        assert ncc.load(path).artifact.sizes is not None
