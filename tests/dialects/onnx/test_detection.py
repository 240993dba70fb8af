"""NonMaxSuppression."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from onnx import helper

import ncc
from ncc.compiler.diagnostics import Unsupported
from tests.onnx.models import model, written

BOXES = np.array([[[0, 0, 10, 10], [1, 1, 11, 11], [20, 20, 30, 30]]], np.float32)
SCORES = np.array([[[0.5, 0.9, 0.1], [0.2, 0.3, 0.8]]], np.float32)


def test_boxes_that_stay(tmp_path: Path) -> None:
    """Of each class, the best first; what is behind has as many rows, also none."""
    held = {
        "most": np.array([2]),
        "overlap": np.array([0.5], "f4"),
        "least": np.array([0.15], "f4"),
    }
    nodes = [
        helper.make_node("NonMaxSuppression", ["b", "s", *held], ["rows"]),
        helper.make_node("Gather", ["rows", "two"], ["places"], axis=1),
        helper.make_node("Gather", ["flat", "places"], ["boxes"]),
        helper.make_node("Reshape", ["b", "shape"], ["flat"]),
    ]
    held |= {"two": np.array(2), "shape": np.array([3, 4])}
    given = {"b": BOXES, "s": SCORES}
    compiled = ncc.compile(written(tmp_path, model(nodes, given, ["rows", "boxes"], held)))
    found = compiled.run(given)
    assert found["rows"].tolist() == [[0, 0, 1], [0, 1, 2], [0, 1, 1]]
    assert np.array_equal(found["boxes"], BOXES[0, [1, 2, 1]])
    none = compiled.run({"b": BOXES, "s": SCORES * 0})
    assert none["rows"].shape == (0, 3) and none["boxes"].shape == (0, 4)


def test_no_boxes_at_all(tmp_path: Path) -> None:
    """The default is to keep none."""
    node = helper.make_node("NonMaxSuppression", ["b", "s"], ["rows"])
    path = written(tmp_path, model([node], {"b": BOXES, "s": SCORES}, ["rows"]))
    with pytest.raises(Unsupported, match="max_output_boxes_per_class is 0"):
        ncc.compile(path)
