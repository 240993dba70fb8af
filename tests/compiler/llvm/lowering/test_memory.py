"""Gathers and prefetches on every target: what they read, and that a hint reads nothing."""

from __future__ import annotations

import numpy as np
import pytest

from ncc.compiler.llvm.object_code import emit_object
from ncc.compiler.target import Target
from tests.compiler.llvm.called import Compile, random

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
def test_each_lane_reads_at_its_place(compiled: Compile, lanes: int) -> None:
    """In any order, more than once, and in front of the first too."""
    code = compiled(TEXT.format(n=lanes))
    x, y = np.random.default_rng(0).standard_normal(99).astype(np.float32), np.zeros(lanes, "f")
    places = np.random.default_rng(1).integers(-40, 59, lanes).astype(np.int32)
    places[:2] = -40, 58
    code.call("f", x, places, y, 40)
    np.testing.assert_array_equal(y, x[40 + places])


def test_a_fence_is_no_instruction(compiled: Compile, target: Target) -> None:
    """Only the code generator sees it."""
    text = """
    func.func @k(%x: memref<8xf32>, %y: memref<8xf32>) {{
      %one = arith.constant 1 : index
      %a = memref.load %x[%one] : memref<8xf32>
      {}
      memref.store %a, %y[%one] : memref<8xf32>
      func.return
    }}"""
    fenced, plain = compiled(text.format("rt.fence")), compiled(text.format(""))
    [line] = [line for line in fenced.llvm.splitlines() if "fence" in line]
    assert line.strip() == 'fence syncscope("singlethread") seq_cst'
    assert emit_object(fenced.llvm, target) == emit_object(plain.llvm, target)


def test_prefetching_reaches_no_element(compiled: Compile) -> None:
    """A hint may name an address that nobody can read."""
    code = compiled("""
    func.func @k(%x: memref<8xf32>) {
      %far = arith.constant 1000000000000 : index
      rt.prefetch %x[%far] : memref<8xf32>
      rt.prefetch %x[%far] l1 : memref<8xf32>
      func.return
    }""")
    calls = [line for line in code.llvm.splitlines() if "call void @llvm.prefetch.p0" in line]
    assert ["i32 2" in call for call in calls] == [True, False]
    assert ["i32 3" in call for call in calls] == [False, True]
    code.call("k", random(8))
