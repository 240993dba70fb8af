"""LLVM text says what the operations say, and becomes machine code or a CompilerBug."""

from __future__ import annotations

from collections.abc import Callable

from llvmlite import binding
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly, emit_object
from ncc.compiler.target import AVX2, NEON_I8MM, Target
from ncc.runtime.elf import undefined_symbols

SUM = """
func.func @sum(%x: memref<8xf32>, %y: memref<1xf32>) {
  %c0 = arith.constant 0 : index
  %c1 = arith.constant 1 : index
  %c8 = arith.constant 8 : index
  %zero = arith.constant 0.0 : f32
  %s = scf.for %i = %c0 to %c8 step %c1 iter_args(%t = %zero) -> (f32) {
    %v = memref.load %x[%i] : memref<8xf32>
    %u = arith.addf %t, %v : f32
    scf.yield %u : f32
  }
  memref.store %s, %y[%c0] : memref<1xf32>
  func.return
}
"""

EXPECTED = """\
define void @sum(ptr %0, ptr %1) nounwind {
b0:
  br label %b1
b1:
  %2 = phi i64 [0, %b0], [%7, %b1]
  %3 = phi float [0x0000000000000000, %b0], [%6, %b1]
  %4 = getelementptr float, ptr %0, i64 %2
  %5 = load float, ptr %4, align 4
  %6 = fadd float %3, %5
  %7 = add nsw i64 %2, 1
  %8 = icmp slt i64 %7, 8
  br i1 %8, label %b1, label %b2
b2:
  store float %6, ptr %1, align 4
  ret void
}
"""


def test_text(parse: Callable[[str], ModuleOp]) -> None:
    """A loop with a carried sum, to the letter."""
    text = emit_llvm(lower(parse(SUM), AVX2), AVX2)
    assert EXPECTED in text
    assert f'target triple = "{AVX2.triple}"' in text


def test_more_text_defines_what_is_declared(parse: Callable[[str], ModuleOp]) -> None:
    """What the appended text defines is not declared a second time; elsewhere it may be defined."""
    text = """
    func.func @run(%buffers: !llvm.ptr, %did: index, %threads: index, %before: index) {
      rt.barrier %did until 5, %buffers, %threads, %before
      func.return
    }"""
    module = lower(parse(text), AVX2)
    more = "define internal void @ncc_barrier(ptr %s, i64 %did, i64 %until, i64 %n) { ret void }"
    assert "declare void @ncc_barrier" in emit_llvm(module, AVX2)
    assert "declare" not in emit_llvm(module, AVX2, more)
    assert undefined_symbols(emit_object(emit_llvm(module, AVX2), AVX2)) == {"ncc_barrier"}
    assert not undefined_symbols(emit_object(emit_llvm(module, AVX2, more), AVX2))


def test_library_functions_are_inlined(parse: Callable[[str], ModuleOp]) -> None:
    """Nothing of the math library is called, nor left behind, in the object."""
    text = """
    func.func @k(%x: memref<1xf32>) {
      %c0 = arith.constant 0 : index
      %v = memref.load %x[%c0] : memref<1xf32>
      %e = math.exp %v : f32
      memref.store %e, %x[%c0] : memref<1xf32>
      func.return
    }"""
    assembly = emit_assembly(emit_llvm(lower(parse(text), AVX2), AVX2), AVX2)
    assert "call" not in assembly and "ncc.exp" not in assembly


def test_text_parses_on_every_target(target: Target, parse: Callable[[str], ModuleOp]) -> None:
    """LLVM's own parser and verifier accept it."""
    binding.parse_assembly(emit_llvm(lower(parse(SUM), target), target)).verify()


def test_instructions_are_ordered_for_the_core_of_a_target(
    parse: Callable[[str], ModuleOp],
) -> None:
    """If it names one."""
    assert '"tune-cpu"' not in emit_llvm(lower(parse(SUM), AVX2), AVX2)
    text = emit_llvm(lower(parse(SUM), NEON_I8MM), NEON_I8MM)
    assert ' nounwind "tune-cpu"="neoverse-v2" {' in text
