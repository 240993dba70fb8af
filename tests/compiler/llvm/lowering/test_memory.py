"""rt.gather on every target, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

TEXT = """
func.func @f(%x: memref<99xf32>, %places: memref<{n}xi32>, %y: memref<{n}xf32>, %first: index) {{
  %0 = arith.constant 0 : index
  %at = vector.load %places[%0] : memref<{n}xi32>, vector<{n}xi32>
  %v = rt.gather %x[%first, %at] : memref<99xf32>, vector<{n}xi32> -> vector<{n}xf32>
  vector.store %v, %y[%0] : memref<{n}xf32>, vector<{n}xf32>
  func.return
}}
"""


@pytest.mark.parametrize("lanes", [2, 4, 8, 16])
def test_each_lane_reads_at_its_place(compiled: Callable[..., Any], lanes: int) -> None:
    """In any order, more than once, and in front of the first too."""
    code = compiled(TEXT.format(n=lanes))
    x, y = np.random.default_rng(0).standard_normal(99).astype(np.float32), np.zeros(lanes, "f")
    places = np.random.default_rng(1).integers(-40, 59, lanes).astype(np.int32)
    places[:2] = -40, 58
    code.call("f", x, places, y, 40)
    np.testing.assert_array_equal(y, x[40 + places])
