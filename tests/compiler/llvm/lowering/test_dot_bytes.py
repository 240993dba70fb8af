"""rt.dot_bytes and rt.matrix_bytes on every target, against numpy."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly
from ncc.compiler.target import NEON_DOT, NEON_I8MM, Target

TEXT = """
func.func @f(%s: memref<{n}xi32>, %x: memref<{m}xi8>, %w: memref<{m}xi8>) {{
  %0 = arith.constant 0 : index
  %sum = vector.load %s[%0] : memref<{n}xi32>, vector<{n}xi32>
  %a = vector.load %x[%0] : memref<{m}xi8>, vector<{m}xi8>
  %b = vector.load %w[%0] : memref<{m}xi8>, vector<{m}xi8>
  %r = rt.dot_bytes %sum, %a, %b {signed}: vector<{m}xi8> into vector<{n}xi32>
  vector.store %r, %s[%0] : memref<{n}xi32>, vector<{n}xi32>
  func.return
}}
"""

MATRICES = TEXT.format(n=4, m=16, signed="").replace("dot_bytes", "matrix_bytes")


def test_four_products_a_lane(compiled: Callable[..., Any], target: Target) -> None:
    """x without sign, w with it; no step saturates, at the largest numbers either."""
    n = target.lanes
    module = compiled(TEXT.format(n=n, m=4 * n, signed=""))
    generator = np.random.default_rng(1)
    for x, w in [(255, -128), (255, 127), (128, -128), (None, None)]:
        a = generator.integers(0, 256, 4 * n) if x is None else np.full(4 * n, x)
        b = generator.integers(-128, 128, 4 * n) if w is None else np.full(4 * n, w)
        sums = generator.integers(-(2**30), 2**30, n).astype(np.int32)
        expected = sums + (a * b).reshape(n, 4).sum(axis=1)
        module.call("f", sums, a.astype(np.uint8), b.astype(np.int8))
        np.testing.assert_array_equal(sums, expected)


def test_both_factors_may_have_signs(compiled: Callable[..., Any], target: Target) -> None:
    """By pairs of products; x86-64 has no instruction for it, and its targets do not ask for it."""
    n = target.lanes
    text = TEXT.format(n=n, m=4 * n, signed="signed ")
    if target.dot and not target.dot_signed:
        with pytest.raises(CompilerBug, match="by signed bytes"):
            compiled(text)
        return
    module = compiled(text)
    generator = np.random.default_rng(1)
    for x, w in [(-128, -128), (-128, 127), (None, None)]:
        a = generator.integers(-128, 128, 4 * n) if x is None else np.full(4 * n, x)
        b = generator.integers(-128, 128, 4 * n) if w is None else np.full(4 * n, w)
        sums = generator.integers(-(2**30), 2**30, n).astype(np.int32)
        expected = sums + (a * b).reshape(n, 4).sum(axis=1)
        module.call("f", sums, a.astype(np.int8), b.astype(np.int8))
        np.testing.assert_array_equal(sums, expected)


def test_arm_multiplies_by_one_word_of_a_vector(parse: Callable[[str], ModuleOp]) -> None:
    """The word is the last operand, and is not spread over a vector before."""
    text = """
    func.func @f(%s: memref<4xi32>, %x: memref<16xi8>, %w: memref<16xi8>) {
      %0 = arith.constant 0 : index
      %sum = vector.load %s[%0] : memref<4xi32>, vector<4xi32>
      %a = vector.load %x[%0] : memref<16xi8>, vector<16xi8>
      %b = vector.load %w[%0] : memref<16xi8>, vector<16xi8>
      %words = vector.bitcast %a : vector<16xi8> to vector<4xi32>
      %word = vector.extract %words[2] : i32 from vector<4xi32>
      %all = vector.broadcast %word : i32 to vector<4xi32>
      %bytes = vector.bitcast %all : vector<4xi32> to vector<16xi8>
      %r = rt.dot_bytes %sum, %bytes, %b signed : vector<16xi8> into vector<4xi32>
      vector.store %r, %s[%0] : memref<4xi32>, vector<4xi32>
      func.return
    }"""
    assembly = emit_assembly(emit_llvm(lower(parse(text), NEON_DOT), NEON_DOT), NEON_DOT)
    assert re.search(r"sdot\s+v\d+.4s, v\d+.16b, v\d+.4b\[2\]", assembly)
    assert "dup" not in assembly


def test_rows_by_rows(compiled: Callable[..., Any]) -> None:
    """Two rows of eight bytes by two others, all with signs."""
    module = compiled(MATRICES)
    generator = np.random.default_rng(1)
    for x, w in [(-128, -128), (-128, 127), (None, None)]:
        a = generator.integers(-128, 128, (2, 8)) if x is None else np.full((2, 8), x)
        b = generator.integers(-128, 128, (2, 8)) if w is None else np.full((2, 8), w)
        sums = generator.integers(-(2**30), 2**30, 4).astype(np.int32)
        expected = sums + (a @ b.T).flatten()
        module.call("f", sums, a.astype(np.int8).flatten(), b.astype(np.int8).flatten())
        np.testing.assert_array_equal(sums, expected)


def test_arm_multiplies_matrices(parse: Callable[[str], ModuleOp]) -> None:
    """By one instruction, if the target has it."""
    texts = (emit_llvm(lower(parse(MATRICES), one), one) for one in (NEON_I8MM, NEON_DOT))
    matrices, others = map(emit_assembly, texts, (NEON_I8MM, NEON_DOT))
    assert matrices.count("smmla") == 1 and "mull" not in matrices
    assert "smmla" not in others and "mull" in others
