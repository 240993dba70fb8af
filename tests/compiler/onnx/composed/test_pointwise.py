"""Operators on each element, of any number of axes."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

from ncc.compiler.onnx.composed.pointwise import together

node = helper.make_node
KINDS = ("Softplus", "Mish", "Sign", "Sinh", "Asinh", "Cosh", "Tanh", "Exp", "Relu")


@pytest.mark.parametrize("kind", KINDS)
def test_of_five_axes(kind: str, converts: Any, numbers: Any) -> None:
    """As one axis."""
    nodes = [
        node("Reshape", ["x", "whole"], ["w"]),
        node(kind, ["w"], ["z"]),
        node("Reshape", ["z", "flat"], ["y"]),
    ]
    held = {"whole": np.array([2, 2, 3, 1, 2]), "flat": np.array([-1])}
    converts(nodes, {"x": numbers(24)}, held)


@pytest.mark.parametrize("kind", ["Max", "Min", "Sum", "Mul", "Sub", "Div"])
def test_of_several(kind: str, converts: Any, numbers: Any) -> None:
    """They are broadcast, also along five axes, where neighbours are broadcast in one way."""
    held: dict[str, Any] = {"a": numbers(2, 3, 1, 1), "b": np.array(1.5, np.float32)}
    held |= {"whole": np.array([2, 2, 3, 4, 2]), "flat": np.array([-1])}
    nodes = [
        node("Reshape", ["x", "whole"], ["w"]),
        node(kind, ["w", "a"], ["z"]),
        node(kind, ["z", "b"], ["v"]),
        node("Reshape", ["v", "flat"], ["y"]),
    ]
    converts(nodes, {"x": numbers(96)}, held)


def test_remainders(converts: Any, numbers: Any) -> None:
    """With the sign of the dividend; ONNX has the other one for integers alone."""
    held = {"a": np.array(0.75, np.float32)}
    converts([node("Mod", ["x", "a"], ["y"], fmod=1)], {"x": numbers(1, 3, 4)}, held)


def test_shapes_together() -> None:
    """Neighbours that are broadcast alike are one axis."""
    assert together((2, 3, 4, 5, 6), (3, 1, 1, 6)) == ((2, 3, 20, 6), (1, 3, 1, 6))
    assert together((), (1, 1)) == ((1,), (1,))
