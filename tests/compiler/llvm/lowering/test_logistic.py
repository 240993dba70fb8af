"""Divisions by exp(-x) + 1 are one function, and nothing is written of its parts."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from numpy.typing import NDArray
from xdsl.dialects.builtin import ModuleOp

from ncc.compiler.llvm.emit import emit_llvm
from ncc.compiler.llvm.lower import lower
from ncc.compiler.target import AVX2

Floats = NDArray[np.float32]

SWISH = """
func.func @k(%x: memref<8xf32>, %y: memref<8xf32>) {
  %c0 = arith.constant 0 : index
  %one = arith.constant dense<1.0> : vector<8xf32>
  %a = vector.load %x[%c0] : memref<8xf32>, vector<8xf32>
  %n = arith.negf %a : vector<8xf32>
  %e = math.exp %n : vector<8xf32>
  %d = arith.addf %e, %one : vector<8xf32>
  %q = arith.divf %a, %d : vector<8xf32>
  vector.store %q, %y[%c0] : memref<8xf32>, vector<8xf32>
  func.return
}
"""
STORE = "  vector.store %q"


def swish(x: Floats) -> Floats:
    result: Floats = x / (np.exp(-x) + 1)
    return result


@pytest.mark.parametrize(
    ("more", "written", "expected"),
    [
        ("%q", set(), swish),
        ("%n", {"fneg"}, lambda x: -x + swish(x)),
        ("%e", {"fneg", "exp"}, lambda x: np.exp(-x) + swish(x)),
        ("%d", {"fneg", "exp"}, lambda x: np.exp(-x) + 1 + swish(x)),
        ("arith.divf %d, %d", {"fneg", "exp"}, lambda x: 1 + swish(x)),
    ],
)
def test_parts_are_written_where_others_read_them(
    more: str,
    written: set[str],
    expected: Callable[[Floats], Floats],
    parse: Callable[[str], ModuleOp],
    compiled: Callable[..., object],
) -> None:
    """A negation, an exponential, a sum: each for whoever reads it beside the division."""
    text = SWISH
    if more != "%q":
        other = more
        if "divf" in more:
            text = text.replace(STORE, f"  %o = {more} : vector<8xf32>\n{STORE}")
            other = "%o"
        text = text.replace(
            STORE, f"  %r = arith.addf {other}, %q : vector<8xf32>\n  vector.store %r"
        )
    body = emit_llvm(lower(parse(text), AVX2), AVX2).split("}")[0]
    assert "@ncc.swish.v8f32" in body
    assert {part for part in ("fneg", "exp") if part in body} == written
    x, y = np.linspace(-4, 5, 8, dtype=np.float32), np.zeros(8, np.float32)
    compiled(text).call("k", x, y)  # type: ignore[attr-defined]
    np.testing.assert_allclose(y, expected(x), rtol=3e-6, atol=1e-6)
