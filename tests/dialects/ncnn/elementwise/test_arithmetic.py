"""Arithmetic of blobs: broadcasting, functions of two values, halves of one."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.elementwise.arithmetic import BINARY_FUNCTIONS, broadcast, remainder_array
from ncc.dialects.ncnn.layer import LayerError, Shape
from tests.dialects.ncnn.arrays import ramp

Check = Callable[..., Any]
NAN, INF = float("nan"), float("inf")


@pytest.mark.layer("BinaryOp", "Eltwise", "GLU")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Each is what ncnn recorded."""
    check_layer(case)


# --- BinaryOp -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "p, q, shape",
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3, 4), (2, 3), (2, 3, 4)),
        ((2, 3), (2, 3, 4), (2, 3, 4)),
        ((5, 2, 3, 4), (5, 2), (5, 2, 3, 4)),
        ((2, 3, 4), (2,), (2, 3, 4)),
        ((2, 3, 4), (4,), (2, 3, 4)),
        ((4, 3, 4), (4,), (4, 3, 4)),
        ((2, 3, 4), (1,), (2, 3, 4)),
        ((2, 1, 4), (1, 3, 1), (2, 3, 4)),
        ((1,), (3,), (3,)),
        ((7, 1), (5,), (7, 5)),
    ],
)
def test_broadcast(p: Shape, q: Shape, shape: Shape) -> None:
    """Lower ranks meet the outermost axes; extents of 1 are repeated."""
    assert broadcast(p, q) == shape
    assert broadcast(q, p) == shape


def test_broadcast_by_rank_goes_outermost(check_layer: Check) -> None:
    """(h, w) beside (c, h, w) are c and h: the opposite of numpy."""
    x, y = ramp(2, 3, 4), ramp(2, 3) * 100
    check_layer("BinaryOp", {}, [x, y], expected=[x + y[:, :, None]])
    check_layer("BinaryOp", {"op_type": 1}, [y, x], expected=[y[:, :, None] - x])


def test_broadcast_of_a_vector(check_layer: Check) -> None:
    """A vector lies along the outermost axis if it fits there, else along the innermost."""
    fits_both, fits_inner = ramp(3, 2, 3), ramp(2, 2, 3)
    vector = np.array([10, 20, 30], np.float32)
    check_layer("BinaryOp", {}, [fits_both, vector], expected=[fits_both + vector[:, None, None]])
    check_layer("BinaryOp", {}, [fits_inner, vector], expected=[fits_inner + vector])


def test_broadcast_of_two_sides(check_layer: Check) -> None:
    """Both operands may be repeated, each along other axes."""
    x, y = ramp(2, 1, 4), ramp(1, 3, 1)
    check_layer("BinaryOp", {"op_type": 2}, [x, y], expected=[x * y])


@pytest.mark.parametrize(
    "code, a, b, y",
    [
        (0, 5, 2, 7),
        (1, 5, 2, 3),
        (2, 5, 2, 10),
        (3, 5, 2, 2.5),
        (4, 5, 2, 5),
        (5, 5, 2, 2),
        (6, 5, 2, 25),
        (7, 5, 2, -3),
        (8, 5, 2, 0.4),
        (9, 5, 2, 32),
        (10, 5, 2, math.atan2(5, 2)),
        (11, 5, 2, math.atan2(2, 5)),
        (12, -5.5, 2, -1.5),
        (13, 2, -5.5, -1.5),
        (14, 1, 2, math.log(math.e + math.e**2)),
        (14, 1000, 1000, 1000 + math.log(2)),
        (15, -5, 2, -3),
        (16, 2, -5, -3),
        (17, 5.3, 2, -0.7),
        (17, 3, 2, -1),
        (17, 5, 2, 1),
        (18, 2, 5.3, -0.7),
    ],
)
def test_binary_op(code: int, a: float, b: float, y: float, check_layer: Check) -> None:
    """BinaryOp's codes, of two blobs and of a blob and a number."""
    p, q, expected = (np.full(3, value, np.float32) for value in (a, b, y))
    check_layer("BinaryOp", {"op_type": code}, [p, q], expected=[expected], eps=1e-6)
    params = {"op_type": code, "with_scalar": 1, "b": float(b)}
    check_layer("BinaryOp", params, [p], expected=[expected], eps=1e-6)


@pytest.mark.parametrize("code", [4, 5])
def test_max_and_min_see_nan_in_the_first_operand_only(code: int, check_layer: Check) -> None:
    """std::max(a, b) is a where the comparison fails."""
    p, q = np.array([NAN, 1], np.float32), np.array([1, NAN], np.float32)
    check_layer("BinaryOp", {"op_type": code}, [p, q], expected=[p])


