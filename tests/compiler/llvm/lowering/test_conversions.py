"""Conversions: what is narrowed loses its upper bits, what is widened keeps its value."""

from __future__ import annotations

import ctypes
import mmap
from collections.abc import Callable

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly
from ncc.compiler.target import AMX
from tests.compiler.llvm.called import Compile
from tests.structured.evaluate import short_fractions

NUMBERS = [0, 1, -1, 5, -7, 127, -128, 255, 256, 32767, -32768, 65535, 2**31 - 1, -(2**31), 3, 9]


@pytest.mark.parametrize("lanes", [0, 4, 16])
@pytest.mark.parametrize(
    ("name", "source", "result"),
    [
        ("extsi", "i8", "i32"), ("extsi", "i16", "i32"), ("extui", "i8", "i32"),
        ("trunci", "i32", "i8"), ("trunci", "i32", "i16"), ("sitofp", "i32", "f32"),
        ("sitofp", "i8", "f32"), ("uitofp", "i8", "f32"), ("fptosi", "f32", "i32"),
        ("fptosi", "f32", "i8"), ("fptoui", "f32", "i8"), ("bitcast", "i32", "f32"),
        ("bitcast", "f32", "i32"),
    ],
)  # fmt: skip
def test_a_conversion_is_numpys(
    name: str, source: str, result: str, lanes: int, compiled: Compile
) -> None:
    """For numbers that the result can be; in vectors and alone."""
    dtypes = {"i8": np.int8, "i16": np.int16, "i32": np.int32, "f32": np.float32}
    a, b = (f"vector<{lanes}x{type}>" if lanes else type for type in (source, result))
    x_type, y_type = f"memref<16x{source}>", f"memref<16x{result}>"
    load, store = ("vector.load", "vector.store") if lanes else ("memref.load", "memref.store")
    suffixes = (f", {a}", f", {b}") if lanes else ("", "")
    code = compiled(f"""
    func.func @k(%x: {x_type}, %y: {y_type}) {{
      %c0 = arith.constant 0 : index
      %c16 = arith.constant 16 : index
      %step = arith.constant {lanes or 1} : index
      scf.for %i = %c0 to %c16 step %step {{
        %v = {load} %x[%i] : {x_type}{suffixes[0]}
        %w = "arith.{name}"(%v) : ({a}) -> {b}
        {store} %w, %y[%i] : {y_type}{suffixes[1]}
      }}
      func.return
    }}""")
    whole = np.array(NUMBERS, np.int64)
    x = whole.astype(dtypes[source])
    if name.startswith("fp"):
        most = 255 if name == "fptoui" else 127
        x = np.array([0.0, 0.9, 1.5, 2.5, most, *np.linspace(0, 100, 11)], np.float32)
        x *= 1 if name == "fptoui" else -1
    read = x.view(np.uint8) if name in ("extui", "uitofp") else x
    wide = read.view(dtypes[result]) if name == "bitcast" else read.astype(dtypes[result])
    if name == "fptoui":
        wide = x.astype(np.uint8).view(np.int8)
    y = np.zeros(16, dtypes[result])
    code.call("k", x, y)
    assert y.tobytes() == np.ascontiguousarray(wide).tobytes()


@pytest.mark.parametrize("lanes", [0, 2, 4, 8, 16])
def test_three_bytes_are_read_one_by_one(lanes: int, compiled: Compile) -> None:
    """Wherever they lie, and nothing behind the last of them: it ends a page."""
    wide, narrow = (f"vector<{lanes}x{t}>" if lanes else t for t in ("i32", "i24"))
    load, store = ("vector.load", "vector.store") if lanes else ("memref.load", "memref.store")
    suffixes = (f", {narrow}", f", {wide}") if lanes else ("", "")
    code = compiled(f"""
    func.func @k(%x: memref<17xi24>, %y: memref<16xi32>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c16 = arith.constant 16 : index
      %step = arith.constant {lanes or 1} : index
      scf.for %i = %c0 to %c16 step %step {{
        %j = arith.addi %i, %c1 : index
        %v = {load} %x[%j] : memref<17xi24>{suffixes[0]}
        %w = "arith.extui"(%v) : ({narrow}) -> {wide}
        {store} %w, %y[%i] : memref<16xi32>{suffixes[1]}
      }}
      func.return
    }}""")
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    held = np.frombuffer(memory, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(held.ctypes.data + page), page, 0) == 0
    numbers = np.array([0x010203, 0xFFFFFF, 0, 0x800000, *range(12), 0x7F, 0xFF00, 0xABCDEF][:17])
    x = held[page - 51 : page]
    x[:] = numbers.astype("<u4").view(np.uint8).reshape(-1, 4)[:, :3].ravel()
    y = np.zeros(16, np.int32)
    code.call("k", x, y)
    assert y.tolist() == numbers[1:].tolist()


