"""Addresses that move with their loops: what is written for them, and where it stores."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol

import numpy as np
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.target import AVX2


class Code(Protocol):
    """What the fixture `compiled` gives."""

    def call(self, name: str, *arguments: object) -> None:
        """Call a function."""


Compile = Callable[..., Code]


def constants(*numbers: int) -> str:
    """Index constants %c0, %c1 ... by their values."""
    return "\n".join(f"%c{number} = arith.constant {number} : index" for number in numbers)


def test_addresses_move_with_the_loop_they_change_in(parse: Callable[[str], ModuleOp]) -> None:
    """One addition a loop, and no multiplication; constant parts last."""
    text = f"""
    func.func @k(%x: memref<8x4x16xf32>) {{
      {constants(0, 1, 2, 4, 8)}
      %zero = arith.constant 0.0 : f32
      scf.for %i = %c0 to %c8 step %c1 {{
        scf.for %j = %c0 to %c4 step %c1 {{
          memref.store %zero, %x[%i, %j, %c0] : memref<8x4x16xf32>
          memref.store %zero, %x[%i, %j, %c2] : memref<8x4x16xf32>
        }}
      }}
      func.return
    }}"""
    lines = emit_llvm(lower(parse(text), AVX2), AVX2).splitlines()
    inner, behind = lines.index("b2:"), lines.index("b3:")
    addresses = [number for number, line in enumerate(lines) if "getelementptr" in line]
    assert [inner < number < behind for number in addresses] == [True, True, False]
    assert ["i64 2" in lines[addresses[0]], "i64 16" in lines[addresses[1]]] == [True, True]
    assert "i64 64" in lines[addresses[2]]
    assert "mul" not in "".join(lines)


def test_many_addresses_that_move_alike_share_an_offset(
    parse: Callable[[str], ModuleOp], compiled: Compile
) -> None:
    """Three of them take one addition a count, two take two."""
    memrefs = [f"%x{n}: memref<8x16xf32>" for n in range(3)]
    stores = [f"memref.store %zero, %x{n}[%i, %c2] : memref<8x16xf32>" for n in range(3)]
    newline = "\n"

    def kernel(count: int) -> str:
        return f"""
        func.func @k({", ".join(memrefs[:count])}) {{
          {constants(0, 1, 2, 3, 8)}
          %zero = arith.constant 0.0 : f32
          scf.for %i = %c3 to %c8 step %c2 {{ {newline.join(stores[:count])} }}
          func.return
        }}"""

    def additions(count: int) -> int:
        lines = emit_llvm(lower(parse(kernel(count)), AVX2), AVX2).splitlines()
        return sum(" add " in line or line.endswith("i64 32") for line in lines)

    assert [additions(count) for count in (1, 2, 3)] == [2, 3, 2]
    filled = np.ones((3, 8, 16), np.float32)
    compiled(kernel(3)).call("k", *filled)
    assert [list(each) for each in np.argwhere(filled == 0)] == [
        [n, row, 2] for n in range(3) for row in (3, 5, 7)
    ]


def test_what_division_takes_apart_is_put_together_for_nothing(
    parse: Callable[[str], ModuleOp], compiled: Compile
) -> None:
    """16 * (i % 6) + 96 * (i / 6) is 16 * i."""
    text = f"""
    func.func @k(%x: memref<3x6x16xf32>) {{
      {constants(0, 1, 2, 6, 17)}
      %one = arith.constant 1.0 : f32
      scf.for %i = %c2 to %c17 step %c1 {{
        %row = arith.divui %i, %c6 : index
        %column = arith.remui %i, %c6 : index
        memref.store %one, %x[%row, %column, %c1] : memref<3x6x16xf32>
      }}
      func.return
    }}"""
    assert "mul" not in emit_llvm(lower(parse(text), AVX2), AVX2)
    filled = np.zeros((3, 6, 16), np.float32)
    compiled(text).call("k", filled)
    assert list(np.flatnonzero(filled)) == [16 * i + 1 for i in range(2, 17)]
