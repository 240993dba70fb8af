"""Movements that ncnn has no layer for, axis by axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import helper

node = helper.make_node
INTS: Callable[..., Any] = lambda *values: np.array(values, np.int64)  # noqa: E731

CASES: dict[str, tuple[tuple[int, ...], Any, dict[str, Any]]] = {
    "steps": (
        (1, 3, 9, 10),
        node("Slice", ["x", "a", "b", "c", "d"], ["y"]),
        {"a": INTS(1, 0), "b": INTS(9, 99), "c": INTS(2, 3), "d": INTS(2, 3)},
    ),
    "backwards": (
        (1, 3, 9, 10),
        node("Slice", ["x", "a", "b", "c", "d"], ["y"]),
        {"a": INTS(-2, 1), "b": INTS(-9, 8), "c": INTS(2, 3), "d": INTS(-3, 2)},
    ),
    "one of a stack": ((3, 5, 1, 8), node("Gather", ["x", "i"], ["y"]), {"i": np.array(-1)}),
    "one of five axes": ((3, 2, 4, 5, 2), node("Gather", ["x", "i"], ["y"]), {"i": np.array(1)}),
    "several": ((1, 4, 6), node("Gather", ["x", "i"], ["y"], axis=2), {"i": INTS(4, 0, 1, -1)}),
    "all of many": (
        (100,),
        node("Gather", ["x", "i"], ["y"]),
        {"i": np.arange(100).reshape(1, 100, 1)},
    ),
    "a table": ((1, 4, 6), node("Gather", ["x", "i"], ["y"], axis=1), {"i": INTS([3, 0], [1, 1])}),
    "expanded": ((1, 2, 1, 3), node("Expand", ["x", "s"], ["y"]), {"s": INTS(2, 4, 1)}),
    "tiled": ((2, 3, 4), node("Tile", ["x", "s"], ["y"]), {"s": INTS(2, 1, 3)}),
    "five axes": ((1, 4, 2, 3, 2, 3), node("Transpose", ["x"], ["y"], perm=[0, 1, 3, 5, 2, 4]), {}),
    "pairs": ((2, 4, 2, 4, 5), node("Transpose", ["x"], ["y"], perm=[0, 2, 1, 3, 4]), {}),
    "reflected": (
        (1, 2, 5, 6),
        node("Pad", ["x", "p"], ["y"], mode="reflect"),
        {"p": INTS(0, 0, 2, 1, 0, 0, 0, 3)},
    ),
    "edges": (
        (1, 2, 5, 6),
        node("Pad", ["x", "p"], ["y"], mode="edge"),
        {"p": INTS(0, 1, 2, 0, 0, 0, 0, 3)},
    ),
    "padded and cut": (
        (1, 2, 5, 6),
        node("Pad", ["x", "p", "v"], ["y"]),
        {"p": INTS(0, -1, 2, -2, 0, 0, -1, 3), "v": np.array(0.5, np.float32)},
    ),
}


@pytest.mark.parametrize("case", CASES)
def test_equal_to_onnxruntime(case: str, converts: Any, numbers: Any) -> None:
    """The wheel moves the same elements."""
    shape, one, constants = CASES[case]
    x = numbers(*shape)
    if len(shape) > 4:  # no input of ncnn has so many axes
        flat = numbers(int(np.prod(shape)))
        to_shape = node("Reshape", ["x", "whole"], ["w"])
        back = node("Reshape", ["z", "flat"], ["y"])
        one.input[0], one.output[0] = "w", "z"
        held = {"whole": INTS(*shape), "flat": INTS(-1), **constants}
        converts([to_shape, one, back], {"x": flat}, held)
    else:
        converts([one], {"x": x}, constants)


def test_parts_of_five_axes(converts: Any, numbers: Any) -> None:
    """They are cut, and joined in another order."""
    nodes = [
        node("Reshape", ["x", "whole"], ["w"]),
        node("Split", ["w"], ["a", "b", "c"], axis=2, num_outputs=3),
        node("Concat", ["c", "a", "b"], ["z"], axis=2),
        node("Reshape", ["z", "flat"], ["y"]),
    ]
    held = {"whole": INTS(2, 2, 3, 5, 2), "flat": INTS(-1)}
    converts(nodes, {"x": numbers(120)}, held)


def test_places_that_only_the_run_knows(refuses: Any, numbers: Any) -> None:
    """A Gather needs constants."""
    inputs = {"x": numbers(1, 3, 4), "i": np.array([0, 1], np.int32)}
    refuses([node("Gather", ["x", "i"], ["y"], axis=1)], inputs, {}, "in ncnn: Gather")
