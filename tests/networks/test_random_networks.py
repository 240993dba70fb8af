"""Random networks: ncnn, the references and compiled code agree, before and after optimization."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.ncnn.check_rewrites import require_equal_results
from ncc.compiler.ncnn.infer_shapes import infer_shapes
from ncc.compiler.ncnn.optimize import optimize_module, pattern_names
from ncc.compiler.read.read_network import read
from ncc.compiler.verification import oracle
from ncc.compiler.verification.difference import difference_to_wheel
from ncc.compiler.verification.interpret import interpret
from ncc.compiler.write.write_network import write
from ncc.dialects.ncnn.layer import LAYERS
from ncc.dialects.ncnn.network import Network
from ncc.runtime.session import Model

TOLERANCE = 1e-4
"""Largest difference that counts as none, as a part of the output's largest value."""

ALL, QUICK, BATCH = 300, 6, 30

# What is detected or proposed, and how much, jumps with rounding; the wheel has no ArgMax and SPP.
DETECTING = {"DetectionOutput", "YoloDetectionOutput", "Yolov3DetectionOutput", "Proposal"}
ELSEWHERE = {*DETECTING, "ArgMax", "SPP"}

Grow = Callable[[int], Any]
each_batch = pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(QUICK), id="quick"),
        *(
            pytest.param(range(first, first + BATCH), id=f"{first}", marks=pytest.mark.slow)
            for first in range(0, ALL, BATCH)
        ),
    ],
)
needs_ncnn = pytest.mark.skipif(not oracle.available(), reason="the ncnn wheel is not installed")


def saved(seeds: range, random_network: Grow, folder: Path) -> Iterator[tuple[Any, Path, Path]]:
    for seed in seeds:
        network = random_network(seed)
        yield network, *network.save(folder)


def require_close(found: Mapping[str, Any], wanted: Mapping[str, Any], network: Any) -> None:
    """Every array that is wanted is found; the network stands in the message."""
    for name, array in wanted.items():
        apart = difference_to_wheel(found[name], array)
        assert apart <= TOLERANCE, f"seed {network.seed}, {name}: {apart:.2g}\n{network.text}"


def answered(jobs: list[oracle.Job], networks: list[Any]) -> list[Mapping[str, Any]]:
    """What ncnn computes; all of it."""
    answers = oracle.run_all(jobs)
    for answer, network in zip(answers, networks, strict=True):
        assert not isinstance(answer, oracle.OracleError), f"{answer}\n{network.text}"
    return [answer for answer in answers if isinstance(answer, dict)]


def test_a_seed_is_a_network(random_network: Grow) -> None:
    """The same seed gives the same file and input, another one another."""
    first, again, other = random_network(1), random_network(1), random_network(2)
    assert first.lines == again.lines != other.lines
    assert all(np.array_equal(again.feeds[name], array) for name, array in first.feeds.items())


@pytest.mark.slow
def test_networks_are_varied(random_network: Grow) -> None:
    """Every layer type occurs, inputs of every rank, blobs with and without Split."""
    networks = [random_network(seed) for seed in range(ALL)]
    assert set(LAYERS) - ELSEWHERE <= {type for network in networks for type in network.types}
    assert {a.ndim for network in networks for a in network.feeds.values()} == {1, 2, 3, 4}
    shared = [n for n in networks if len(reads := _reads(n)) != len(set(reads))]
    split = [n for n in networks if "Split" in n.types]
    assert len(shared) > ALL // 5 and len(split) > ALL // 5
    assert 3 <= min(len(n.lines) for n in networks)


def _reads(network: Any) -> list[str]:
    return [blob for line in network.lines for blob in line.inputs]


@pytest.mark.slow
def test_every_fold_has_its_turn(random_network: Grow, tmp_path: Path) -> None:
    """All folds into convolutions and inner products fire, and nine of ten patterns at least."""
    fired: set[str] = set()
    for _, param, bin in saved(range(ALL), random_network, tmp_path):
        module = read(param, bin).module
        infer_shapes(module)
        fired |= {rewrite.pattern for rewrite in optimize_module(module)}
    left = set(pattern_names()) - fired
    folds = ("fuse_convolution", "fuse_deconvolution", "fuse_innerproduct")
    assert not [name for name in left if name.startswith(folds)]
    assert len(left) <= len(pattern_names()) // 10, left


