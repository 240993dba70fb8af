"""Layers that read the rows of a detection, and make a row of each."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.diagnostics import Unsupported
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.interpret import interpret
from ncc.compiler.verification.verify import verify
from tests.crossed import crossed

Array = np.ndarray[Any, Any]

DETECTION = """Input location 0 1 location 0=80
Input confidence 0 1 confidence 0=60
Input priors 0 1 priors 0=80 1=2
DetectionOutput detect 3 1 location confidence priors rows 0=3 1=0.45 2=20 3={most} 4=0.3
""".splitlines()

PROPOSAL = """Input scores 0 1 scores 0=4 1=4 2=18
Input moves 0 1 moves 0=4 1=4 2=36
Input image 0 1 image 0=3
Proposal propose 3 2 scores moves image rois rated 0=16 1=2 2=60 3=12 4=0.7 5=2
""".splitlines()

TAILS = {
    "boxes in pixels": [
        "Slice a 1 3 rows label score box -23300=3,1,1,-233 1=1",
        "BinaryOp b 1 1 box pixels 0=2 1=1 2=300.0",
        "Clip c 1 1 pixels clipped 0=0.0 1=300.0",
        "Concat d 3 1 label score clipped whole 0=1",
    ],
    "rows themselves and more": [
        "Split a 1 3 rows one two out",
        "TanH b 1 1 one small",
        "BinaryOp c 2 1 small two sum 0=0",
    ],
    "a matrix for all rows": [
        "MemoryData a 0 1 m 0=4 1=6",
        "MatMul b 2 1 rows m x",
        "ReLU c 1 1 x y",
    ],
    "a softmax of each": ["Softmax a 1 1 rows y 0=1 1=1"],
    "a product of each": ["InnerProduct a 1 1 rows x 0=5 1=1 2=30", "ReLU b 1 1 x y"],
    "a mean of each": ["Reduction a 1 1 rows y 0=3 1=0 -23303=1,1 4=1 5=1"],
    "another shape": ["Reshape a 1 1 rows x 0=2 1=3 2=-1", "Sigmoid b 1 1 x y"],
    "cells around": ["Padding a 1 1 rows y 2=1 3=2 4=0 5=1.5"],
}


def network(folder: Path, layers: list[str], most: int = 15) -> Path:
    lines = [line.format(most=most) for line in layers]
    blobs = sum(int(line.split()[3]) for line in lines)
    path = folder / "net.param"
    path.write_text("\n".join(["7767517", f"{len(lines)} {blobs}", *lines, ""]))
    return path


def feeds(scale: float = 1.0) -> dict[str, Array]:
    """Scores up to `scale`: fewer rows are found where they are smaller."""
    rng = np.random.default_rng(3)
    centre, size = rng.random((20, 2)), rng.random((20, 2)) * 0.3
    priors = np.concatenate([centre - size / 2, centre + size / 2], 1).reshape(-1)
    return {
        "location": rng.normal(0, 0.1, 80).astype(np.float32),
        # Of a box that is background ncnn decodes nothing, and hands out what it finds in memory.
        "confidence": (rng.random((20, 3)) * [scale / 2, scale, scale])
        .reshape(-1)
        .astype(np.float32),
        "priors": np.stack([priors, np.full(80, 0.1)]).astype(np.float32),
    }


def reference(path: Path, inputs: dict[str, Array]) -> dict[str, Array]:
    module = read(path, random_weights=1).module
    infer_shapes(module)
    return interpret(module, inputs)


@pytest.mark.parametrize(("tail", "most"), crossed(list(TAILS), [15, 1], usual=4))
def test_what_is_made_of_rows(tail: str, most: int, tmp_path: Path) -> None:
    """As many rows as are found, none as well."""
    path = network(tmp_path, [*DETECTION, *TAILS[tail]], most)
    models = [
        ncc.compile(path, random_weights=1, opt_level=level, num_threads=threads)
        for level, threads in ((0, 1), (2, 2))
    ]
    for scale, least in ((1.0, 1), (0.35, 1), (0.1, 0)):
        expected = reference(path, feeds(scale))
        for name, array in expected.items():
            assert min(len(array), 1) == least
            for model in models:
                found = model.run(feeds(scale))[name]
                np.testing.assert_allclose(found, array, rtol=1e-4, atol=1e-5, err_msg=name)


@pytest.mark.slow
def test_ncnn_makes_the_same_of_rows(tmp_path: Path) -> None:
    """All tails at once, and blob by blob."""
    if not oracle.available():
        pytest.skip("the ncnn wheel is not installed")
    tails = list(TAILS.values())
    copies = " ".join(f"rows{k}" for k in range(len(tails)))
    layers = [*DETECTION, f"Split copies 1 {len(tails)} rows {copies}"]
    for k, tail in enumerate(tails):
        own = {name for line in tail for name in line.split()[4 : 4 + sum(_counts(line))]}
        for line in tail:
            words = line.split()
            words[1] += str(k)
            for place in range(4, 4 + sum(_counts(line))):
                words[place] += str(k) if words[place] in own else ""
            layers.append(" ".join(words))
    path = network(tmp_path, layers)
    ncc.optimize(path, "null", tmp_path / "small.param", tmp_path / "small.bin")
    report = verify(tmp_path / "small.param", feeds=feeds())
    assert report.first is None and report.no_ncnn is None
    expected = oracle.run(tmp_path / "small.param", tmp_path / "small.bin", feeds())
    found = ncc.compile(tmp_path / "small.param").run(feeds())
    assert len(found) == len(tails) + 1
    for name, array in found.items():
        np.testing.assert_allclose(array, expected[name], rtol=1e-3, atol=1e-4, err_msg=name)


def _counts(line: str) -> list[int]:
    return [int(word) for word in line.split()[2:4]]


def test_a_vector_longer_than_any_rows(tmp_path: Path) -> None:
    """It is no column, however many rows are found."""
    path = network(tmp_path, ["MemoryData a 0 1 m 0=6", *DETECTION, "BinaryOp b 2 1 rows m y"], 5)
    found = ncc.compile(path, random_weights=1).run(feeds())
    np.testing.assert_allclose(found["y"], reference(path, feeds())["y"])


def test_regions_beside_their_scores(tmp_path: Path) -> None:
    """Both results of a Proposal have as many rows; the first region is pooled as any other."""
    tail = [
        "Concat join 2 1 rois rated joined 0=2",
        "Split copies 1 2 joined one two",
        "Reshape flat 1 1 one rows 0=5 1=-1",
        "BinaryOp half 1 1 two halved 0=2 1=1 2=0.5",
        "Input map 0 1 map 0=9 1=8 2=2",
        "ROIPooling pool 2 1 map halved pooled 0=2 1=2 2=0.1",
    ]
    path = network(tmp_path, [*PROPOSAL, *tail])
    rng = np.random.default_rng(5)
    inputs = {
        "scores": rng.random((18, 4, 4), dtype=np.float32),
        "moves": rng.normal(0, 0.1, (36, 4, 4)).astype(np.float32),
        "map": rng.random((2, 8, 9), dtype=np.float32),
    }
    model = ncc.compile(path)
    for scale, rows in ((1, 12), (100, 0)):
        inputs["image"] = np.array([64, 64, scale], np.float32)
        found, expected = model.run(inputs), reference(path, inputs)
        assert found["rows"].shape == (rows, 5)
        for name, array in expected.items():
            np.testing.assert_allclose(found[name], array, rtol=1e-4, atol=1e-4, err_msg=name)


@pytest.mark.parametrize(
    "tail",
    [
        "Permute refused 1 1 rows y 0=1",
        "Flatten refused 1 1 rows y",
        "Reduction refused 1 1 rows y 0=0 1=0 -23303=1,0 4=1 5=1",
        "CumulativeSum refused 1 1 rows y 0=0",
        "LSTM refused 1 1 rows y 0=4 1=96 2=0",
        "BinaryOp refused 2 1 rows six y 0=2",
    ],
)
def test_what_mixes_rows_is_refused(tail: str, tmp_path: Path) -> None:
    """By the name of the layer. A vector of six is a column where there are six rows. What it
    reads can be asked for.
    """
    path = network(tmp_path, ["MemoryData a 0 1 six 0=6", *DETECTION, tail])
    with pytest.raises(Unsupported, match="layer 'refused' on line 8"):
        ncc.compile(path, random_weights=1)
    found = ncc.compile(path, random_weights=1, outputs=["rows"]).run(feeds())
    assert found["rows"].shape[1:] == (6,) and len(found["rows"])


def test_rows_of_two_detections_have_no_common_count(tmp_path: Path) -> None:
    """A sum of them is no row for each."""
    again = DETECTION[3].replace("detect", "again").replace("rows", "others") + "5"
    copies = [f"Split {name} 1 2 {name} {name}0 {name}1" for name in _inputs()]
    detections = [DETECTION[3], again]
    for k, line in enumerate(detections):
        for name in _inputs():
            line = line.replace(f" {name} ", f" {name}{k} ")
        detections[k] = line
    tail = ["BinaryOp refused 2 1 rows others y 0=0"]
    path = network(tmp_path, [*DETECTION[:3], *copies, *detections, *tail])
    with pytest.raises(Unsupported, match="layer 'refused'"):
        ncc.compile(path)


def _inputs() -> list[str]:
    return [line.split()[1] for line in DETECTION[:3]]
