"""LLVM text becomes an ELF object that needs nobody, or a CompilerBug."""

from __future__ import annotations

import struct
from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug, Unsupported
from ncc.compiler.llvm import object_code
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly, emit_object
from ncc.compiler.llvm.threads import threads_text
from ncc.compiler.target import AVX2, AVX512, BASELINE, NEON, Target
from ncc.runtime.elf import undefined_symbols

CLEAR = """
func.func @clear(%x: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %zero = arith.constant dense<0.0> : vector<8xf32>
  vector.store %zero, %x[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}
"""


FOREIGN = """
declare void @llvm.{family}.{name}
define void @f() {{ ret void }}
"""


@pytest.mark.parametrize(
    ("target", "family", "name"),
    [
        (AVX2, "aarch64", "hint(i32)"),
        (NEON, "x86", "sse2.pause()"),
        (BASELINE, "riscv", "orc.b.i64(i64)"),
    ],
    ids=["arm on x86", "x86 on arm", "riscv on x86"],
)
def test_foreign_intrinsics_never_reach_llvm(target: Target, family: str, name: str) -> None:
    """LLVM would end the process."""
    with pytest.raises(CompilerBug, match=f"intrinsics of {family} for the target {target.name}"):
        emit_object(FOREIGN.format(family=family, name=name), target)


def test_assembly_is_for_the_host_only(monkeypatch: pytest.MonkeyPatch) -> None:
    """LLVM assembles for the processor that it runs on: threads of x86-64 need such a machine."""
    monkeypatch.setattr(object_code, "HOST", "aarch64")
    with pytest.raises(Unsupported, match="compiling for avx2 on aarch64\n.*a machine with x86_64"):
        emit_object(threads_text(AVX2), AVX2)
    assert emit_object(threads_text(NEON), NEON)


def test_object_is_elf_without_needs(target: Target, parse: Callable[[str], ModuleOp]) -> None:
    """An ELF object for x86-64 that defines the function and needs nobody else's."""
    text = emit_llvm(lower(parse(CLEAR), target), target)
    image = emit_object(text, target)
    assert image[:5] == b"\x7fELF\x02"
    assert struct.unpack_from("<HH", image, 16) == (1, 62), "relocatable, x86-64"
    assert not undefined_symbols(image)
    assert "clear" in {symbol.strip() for symbol in image.decode("latin-1").split("\0")}


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


def test_data_of_other_objects() -> None:
    """A text may name it, as it names functions that others have."""
    text = """@table = external dso_local constant i8
define ptr @address() {
  ret ptr @table
}
"""
    assert undefined_symbols(emit_object(text, BASELINE)) == {"table"}
