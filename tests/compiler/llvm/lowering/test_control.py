"""Loops and branches as blocks: how often they run, and what they carry."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.target import AVX2
from tests.compiler.llvm.called import Compile, constants


@pytest.mark.parametrize("count", [0, 1, 5, 8, 13])
def test_loop_bounds_from_arguments(count: int, compiled: Compile) -> None:
    """A loop whose bounds are arguments runs as often as they say, also not at all."""
    code = compiled("""
    func.func @k(%x: memref<16xf32>, %first: index, %last: index) {
      %one = arith.constant 1.0 : f32
      %c1 = arith.constant 1 : index
      scf.for %i = %first to %last step %c1 {
        %v = memref.load %x[%i] : memref<16xf32>
        %w = arith.addf %v, %one : f32
        memref.store %w, %x[%i] : memref<16xf32>
      }
      func.return
    }""")
    x = np.zeros(16, np.float32)
    code.call("k", x, 3, 3 + count)
    assert x.tolist() == [float(3 <= i < 3 + count) for i in range(16)]


def test_carried_values_of_a_loop_that_does_not_run(compiled: Compile) -> None:
    """The results are the initial values then; an index is carried like anything else."""
    code = compiled("""
    func.func @k(%out: memref<2xindex>, %n: index) {
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c7 = arith.constant 7 : index
      %a, %b = scf.for %i = %c0 to %n step %c1 iter_args(%p = %c7, %q = %c1) -> (index, index) {
        %next = arith.addi %p, %i : index
        scf.yield %next, %p : index, index
      }
      memref.store %a, %out[%c0] : memref<2xindex>
      memref.store %b, %out[%c1] : memref<2xindex>
      func.return
    }""")
    out = np.zeros(2, np.int64)
    code.call("k", out, 0)
    assert out.tolist() == [7, 1]
    code.call("k", out, 4)
    assert out.tolist() == [7 + 0 + 1 + 2 + 3, 7 + 0 + 1 + 2]


def test_if_and_while(compiled: Compile) -> None:
    """Branches with and without results, and a loop that stops by its own condition."""
    code = compiled(f"""
    func.func @k(%x: memref<8xi32>) {{
      {constants(0, 1, 8)}
      %steps = memref.alloca() : memref<1xi32>
      %one = arith.constant 1 : i32
      %two = arith.constant 2 : i32
      %zero = arith.constant 0 : i32
      %three = arith.constant 3 : i32
      scf.for %i = %c0 to %c8 step %c1 {{
        memref.store %zero, %steps[%c0] : memref<1xi32>
        scf.while () : () -> () {{
          %now = memref.load %x[%i] : memref<8xi32>
          %more = arith.cmpi sgt, %now, %one : i32
          scf.condition(%more)
        }} do {{
          %n = memref.load %x[%i] : memref<8xi32>
          %count = memref.load %steps[%c0] : memref<1xi32>
          %rest = arith.remsi %n, %two : i32
          %odd = arith.cmpi eq, %rest, %one : i32
          %next = scf.if %odd -> (i32) {{
            %triple = arith.muli %n, %three : i32
            %up = arith.addi %triple, %one : i32
            scf.yield %up : i32
          }} else {{
            %half = arith.divsi %n, %two : i32
            scf.yield %half : i32
          }}
          %counted = arith.addi %count, %one : i32
          memref.store %next, %x[%i] : memref<8xi32>
          memref.store %counted, %steps[%c0] : memref<1xi32>
          scf.yield
        }}
        %all = memref.load %steps[%c0] : memref<1xi32>
        %big = arith.cmpi sgt, %all, %three : i32
        scf.if %big {{
          memref.store %all, %x[%i] : memref<8xi32>
        }}
      }}
      func.return
    }}""")
    x = np.array([1, 2, 3, 6, 7, 9, 4, 27], np.int32)
    code.call("k", x)
    assert x.tolist() == [1, 1, 7, 8, 16, 19, 1, 111]


LARGEST = """
func.func @k(%x: memref<4x8xf32>, %y: memref<1xf32>, %rows: index) {{
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %least = arith.constant 0xff800000 : f32
  %0 = scf.for %i = %c0 to %rows step %c1 iter_args(%a = %least) -> (f32) {{
    %1 = scf.for %j = %c0 to %c8 step %c1 iter_args(%b = %a) -> (f32) {{
      %v = memref.load %x[%i, %j] : memref<4x8xf32>
      %2 = {combined}
      scf.yield %2 : f32
    }}
    scf.yield %1 : f32
  }}
  %first = memref.load %x[%c0, %c0] : memref<4x8xf32>
  %3 = arith.maxnumf %0, %first : f32
  memref.store %3, %y[%c0] : memref<1xf32>
  func.return
}}"""


@pytest.mark.parametrize(
    ("combined", "looks"),
    [
        ("arith.maxnumf %b, %v : f32", 0),
        ("arith.maxnumf %v, %b : f32", 0),
        ("arith.maximumf %b, %v : f32", 2),
        ("arith.addf %b, %v : f32", 1),
    ],
)
def test_loops_carry_numbers(
    combined: str, looks: int, parse: Callable[[str], ModuleOp], compiled: Compile
) -> None:
    """Nor is NaN looked for where loops carry what begins with a number and drops each NaN, also
    behind a loop that may not run.
    """
    text = emit_llvm(lower(parse(LARGEST.format(combined=combined)), AVX2), AVX2)
    assert text.count("fcmp uno") == looks
    if looks:
        return
    code = compiled(LARGEST.format(combined=combined))
    x = np.full((4, 8), np.nan, np.float32)
    found = np.zeros(1, np.float32)
    code.call("k", x, found, 4)
    assert found == -np.inf
    x[2, 3], x[1, 7] = -5.0, -7.0
    for rows, expected in ((0, -np.inf), (2, -7.0), (4, -5.0)):
        code.call("k", x, found, rows)
        assert found == expected
