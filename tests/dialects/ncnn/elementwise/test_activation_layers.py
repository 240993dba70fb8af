"""Activations that are layers of their own."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.elementwise.activation_layers import FLOAT_MAX

Check = Callable[..., Any]
NAN, INF = float("nan"), float("inf")

TYPES = [
    *("ReLU", "Clip", "Threshold", "Shrink", "HardSigmoid", "HardSwish", "Sigmoid", "Swish"),
    *("TanH", "ELU", "SELU", "CELU", "Mish", "Softplus", "BNLL", "GELU"),
]


@pytest.mark.layer(*TYPES)
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(
    "type, params, x, y",
    [
        ("ReLU", {}, [-2, 0, 3, NAN, -INF], [0, 0, 3, NAN, 0]),
        ("ReLU", {"slope": 0.5}, [-2, 0, 3, NAN, -INF], [-1, 0, 3, NAN, -INF]),
        ("Clip", {"min": -1.0, "max": 1.0}, [-2, 0, 3, NAN], [-1, 0, 1, NAN]),
        ("Clip", {}, [-INF, 3, INF], [-FLOAT_MAX, 3, FLOAT_MAX]),
        ("Threshold", {"threshold": 0.5}, [0.25, 0.5, 0.75, NAN], [0, 0, 1, 0]),
        ("Shrink", {"bias": 1.0}, [-2, -0.5, 0.25, 0.5, 3, NAN], [-1, 0, 0, 0, 2, 0]),
        ("HardSigmoid", {}, [-3, -2.5, 0, 1, 3, NAN], [0, 0, 0.5, 0.7, 1, NAN]),
        ("HardSwish", {}, [-3, 0, 1, 3, NAN], [0, 0, 0.7, 3, NAN]),
        ("Sigmoid", {}, [-INF, 0, math.log(3), INF], [0, 0.5, 0.75, 1]),
        ("Swish", {}, [0, math.log(3), 100], [0, 0.75 * math.log(3), 100]),
        ("TanH", {}, [-INF, 0, 1], [-1, 0, math.tanh(1)]),
        ("ELU", {}, [-1, 0, 3], [0.1 * (math.exp(-1) - 1), 0, 3]),
        ("SELU", {"alpha": 2.0, "lambd": 3.0}, [-1, 0, 3], [6 * (math.exp(-1) - 1), 0, 9]),
        ("SELU", {"alpha": 3e38, "lambd": 2.0}, [-1, 0, 3], [-math.inf, 0, 6]),
        ("CELU", {"alpha": 2.0}, [-1, 0, 3], [2 * (math.exp(-0.5) - 1), 0, 3]),
        ("Mish", {}, [-30, 0, 1, 30], [0, 0, math.tanh(math.log(1 + math.e)), 30]),
        ("Mish", {}, [-5, 15, 25, 100], [-0.0335762, 15, 25, 100]),
        ("Softplus", {}, [-200, 0, 1, 100], [0, math.log(2), math.log(1 + math.e), INF]),
        ("BNLL", {}, [-200, 0, 1, 100], [0, math.log(2), math.log(1 + math.e), 100]),
        ("GELU", {}, [0, 1, -1, 10], [0, 0.8413447, -0.1586553, 10]),
        ("GELU", {"fast_gelu": 1}, [0, 1, -1, 10], [0, 0.841192, -0.158808, 10]),
    ],
)
def test_values(
    type: str, params: Any, x: Sequence[float], y: Sequence[float], check_layer: Check
) -> None:
    """Values at the places where the formula turns, NaN and infinities included."""
    given, expected = np.array(x, np.float32), np.array(y, np.float32)
    check_layer(type, params, [given], expected=[expected], eps=1e-6)


@pytest.mark.parametrize("type", TYPES)
def test_shape_is_kept(type: str, check_layer: Check) -> None:
    """An activation takes any rank."""
    for shape in [(3,), (2, 3), (2, 1, 3), (2, 2, 1, 3)]:
        check_layer(type, {}, [np.full(shape, 0.5, np.float32)])
