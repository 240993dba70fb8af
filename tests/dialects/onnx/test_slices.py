"""Parts of a value, and more of it: Slice, Split, Expand, Tile, Pad, Gather, Resize."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.diagnostics import ModelError
from tests.onnx.models import check_operator, model, run

X = np.arange(24, dtype=np.float32).reshape(2, 3, 4)


def test_slices_with_steps() -> None:
    """Forwards and backwards."""
    constants = {
        1: np.array([0, 3]),
        2: np.array([10, -5]),
        3: np.array([1, 2]),
        4: np.array([2, -1]),
    }
    check_operator("Slice", {}, [X], constants=constants, expected=[X[:, 0:10:2, 3::-1]])
    check_operator("Slice", {"starts": [1], "ends": [9]}, [X], expected=[X[1:]], opset=9)


def test_splits() -> None:
    """Of given sizes, and of equal ones, of which the last may be smaller."""
    wanted = [X[..., :1], X[..., 1:]]
    constants = {1: np.array([1, 3])}
    check_operator("Split", {"axis": -1}, [X], constants=constants, expected=wanted, outputs=2)
    halves = [X[:, :2], X[:, 2:]]
    attributes = {"axis": 1, "num_outputs": 2}
    check_operator("Split", attributes, [X], expected=halves, outputs=2)


def test_expand_and_tile() -> None:
    """To a shape, and by repeats."""
    row = X[:1, :1]
    wide = np.broadcast_to(row, (2, 3, 4)).copy()
    check_operator("Expand", {}, [row], constants={1: np.array([2, 3, 1])}, expected=[wide])
    tiled = np.tile(X, (1, 2, 1))
    check_operator("Tile", {}, [X], constants={1: np.array([1, 2, 1])}, expected=[tiled])


@pytest.mark.parametrize("mode", ["constant", "edge", "reflect", "wrap"])
def test_pads(mode: Any) -> None:
    """As numpy does; negative pads cut away."""
    pads = np.array([0, 1, 2, 1, 0, 1])
    wanted = np.pad(X, [(0, 1), (1, 0), (2, 1)], mode=mode) if mode != "reflect" else None
    expected = None if wanted is None else [wanted]
    check_operator("Pad", {"mode": mode}, [X], constants={1: pads}, expected=expected)


def test_a_value_of_a_pad_that_only_the_run_knows() -> None:
    """The input that says it."""
    pads, value = np.array([0, 0, 1, 0, -1, 1]), np.array(5, np.float32)
    wanted = np.pad(X[:, :2], [(0, 0), (0, 0), (1, 1)], constant_values=5)
    check_operator("Pad", {}, [X, None, value], constants={1: pads}, expected=[wanted])
    behind = np.array([0, -1, 0, 2, 0, 1])
    wanted = np.pad(X[:, 1:], [(0, 2), (0, 0), (0, 1)], constant_values=5)
    check_operator("Pad", {}, [X, None, value], constants={1: behind}, expected=[wanted])


def test_gathers() -> None:
    """Places from the front or the back; constants and inputs."""
    places = np.array([[2, -3], [0, 1]])
    wanted = np.take(X, places, 1)
    check_operator("Gather", {"axis": 1}, [X, places], expected=[wanted])
    check_operator("Gather", {"axis": 1}, [X], constants={1: places}, expected=[wanted])
    elements = np.array([[[0, 1, 1, -1]]])
    taken = np.take_along_axis(X[:1, :1], elements, 2)
    check_operator("GatherElements", {"axis": 2}, [X, elements], expected=[taken])
    with pytest.raises(ModelError, match="an index is beyond the 3 elements of axis 1"):
        check_operator("Gather", {"axis": 1}, [X], constants={1: np.array([3])})


def test_resizing() -> None:
    """The nearest pixels, and a mean of two."""
    image = X.reshape(1, 2, 3, 4)
    sizes = np.array([1, 2, 6, 8])
    attributes = {"coordinate_transformation_mode": "asymmetric", "nearest_mode": "floor"}
    wanted = image.repeat(2, 2).repeat(2, 3)
    check_operator("Resize", attributes, [image], constants={3: sizes}, expected=[wanted])
    row = np.array([[[0, 4]]], np.float32)
    linear = np.array([[[0, 1, 3, 4]]], np.float32)
    scales = np.array([1, 1, 2], np.float32)
    check_operator("Resize", {"mode": "linear"}, [row], constants={2: scales}, expected=[linear])


def test_resizing_without_aliases() -> None:
    """The kernel is as wide as the result's pixels; ratios of height and width may be kept."""
    row = np.array([[[0, 4, 8, 12]]], np.float32)
    attributes = {"mode": "linear", "antialias": 1, "exclude_outside": 1}
    halves = {2: np.array([1, 1, 0.5], np.float32)}
    low = (0 * 3 + 4 * 3 + 8) / 7
    wanted = np.array([[[low, 12 - low]]], np.float32)
    check_operator("Resize", attributes, [row], constants=halves, expected=[wanted])
    image = X.reshape(1, 2, 3, 4)
    kept = {"keep_aspect_ratio_policy": "not_larger", "axes": [2, 3]}
    found = check_operator("Resize", kept, [image], constants={3: np.array([6, 6])})
    assert found[0].shape == (1, 2, 5, 6)


@pytest.mark.parametrize("level", [0, 2])
def test_a_pad_that_cuts_all_away(level: int) -> None:
    """What is added is left."""
    made = model(
        [helper.make_node("Pad", ["x", "pads"], ["y"]), helper.make_node("Relu", ["x"], ["z"])],
        {"x": (1, 2, 3, 4)},
        ["y", "z"],
        {"pads": np.array([-1, 1, 0, 0, 2, 0, 0, -1])},
    )
    found, _ = run(made, {"x": np.ones((1, 2, 3, 4), np.float32)}, level)
    np.testing.assert_array_equal(found, np.zeros((2, 3, 3, 3)))
