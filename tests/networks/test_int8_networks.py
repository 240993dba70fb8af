"""Networks quantized by ncnn's own tool, compiled, give ncnn's numbers."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.verification.difference import difference
from ncc.compiler.verification.verify import report_lines, verify

# Of the largest value of an output. Sums of int8 are exact, but where the wheel multiplies by what
# its CPU takes for a reciprocal, and another CPU takes another, a value may be rounded to the
# number beside it, and what follows moves.
TOLERANCE = 0.1
MEAN_TOLERANCE = 0.02

SLOW = [
    "mobilenet_int8", "mobilenet_ssd_int8", "resnet18_int8", "resnet50_int8",
    "squeezenet_ssd_int8", "vgg16_int8",
]  # fmt: skip
NETWORKS = ["squeezenet_int8", *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW)]


@pytest.mark.parametrize("network", NETWORKS, indirect=True)
def test_as_it_is_used(network: Any) -> None:
    """With all choices left to ncc."""
    model = ncc.compile(network.param, network.bin, outputs=network.outputs)
    found = model.run(network.feeds)
    apart = {name: difference(found[name], network.expected[name]) for name in found}
    assert max(apart.values()) <= TOLERANCE, apart
    for name, expected in network.expected.items():
        mean = np.abs(found[name] - expected).mean() / np.abs(expected).max()
        assert mean <= MEAN_TOLERANCE, name


@pytest.mark.slow
@pytest.mark.parametrize("target", ["avx512", "avx2", "baseline"])
@pytest.mark.parametrize("network", ["mobilenet_int8"], indirect=True)
def test_every_step(network: Any, target: str) -> None:
    """Each layer makes of compiled values what its reference makes, to one step of int8."""
    report = verify(network.param, network.bin, feeds=network.feeds, target=target)
    assert report.first is None, "\n".join(report_lines(report))
