"""Intrinsics of AVX2 for 8 lanes, which LLVM has no generic instructions for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType, f32, i32
from xdsl.ir import Attribute, SSAValue

from ncc.compiler.llvm.llvm_builder import LlvmBuilder

REGISTER = 8
"""Numbers in a register."""


def holds(builder: LlvmBuilder, type: Attribute) -> bool:
    """Whether the target has the instructions, and lanes of float32 fill its registers."""
    return builder.target.lanes == REGISTER and type == VectorType(f32, [REGISTER])


def looked_up(builder: LlvmBuilder, table: Sequence[int], indices: SSAValue) -> SSAValue:
    """Integers of a table of 8, by the low bits of the indices."""
    lanes = VectorType(i32, [REGISTER])
    arguments = [builder.vector_of(table, lanes), indices]
    return builder.intrinsic("llvm.x86.avx2.permd", arguments, lanes)
