"""Attention is computed as the package onnx evaluates it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeAlias

import numpy as np
import pytest
from onnx import helper
from onnx.reference import ReferenceEvaluator

from ncc.dialects.ncnn.layer import Array
from tests.crossed import some
from tests.onnx.models import model, run

Given: TypeAlias = Mapping[str, Array | None]

NUMBERS = np.random.default_rng(0)


def rand(*shape: int) -> Array:
    """Numbers of a normal distribution."""
    return NUMBERS.standard_normal(shape).astype(np.float32)


ROWS = {"q": rand(2, 4, 3, 4), "k": rand(2, 2, 5, 4), "v": rand(2, 2, 5, 6)}
FLAT = {"q": rand(2, 3, 16), "k": rand(2, 5, 8), "v": rand(2, 5, 8)}
CACHE = {"past_key": rand(2, 2, 2, 4), "past_value": rand(2, 2, 2, 6)}
BLIND = np.array([[1, 0, 1, 1, 0], [0, 0, 0, 0, 0], [1, 1, 1, 1, 1]], bool)
COUNTS = {"mask": None, "past_key": None, "past_value": None, "counts": np.array([2, 5])}


CASES: list[tuple[Given, dict[str, Any]]] = [
    ({**ROWS, **COUNTS}, {"is_causal": 1}),
    (ROWS, {"softcap": 2.0, "scale": 0.3, "qk_matmul_output_mode": 1}),
    (FLAT, {"q_num_heads": 4, "kv_num_heads": 2, "is_causal": 1}),
    ({**ROWS, "mask": BLIND}, {"qk_matmul_output_mode": 3}),
    ({**ROWS, "mask": rand(2, 1, 3, 4)}, {"is_causal": 1, "qk_matmul_output_mode": 2}),
    ({**ROWS, "mask": None, **CACHE}, {"is_causal": 1}),
    ({**ROWS, **COUNTS}, {"left_window_size": 1, "right_window_size": 0}),
]


@pytest.mark.parametrize("case", some(range(len(CASES)), 1))
def test_attention(case: int) -> None:
    """Shared heads, masks that hide all keys of a row, caches, counts and windows."""
    fed, attributes = CASES[case]
    names = [name if array is not None else "" for name, array in fed.items()]
    results = [f"y{k}" for k in range(4)]
    node = helper.make_node("Attention", names, results, **attributes)
    given = {name: array for name, array in fed.items() if array is not None}
    made = model([node], given, results, opset=25)
    wanted = ReferenceEvaluator(made).run(None, given)
    for found, expected in zip(run(made, given), wanted, strict=True):
        np.testing.assert_allclose(found, expected, 1e-5, 1e-5)
