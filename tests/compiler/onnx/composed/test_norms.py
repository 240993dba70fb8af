"""Normalizations of batches, of groups, and without a bias."""

from __future__ import annotations

from typing import Any

import pytest
from onnx import helper

node = helper.make_node


@pytest.mark.parametrize("shape", [(1, 4, 9), (2, 4, 3, 3), (1, 4, 2, 3, 2)])
def test_instances(shape: tuple[int, ...], converts: Any, numbers: Any) -> None:
    """Of any axes, and of several samples. (A blob has four axes at most.)"""
    held = {"s": numbers(4), "b": numbers(4)}
    converts([node("InstanceNormalization", ["x", "s", "b"], ["y"])], {"x": numbers(*shape)}, held)


@pytest.mark.parametrize(("axis", "bias"), [(2, True), (3, False), (-2, False)])
def test_layers(axis: int, bias: bool, converts: Any, numbers: Any) -> None:
    """Of several axes, and without a bias."""
    scale = (5, 6) if axis in (2, -2) else (6,)
    held = {"s": numbers(*scale)} | ({"b": numbers(*scale)} if bias else {})
    one = node("LayerNormalization", ["x", *held], ["y"], axis=axis)
    converts([one], {"x": numbers(1, 4, 5, 6)}, held)
