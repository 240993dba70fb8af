"""Extrema of floats: which of them keep NaN, and how often it is looked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.target import AVX2
from tests.compiler.llvm.called import Compile, Floats, constants

EXTREMA = [
    ("maximumf", np.maximum), ("minimumf", np.minimum), ("maxnumf", np.fmax), ("minnumf", np.fmin),
]  # fmt: skip


@pytest.mark.parametrize(("name", "reference"), EXTREMA)
def test_extrema_and_nan(
    name: str, reference: Callable[[Floats, Floats], Floats], compiled: Compile
) -> None:
    """maximumf keeps a NaN of either side, maxnumf drops it, also where one side is constant, or
    the extremum of a constant and something else.
    """
    code = compiled(f"""
    func.func @k(%x: memref<16xf32>, %y: memref<16xf32>, %z: memref<4x16xf32>) {{
      {constants(0, 1, 2, 3)}
      %half = arith.constant dense<0.5> : vector<16xf32>
      %a = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
      %b = vector.load %y[%c0] : memref<16xf32>, vector<16xf32>
      %both = arith.{name} %a, %b : vector<16xf32>
      %right = arith.{name} %a, %half : vector<16xf32>
      %left = arith.{name} %half, %a : vector<16xf32>
      %chain = arith.{name} %left, %b : vector<16xf32>
      vector.store %both, %z[%c0, %c0] : memref<4x16xf32>, vector<16xf32>
      vector.store %right, %z[%c1, %c0] : memref<4x16xf32>, vector<16xf32>
      vector.store %left, %z[%c2, %c0] : memref<4x16xf32>, vector<16xf32>
      vector.store %chain, %z[%c3, %c0] : memref<4x16xf32>, vector<16xf32>
      func.return
    }}""")
    numbers = [1.0, np.nan, -np.inf, np.inf]
    x = np.array([a for a in numbers for _ in numbers], np.float32)
    y = np.array(numbers * 4, np.float32)
    z = np.zeros((4, 16), np.float32)
    code.call("k", x, y, z)
    beside = reference(x, np.full(16, 0.5, np.float32))
    expected = np.stack([reference(x, y), beside, beside, reference(beside, y)])
    np.testing.assert_array_equal(z, expected)


def test_what_drops_nan_looks_for_it_once(parse: Callable[[str], ModuleOp]) -> None:
    """A largest value that begins with a number is one all along: an instruction an element."""
    module = parse("""
    func.func @k(%x: memref<4xf32>, %y: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c2 = arith.constant 2 : index
      %least = arith.constant 0xff800000 : f32
      %a = memref.load %x[%c0] : memref<4xf32>
      %b = memref.load %x[%c1] : memref<4xf32>
      %c = memref.load %x[%c2] : memref<4xf32>
      %0 = arith.maxnumf %least, %a : f32
      %1 = arith.maxnumf %0, %b : f32
      %2 = arith.maxnumf %c, %1 : f32
      memref.store %2, %y[%c0] : memref<1xf32>
      func.return
    }""")
    text = emit_llvm(lower(module, AVX2), AVX2)
    assert text.count("fcmp ogt") == text.count("select") == 3
    assert "fcmp uno" not in text
