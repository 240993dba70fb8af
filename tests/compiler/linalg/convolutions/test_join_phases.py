"""Phases of transposed convolutions as channels: the same numbers, whatever crops leave of them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp
from xdsl.dialects.linalg.ops import GenericOp

from ncc.compiler.options import Options
from ncc.compiler.pipeline import Compilation
from tests.compiler.linalg.compiled import compiled
from tests.crossed import crossed, some

IMAGE = """7767517
4 4
Input data 0 1 data
Convolution first 1 1 data a 0=20 1=1 5=1 6=120 9=1
{kind} transposed 1 1 a b 0={outputs} {params}
PReLU slopes 1 1 b y 0={outputs}
"""

SEQUENCE = """7767517
3 3
Input data 0 1 data 0=21 1=6
Convolution1D first 1 1 data a 0=20 1=1 5=1 6=120 9=1
Deconvolution1D transposed 1 1 a y 0={outputs} {params}
"""

PARAMS = [
    (1, 81, "1=9 3=2 4=4 18=1 5=1"),
    (3, 16, "1=4 3=2 4=1 5=1 9=1"),
    (32, 16, "1=4 3=2 4=1 5=1 9=2 -23310=1,0.1"),
    (3, 4, "1=2 3=2"),
    (5, 9, "1=3 3=2 4=1 18=1"),
    (4, 25, "1=5 3=3 4=2 5=1"),
    (2, 4, "1=2 3=3"),
    (6, 9, "1=3 3=2 2=2 4=1"),
    (8, 15, "1=5 11=3 3=2 13=1 4=2 14=1 5=1"),
    (16, 9, "1=3 4=1 5=1"),
    (7, 16, "1=4 4=0"),
    (1, 64, "1=8 3=4 4=-233 20=33 21=27"),
]


def compare(tmp_path: Path, text: str, shape: tuple[int, ...], target: str) -> None:
    """Numbers are those of -O1; the same bits for any number of threads."""
    param = tmp_path / "net.param"
    param.write_text(text)
    x = np.random.default_rng(3).standard_normal(shape).astype(np.float32)
    plain, one = compiled(param, x, target, input_shapes={"data": shape})
    np.testing.assert_allclose(one, plain, rtol=0, atol=1e-5)


@pytest.mark.parametrize("layer", some(PARAMS, usual=3), ids=str)
def test_images(tmp_path: Path, layer: tuple[int, int, str]) -> None:
    """Windows of all kinds, of few channels and of many."""
    outputs, taps, params = layer
    text = IMAGE.format(
        kind="Deconvolution", outputs=outputs, params=f"{params} 6={20 * taps * outputs}"
    )
    compare(tmp_path, text, (6, 7, 9), "avx512")


@pytest.mark.parametrize(
    ("taps", "params"),
    [
        (16, "1=4 3=2 4=1 9=2 -23310=1,0.1"),
        pytest.param(16, "1=4 3=2 4=1 5=1", marks=pytest.mark.slow),
        (16, "1=4 3=2 4=-233 20=23 21=15 5=1"),
        pytest.param(25, "1=5 3=2 4=2 18=1 5=1 9=1", marks=pytest.mark.slow),
    ],
)
def test_each_of_its_own(tmp_path: Path, taps: int, params: str) -> None:
    """Phases in tiles, of equal size or not, with followers that read vectors of channels."""
    text = IMAGE.replace("0=20", "0=64").replace("6=120", "6=384")
    text = text.format(kind="Deconvolution", outputs=64, params=f"{params} 6={64 * taps * 64}")
    compare(tmp_path, text, (6, 8, 12), "avx512")


FEW = [
    (40, 16, "1=4 5=1 9=1"),
    (16, 16, "1=4 3=2 4=1 5=1"),
    (3, 9, "1=3 3=2 4=1 18=1"),
    (4, 4, "1=2 3=3 18=2 2=2"),
    (2, 15, "1=5 11=3 3=2 13=1 4=2 14=1 5=1"),
    (5, 4, "1=4 11=1 3=2 5=1"),
]
"""Outputs, taps and params."""


@pytest.mark.parametrize(("layer", "shape"), crossed(FEW, [(6, 1, 1), (6, 1, 9)], usual=3))
def test_few_cells(tmp_path: Path, layer: tuple[int, int, str], shape: tuple[int, ...]) -> None:
    """Along an axis of one element, each element of the result is a phase."""
    outputs, taps, params = layer
    text = IMAGE.format(
        kind="Deconvolution", outputs=outputs, params=f"{params} 6={20 * taps * outputs}"
    )
    compare(tmp_path, text, shape, "avx512")


@pytest.mark.parametrize("target", ["avx2", "baseline"])
def test_targets(tmp_path: Path, target: str) -> None:
    """Other vectors."""
    text = IMAGE.format(kind="Deconvolution", outputs=3, params="1=4 3=2 4=1 5=1 9=1 6=960")
    compare(tmp_path, text, (6, 7, 9), target)


def test_groups(tmp_path: Path) -> None:
    """Those stay as they are."""
    text = IMAGE.format(
        kind="DeconvolutionDepthWise", outputs=20, params="1=4 3=2 4=1 5=1 6=320 7=20"
    )
    compare(tmp_path, text, (6, 7, 9), "avx512")


@pytest.mark.parametrize(("outputs", "taps", "params"), [(1, 9, "1=9 3=2 4=4"), (8, 4, "1=4 3=2")])
def test_sequences(tmp_path: Path, outputs: int, taps: int, params: str) -> None:
    """Sequences are images of one row."""
    text = SEQUENCE.format(outputs=outputs, params=f"{params} 6={20 * taps * outputs}")
    compare(tmp_path, text, (6, 21), "avx512")


def test_strides_of_few_taps_stay(tmp_path: Path) -> None:
    """Of more phases than a convolution could have channels, nearly all have no tap."""
    text = IMAGE.format(kind="Deconvolution", outputs=2, params="1=2 11=1 3=70000 13=1 6=80")
    compare(tmp_path, text, (6, 1, 2), "avx512")


@pytest.mark.parametrize("params", some(["1=4 3=2 4=1 6=960", "1=2 3=2 6=240"], usual=1))
def test_open_images(tmp_path: Path, params: str) -> None:
    """Images whose extents the run tells become the same convolutions as those of known ones."""
    path, left = tmp_path / "net.param", []
    path.write_text(IMAGE.format(kind="Deconvolution", outputs=3, params=params))

    def count(name: str, module: ModuleOp) -> None:
        if name == "join-phases":
            left.append(sum(isinstance(op, GenericOp) for op in module.walk()))

    for side in (9, None):
        options = Options.of(random_weights=1, input_shapes={"data": (6, side, side)})
        compilation = Compilation(path, None, options, observe=count)
        compilation.structured(compilation.network())
    assert left[0] == left[1]
