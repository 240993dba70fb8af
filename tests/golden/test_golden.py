"""Against what ncnnoptimize did: no more layers where it was right, right where it was wrong.

../shared/golden holds graphs before and after ncnnoptimize, and what it got wrong. Each graph is
there with the shape of its input and, as `.noshape`, without.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
import pytest
from numpy.typing import NDArray

import ncc
from ncc.compiler.diagnostics import ModelError, Unsupported
from ncc.compiler.read.read_network import read_graph
from ncc.compiler.verification import oracle
from ncc.compiler.verification.difference import difference

Array: TypeAlias = NDArray[Any]
Answer: TypeAlias = "Mapping[str, Array] | oracle.OracleError"

FOLDER = Path(__file__).parents[3] / "shared" / "golden"
SUMMARY = FOLDER / "graphs.json"
GRAPHS: dict[str, Any] = json.loads(SUMMARY.read_text()) if SUMMARY.exists() else {}
VARIANTS = [(name, variant) for name in GRAPHS for variant in ("shape", "noshape")]

TOLERANCE = 1e-4
"""Largest difference that counts as none, as a part of the output's largest value."""

needs_golden = pytest.mark.skipif(
    not GRAPHS, reason="there is no ../shared/golden beside the checkout"
)
needs_ncnn = pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")
each_graph = pytest.mark.parametrize(("name", "variant"), VARIANTS or [("none", "shape")])

# What the tool does without a shape, by luck: why that is wrong for other shapes.
NEEDS_SHAPE: Mapping[str, str] = {
    "binaryop_eltwise_one_fire": "an Eltwise does not broadcast",
    "binaryop_eltwise_second_fire": "an Eltwise does not broadcast",
    "flatten_after_innerproduct_fire": "an InnerProduct of a matrix is a matrix",
    "ip_add_fire": "an InnerProduct of a matrix is a matrix",
    "ip_bn_fire": "an InnerProduct of a matrix is a matrix",
    "pooling1x1_after_split_fire": "a pooled matrix has rank 3",
    "pooling1x1_avg_fire": "a pooled matrix has rank 3",
    "pooling1x1_max_fire": "a pooled matrix has rank 3",
    "reshape_after_global_pooling_w4_fire": "another number of channels is an error, and must stay",
    "reshape_before_binaryop_fire": "a vector beside a vector has no rank 3",
    "reshape_before_binaryop_first_fire": "a vector beside a vector has no rank 3",
    "reshape_before_binaryop_w_eq_c_fire": "a vector beside a vector has no rank 3",
}


@dataclass(frozen=True)
class Outcome:
    """A graph after optimization; `refused` tells why ncc, or ncnn, does not take it at all.

    before and after: its outputs by ncnn.
    """

    layers: int = 0
    inputs: tuple[str, ...] = ()
    outputs: tuple[str, ...] = ()
    before: Answer | None = None
    after: Answer | None = None
    refused: str = ""


def path_of(name: str, variant: str, side: str) -> Path:
    middle = "" if variant == "shape" else ".noshape"
    return FOLDER / "graphs" / f"{name}{middle}.{side}.param"


def was_right(name: str, variant: str) -> bool:
    """Whether the tool ended well and changed no output."""
    run = GRAPHS[name][variant]
    return bool(run["rc"] == 0 and not run["wheel"] and not run["naive"])


def feeds_of(name: str) -> dict[str, Array]:
    generator = np.random.default_rng(7)
    shapes = GRAPHS[name]["input_shapes"].items()
    return {blob: generator.uniform(-1, 1, shape).astype(np.float32) for blob, shape in shapes}


def ends(path: Path) -> tuple[int, tuple[str, ...], tuple[str, ...]]:
    """The number of layers, the inputs and the outputs that a file says.

    What a Noop takes beyond its outputs is an output by its own name: a Noop collects outputs.
    """
    layers = read_graph(path).layers
    given = tuple(b.text for r in layers if r.type.text == "Input" for b in r.outputs)
    used = {
        blob.text
        for record in layers
        for k, blob in enumerate(record.inputs)
        if record.type.text != "Noop" or k < len(record.outputs)
    }
    made = (blob.text for record in layers for blob in record.outputs)
    return len(layers), given, tuple(blob for blob in made if blob not in used)


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[str, str], Outcome]:
    """All graphs, optimized with every rewrite checked, written, and run by ncnn."""
    folder = tmp_path_factory.mktemp("golden")
    found: dict[tuple[str, str], Outcome] = {}
    jobs: dict[tuple[str, str], list[oracle.Job]] = {}
    for name, variant in VARIANTS:
        source = path_of(name, variant, "in")
        made = folder / f"{name}.{variant}.param"
        try:
            optimize(source, made)
        except (ModelError, Unsupported) as error:
            found[name, variant] = Outcome(refused=str(error))
            continue
        _, _, outputs = ends(source)
        jobs[name, variant] = [
            oracle.Job(path, path.with_suffix(".bin"), feeds_of(name), outputs)
            for path in (source, made)
        ]
        found[name, variant] = Outcome(*ends(made))
    answers = iter(oracle.run_all([job for pair in jobs.values() for job in pair]))
    for key in jobs:
        before, after = next(answers), next(answers)
        known = found[key]
        found[key] = Outcome(known.layers, known.inputs, known.outputs, before, after)
    return found


def optimize(source: Path, target: Path) -> None:
    """What `ncc optimize --verify-rewrites` does; no rewrite may be refused."""
    bins = source.with_suffix(".bin"), target.with_suffix(".bin")
    report = ncc.optimize(source, bins[0], target, bins[1], verify_rewrites=True)
    assert not report.refusals, report.refusals


@needs_golden
@needs_ncnn
@each_graph
def test_results_stay(name: str, variant: str, outcomes: dict[tuple[str, str], Outcome]) -> None:
    """ncnn computes the same from the optimized file, whether the tool managed that or not."""
    outcome = outcomes[name, variant]
    if outcome.refused:
        pytest.skip(outcome.refused.splitlines()[0])
    if not isinstance(outcome.before, Mapping):
        pytest.skip(f"ncnn does not run the graph itself: {outcome.before}")
    assert isinstance(outcome.after, Mapping), outcome.after
    for blob, wanted in outcome.before.items():
        if np.isfinite(wanted).all():
            assert difference(outcome.after[blob], wanted) <= TOLERANCE, blob


@needs_golden
@needs_ncnn
@each_graph
def test_names_stay(name: str, variant: str, outcomes: dict[tuple[str, str], Outcome]) -> None:
    """Inputs and outputs have the names that the file gave them."""
    outcome = outcomes[name, variant]
    if outcome.refused:
        pytest.skip(outcome.refused.splitlines()[0])
    _, inputs, outputs = ends(path_of(name, variant, "in"))
    assert set(outcome.inputs) == set(inputs)
    assert set(outcome.outputs) == set(outputs)


@needs_golden
@needs_ncnn
@each_graph
def test_what_the_tool_did_right_is_done(
    name: str, variant: str, outcomes: dict[tuple[str, str], Outcome]
) -> None:
    """No more layers than in its output, unless a rewrite needs a shape that is not told."""
    if not was_right(name, variant):
        pytest.skip("the tool was wrong")
    outcome = outcomes[name, variant]
    if outcome.refused:
        pytest.skip(outcome.refused.splitlines()[0])
    layers, _, _ = ends(path_of(name, variant, "out"))
    if variant == "noshape" and name in NEEDS_SHAPE:
        assert outcome.layers > layers, "it needs no shape"
        return
    assert outcome.layers <= layers
