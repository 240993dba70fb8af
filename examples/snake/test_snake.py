"""What a test of a layer from outside looks like; run it by `pytest examples/snake`."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from ncc_snake import SnakeOp

import ncc

NETWORK = """7767517
4 4
Input data 0 1 data 0=5 1=4 2=3
ReLU relu 1 1 data a
Snake snake 1 1 a b 0=3
Pooling pool 1 1 b out 0=1 4=1
"""
FREQUENCIES = np.array([0.5, 1.0, 3.0], np.float32)


@pytest.fixture
def network(tmp_path: Path) -> Path:
    path = tmp_path / "net.param"
    path.write_text(NETWORK)
    path.with_suffix(".bin").write_bytes(FREQUENCIES.astype("<f4").tobytes())
    return path


@pytest.mark.parametrize("opt_level", [0, 2])
def test_it_is_compiled(network: Path, opt_level: int) -> None:
    """x + sin(a x)^2 / a, at every level."""
    x = np.random.default_rng(0).normal(0, 2, (3, 4, 5)).astype(np.float32)
    positive, a = np.maximum(x, 0), FREQUENCIES[:, None, None]
    expected = (positive + np.sin(a * positive) ** 2 / a).mean(axis=(1, 2))
    found = ncc.compile(network, opt_level=opt_level)(x)
    np.testing.assert_allclose(found, expected, rtol=1e-5)


def test_another_number_of_channels_is_refused(network: Path) -> None:
    """The param at fault is pointed at."""
    network.write_text(NETWORK.replace("0=3", "0=2"))
    with pytest.raises(ncc.ModelError, match="3 channels, but 2 frequencies"):
        ncc.compile(network)


def test_its_name() -> None:
    """As the files say it."""
    assert SnakeOp.LAYER.type == "Snake"
