"""The tile dialect as instructions; they run only where the CPU has them."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.lowering.tiles import configuration
from ncc.compiler.llvm.object_code import emit_assembly
from ncc.compiler.target import AMX

TEXT = """
func.func @f(%x: memref<4096xbf16>, %w: memref<8192xbf16>, %sums: memref<256xf32>) {
  %0 = arith.constant 0 : index
  %14 = arith.constant 14 : index
  %64 = arith.constant 64 : index
  %128 = arith.constant 128 : index
  tile.configure %14
  tile.zero 0
  tile.load 4 from %x[%0] by %128 : memref<4096xbf16>
  tile.load 6 from %w[%0] by %64 : memref<8192xbf16>
  tile.multiply 0 with 4 and 6
  tile.store 0 to %sums[%0] by %64 : memref<256xf32>
  tile.release
  func.return
}
"""


def test_instructions(parse: Callable[[str], ModuleOp]) -> None:
    """Each operation is one, in the order that was written."""
    text = emit_assembly(emit_llvm(lower(parse(TEXT), AMX), AMX), AMX)
    names = [line.split()[0] for line in text.splitlines() if line.split()]
    found = [name for name in names if name.startswith(("tile", "ldtile", "tdp"))]
    assert found == [
        "ldtilecfg", "tilezero", "tileloadd", "tileloadd", "tdpbf16ps", "tilestored", "tilerelease",
    ]  # fmt: skip


def test_configuration() -> None:
    """Palette 1; sums and left operands have the rows that were asked for, all have 64 bytes."""
    held = configuration(14)
    assert len(held) == 64 and held[0] == 1
    assert list(held[16:32:2]) == [64] * 8 and not any(held[17:32:2])
    assert list(held[48:56]) == [14] * 6 + [16] * 2


def test_refused(parse: Callable[[str], ModuleOp]) -> None:
    """Tiles that hold something else."""
    with pytest.raises(Exception, match="tile"):
        parse("func.func @f() { tile.multiply 4 with 5 and 6\n func.return }").verify()
