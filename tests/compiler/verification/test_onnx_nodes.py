"""An .onnx beside onnxruntime, node by node."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.verification.onnx_nodes import NodeReport, NodeRow, verify_onnx
from tests.onnx.models import model, written

node = helper.make_node


def test_every_value_is_compared(tmp_path: Path) -> None:
    """Each by its node; then the outputs as they are compiled for use."""
    pytest.importorskip("onnxruntime")
    nodes = [
        node("Conv", ["x", "w"], ["c"], "conv"),
        node("Reshape", ["c", "shape"], ["r"], "flat"),
        node("Relu", ["r"], ["y"], "relu"),
    ]
    held = {"w": np.ones((2, 3, 1, 1), np.float32)}
    inputs: dict[str, Any] = {"x": [1, 3, "h", 4], "shape": np.array([1, -1])}
    path = written(tmp_path, model(nodes, inputs, ["y"], held))
    feeds = {"x": np.ones((1, 3, 5, 4), np.float32), "shape": np.array([2, -1])}
    report = verify_onnx(path, feeds=feeds)
    assert report.first is None
    assert [(row.node, row.value, row.for_use) for row in report.rows] == [
        ("conv", "c", False),
        ("flat", "r", False),
        ("relu", "y", False),
        ("relu", "y", True),
    ]


def test_the_first_value_that_differs_is_named() -> None:
    """It is marked in the table, too."""
    rows = (
        NodeRow("a", "Relu", "x", (2,), 1e-7, False),
        NodeRow("b", "Exp", "y", (2,), 1e-2, False),
        NodeRow("b", "Exp", "y", (2,), float("inf"), True),
    )
    lines = list(NodeReport(rows, 1e-4).lines())
    assert [line[0] for line in lines[1:3]] == [" ", "!"]
    assert lines[-1] == "the first that differs: node b (Exp), value y"
    assert rows[2].as_object(1e-4)["difference"] is None
