"""Vectors of one dimension: masks, reductions, and lanes taken apart and joined."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from tests.compiler.llvm.called import Compile, Floats, constants, random


@pytest.mark.parametrize("length", [16, 19, 35])
def test_masked_tail(length: int, compiled: Compile) -> None:
    """A masked vector reads and writes nothing past the end."""
    shape = f"memref<{length}xf32>"
    code = compiled(f"""
    func.func @k(%x: {shape}, %y: {shape}) {{
      {constants(0, 16, length)}
      %zero = arith.constant dense<0.0> : vector<16xf32>
      scf.for %i = %c0 to %c{length} step %c16 {{
        %left = arith.subi %c{length}, %i : index
        %mask = vector.create_mask %left : vector<16xi1>
        %v = vector.maskedload %x[%i], %mask, %zero
          : {shape}, vector<16xi1>, vector<16xf32> into vector<16xf32>
        %w = arith.addf %v, %v : vector<16xf32>
        vector.maskedstore %y[%i], %mask, %w : {shape}, vector<16xi1>, vector<16xf32>
      }}
      func.return
    }}""")
    x, y = random(length), np.full(length + 16, 7.0, np.float32)
    code.call("k", x, y)
    np.testing.assert_array_equal(y[:length], 2 * x)
    assert (y[length:] == 7.0).all()


@pytest.mark.parametrize("lanes", [1, 3, 4, 6, 16])
@pytest.mark.parametrize(
    ("kind", "reference"),
    [("add", np.sum), ("mul", np.prod), ("maxnumf", np.max), ("minimumf", np.min)],
)
def test_reductions(
    kind: str, reference: Callable[[Floats], np.float32], lanes: int, compiled: Compile
) -> None:
    """Reductions of any number of lanes, with and without an accumulator."""
    vector = f"vector<{lanes}xf32>"
    code = compiled(f"""
    func.func @k(%x: memref<{lanes}xf32>, %y: memref<2xf32>) {{
      {constants(0, 1)}
      %start = memref.load %y[%c0] : memref<2xf32>
      %v = vector.load %x[%c0] : memref<{lanes}xf32>, {vector}
      %plain = vector.reduction <{kind}>, %v : {vector} into f32
      %more = vector.reduction <{kind}>, %v, %start : {vector} into f32
      memref.store %plain, %y[%c0] : memref<2xf32>
      memref.store %more, %y[%c1] : memref<2xf32>
      func.return
    }}""")
    x, y = random(lanes), np.array([0.5, 0.0], np.float32)
    code.call("k", x, y)
    expected = [reference(x), reference(np.append(x, np.float32(0.5)))]
    np.testing.assert_allclose(y, expected, rtol=1e-6, atol=1e-6)


def test_vector_conversions_and_selects(compiled: Compile) -> None:
    """To integers and back, compared and chosen lane by lane, shuffled, taken apart and joined."""
    code = compiled(f"""
    func.func @k(%x: memref<8xf32>, %y: memref<8xf32>, %position: index) {{
      {constants(0)}
      %a = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
      %i = "arith.fptosi"(%a) : (vector<8xf32>) -> vector<8xi32>
      %f = "arith.sitofp"(%i) : (vector<8xi32>) -> vector<8xf32>
      %less = "arith.cmpf"(%f, %a) <{{predicate = 4 : i64}}>
        : (vector<8xf32>, vector<8xf32>) -> vector<8xi1>
      %neg = arith.negf %a : vector<8xf32>
      %s = "arith.select"(%less, %f, %neg)
        : (vector<8xi1>, vector<8xf32>, vector<8xf32>) -> vector<8xf32>
      %t = vector.shuffle %s, %s [7, 6, 5, 4, 3, 2, 1, 0] : vector<8xf32>, vector<8xf32>
      %e = vector.extract %t[%position] : f32 from vector<8xf32>
      %u = vector.insert %e, %t[0] : f32 into vector<8xf32>
      %bits = vector.bitcast %u : vector<8xf32> to vector<8xi32>
      %again = vector.bitcast %bits : vector<8xi32> to vector<8xf32>
      vector.store %again, %y[%c0] : memref<8xf32>, vector<8xf32>
      func.return
    }}""")
    x, y = 10 * random(8), np.zeros(8, np.float32)
    code.call("k", x, y, 5)
    whole = np.trunc(x)
    expected = np.where(whole < x, whole, -x)[::-1].copy()
    expected[0] = expected[5]
    np.testing.assert_array_equal(y, expected)
