"""One compilation of a layer for open shapes gives the numbers of the code for each shape.

The layers are those of which sizes decide more than extents: how many regions there can be, which
taps an element takes, which extents of two inputs are one.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

import ncc
from ncc.compiler.driver.compile import compile_with
from ncc.compiler.options import Options
from ncc.dialects.shapes import OpenShape, Shape
from tests.crossed import some


class Case(NamedTuple):
    """A layer, the shapes of its inputs, and sets of shapes to run."""

    layer: str
    shapes: Sequence[OpenShape]
    runs: Sequence[Sequence[Shape]]


def images(c: int, *others: Shape) -> list[list[Shape]]:
    """Images of some sizes, and what does not change."""
    return [[(c, h, w), *others] for h, w in ((9, 11), (4, 23), (17, 6))]


REGIONS = [
    Case("ROIPooling {} 0=3 1=2 2=0.5", [(4, None, None), (4,)], images(4, (4,))),
    Case("PSROIPooling {} 0=2 1=2 2=0.5 3=3", [(12, None, None), (4,)], images(12, (4,))),
    Case("ROIAlign {} 0=3 1=2 2=0.5 3=2", [(4, None, None), (4,)], images(4, (4,))),
    Case("ROIAlign {} 0=3 1=2 2=0.5 5=1", [(None, None, None), (4,)], images(4, (4,))),
]
TAPS = [
    Case("Deconvolution {} 0=3 1=3 3=2 4=-233 6=54 20=7 21=5", [(2, None, None)], images(2)),
    Case("Deconvolution {} 0=3 1=3 3=2 4=-234 5=1 6=54 20=7", [(2, None, None)], images(2)),
    Case(
        "DeconvolutionDepthWise {} 0=2 1=4 3=3 4=-233 6=32 7=2 20=6", [(2, None, None)], images(2)
    ),
    Case("Convolution {} 0=8 1=2 3=3 4=2 5=1 6=64", [(2, None, None)], images(2)),
    Case("Deconvolution1D {} 0=3 1=3 3=2 4=-234 6=18 20=7", [(2, None)], [[(2, 5)], [(2, 9)]]),
    Case(
        "DeformableConv2D {} 0=4 1=3 3=2 4=1 6=72",
        [(2, None, None), (18, None, None), (9, None, None)],
        [
            [(2, h, w), *((c, (h + 1) // 2, (w + 1) // 2) for c in (18, 9))]
            for h, w in ((9, 11), (4, 22), (17, 6))
        ],
    ),
]
BOXES = [
    Case("CopyTo {}", [(None, None)] * 2, [[(5, 6)] * 2, [(9, 2)] * 2]),
    Case("CopyTo {} -23309=2,1,2", [(None, None)] * 2, [[(5, 9), (3, 4)], [(8, 8), (6, 2)]]),
    Case("CopyTo {} -23309=2,-3,-5", [(None, None)] * 2, [[(5, 9), (2, 4)], [(8, 8), (1, 3)]]),
]
GRIDS = [
    Case("PriorBox {} -23300=1,4.0 9=20 10=20", [(3, None, None)], [[(3, 8, 1)], [(3, 9, 4)]]),
    Case("BinaryOp {}", [(3, None, None), (1, None)], [[(3, 8, 1), (1, 8)], [(3, 5, 9), (1, 5)]]),
]
"""The first of the images has one column: strides are 1 for it alone."""

SPECTRA = [
    Case("Spectrogram {} 0=16 1=2 2=4 4=1", [(None,)], [[(40,)], [(9,)], [(21,)]]),
    Case("Spectrogram {} 0=15 2=5 3=9 6=1", [(None,)], [[(40,)], [(1,)], [(8,)]]),
    Case("InverseSpectrogram {} 0=16 2=4 4=1", [(9, None, 2)], [[(9, n, 2)] for n in (9, 2, 5)]),
    Case("InverseSpectrogram {} 0=16 2=16 5=0", [(16, None, 2)], [[(16, n, 2)] for n in (6, 2)]),
    Case("InverseSpectrogram {} 0=16 1=1 2=5 4=2", [(9, None, 2)], [[(9, n, 2)] for n in (7, 4)]),
]
"""Borders that mirror a signal, and windows that overlap."""

JOINED = [
    Case("MatMul {}", [(None, None)] * 2, [[(5, 6), (6, 3)], [(2, 9), (9, 9)]]),
    Case("Gemm {} 3=1", [(None, None)] * 2, [[(5, 6), (3, 6)], [(2, 9), (9, 9)]]),
    Case(
        "Einsum {} -23300=9,105,107,44,107,106,45,62,105,106",
        [(None, None)] * 2,
        [[(5, 6), (6, 3)], [(2, 9), (9, 9)]],
    ),
    Case("SDPA {}", [(2, None, 8)] * 3, [[(2, 5, 8), *[(2, 7, 8)] * 2], [(2, 9, 8)] * 3]),
]
WEIGHED = [
    Case("BatchNorm {} 0=4", [(None, None, None)], images(4)),
    Case("PReLU {} 0=4", [(None, None)], [[(4, 5)], [(4, 9)]]),
    Case("LayerNorm {} 0=6 1=1e-5", [(None, None, None)], [[(2, 5, 6)], [(7, 3, 6)]]),
    Case("GRU {} 0=5 1=90", [(None, None)], [[(7, 6)], [(2, 6)]]),
    Case("InnerProduct {} 0=5 1=1 2=30", [(None, None)], [[(7, 6)], [(2, 6)]]),
]
"""Weights decide an extent, which nobody needs to say."""

RANKS = [
    Case("Squeeze {} 1=1", [(3, None, None)], [[(3, 1, 7)], [(3, 1, 2)]]),
    Case(
        "Reduction {} 0=3 1=0 -23303=2,1,2 4=1 5=1",
        [(None, None, None)],
        [[(3, 4, 7)], [(5, 2, 9)]],
    ),
    Case("Squeeze {} -23303=1,1", [(3, None, None)], [[(3, 4, 7)], [(3, 2, 9)]]),
]
"""Whether an extent is 1 decides how many axes there are; some are kept."""

CHANNELS = [
    Case("ShuffleChannel {} 0=3 1=1", [(None, None, None)], [[(12, 4, 5)], [(9, 2, 7)]]),
    Case(
        "ConvolutionDepthWise {} 3=2 4=-233 5=1 7=6 19=1",
        [(None, None, None), (None, None, None, None), (None,)],
        [[(6, 9, 8), (n, 1, 2, 2), (n,)] for n in (6, 12)],
    ),
    Case(
        "ConvolutionDepthWise1D {} 3=2 5=1 7=4 19=1",
        [(None, None), (None, None, None), (None,)],
        [[(4, 9), (n, 1, 2), (n,)] for n in (8, 4)],
    ),
]
"""Groups of channels of which only calls say how many there are, in inputs and in filters."""


def check(folder: Path, case: Case) -> None:
    """A model of open shapes compiles once, and each run has the numbers of fixed code."""
    names = [f"in{k}" for k in range(len(case.shapes))]
    layer = case.layer.format(f"it {len(names)} 1 {' '.join(names)} out")
    lines = [*(f"Input {name} 0 1 {name}" for name in names), layer]
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""]))
    shapes = dict(zip(names, case.shapes, strict=True))
    options = Options.of(random_weights=1, input_shapes=shapes, verify_each=True)
    found, rng = compile_with(path, None, options), np.random.default_rng(0)
    for run in case.runs:
        given = dict(zip(names, run, strict=True))
        feeds = {name: rng.uniform(0, 3, shape).astype(np.float32) for name, shape in given.items()}
        wanted = ncc.compile(path, random_weights=1, input_shapes=given).run(feeds)
        np.testing.assert_allclose(found.run(feeds)["out"], wanted["out"], rtol=1e-4, atol=1e-5)
    assert "for all shapes: 1" in repr(found)


@pytest.mark.parametrize(
    "case",
    some([REGIONS[0], BOXES[1], JOINED[0], RANKS[0], TAPS[0], GRIDS[0], WEIGHED[0]], usual=4),
    ids=lambda case: case.layer,
)
def test_one_of_a_kind(tmp_path: Path, case: Case) -> None:
    """Regions, transposed windows, boxes, products of inputs, channels of weights, and ranks."""
    check(tmp_path, case)


@pytest.mark.slow
@pytest.mark.parametrize(
    "case",
    [*REGIONS, *TAPS, *BOXES, *GRIDS, *SPECTRA, *JOINED, *WEIGHED, *RANKS, *CHANNELS],
    ids=lambda case: case.layer,
)
def test_all_of_a_kind(tmp_path: Path, case: Case) -> None:
    """With every param that decides which code there is."""
    check(tmp_path, case)


VIEWS = [
    (["Reshape a 1 1 x y 0=-1 1=1 2=1", "Reshape b 1 1 y out 0=0 1=-1"], [(4, None)]),
    (["Reshape a 1 1 x y 0=1 1=1 2=-1", "ReLU b 1 1 y out"], [(None,)]),
    (["Reshape a 1 1 x y 0=1 1=1 2=-1", "BinaryOp b 2 1 y z out"], [(None,), (None,)]),
]


@pytest.mark.parametrize(("layers", "shapes"), VIEWS)
def test_views_of_open_sizes(
    tmp_path: Path, layers: list[str], shapes: Sequence[OpenShape]
) -> None:
    """Rewrites leave views whose extents they would have to say."""
    names, path = "xz"[: len(shapes)], tmp_path / "net.param"
    lines = [*(f"Input {name} 0 1 {name}" for name in names), *layers]
    path.write_text("\n".join(["7767517", f"{len(lines)} {len(lines)}", *lines, ""]))
    path.with_suffix(".bin").touch()
    model = ncc.compile(path, input_shapes=dict(zip(names, shapes, strict=True)))
    for extent in (7, 3):
        given = tuple(extent if side is None else side for side in shapes[0])
        x = np.random.default_rng(extent).uniform(0, 1, given).astype(np.float32)
        found = model.run(dict.fromkeys(names, x))["out"]
        np.testing.assert_array_equal(found.ravel(), x.ravel() * len(names))
    assert "for all shapes: 1" in repr(model)


PROPOSAL = """7767517
4 5
Input scores 0 1 scores
Input moves 0 1 moves
Input image 0 1 image
Proposal it 3 2 scores moves image boxes rated 0=4 1=4 2=100 3=20 4=0.6 5=2
"""


@pytest.mark.slow
def test_regions_that_are_proposed(tmp_path: Path) -> None:
    """Fewer cells than regions are asked for, and more."""
    path, rng = tmp_path / "net.param", np.random.default_rng(0)
    path.write_text(PROPOSAL)
    shapes = {"scores": (18, None, None), "moves": (36, None, None), "image": (3,)}
    model = ncc.compile(path, input_shapes=shapes)
    for h, w in ((4, 5), (1, 1), (9, 7)):
        feeds = {name: rng.uniform(-1, 1, (c, h, w)) for name, c in (("scores", 18), ("moves", 36))}
        given = {name: array.astype(np.float32) for name, array in feeds.items()}
        given["image"] = np.array([4 * h, 4 * w, 1], np.float32)
        fixed = ncc.compile(path, input_shapes={name: x.shape for name, x in given.items()})
        found, wanted = model.run(given), fixed.run(given)
        for name, array in wanted.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-5, atol=1e-5)
    assert "for all shapes: 1" in repr(model)
