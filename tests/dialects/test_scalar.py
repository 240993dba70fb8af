"""Scalar expressions say what numpy says."""

from __future__ import annotations

import numpy as np
import pytest
from xdsl.dialects import math
from xdsl.ir import Block

from ncc.compiler.linalg.rewrite.insert import generic_of
from ncc.dialects.index_notation import Builder
from ncc.dialects.ncnn.quantization.int8 import quantize_array
from ncc.dialects.scalar import Scalar, maximum, saturated_int8
from tests.structured.evaluate import evaluate_value

LIMITS = np.array([np.nan, np.inf, -np.inf, 0.0, -0.0, 1e-40, -1e-40, 3e38, -3e38], np.float32)
HALVES = np.arange(-260, 261, dtype=np.float32) / 2
NUMBERS = np.concatenate([LIMITS, HALVES, np.nextafter(HALVES, 0), np.nextafter(HALVES, 1e9)])


@pytest.mark.parametrize("floor", [None, 0.0, 2.5, -3.0])
@pytest.mark.parametrize("scale", [None, 0.25, -2.0])
def test_saturated_int8(floor: float | None, scale: float | None) -> None:
    """Rounded and limited as ever where it is known that nothing is negative, or NaN."""

    b = Builder(Block())
    x = b.table(NUMBERS)
    at = b.loops_of(x.shape)
    value: Scalar = x[at] if floor is None else maximum(x[at], floor)
    made = b.map(at, saturated_int8(value if scale is None else value * scale))
    signs = [isinstance(op, math.CopySignOp) for op in generic_of(made).body.block.ops]
    assert any(signs) != (floor in (0.0, 2.5) and scale in (None, 0.25))
    found = evaluate_value(made.value)
    expected = NUMBERS if floor is None else np.fmax(NUMBERS, np.float32(floor))
    np.testing.assert_array_equal(found, quantize_array(expected, np.float32(scale or 1)))
