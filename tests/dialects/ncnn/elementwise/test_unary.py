"""Functions of one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.elementwise.unary import UNARY_FUNCTIONS
from ncc.dialects.ncnn.layer import LayerError

Check = Callable[..., Any]
NAN = float("nan")

TYPES = ["AbsVal", "Erf", "Exp", "Log", "Power", "UnaryOp"]


@pytest.mark.layer(*TYPES)
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


@pytest.mark.parametrize(
    "type, params, x, y",
    [
        ("AbsVal", {}, [-2, 0, 3, NAN], [2, 0, 3, NAN]),
        ("Erf", {}, [0, 1, -1], [0, math.erf(1), -math.erf(1)]),
        ("Exp", {"scale": 2.0, "shift": 1.0}, [0, 1], [math.e, math.exp(3)]),
        ("Exp", {"base": 2.0}, [0, 3], [1, 8]),
        ("Log", {"scale": 2.0, "shift": 1.0}, [0, 1], [0, math.log(3)]),
        ("Log", {"base": 2.0}, [1, 8], [0, 3]),
        ("Power", {"power": 2.0, "scale": 3.0, "shift": -1.0}, [0, 1], [1, 4]),
    ],
)
def test_values(
    type: str, params: Any, x: Sequence[float], y: Sequence[float], check_layer: Check
) -> None:
    """Values at the places where the formula turns, NaN and infinities included."""
    given, expected = np.array(x, np.float32), np.array(y, np.float32)
    check_layer(type, params, [given], expected=[expected], eps=1e-6)


@pytest.mark.parametrize(
    "code, x, y",
    [
        (0, -2.5, 2.5),
        (1, -2.5, 2.5),
        (2, -2.5, -3),
        (3, -2.5, -2),
        (4, -2.5, 6.25),
        (5, 4, 2),
        (6, 4, 0.5),
        (7, 1, math.e),
        (8, 2, math.log(2)),
        (9, 1, math.sin(1)),
        (10, 1, math.cos(1)),
        (11, 1, math.tan(1)),
        (12, 0.5, math.asin(0.5)),
        (13, 0.5, math.acos(0.5)),
        (14, 0.5, math.atan(0.5)),
        (15, 4, 0.25),
        (16, 0.5, math.tanh(0.5)),
        (17, 1000, 3),
        (18, 2.5, 2),
        (18, 3.5, 4),
        (19, -2.5, -2),
        (20, -2.5, -1),
        (20, NAN, 0),
        (21, 1, math.e - 1),
        (22, 1, math.sinh(1)),
        (23, 1, math.asinh(1)),
        (24, 1, math.cosh(1)),
        (25, 2, math.acosh(2)),
        (26, 0.5, math.atanh(0.5)),
        (27, 1, math.log(2)),
    ],
)
def test_unary_op(code: int, x: float, y: float, check_layer: Check) -> None:
    """UnaryOp's codes: rounding goes to even, the sign of NaN is 0."""
    given, expected = np.full((1, 2), x, np.float32), np.full((1, 2), y, np.float32)
    check_layer("UnaryOp", {"op_type": code}, [given], expected=[expected], eps=1e-6)


@pytest.mark.parametrize("type", TYPES)
def test_shape_is_kept(type: str, check_layer: Check) -> None:
    """A function of one value takes any rank."""
    for shape in [(3,), (2, 3), (2, 1, 3), (2, 2, 1, 3)]:
        check_layer(type, {}, [np.full(shape, 0.5, np.float32)])


@pytest.mark.parametrize(
    "type, params, message, param",
    [
        ("UnaryOp", {"op_type": 28}, "op_type is 28, none of 0 to 27", "op_type"),
        ("UnaryOp", {"op_type": -1}, "op_type is -1", "op_type"),
        ("Log", {"base": 1.0}, "no logarithm to the base 1", "base"),
        ("Log", {"base": -2.0}, "no logarithm to the base -2", "base"),
    ],
)
def test_refused(type: str, params: Any, message: str, param: str, check_layer: Check) -> None:
    """Codes and bases that mean nothing."""
    with pytest.raises(LayerError, match=message) as caught:
        check_layer(type, params, [np.ones(2, np.float32)])
    assert caught.value.param == param


def test_every_code_has_a_function() -> None:
    """ncnn has 28 codes."""
    assert len(UNARY_FUNCTIONS) == 28
