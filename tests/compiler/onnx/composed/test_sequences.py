"""Recurrent operators of one sample."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.optimizer import optimize
from tests.crossed import crossed
from tests.onnx.models import model, written

node = helper.make_node
GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}


@pytest.mark.parametrize(
    ("kind", "direction", "states"),
    crossed(list(GATES), ["forward", "reverse", "bidirectional"], [True, False]),
)
def test_equal_to_onnxruntime(
    kind: str, direction: str, states: bool, converts: Any, numbers: Any
) -> None:
    """With the last states, and with first ones."""
    many = 2 if direction == "bidirectional" else 1
    gates, hidden = GATES[kind] * 6, 6
    held = {"w": numbers(many, gates, 4), "r": numbers(many, gates, hidden)}
    held["b"] = numbers(many, 2 * gates)
    fed = {"x": numbers(5, 1, 4)}
    names = ["x", "w", "r", "b"]
    if states:
        fed["h"] = numbers(many, 1, hidden)
        names += ["", "h"]
        if kind == "LSTM":
            held["c"] = np.zeros((many, 1, hidden), np.float32)
            names.append("c")
    more: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    outputs = ["y", "last"] + (["cell"] if kind == "LSTM" else [])
    one = node(kind, names, outputs, hidden_size=hidden, direction=direction, **more)
    flat = [node("Reshape", [name, "flat"], [f"{name}_"]) for name in outputs]
    held["flat"] = np.array([-1])
    converts([one, *flat], fed, held, [f"{name}_" for name in outputs])


@pytest.mark.parametrize("kind", GATES)
def test_states_that_nobody_reads(kind: str, numbers: Any, tmp_path: Path) -> None:
    """They are no blobs: ncnn takes those for outputs of the network."""
    states = ["last"] + (["cell"] if kind == "LSTM" else [])
    more: dict[str, Any] = {"linear_before_reset": 1} if kind == "GRU" else {}
    one = node(kind, ["x", "w", "r"], ["y", *states], "steps", hidden_size=6, **more)
    held = {"w": numbers(1, GATES[kind] * 6, 4), "r": numbers(1, GATES[kind] * 6, 6)}
    path = written(tmp_path, model([one], {"x": [5, 1, 4]}, ["y"], held))
    optimize(path, None, tmp_path / "net.param", tmp_path / "net.bin")
    layers = [line.split()[1:5] for line in (tmp_path / "net.param").read_text().splitlines()[2:]]
    assert ["steps", "1", "1", "x"] in layers
