"""Addresses of views, of own memory, and by indices that are loaded."""

from __future__ import annotations

import numpy as np

from tests.compiler.llvm.called import Compile, constants, random


def test_gather_by_loaded_indices(compiled: Compile) -> None:
    """An index that comes out of a table addresses memory like any other."""
    code = compiled(f"""
    func.func @k(%x: memref<5x16xf32>, %table: memref<3xindex>, %y: memref<3x16xf32>) {{
      {constants(0, 1, 3)}
      scf.for %i = %c0 to %c3 step %c1 {{
        %row = memref.load %table[%i] : memref<3xindex>
        %v = vector.load %x[%row, %c0] : memref<5x16xf32>, vector<16xf32>
        vector.store %v, %y[%i, %c0] : memref<3x16xf32>, vector<16xf32>
      }}
      func.return
    }}""")
    x, table, y = random(5, 16), np.array([4, 0, 2]), np.zeros((3, 16), np.float32)
    code.call("k", x, table, y)
    np.testing.assert_array_equal(y, x[table])


def test_scratch(compiled: Compile) -> None:
    """Memory of a function's own."""
    code = compiled(f"""
    func.func @k(%x: memref<4x6xf32>, %y: memref<6x4xf32>) {{
      {constants(0, 1, 4, 6)}
      %scratch = memref.alloca() : memref<6x4xf32>
      scf.for %i = %c0 to %c4 step %c1 {{
        scf.for %j = %c0 to %c6 step %c1 {{
          %v = memref.load %x[%i, %j] : memref<4x6xf32>
          memref.store %v, %scratch[%j, %i] : memref<6x4xf32>
        }}
      }}
      scf.for %j = %c0 to %c6 step %c1 {{
        %v = vector.load %scratch[%j, %c0] : memref<6x4xf32>, vector<4xf32>
        vector.store %v, %y[%j, %c0] : memref<6x4xf32>, vector<4xf32>
      }}
      func.return
    }}""")
    x, y = random(4, 6), np.zeros((6, 4), np.float32)
    code.call("k", x, y)
    np.testing.assert_array_equal(y, x.T)
