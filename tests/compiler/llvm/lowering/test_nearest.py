"""Floats that become the nearest integers: by one instruction, where the processor has it."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.llvm.object_code import emit_assembly
from ncc.compiler.target import NEON, RVV

Parse = Callable[[str], ModuleOp]

TEXT = """
func.func @f(%x: memref<{n}xf32>, %y: memref<{n}x{to}>) {{
  %c0 = arith.constant 0 : index
  %least = arith.constant dense<{least}> : vector<{n}xf32>
  %most = arith.constant dense<{most}> : vector<{n}xf32>
  %half = arith.constant dense<{half}> : vector<{n}xf32>
  %v = vector.load %x[%c0] : memref<{n}xf32>, vector<{n}xf32>
  %low = arith.maxnumf %v, %least : vector<{n}xf32>
  %scaled = arith.mulf %low, %most : vector<{n}xf32>
  %limited = arith.minnumf %scaled, %most : vector<{n}xf32>
  %near = math.copysign %half, {sign} : vector<{n}xf32>
  %sum = arith.addf %limited, {summand} : vector<{n}xf32>
  %r = "arith.fptosi"(%sum) : (vector<{n}xf32>) -> vector<{n}x{to}>
  vector.store %r, %y[%c0] : memref<{n}x{to}>, vector<{n}x{to}>
  func.return
}}
"""
USUAL = {
    "n": 4, "to": "i8", "least": 0.0, "most": 127.0, "half": 0.49999997, "sign": "%limited",
    "summand": "%near",
}  # fmt: skip


@pytest.mark.parametrize("n", [4, 8, 16])
@pytest.mark.parametrize("to", ["i8", "i32"])
@pytest.mark.parametrize(("least", "summand"), [(0.0, "%half"), (0.0, "%near"), (-127.0, "%near")])
def test_one_instruction_for_four(
    n: int, to: str, least: float, summand: str, parse: Parse
) -> None:
    """Nothing is added in front of it."""
    text = TEXT.format(**USUAL | {"n": n, "to": to, "least": least, "summand": summand})
    code = emit_assembly(emit_llvm(lower(parse(text), NEON), NEON), NEON)
    assert code.count("fcvtas") == n // 4
    assert "fadd" not in code
    assert "fcvtzs" not in code


@pytest.mark.parametrize(
    "other",
    [
        {"least": -127.0, "summand": "%half"},  # what is negative moves towards zero
        {"most": -127.0, "summand": "%half"},
        {"half": 0.5},
        {"sign": "%v"},
        {"n": 2},
    ],
    ids=str,
)
def test_other_sums_are_added(other: dict[str, object], parse: Parse) -> None:
    """These become other integers, or are fewer than an instruction takes."""
    llvm = emit_llvm(lower(parse(TEXT.format(**USUAL | other)), NEON), NEON)
    assert "fcvtas" not in llvm
    assert "fptosi" in llvm


def test_processors_without_the_instruction_add(parse: Parse) -> None:
    """Their tables have no such name."""
    assert "fptosi" in emit_llvm(lower(parse(TEXT.format(**USUAL)), RVV), RVV)
