"""An .onnx beside other systems: all but ncnn run the same file."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.measure import peers
from ncc.compiler.measure.peers import compare_network
from tests.onnx.models import model, written


@pytest.mark.slow
def test_an_onnx_has_its_weights_and_its_shapes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """ncnn says why it does not run."""
    systems = {name: peers.SYSTEMS[name] for name in ("ncc", "ncnn", "onnxruntime")}
    monkeypatch.setattr(peers, "SYSTEMS", systems)
    monkeypatch.setattr(peers.compare, "__defaults__", (tuple(systems),))
    made = model([helper.make_node("Relu", ["x"], ["y"])], {"x": (1, "n")}, ["y"])
    path, shapes = written(tmp_path, made), {"x": (1, 8)}
    feeds = {"x": np.ones((1, 8), np.float32)}
    found = compare_network(path, None, feeds, ["y"], onnx=path, input_shapes=shapes, rounds=1)
    reasons = {peer.system: peer.reason for peer in found}
    assert reasons == {"ncc": None, "ncnn": "needs the network as .param", "onnxruntime": None}