def test_modulo_and_remainder_at_the_edges(check_layer: Check) -> None:
    """By infinity x stays, by 0 there is none; a quotient just below a whole one is not that one.

    2.1 is less than three times 0.7 in float32: the whole part of their quotient is 2.
    """
    p = np.array([5, 5, INF, 2.1], np.float32)
    q = np.array([INF, 0, 2, 0.7], np.float32)
    rest = math.fmod(float(p[3]), float(q[3]))
    assert rest > 0.69
    expected = np.array([5, NAN, NAN, rest], np.float32)
    # The evaluator may round a multiply-add twice, so the last one is left to the reference.
    check_layer("BinaryOp", {"op_type": 12}, [p, q], expected=[expected], expand=False)
    check_layer("BinaryOp", {"op_type": 12}, [p[:3], q[:3]], expected=[expected[:3]])
    expected = np.array([5, NAN, NAN, rest - float(q[3])], np.float32)
    check_layer("BinaryOp", {"op_type": 17}, [p, q], expected=[expected])


def test_remainder_is_that_of_c() -> None:
    """numpy's arithmetic gives what the C library gives, ties included."""
    random = np.random.default_rng(0)
    a = np.concatenate([random.normal(0, 30, 200), random.integers(-20, 20, 200)])
    b = np.concatenate([random.normal(0, 3, 200), random.integers(1, 6, 200) * 2])
    a, b = a.astype(np.float32), b.astype(np.float32)
    expected = [math.remainder(x, y) for x, y in zip(a.tolist(), b.tolist(), strict=True)]
    np.testing.assert_allclose(remainder_array(a, b), expected, atol=1e-6)


def test_every_code_has_a_function() -> None:
    """ncnn has 19 codes."""
    assert len(BINARY_FUNCTIONS) == 19


# --- Eltwise --------------------------------------------------------------------------------------


def test_eltwise(check_layer: Check) -> None:
    """Product, sum, weighted sum and maximum; coefficients matter to a sum only."""
    x, y, z = ramp(2, 3), ramp(2, 3) - 3, np.ones((2, 3), np.float32)
    weights = (1.0, 2.0, -1.0)
    check_layer("Eltwise", {"op_type": 0}, [x, y, z], expected=[x * y])
    check_layer("Eltwise", {"op_type": 1}, [x, y, z], expected=[x + y + z])
    check_layer("Eltwise", {"op_type": 1, "coeffs": weights}, [x, y, z], expected=[x + 2 * y - z])
    check_layer("Eltwise", {"op_type": 0, "coeffs": weights}, [x, y, z], expected=[x * y])
    check_layer("Eltwise", {"op_type": 2}, [x, y, z], expected=[np.maximum(x, 1)])


@pytest.mark.parametrize("op_type, expected", [(0, 1), (1, 1500), (2, 1)])
def test_eltwise_of_many(check_layer: Check, op_type: int, expected: int) -> None:
    """An expression may be deeper than Python calls."""
    ones = [np.ones(2, np.float32)] * 1500
    check_layer("Eltwise", {"op_type": op_type}, ones, expected=[np.full(2, expected)])


# --- GLU -----------------------------------------------------------------------------------------


def test_gated_by_the_second_half(check_layer: Check) -> None:
    """a * sigmoid(b); the odd one behind the halves counts for nothing."""
    x = np.array([[1, 0, 9], [2, np.log(3), 9]], np.float32)
    check_layer("GLU", {"axis": 1}, [x], expected=[np.array([[0.5], [1.5]])])
    check_layer("GLU", {"axis": -2}, [x], expected=[x[:1] / (1 + np.exp(-x[1:]))])
    check_layer("GLU", {"axis": 7}, [x[0]], expected=[np.array([0.5])])


# --- refusals -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "type, params, shapes, message",
    [
        ("BinaryOp", {"op_type": 19}, [(2,), (2,)], "op_type is 19, none of 0 to 18"),
        ("BinaryOp", {}, [(2,)], "with_scalar is 0, so there must be 2 inputs, not 1"),
        ("BinaryOp", {"with_scalar": 1}, [(2,), (2,)], "there must be 1 inputs, not 2"),
        ("BinaryOp", {}, [(2, 3), (2, 4)], r"\(2, 3\) and \(2, 4\) do not broadcast"),
        ("BinaryOp", {}, [(2, 3, 4), (3,)], r"\(2, 3, 4\) and \(3,\) do not broadcast"),
        ("Eltwise", {"op_type": 3}, [(2,), (2,)], "op_type is 3"),
        ("Eltwise", {"op_type": 1, "coeffs": (1.0,)}, [(2,), (2,)], "1 coeffs for 2 inputs"),
        ("Eltwise", {}, [(2,), (1,)], r"different shapes: \(2,\), \(1,\)"),
        ("GLU", {"axis": 2}, [(2, 3)], "axis 2 is out of range"),
        ("GLU", {"axis": 0}, [(1, 3)], r"axis 0 of \(1, 3\) has no halves"),
    ],
)
def test_refused(
    type: str,
    params: Any,
    shapes: Sequence[Shape],
    message: str,
    check_layer: Check,
) -> None:
    """What a file may not say, and shapes that do not go together."""
    inputs = [np.ones(shape, np.float32) for shape in shapes]
    with pytest.raises(LayerError, match=message):
        check_layer(type, params, inputs)
