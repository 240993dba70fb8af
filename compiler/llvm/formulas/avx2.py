"""Instructions of AVX2 that LLVM has no other name for, over 8 lanes."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import VectorType, f32, i32
from xdsl.ir import Attribute, SSAValue

from ncc.compiler.llvm.llvm_builder import LlvmBuilder

REGISTER = 8
"""So many numbers are in a register."""


def holds(builder: LlvmBuilder, type: Attribute) -> bool:
    """Whether the instructions are there, and lanes of float32 fill the target's registers."""
    return builder.target.lanes == REGISTER and type == VectorType(f32, [REGISTER])


def looked_up(builder: LlvmBuilder, table: Sequence[int], places: SSAValue) -> SSAValue:
    """Integers of a table of 8, by the low bits of integers."""
    lanes = VectorType(i32, [REGISTER])
    arguments = [builder.vector_of(table, lanes), places]
    return builder.intrinsic("llvm.x86.avx2.permd", arguments, lanes)
