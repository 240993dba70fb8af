"""Numbers in LLVM text keep their bits."""

from __future__ import annotations

import struct

import numpy as np
import pytest
from xdsl.dialects.builtin import BFloat16Type, Float16Type, f32, f64, i32

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.text import float_text


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
