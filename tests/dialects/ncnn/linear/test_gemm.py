"""Gemm: products of constants and inputs, of weights in blocks, of int8."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from ncc.dialects.ncnn.layer import LayerError
from tests.dialects.ncnn.arrays import ramp

Array = np.ndarray[Any, Any]
Check = Callable[..., Any]


@pytest.mark.layer("Gemm")
def test_recorded(case: Any, check_layer: Check) -> None:
    """Gemm is what ncnn recorded; the wheel cannot compute weights in blocks."""
    check_layer(case)


M, N, K = 3, 4, 2
A, B = ramp(M, K) - 2, ramp(K, N) - 3
SIZES = {"constantM": M, "constantN": N, "constantK": K}


@pytest.mark.parametrize("constants", list(product((0, 1), repeat=2)))
@pytest.mark.parametrize("transposed", list(product((0, 1), repeat=3)))
def test_gemm_forms(
    constants: tuple[int, int], transposed: tuple[int, int, int], check_layer: Check
) -> None:
    """A and B constant or not, transposed or not, and the result transposed or not."""
    a, b = (A.T if transposed[0] else A), (B.T if transposed[1] else B)
    params = {
        **SIZES, "transA": transposed[0], "transB": transposed[1],
        "output_transpose": transposed[2], "constantA": constants[0], "constantB": constants[1],
    }  # fmt: skip
    inputs = [x for x, constant in zip((a, b), constants, strict=True) if not constant]
    weights = [x for x, constant in zip((a, b), constants, strict=True) if constant]
    expected = (A @ B).T if transposed[2] else A @ B
    check_layer("Gemm", params, inputs, weights, expected=[expected])


C = [(0, (1,)), (1, (M,)), (2, (M, 1)), (3, (M, N)), (4, (N,))]


@pytest.mark.parametrize("constant", [0, 1])
@pytest.mark.parametrize(("form", "shape"), C)
def test_gemm_adds_c(form: int, shape: tuple[int, ...], constant: int, check_layer: Check) -> None:
    """alpha (A B + beta C), C a number, a value a row or column, or a matrix."""
    c = ramp(*shape) + 1
    spread = c[:, None] if form == 1 else c
    params = {
        **SIZES, "alpha": 2.0, "beta": 0.5, "constantC": constant,
        "constant_broadcast_type_C": form, "output_N1M": 1,
    }  # fmt: skip
    expected = (2 * (A @ B + 0.5 * spread))[:, None, :].astype(np.float32)
    given, held = ([A, B], [c]) if constant else ([A, B, c], [])
    check_layer("Gemm", params, given, held, expected=[expected])


def test_gemm_takes_a_vector_of_a_square_as_a_row(check_layer: Check) -> None:
    """Where M equals N, C of that length is added to each row."""
    expected = np.array([[1, 2], [1, 2]], np.float32)
    zeros = np.zeros((2, 2), np.float32)
    check_layer("Gemm", {}, [zeros, zeros, np.array([1, 2], np.float32)], expected=[expected])


def test_gemm_takes_a_matrix_of_one_cell_as_a_number(check_layer: Check) -> None:
    """An input C of (1, 1) is added to every cell."""
    check_layer("Gemm", {}, [A, B, np.full((1, 1), 3, np.float32)], expected=[A @ B + 3])


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"constantA": 1}, "constantM is 0"),
        ({"quantize_term": 403}, "quantize_term 403 is no form"),
        ({"constant_broadcast_type_C": 5}, "none of -1 to 4"),
        ({"transB": 1}, "do not fit: K is 2 in A and 4 in B"),
    ],
)
def test_gemm_refuses(params: dict[str, int], message: str, check_layer: Check) -> None:
    """Constants without sizes, unknown forms, matrices that do not fit."""
    with pytest.raises(LayerError, match=message):
        check_layer("Gemm", params, [A, B])


def packed(numbers: Array, bits: int) -> Array:
    """Rows of numbers as ncnn packs them, by way of one long integer a row."""
    size = -(-numbers.shape[1] * bits // 8)
    rows = [
        sum((int(q) % 2**bits) << bits * k for k, q in enumerate(row)).to_bytes(size, "little")
        for row in numbers
    ]
    return np.frombuffer(b"".join(rows), np.int8).reshape(len(rows), size)


@pytest.mark.parametrize(
    ("term", "bits", "block"),
    [(400, 4, 32), (401, 4, 64), (602, 6, 128), (610, 6, 32), (811, 8, 64), (802, 8, 128)],
)
def test_gemm_of_weights_in_blocks(term: int, bits: int, block: int, check_layer: Check) -> None:
    """Each number divided by the scale of its block; the input times the input scales first."""
    draw = np.random.default_rng(term)
    rows, outputs, inputs = 3, 5, 130
    numbers = draw.integers(-(2 ** (bits - 1)), 2 ** (bits - 1), (outputs, inputs))
    scales = draw.uniform(5, 15, (outputs, -(-inputs // block))).astype(np.float32)
    x = draw.standard_normal((rows, inputs)).astype(np.float32)
    weights, factors = [packed(numbers, bits), ramp(outputs), scales], np.ones(inputs)
    if term % 100 >= 10:
        factors = draw.uniform(0.5, 1.5, inputs).astype(np.float32)
        weights.append(factors)
    params = {
        "transB": 1, "constantB": 1, "constantC": 1, "constant_broadcast_type_C": 4, "alpha": 0.5,
        "constantN": outputs, "constantK": inputs, "quantize_term": term,
    }  # fmt: skip
    w = numbers / np.repeat(scales, block, axis=1)[:, :inputs]
    expected = 0.5 * ((x * factors) @ w.T + ramp(outputs))
    for given in (x, x[:, None, :]):
        check_layer("Gemm", params, [given], weights, expected=[expected.astype(np.float32)])


@pytest.mark.parametrize(
    "name, value",
    [("transA", 1), ("transB", 0), ("output_N1M", 1), ("output_transpose", 1), ("constantB", 0)],
)
def test_gemm_of_weights_in_blocks_has_one_form(name: str, value: int, check_layer: Check) -> None:
    """What ncnn refuses beside a quantize_term of blocks."""
    params = {"transB": 1, "constantB": 1, "constantN": 2, "constantK": 3, "quantize_term": 400}
    with pytest.raises(LayerError) as caught:
        check_layer("Gemm", {**params, name: value}, [ramp(1, 3)])
    assert caught.value.param == name


def test_gemm_of_int8(check_layer: Check) -> None:
    """A by the largest of each row, B by the largest of all; halves are rounded away from zero."""
    a = np.array([[127, 2.5, -0.5], [0, 0, 0], [1, 254, -3]], np.float32)
    b = np.array([[2, 0], [0, 4], [-8, 0.1]], np.float32)
    rounded = np.array([[127, 3, -1], [0, 0, 0], [1, 127, -2]]) * [[1], [1], [2]]
    expected = rounded @ (np.array([[32, 0], [0, 64], [-127, 2]]) * 8 / 127)
    for transposed in (0, 1):
        given = [x.T.copy() if transposed else x for x in (a, b)]
        params = {"quantize_term": 2, "transA": transposed, "transB": transposed}
        check_layer("Gemm", params, given, expected=[expected.astype(np.float32)])


@pytest.mark.parametrize("constants", [(1, 0), (0, 1), (1, 1)])
def test_gemm_of_stored_int8(constants: tuple[int, int], check_layer: Check) -> None:
    """A constant keeps its numbers and divides by its scales: of A one a row, of B one for all."""
    a, b = np.array([[4, -8], [2, 127]], np.int8), np.array([[5, -6, 127], [0, 1, 2]], np.int8)
    plain_a, plain_b = a / np.array([[2], [4]]), b / 8
    params = {
        "quantize_term": 1, "alpha": 0.5, "constantA": constants[0], "constantB": constants[1],
        "constantM": 2, "constantK": 2, "constantN": 3,
    }  # fmt: skip
    scales = [np.array([2, 4], np.float32), np.array([8], np.float32)]
    weights = [w for w, held in zip((a, b, *scales), constants * 2, strict=True) if held]
    given = [x for x, held in zip((plain_a, plain_b), constants, strict=True) if not held]
    # What comes in is exact in int8, but for the first row of A.
    eps = 0.02 if constants == (0, 1) else 1e-5
    expected = (0.5 * plain_a @ plain_b).astype(np.float32)
    given = [x.astype(np.float32) for x in given]
    check_layer("Gemm", params, given, weights, expected=[expected], eps=eps)
