"""Comparisons, and choices by them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import TensorProto, helper

node = helper.make_node
INFINITE = np.array(-np.inf, np.float32)


def _number(value: float) -> Any:
    return np.array(value, np.float32)


@pytest.mark.parametrize("kind", ["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"])
@pytest.mark.parametrize("other", ["x2", "number"])
def test_comparisons(kind: str, other: str, converts: Any, numbers: Any) -> None:
    """Of two values that are equal in places, and with a number on either side."""
    x, y = numbers(1, 2, 3, 4).round(), numbers(1, 1, 3, 1).round()
    ends = [other, "x"] if kind == "Less" else ["x", other]
    nodes = [node(kind, ends, ["m"]), node("Cast", ["m"], ["y"], to=TensorProto.FLOAT)]
    fed = {"x": x} | ({"x2": y} if other == "x2" else {})
    converts(nodes, fed, {"number": _number(1)} if other == "number" else {})


def test_and_or_xor_not(converts: Any, numbers: Any) -> None:
    """Of masks."""
    nodes = [
        node("Greater", ["x", "zero"], ["a"]),
        node("Less", ["x", "one"], ["b"]),
        node("And", ["a", "b"], ["c"]),
        node("Xor", ["a", "c"], ["d"]),
        node("Not", ["d"], ["e"]),
        node("Or", ["e", "held"], ["f"]),
        node("Cast", ["f"], ["y"], to=TensorProto.FLOAT),
    ]
    held = {"zero": _number(0), "one": _number(1), "held": np.array([True, False, False, True])}
    converts(nodes, {"x": numbers(1, 3, 4)}, held)


CAUSAL = np.triu(np.ones((5, 5), np.bool_), 1)


@pytest.mark.parametrize("held", [True, False])
@pytest.mark.parametrize(
    ("yes", "no"), [("infinite", "x"), ("x", "infinite"), ("zero", "x"), ("x", "two"), ("x", "z")]
)
def test_choices(held: bool, yes: str, no: str, converts: Any, numbers: Any) -> None:
    """By a mask that is a constant, and by one that is computed; then a softmax as in attention."""
    # No row is infinite as a whole: of that a softmax is NaN.
    diagonal = 9 * np.eye(5, dtype=np.float32) - 9 * np.eye(5, dtype=np.float32)[:, [1, 2, 3, 4, 0]]
    constants = {
        "infinite": INFINITE,
        "diagonal": diagonal,
        "zero": _number(0),
        "two": _number(2),
        "mask": CAUSAL,
    }
    nodes = [
        node("Where", ["mask" if held else "m", yes, no], ["w"]),
        node("Softmax", ["w"], ["y"]),
    ]
    if not held:
        nodes.insert(0, node("Greater", ["diagonal", "z"], ["m"]))
    fed = {"x": numbers(1, 2, 5, 5)}
    if not held or "z" in (yes, no):
        fed["z"] = numbers(1, 1, 5, 5)
    converts(nodes, fed, constants)


def test_a_choice_between_what_may_not_be_finite(refuses: Any, numbers: Any) -> None:
    """0 * log(-1) is no 0."""
    nodes = [
        node("Greater", ["x", "zero"], ["m"]),
        node("Log", ["x"], ["l"]),
        node("Where", ["m", "l", "zero"], ["y"]),
    ]
    refuses(nodes, {"x": numbers(1, 3, 4)}, {"zero": _number(0)}, "in ncnn: Where")
