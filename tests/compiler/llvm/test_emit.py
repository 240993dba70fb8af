"""LLVM text says what the operations say, and becomes machine code or a CompilerBug."""

from __future__ import annotations

import struct
from collections.abc import Callable

import numpy as np
import pytest
from llvmlite import binding
from xdsl.dialects.builtin import BFloat16Type, Float16Type, ModuleOp, f32, f64, i32

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import TRIPLE, emit_assembly, emit_object
from ncc.compiler.llvm.text import float_text
from ncc.compiler.target import AVX2, AVX512, BASELINE, Target
from ncc.runtime.machine_code import undefined_symbols

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
    assert f'target triple = "{TRIPLE}"' in text


@pytest.mark.parametrize(
    "value", [0.0, -0.0, 1.0, -1.5, 0.1, 3.4e38, 1e-45, float("inf"), float("nan")]
)
@pytest.mark.parametrize("type", [f32, f64])
def test_float_constants_keep_their_bits(value: float, type: object) -> None:
    """LLVM reads back the very float that was spelled."""
    chosen = f32 if type == f32 else f64
    text = int(float_text(value, chosen), 16)
    back = struct.unpack("<d", struct.pack("<Q", text))[0]
    expected = float(np.float32(value)) if type == f32 else value
    assert struct.pack("<d", back) == struct.pack("<d", expected)


def test_half_constants() -> None:
    """Half precision is spelled by its own bits; integers are no floats."""
    assert float_text(1.0, Float16Type()) == "0xH3C00"
    assert float_text(1.0, BFloat16Type()) == "0xR3F80"
    with pytest.raises(CompilerBug, match="no number of bf16"):
        float_text(1.001, BFloat16Type())
    with pytest.raises(CompilerBug):
        float_text(1.0, i32)


def test_object_is_elf_without_needs(target: Target, parse: Callable[[str], ModuleOp]) -> None:
    """An ELF object for x86-64 that defines the function and needs nobody else's."""
    text = emit_llvm(lower(parse(SUM), target), target)
    image = emit_object(text, target)
    assert image[:5] == b"\x7fELF\x02"
    assert struct.unpack_from("<HH", image, 16) == (1, 62), "relocatable, x86-64"
    assert not undefined_symbols(image)
    assert "sum" in {symbol.strip() for symbol in image.decode("latin-1").split("\0")}


def test_targets_get_their_registers(parse: Callable[[str], ModuleOp]) -> None:
    """The same vector of 16 lanes takes one register, two or four."""
    text = """
    func.func @k(%x: memref<16xf32>, %y: memref<16xf32>) {
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<16xf32>, vector<16xf32>
      %w = arith.addf %v, %v : vector<16xf32>
      vector.store %w, %y[%c0] : memref<16xf32>, vector<16xf32>
      func.return
    }"""
    for target, register, count in ((AVX512, "%zmm", 1), (AVX2, "%ymm", 2), (BASELINE, "%xmm", 4)):
        assembly = emit_assembly(emit_llvm(lower(parse(text), target), target), target)
        sums = [line for line in assembly.splitlines() if "addps" in line]
        assert len(sums) == count and all(register in line for line in sums)


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


def test_refused_text_is_carried() -> None:
    """What LLVM says, and about which text, is in the error."""
    text = "define void @f() { ret i32 0 }"
    with pytest.raises(CompilerBug) as caught:
        emit_object(text, AVX2)
    assert "LLVM refuses the text" in str(caught.value) and text in str(caught.value)


def test_a_call_of_a_library_is_a_bug() -> None:
    """An instruction that LLVM turns into a call of libm is found out when it is compiled."""
    text = "define float @f(float %x, float %y) { %r = frem float %x, %y\n ret float %r }"
    with pytest.raises(CompilerBug, match="compiled code calls fmodf"):
        emit_object(text, AVX2)


def test_text_parses_on_every_target(target: Target, parse: Callable[[str], ModuleOp]) -> None:
    """LLVM's own parser and verifier accept it."""
    binding.parse_assembly(emit_llvm(lower(parse(SUM), target), target)).verify()
