"""Benchmark networks: no more layers than ncnnoptimize leaves, and the same results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.optimizer import NO_WEIGHTS, Optimized, optimize_network
from ncc.compiler.read.read_network import read_graph
from ncc.compiler.verification import oracle
from ncc.compiler.verification.difference import difference
from ncc.compiler.write.write_network import network_text, write
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.ncnn.network import Network

FOLDER = Path(__file__).parents[3] / "shared" / "golden"
ABSENT = "there is no ../shared/golden beside the checkout"
KINDS = ("models", "unfused")
PARAMS = sorted(path for kind in KINDS for path in (FOLDER / kind).glob("*.in.param"))
needs_ncnn = pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
each_network = pytest.mark.parametrize(
    "param",
    [
        pytest.param(
            path,
            id=f"{path.parent.name}-{path.name.partition('.')[0]}",
            marks=() if place % 3 == 0 else pytest.mark.slow,
        )
        for place, path in enumerate(PARAMS)
    ]
    or [pytest.param(None, marks=pytest.mark.skip(reason=ABSENT))],
)

# Files of their own weights are as large as the weights; those are run by the tests of networks.
MOST_WEIGHTS = 8_000_000

TOLERANCE = 1e-4
"""Of the largest value of a blob."""


def optimized(param: Path, **options: Any) -> Optimized:
    try:
        return optimize_network(param, NO_WEIGHTS, **options)
    except (ModelError, Unsupported) as error:
        pytest.skip(str(error).splitlines()[0])


@each_network
def test_no_more_layers(param: Path) -> None:
    """Not more than the tool left; inputs and outputs keep their names; all is done in one run."""
    done = optimized(param)
    text = network_text(done.module)
    layers = int(text.split()[1])
    recorded = read_graph(param.with_name(param.name.replace(".in.", ".out."))).layers
    assert layers <= len(recorded)
    before, after = Network.of(done.original), Network.of(done.module)
    assert list(after.inputs) == list(before.inputs)
    assert set(before.output_names) <= set(after.output_names)
    read_blobs = {blob.text for record in recorded for blob in record.inputs}
    made = {blob.text for record in recorded for blob in record.outputs}
    assert set(after.output_names) == made - read_blobs


@pytest.mark.slow
@needs_ncnn
@each_network
def test_results_stay(param: Path, tmp_path: Path) -> None:
    """Every rewrite passes its trial, and ncnn computes the same from the optimized file."""
    done = optimized(param, verify_rewrites=True)
    if sum(weights_of(done)) > MOST_WEIGHTS:
        pytest.skip("its weights are a large file")
    assert not done.refusals
    jobs = []
    for name, module in (("before", done.original), ("after", done.module)):
        made = tmp_path / f"{name}.param"
        write(module, made, made.with_suffix(".bin"))
        outputs = list(Network.of(done.original).output_names)
        jobs.append(oracle.Job(made, made.with_suffix(".bin"), feeds_of(done), outputs))
    before, after = oracle.run_all(jobs)
    assert isinstance(before, dict) and isinstance(after, dict), (before, after)
    apart = {name: difference(after[name], before[name]) for name in before}
    assert max(apart.values()) <= TOLERANCE, apart


def weights_of(done: Optimized) -> list[int]:
    return [
        int(np.prod(shape))
        for op in Network.of(done.original).layers
        for weight in op.LAYER.weights.values()
        if (shape := weight.shape(op)) is not None
    ]


def feeds_of(done: Optimized) -> dict[str, Any]:
    generator = np.random.default_rng(5)
    shapes = {name: shape_of(v) for name, v in Network.of(done.original).inputs.items()}
    if None in shapes.values():
        pytest.skip("it does not say the shape of its input")
    return {n: generator.uniform(-1, 1, s or ()).astype(np.float32) for n, s in shapes.items()}
