"""Operators that compute element by element."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import TensorProto

from ncc.compiler.diagnostics import ModelError
from tests.onnx.models import check_operator

X = np.array([[-3.0, -0.5, 0.0], [0.25, 1.0, 7.5]], np.float32)
Y = np.array([2.0, -4.0, 0.5], np.float32)
INTEGERS = np.array([-7, 0, 9], np.int64)
FLAGS = np.array([True, False, True])


@pytest.mark.parametrize(
    ("kind", "function"),
    [
        ("Abs", np.abs),
        ("Ceil", np.ceil),
        ("Exp", np.exp),
        ("Floor", np.floor),
        ("Neg", np.negative),
        ("Round", np.rint),
        ("Sign", np.sign),
        ("Tanh", np.tanh),
        ("Relu", lambda x: np.maximum(x, 0)),
        ("Sigmoid", lambda x: 1 / (1 + np.exp(-x))),
        ("Softplus", lambda x: np.log1p(np.exp(x))),
    ],
)
def test_of_one_operand(kind: str, function: Callable[[Any], Any]) -> None:
    """As numpy has them."""
    check_operator(kind, {}, [X], expected=[function(X).astype(np.float32)])


@pytest.mark.parametrize(
    ("kind", "function"),
    [("Add", np.add), ("Sub", np.subtract), ("Mul", np.multiply), ("Div", np.divide)],
)
def test_of_two_operands(kind: str, function: Callable[[Any, Any], Any]) -> None:
    """The lower rank is repeated along the axes that it has not."""
    check_operator(kind, {}, [X, Y], expected=[function(X, Y)])
    check_operator(kind, {}, [Y, X], expected=[function(Y, X + 0.0)] if kind != "Div" else None)


def test_division_of_integers_goes_towards_zero() -> None:
    """As in C."""
    divisor = np.array([2, 3, -2], np.int64)
    check_operator("Div", {}, [INTEGERS, divisor], expected=[np.array([-3, 0, -4])])


def test_comparisons_make_truth_values() -> None:
    """Of integers as of floats."""
    check_operator("Less", {}, [X, Y], expected=[X < Y])
    check_operator("Equal", {}, [INTEGERS, INTEGERS], expected=[np.ones(3, np.bool_)])
    check_operator("And", {}, [FLAGS, ~FLAGS], expected=[np.zeros(3, np.bool_)])


def test_where_broadcasts_all_three() -> None:
    """Condition, x and y."""
    check_operator("Where", {}, [FLAGS, X, Y], expected=[np.where(FLAGS, X, Y)])


def test_clip_without_one_limit() -> None:
    """An operand in the middle may be left out; older op sets have attributes."""
    high = np.array(0.5, np.float32)
    check_operator("Clip", {}, [X, None, high], expected=[np.minimum(X, 0.5)])
    check_operator("Clip", {"min": -1.0}, [X], expected=[np.maximum(X, -1)], opset=10)


def test_activations_with_attributes() -> None:
    """Their defaults are those of the op set."""
    check_operator("LeakyRelu", {}, [X], expected=[np.where(X < 0, X * np.float32(0.01), X)])
    wanted = np.clip(X * np.float32(0.2) + np.float32(0.5), 0, 1)
    check_operator("HardSigmoid", {}, [X], expected=[wanted])


def test_cast() -> None:
    """Towards zero, and to truth values by whether it is 0."""
    whole = np.trunc(X).astype(np.int32)
    check_operator("Cast", {"to": TensorProto.INT32}, [X], expected=[whole])
    check_operator("Cast", {"to": TensorProto.BOOL}, [X], expected=[X != 0])


def test_operands_of_two_types_are_refused() -> None:
    """Nothing is converted in silence."""
    with pytest.raises(ModelError, match="not of one element type"):
        check_operator("Add", {}, [X, X.astype(np.float64)])