def test_twenty_bits_are_read_by_sixteen(compiled: Compile) -> None:
    """All bits of each, and nothing behind the twenty words that hold them: they end a page."""
    code = compiled("""
    func.func @k(%x: memref<40xi20>, %y: memref<16xi32>) {
      %c0 = arith.constant 0 : index
      %c20 = arith.constant 20 : index
      %v = vector.load %x[%c20] : memref<40xi20>, vector<16xi20>
      %w = "arith.extui"(%v) : (vector<16xi20>) -> vector<16xi32>
      vector.store %w, %y[%c0] : memref<16xi32>, vector<16xi32>
      func.return
    }""")
    page = mmap.PAGESIZE
    memory = mmap.mmap(-1, 2 * page)
    held = np.frombuffer(memory, np.uint8)
    libc = ctypes.CDLL(None, use_errno=True)
    assert libc.mprotect(ctypes.c_void_p(held.ctypes.data + page), page, 0) == 0
    x = held[page - 80 : page]
    x[:] = np.random.default_rng(0).integers(0, 256, 80)
    x[40:44], x[72] = (0xFF, 0xFF, 0, 0), 0xF0
    y = np.zeros(16, np.int32)
    code.call("k", x, y)
    assert y.tolist() == short_fractions(x[40:].view("V2")).tolist()
    assert y[:2].tolist() == [0xFFFFF, 0]


def test_twenty_bits_are_not_read_one_by_one(compiled: Compile) -> None:
    """No element has bytes of its own."""
    with pytest.raises(CompilerBug, match="by sixteen"):
        compiled("""
        func.func @k(%x: memref<40xi20>, %y: memref<16xi32>) {
          %c0 = arith.constant 0 : index
          %v = memref.load %x[%c0] : memref<40xi20>
          %w = "arith.extui"(%v) : (i20) -> i32
          memref.store %w, %y[%c0] : memref<16xi32>
          func.return
        }""")


@pytest.mark.parametrize("narrow", ["i8", "i32", "i64"])
def test_an_index_keeps_its_sign(narrow: str, compiled: Compile) -> None:
    """From memory, and back to it: an index is an i64."""
    code = compiled(f"""
    func.func @k(%x: memref<3x{narrow}>, %y: memref<3x{narrow}>) {{
      %c0 = arith.constant 0 : index
      %c1 = arith.constant 1 : index
      %c3 = arith.constant 3 : index
      scf.for %i = %c0 to %c3 step %c1 {{
        %v = memref.load %x[%i] : memref<3x{narrow}>
        %n = arith.index_cast %v : {narrow} to index
        %m = arith.subi %n, %c1 : index
        %w = arith.index_cast %m : index to {narrow}
        memref.store %w, %y[%i] : memref<3x{narrow}>
      }}
      func.return
    }}""")
    x = np.array([-7, 0, 100], f"int{narrow[1:]}")
    y = np.zeros_like(x)
    code.call("k", x, y)
    assert y.tolist() == [-8, -1, 99]


@pytest.mark.parametrize(("lanes", "name"), [(16, "vcvtneps2bf16"), (32, "vcvtne2ps2bf16")])
def test_vectors_are_rounded_by_one_instruction(
    lanes: int, name: str, parse: Callable[[str], ModuleOp]
) -> None:
    """To bfloat16, one of float32 or two, on a target with matrix tiles."""
    module = parse(f"""
    func.func @k(%x: memref<32xf32>, %y: memref<32xbf16>) {{
      %c0 = arith.constant 0 : index
      %v = vector.load %x[%c0] : memref<32xf32>, vector<{lanes}xf32>
      %w = arith.truncf %v : vector<{lanes}xf32> to vector<{lanes}xbf16>
      vector.store %w, %y[%c0] : memref<32xbf16>, vector<{lanes}xbf16>
      func.return
    }}""")
    text = emit_assembly(emit_llvm(lower(module, AMX), AMX), AMX)
    assert [line.split()[0] for line in text.splitlines() if "vcvt" in line] == [name]
