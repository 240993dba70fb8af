"""Resize of an image whose size only the run knows is what the code for that size gives."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import helper

import ncc
from tests.onnx.models import model, written

SIZES = (9, 12), (5, 7), (20, 3)

BY_SCALES = [
    {"mode": mode, "coordinate_transformation_mode": way}
    for mode in ("nearest", "linear", "cubic")
    for way in ("half_pixel_symmetric", "pytorch_half_pixel", "align_corners", "asymmetric")
]
OTHERS = [
    {"mode": "nearest", "nearest_mode": "round_prefer_ceil"},
    {"mode": "nearest", "nearest_mode": "floor"},
    {"mode": "nearest", "nearest_mode": "ceil"},
    {"mode": "cubic", "exclude_outside": 1},
    {"mode": "linear", "antialias": 1},
]


def check(folder: Path, nodes: list[Any], **initializers: Any) -> None:
    """One version gives the same numbers as code for each size."""
    made = model(nodes, {"x": (1, 2, "h", "w")}, ["y"], initializers, opset=19)
    path, rng = written(folder, made), np.random.default_rng(0)
    found = ncc.compile(path)
    for size in SIZES:
        x = rng.standard_normal((1, 2, *size), np.float32)
        wanted = ncc.compile(path, input_shapes={"x": x.shape})(x)
        np.testing.assert_allclose(found(x), wanted, rtol=1e-5, atol=1e-6)
    assert "for all shapes: 1" in repr(found)


def check_by_scales(folder: Path, attributes: dict[str, Any]) -> None:
    nodes = [helper.make_node("Resize", ["x", "", "scales"], ["y"], **attributes)]
    check(folder, nodes, scales=np.array([1, 1, 1.3, 0.6], np.float32))


def test_fractions(tmp_path: Path) -> None:
    """A cubic kernel of four elements along two axes."""
    check_by_scales(tmp_path, {"mode": "cubic"})


@pytest.mark.slow
@pytest.mark.parametrize("attributes", [*BY_SCALES, *OTHERS], ids=str)
def test_every_kind(tmp_path: Path, attributes: dict[str, Any]) -> None:
    """Every place, rule and kernel."""
    check_by_scales(tmp_path, attributes)


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["nearest", "linear", "cubic"])
def test_sizes(tmp_path: Path, mode: str) -> None:
    """Where sizes are given that are computed of those of the image."""
    nodes = [
        helper.make_node("Shape", ["x"], ["shape"]),
        helper.make_node("Add", ["shape", "more"], ["sizes"]),
        helper.make_node("Resize", ["x", "", "", "sizes"], ["y"], mode=mode),
    ]
    check(tmp_path, nodes, more=np.array([0, 0, 5, -2], np.int64))