@needs_ncnn
@each_batch
def test_references_are_what_ncnn_computes(
    seeds: range, random_network: Grow, tmp_path: Path
) -> None:
    """Every blob, by the references of the layers."""
    jobs, modules, networks = [], [], []
    for network, param, bin in saved(seeds, random_network, tmp_path):
        jobs.append(oracle.Job(param, bin, network.feeds))
        modules.append(read(param, bin).module)
        networks.append(network)
    for network, module, wanted in zip(networks, modules, answered(jobs, networks), strict=True):
        blobs = [blob for line in network.lines for blob in line.outputs]
        require_close(interpret(module, network.feeds, blobs), wanted, network)


@needs_ncnn
@each_batch
def test_optimized_files_give_the_same_in_ncnn(
    seeds: range, random_network: Grow, tmp_path: Path
) -> None:
    """Every rewrite passes its trial; what is written is read by ncnn, and by ncc to no rewrite."""
    jobs, computed, networks = [], [], []
    for network, param, bin in saved(seeds, random_network, tmp_path):
        module = read(param, bin).module
        wanted = interpret(module, network.feeds)
        infer_shapes(module)
        optimize_module(module, check=require_equal_results)
        module.verify()
        require_close(interpret(module, network.feeds), wanted, network)
        _require_no_stray_readers(Network.of(module), network)
        assert set(Network.of(module).inputs) == set(network.feeds)
        _require_same_outputs(Network.of(module), set(wanted), network)
        assert not optimize_module(module), network.text
        made = tmp_path / f"optimized{network.seed}.param"
        write(module, made, made.with_suffix(".bin"))
        _require_nothing_left(made, Network.of(module).output_names, network)
        jobs.append(oracle.Job(made, made.with_suffix(".bin"), network.feeds, list(wanted)))
        computed.append(wanted)
        networks.append(network)
    for network, ours, answer in zip(networks, computed, answered(jobs, networks), strict=True):
        require_close(ours, answer, network)


def _require_same_outputs(network: Network, wanted: set[str], grown: Any) -> None:
    """The outputs are those of the file, and what a Noop took and did not hand on."""
    ended = {
        blob
        for line in grown.lines
        if line.type == "Noop"
        for blob in line.inputs[len(line.outputs) :]
    }
    assert wanted <= set(network.output_names) <= wanted | ended, grown.text


def _require_no_stray_readers(network: Network, grown: Any) -> None:
    """Every reader of a value is in the network: none was left by a layer made and thrown away."""
    block = network.function.body.block
    uses = [use for op in network.layers for result in op.results for use in result.uses]
    assert all(use.operation.parent is block for use in uses), grown.text


def _require_nothing_left(param: Path, outputs: Sequence[str], grown: Any) -> None:
    """A written file has its Splits back; besides those there is nothing to rewrite."""
    module = read(param, outputs=outputs).module
    infer_shapes(module)
    again = [rewrite for rewrite in optimize_module(module) if rewrite.pattern != "eliminate_split"]
    assert not again, f"{', '.join(map(str, again))}\n{grown.text}"


@each_batch
@pytest.mark.parametrize("level", [0, pytest.param(1, marks=pytest.mark.slow), 2])
def test_compiled_code_is_what_the_references_compute(
    level: int, seeds: range, random_network: Grow, tmp_path: Path
) -> None:
    """At every level that has code of its own."""
    for network, param, bin in saved(seeds, random_network, tmp_path):
        wanted = interpret(read(param, bin).module, network.feeds)
        model = ncc.compile(param, bin, opt_level=level)
        require_close(model.run(network.feeds), wanted, network)


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(2), id="quick"),
        pytest.param(range(2, 10), id="2", marks=pytest.mark.slow),
        *(
            pytest.param(range(first, first + BATCH), id=f"{first}", marks=pytest.mark.sweep)
            for first in range(10, 2000, BATCH)
        ),
    ],
)
def test_odd_params(seeds: range, odd_network: Grow, tmp_path: Path) -> None:
    """Params that few files have: what the references compute, on one thread and two."""
    for network, param, bin in saved(seeds, odd_network, tmp_path):
        with np.errstate(all="ignore"):
            wanted = interpret(read(param, bin).module, network.feeds)
        for level in (0, 2):
            model = ncc.compile(param, bin, opt_level=level, num_threads=2)
            found = model.run(network.feeds)
            require_close(found, wanted, network)
            one = Model(model.artifact, 1).run(network.feeds)
            assert all(found[name].tobytes() == one[name].tobytes() for name in one), network.text
