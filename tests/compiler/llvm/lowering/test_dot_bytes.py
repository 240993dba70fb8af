"""rt.dot_bytes on every target, against numpy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ncc.compiler.target import Target

TEXT = """
func.func @f(%s: memref<{n}xi32>, %x: memref<{m}xi8>, %w: memref<{m}xi8>) {{
  %0 = arith.constant 0 : index
  %sum = vector.load %s[%0] : memref<{n}xi32>, vector<{n}xi32>
  %a = vector.load %x[%0] : memref<{m}xi8>, vector<{m}xi8>
  %b = vector.load %w[%0] : memref<{m}xi8>, vector<{m}xi8>
  %r = rt.dot_bytes %sum, %a, %b : vector<{m}xi8> into vector<{n}xi32>
  vector.store %r, %s[%0] : memref<{n}xi32>, vector<{n}xi32>
  func.return
}}
"""


def test_four_products_a_lane(compiled: Callable[..., Any], target: Target) -> None:
    """x without sign, w with it; no step saturates, at the largest numbers either."""
    n = target.lanes
    module = compiled(TEXT.format(n=n, m=4 * n))
    generator = np.random.default_rng(1)
    for x, w in [(255, -128), (255, 127), (128, -128), (None, None)]:
        a = generator.integers(0, 256, 4 * n) if x is None else np.full(4 * n, x)
        b = generator.integers(-128, 128, 4 * n) if w is None else np.full(4 * n, w)
        sums = generator.integers(-(2**30), 2**30, n).astype(np.int32)
        expected = sums + (a * b).reshape(n, 4).sum(axis=1)
        module.call("f", sums, a.astype(np.uint8), b.astype(np.int8))
        np.testing.assert_array_equal(sums, expected)
