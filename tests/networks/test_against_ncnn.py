"""Whole networks, compiled, give ncnn's numbers."""

from __future__ import annotations

from typing import Any

import pytest

import ncc
from ncc.compiler.target import Target
from ncc.compiler.verification.difference import difference
from ncc.compiler.verification.verify import verify
from ncc.runtime import cpu
from ncc.runtime.session import Model

# Of the largest value of an output.
TOLERANCE = 1e-4

WAYS = [(level, target) for target in ("avx512", "avx2") for level in (0, 1, 2)]
WAYS += [(2, "baseline")]


# One of each kind: what CI has time for at every level, target and blob.
SOME = ["efficientnet_b0", "mobilenet_v3", "shufflenet", "squeezenet_ssd", "yolov4-tiny"]


def require(target: str) -> None:
    if not Target.of(target).features <= cpu.features():
        pytest.skip(f"this CPU cannot run {target}")


def compare(model: Model, network: Any) -> None:
    found = model.run(network.feeds)
    assert found.keys() == set(network.outputs)
    apart = {name: difference(found[name], network.expected[name]) for name in found}
    assert max(apart.values()) <= TOLERANCE, apart


@pytest.mark.networks(quick=["squeezenet_v1.1", "blazeface"])
def test_as_it_is_used(network: Any) -> None:
    """With all choices left to ncc."""
    model = ncc.compile(
        network.param, network.bin, outputs=network.outputs, input_shapes=network.input_shapes
    )
    compare(model, network)


@pytest.mark.networks(slow=SOME)
@pytest.mark.parametrize(("level", "target"), WAYS, ids=[f"O{o}-{t}" for o, t in WAYS])
def test_every_level_and_target(network: Any, level: int, target: str) -> None:
    """At every level for every family of CPUs, on one thread and on two."""
    require(target)
    model = ncc.compile(
        network.param,
        network.bin,
        outputs=network.outputs,
        input_shapes=network.input_shapes,
        opt_level=level,
        num_threads=2,
        target=target,
    )
    for threads in (1, 2):
        compare(Model(model.artifact, threads), network)


@pytest.mark.networks(slow=SOME)
def test_every_blob(network: Any) -> None:
    """Every blob can be asked for, and is what the references and ncnn say."""
    report = verify(network.param, network.bin, feeds=network.feeds)
    assert report.no_ncnn is None
    assert report.first is None, report.first


@pytest.mark.networks(slow=SOME)
def test_it_survives_a_file(network: Any, tmp_path: Any) -> None:
    """A saved and loaded model gives the same bits."""
    options = {"outputs": network.outputs, "input_shapes": network.input_shapes}
    model = ncc.compile(network.param, network.bin, **options)
    model.save(tmp_path / "net.ncc")
    before = model.run(network.feeds)
    after = ncc.load(tmp_path / "net.ncc").run(network.feeds)
    assert all((after[name] == before[name]).all() for name in before)
