"""Both rates of `ncc verify`: right networks agree, and faults that are planted are found."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.read.read_network import read
from ncc.compiler.verification.report import report_lines
from ncc.compiler.verification.verify import verify
from ncc.dialects.ncnn.convolution.filtering import Filtering
from ncc.dialects.ncnn.layer import Array
from ncc.dialects.ncnn.network import Network
from tests.networks.planted import KINDS, planted
from tests.networks.random_blocks import random_blocks
from tests.networks.random_network import RandomNetwork, random_network

TRAINED = Path(os.environ.get("NCC_TRAINED", "~/.cache/ncc-trained")).expanduser()
"""Any folder with trained networks for images, as packages of upscalers have them."""

DIGITS = Path(__file__).parents[2] / "examples" / "digits"
SIZE = (64, 72)
"""That crops of such networks leave something of."""
SEEDS = [
    *(pytest.param(seed, marks=pytest.mark.slow) for seed in range(1000, 1006)),
    *(pytest.param(seed, marks=pytest.mark.sweep) for seed in range(1006, 1012)),
]


def check(
    param: Path, bin: Path, feeds: Mapping[str, Array], folder: Path, seed: int, **options: Any
) -> None:
    """The network agrees; with a fault of each kind that fits, it does not."""
    report = verify(param, bin, feeds=feeds, **options)
    assert report.first is None, "\n".join(report_lines(report))
    for number, kind in enumerate(KINDS):
        generator = np.random.default_rng([seed, number])
        with planted(param, bin, kind, generator, feeds, folder) as fault:
            if fault is None or fault.is_rounding:
                continue
            report = verify(param, bin, feeds=feeds, **options)
        assert report.first is not None, (kind, fault, "\n".join(report_lines(report)))


@pytest.mark.slow
def test_faults_are_found_in_a_trained_network(tmp_path: Path) -> None:
    """Of each kind, in one that is small."""
    x = np.random.default_rng(0).uniform(0, 1, (1, 8, 8)).astype(np.float32)
    check(DIGITS / "digits.param", DIGITS / "digits.bin", {"data": x}, tmp_path, 0)


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("grown", [random_blocks, random_network])
def test_faults_are_found_in_random_networks(
    grown: Callable[[int], RandomNetwork], seed: int, tmp_path: Path
) -> None:
    """Of every type of layer, and of what convolutional networks are made of."""
    network = grown(seed)
    param, bin = network.save(tmp_path)
    faulty = tmp_path / "faulty"
    faulty.mkdir()
    check(param, bin, network.feeds, faulty, seed)


@pytest.mark.slow
@pytest.mark.parametrize("opt_level", [0, 2, 3])
@pytest.mark.parametrize("value_range", [(-1.0, 1.0), (0.0, 1.0)])
def test_trained_networks_agree(value_range: tuple[float, float], opt_level: int) -> None:
    """On random inputs, though values cancel in them that photos leave alone."""
    params = sorted(TRAINED.rglob("*.param"))
    if not params:
        pytest.skip(f"there are no trained networks in {TRAINED} (NCC_TRAINED names another)")
    for param in params:
        network = Network.of(read(param).module)
        [name] = network.inputs
        first = next(op for op in network.layers if isinstance(op, Filtering))
        shapes = {name: (first.channels.inputs, *SIZE)}
        report = verify(
            param, input_shapes=shapes, opt_level=opt_level, value_range=value_range, seed=1
        )
        assert report.first is None, "\n".join([str(param), *report_lines(report)])
