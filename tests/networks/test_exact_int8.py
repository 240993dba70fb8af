"""Random networks of int8 layers, whose numbers are exact, give the references' bit by bit."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import ncc
from ncc.compiler.read.read_network import read
from ncc.compiler.verification.interpret import interpret
from tests.runnable import NAMES

WAYS = [(2, "host", 1), (2, "avx2", 2), (0, "host", 1), (2, "avx512", 1), (1, "baseline", 1)]
"""Levels, targets and threads."""

QUICK, ALL, BATCH = 5, 300, 30

Grow = Callable[[int], Any]


@pytest.mark.parametrize(
    "seeds",
    [
        pytest.param(range(QUICK), id="quick"),
        *(
            pytest.param(range(first, first + BATCH), id=f"{first}", marks=pytest.mark.slow)
            for first in range(0, ALL, BATCH)
        ),
    ],
)
def test_the_same_bits(seeds: range, random_int8: Grow, tmp_path: Path) -> None:
    """Each network compiled in one of the ways, in turn."""
    for seed in seeds:
        level, target, threads = WAYS[seed % len(WAYS)]
        if target not in ("host", *NAMES):
            continue
        network = random_int8(seed)
        param, bin = network.save(tmp_path)
        wanted = interpret(read(param, bin).module, network.feeds)
        model = ncc.compile(param, bin, opt_level=level, target=target, num_threads=threads)
        for name, array in model.run(network.feeds).items():
            np.testing.assert_array_equal(array, wanted[name], err_msg=f"{name}\n{network.text}")


def test_networks_are_varied(random_int8: Grow) -> None:
    """Every layer that knows int8 occurs, with float32 and with int8 results."""
    types = Counter[str]()
    for network in map(random_int8, range(40)):
        types.update(line.type for line in network.lines)
        types.update(f"{line.type} to int8" for line in network.lines if " 8=10" in line.params)
    convolutions = ("Convolution", "ConvolutionDepthWise")
    others = ("InnerProduct", "Quantize", "Dequantize", "Requantize", "Cast", "Pooling", "Concat")
    assert {*convolutions, *(f"{name} to int8" for name in convolutions), *others} <= set(types)
