"""Networks on emulated processors give the numbers that they give here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.driver.compile import compile_file
from ncc.compiler.options import Options
from ncc.compiler.stopwatch import Stopwatch
from ncc.compiler.verification.difference import difference
from ncc.dialects.weights.sources import Array
from ncc.runtime.artifact import Artifact
from tests.c_programs import AARCH64, Library, emulated, outputs_of
from tests.emulated.emulator import CPUS, Emulator, compiled, same_bits
from tests.emulated.subjects import DIGITS, MODELS, OPEN, SHAPES, TOLERANCE

INT8 = sorted(path.stem for path in MODELS.glob("*_int8.param"))
FP32 = sorted({path.stem for path in MODELS.glob("*.param")} - {*INT8})
SOME = {"squeezenet", "squeezenet_int8"}
"""Those that CI has time for."""


@pytest.mark.slow
@pytest.mark.parametrize("target", CPUS)
@pytest.mark.parametrize("level", [0, 2])
def test_digits(target: str, level: int, tmp_path: Path) -> None:
    """The network of the examples, at both ends of the levels."""
    with np.load(DIGITS / "held_out.npz") as held_out:
        feeds: Mapping[str, Array] = {"data": held_out["images"][0]}
    files = DIGITS / "digits.param", DIGITS / "digits.bin"
    artifact = compiled(*files, target, opt_level=level)
    [(one, two)] = Emulator(target).run([(artifact, feeds)], tmp_path)
    assert same_bits(one, two)
    assert difference(one["prob"], ncc.compile(*files).run(feeds)["prob"]) <= TOLERANCE


def _ways() -> list[Any]:
    ways = [(name, "neon") for name in FP32]
    ways += [(name, target) for name in INT8 for target in CPUS]
    return [
        pytest.param(*way, marks=pytest.mark.slow if way[0] in SOME else pytest.mark.sweep)
        for way in ways
    ]


@pytest.mark.parametrize(("name", "target"), _ways())
def test_benchmark_networks(name: str, target: str, tmp_path: Path) -> None:
    """With made-up weights, beside the code for this machine."""
    options: dict[str, Any] = {"random_weights": 1, "input_shapes": SHAPES.get(name, {})}
    param = MODELS / f"{name}.param"
    artifact = compiled(param, None, target, **options)
    draw = np.random.default_rng(1)
    feeds = {one.name: draw.uniform(-1, 1, one.shape).astype(np.float32) for one in artifact.inputs}
    [(one, two)] = Emulator(target).run([(artifact, feeds)], tmp_path)
    assert same_bits(one, two)
    here = ncc.Model(compiled(param, None, "avx2", **options)).run(feeds)
    apart = {name: difference(one[name], here[name]) for name in here}
    assert max(apart.values()) <= TOLERANCE, apart


SIZES = ((224, 224), (57, 130), (33, 64), (300, 41), (96, 97))


def for_any_size(name: str, target: str, path: Path) -> Artifact:
    """A network for images of every size, compiled into a file."""
    options = Options.of(
        target=target,
        num_threads=2,
        random_weights=1,
        input_shapes={"data": (3, None, None)},
        ahead=True,
    )
    compile_file(MODELS / f"{name}.param", None, options, path, Stopwatch())
    return Artifact.load(path, any_cpu=True)


@emulated
@pytest.mark.sweep
@pytest.mark.parametrize("name", OPEN)
def test_any_size(name: str, tmp_path: Path) -> None:
    """By the runtime and by the library for C: the same bits, and the numbers of this machine."""
    artifact = for_any_size(name, "neon", tmp_path / "open.ncc")
    images = [
        {"data": np.random.default_rng(height).random((3, height, width), np.float32)}
        for height, width in SIZES
    ]
    (tmp_path / "models").mkdir()
    found = Emulator("neon").run([(artifact, feeds) for feeds in images], tmp_path / "models")
    library = Library(artifact, tmp_path / "library", toolchain=AARCH64)
    here = ncc.Model(for_any_size(name, "avx2", tmp_path / "here.ncc"))
    for feeds, (one, two) in zip(images, found, strict=True):
        assert same_bits(one, two)
        expected = outputs_of(library.signature, one)
        assert [library.run(feeds, threads, runs=2) for threads in (1, 2)] == [expected] * 2
        apart = {name: difference(one[name], made) for name, made in here.run(feeds).items()}
        assert max(apart.values()) <= TOLERANCE, (feeds["data"].shape, apart)
