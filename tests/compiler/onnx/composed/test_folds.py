"""Folds of axes, and products with vectors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

node = helper.make_node
KINDS = ("ReduceMax", "ReduceMin", "ReduceL2", "ReduceMean", "ReduceSum", "ReduceSumSquare")


@pytest.mark.parametrize("axes", [[2, 3], [1], [-1]])
@pytest.mark.parametrize("kind", KINDS)
def test_neighbours(kind: str, axes: list[int], converts: Any, numbers: Any) -> None:
    """Of one blob."""
    one = node(kind, ["x", "a"], ["y"], keepdims=0)
    converts([one], {"x": numbers(1, 3, 4, 5)}, {"a": np.array(axes)})


@pytest.mark.parametrize("kind", ["ReduceMax", "ReduceMean"])
def test_of_five_axes(kind: str, converts: Any, numbers: Any) -> None:
    """One after the other."""
    nodes = [
        node("Reshape", ["x", "whole"], ["w"]),
        node(kind, ["w", "a"], ["z"]),
        node("Reshape", ["z", "flat"], ["y"]),
    ]
    held = {"whole": np.array([2, 2, 3, 4, 2]), "flat": np.array([-1]), "a": np.array([1, 2, 4])}
    converts(nodes, {"x": numbers(96)}, held)


def test_vectors(converts: Any, numbers: Any) -> None:
    """On either side of a matrix, and of each other."""
    nodes = [
        node("MatMul", ["x", "v"], ["a"]),
        node("MatMul", ["v", "z"], ["b"]),
        node("MatMul", ["a", "b"], ["y"]),
    ]
    converts(nodes, {"x": numbers(3, 4), "v": numbers(4), "z": numbers(4, 3)})
