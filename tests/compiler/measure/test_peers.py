"""Systems side by side, each in a process of its own."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ncc.compiler.measure import peers
from ncc.compiler.measure.peers import compare_network
from ncc.compiler.verification import oracle
from ncc.runtime.errors import InputError

DIGITS = Path(__file__).parents[3] / "examples" / "digits" / "digits.param"


@pytest.fixture(autouse=True)
def short(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(peers, "BURST_MILLISECONDS", 1.0)


@pytest.mark.slow
def test_every_system_has_times_or_a_reason() -> None:
    """What is not installed says how to install it, what reads another format asks for it.

    Weights that are made up are written to a file, which every system reads.
    """
    feeds = {"data": np.zeros((1, 8, 8), np.float32)}
    listed = compare_network(DIGITS, None, feeds, ["prob"], rounds=1, random_weights=3)
    found = {peer.system: peer for peer in listed}
    assert list(found) == ["ncc", "ncnn", "onnxruntime", "openvino"]
    assert all((peer.time is None) != (peer.reason is None) for peer in found.values())
    assert found["ncc"].time is not None
    if oracle.available():
        assert found["ncnn"].time is not None
    for system in ("onnxruntime", "openvino"):
        reason = found[system].reason or ""
        assert "pip install" in reason or ".onnx" in reason


@pytest.mark.parametrize(
    ("wrong", "kind"), [({"opt_lvl": 2}, TypeError), ({"opt_level": 7}, InputError)]
)
def test_an_option_that_is_wrong_is_no_system_that_fails(
    wrong: dict[str, Any], kind: type[Exception]
) -> None:
    """It raises before anything is measured."""
    with pytest.raises(kind, match="opt"):
        compare_network(DIGITS, None, {}, ["prob"], **wrong)


def test_a_system_that_fails_says_why() -> None:
    """Its last words are the reason, and the others go on."""
    task = peers.Task(os.fspath(DIGITS), "missing.bin", ["data"], "missing.npz", ["prob"], 1)
    (peer,) = peers.compare(task, 1, ["ncc"])
    assert peer.time is None and "missing.npz" in (peer.reason or "")
