"""Powers of what may be below 0."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from onnx import helper

node = helper.make_node


@pytest.mark.parametrize("exponent", [2.0, 3.0, 7.0, 1.0, -1.0])
def test_whole_exponents(exponent: float, converts: Any, numbers: Any) -> None:
    """They are products."""
    held = {"e": np.array(exponent, np.float32)}
    converts([node("Pow", ["x", "e"], ["y"])], {"x": numbers(1, 3, 4)}, held)


def test_a_base_above_zero(converts: Any, numbers: Any) -> None:
    """A limit, or an exponential, says so; a number is one by itself."""
    held = {"low": np.array(1e-3, np.float32), "e": np.array(2.5, np.float32)}
    nodes = [
        node("Clip", ["x", "low"], ["a"]),
        node("Pow", ["a", "e"], ["b"]),
        node("Exp", ["x"], ["c"]),
        node("Pow", ["c", "x"], ["d"]),
        node("Pow", ["e", "x"], ["f"]),
        node("Sum", ["b", "d", "f"], ["y"]),
    ]
    converts(nodes, {"x": numbers(1, 3, 4)}, held)


def test_other_bases_are_refused(refuses: Any, numbers: Any) -> None:
    """ncnn has no power of 0."""
    held = {"e": np.array(2.5, np.float32)}
    nodes = [node("Abs", ["x"], ["a"]), node("Pow", ["a", "e"], ["y"])]
    refuses(nodes, {"x": numbers(1, 3, 4)}, held, "in ncnn: Pow")
