"""The benchmark networks as libraries for C: their results have the bits of those in Python.

`pytest -m sweep tests/networks/test_libraries.py` runs all of them at three levels of optimization,
on one thread and two, linked statically and not, with weights in the library and in a file.
"""

from __future__ import annotations

import shutil
from itertools import product
from pathlib import Path

import numpy as np
import pytest

from ncc.compiler.driver.compile import compile_file, compile_with
from ncc.compiler.feeds import random_feeds
from ncc.compiler.options import Options
from ncc.compiler.stopwatch import Stopwatch
from ncc.runtime.artifact import Artifact
from ncc.runtime.session import Model
from tests.c_programs import SHARED, STATIC, Library, needs_cc, outputs_of

MODELS = Path(__file__).parents[3] / "shared" / "models"
PARAMS = sorted(MODELS.glob("*.param"))
SHAPES = {"vision_transformer": {"input": (3, 384, 384)}}

pytestmark = [needs_cc, pytest.mark.skipif(not PARAMS, reason="../shared/models is absent")]


def compare(param: Path, level: int, folder: Path) -> None:
    """Every way to link and to run one network."""
    options = Options.of(
        opt_level=level,
        num_threads=2,
        random_weights=1,
        input_shapes=SHAPES.get(param.stem),
        tuned=False,
    )
    model = compile_with(param, None, options)
    feeds = random_feeds(model.inputs, 1, (0, 1))
    results = model.run(feeds)
    try:
        for embedded in (True, False):
            library = Library(model.artifact, folder / str(embedded), embedded=embedded)
            expected = outputs_of(library.signature, results)
            for kind, threads in product((STATIC, SHARED), (1, 2)):
                found = library.run(feeds, threads, kind)
                assert found == expected, f"embedded {embedded}, {kind}, {threads} threads"
    finally:
        shutil.rmtree(folder)  # up to 3 GB


@pytest.mark.slow
def test_squeezenet(tmp_path: Path) -> None:
    """At the usual level."""
    compare(MODELS / "squeezenet.param", 2, tmp_path)


@pytest.mark.sweep
@pytest.mark.parametrize("level", [0, 2, 3])
@pytest.mark.parametrize("param", PARAMS, ids=lambda param: param.stem)
def test_every_network(param: Path, level: int, tmp_path: Path) -> None:
    """At every level that has code of its own, and so every network of int8."""
    compare(param, level, tmp_path)


OPEN = ("mnasnet", "mobilenet_v2", "mobilenet_v3", "shufflenet_v2", "squeezenet_v1.1")
SIZES = ((224, 224), (57, 130), (33, 64), (300, 41))


def compare_sizes(name: str, folder: Path) -> None:
    """One library of a network at several sizes, on one thread and two."""
    options = Options.of(
        num_threads=2, random_weights=1, input_shapes={"data": (3, None, None)}, ahead=True
    )
    compiled = folder / "net.ncc"
    compile_file(MODELS / f"{name}.param", None, options, compiled, Stopwatch())
    library = Library(Artifact.load(compiled), folder)
    for threads in (1, 2):
        with Model.load(compiled, threads) as model:
            for height, width in SIZES:
                x = np.random.default_rng(height).random((3, height, width), np.float32)
                expected = outputs_of(library.signature, model.run({"data": x}))
                found = library.run({"data": x}, threads, runs=2)
                assert found == expected, f"{height}x{width}, {threads} threads"


@pytest.mark.sweep
@pytest.mark.parametrize("name", OPEN)
def test_every_size(name: str, tmp_path: Path) -> None:
    """Networks of images of any size."""
    compare_sizes(name, tmp_path)
