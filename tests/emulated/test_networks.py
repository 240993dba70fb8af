"""Networks on emulated processors give the numbers that they give here."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.verification.difference import difference
from ncc.dialects.weights.sources import Array
from tests.emulated.emulator import CPUS, Emulator, compiled, same_bits

ROOT = Path(__file__).parents[2]
DIGITS = ROOT / "examples/digits"
MODELS = ROOT.parent / "shared/models"

SHAPES = {"vision_transformer": {"input": (3, 384, 384)}}
"""The inputs whose shapes a file does not state."""

INT8 = sorted(path.stem for path in MODELS.glob("*_int8.param"))
FP32 = sorted({path.stem for path in MODELS.glob("*.param")} - {*INT8})
SOME = {"squeezenet", "squeezenet_int8"}
"""Those that CI has time for."""

TOLERANCE = 1e-4
"""Of the largest value of an output, as for targets that run here."""


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
