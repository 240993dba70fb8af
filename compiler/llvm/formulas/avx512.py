"""Intrinsics of AVX-512 for 16 lanes of float32, which LLVM has no generic instructions for."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import IntegerType, VectorType, f32, i32
from xdsl.ir import Attribute, SSAValue

from ncc.compiler.llvm.llvm_builder import LlvmBuilder

REGISTER = 16
"""Numbers in a register."""
TABLE = 32
"""Numbers in a table of two registers."""
LANES = VectorType(f32, [REGISTER])

_BESIDE = 8.0
"""Cycles of a division that overlap with the rest of a function."""

_NEAREST = 4
"""The rounding of a result: to nearest, without exceptions."""
_LESSER_MAGNITUDE = 2
"""The extremum of two magnitudes, with the sign of the first."""


def holds(builder: LlvmBuilder, type: Attribute) -> bool:
    """Whether the target has the instructions, and lanes of that type fill a register."""
    return builder.target.lanes == REGISTER and type == LANES


def divides(builder: LlvmBuilder) -> bool:
    """Whether a division is faster on the target than an estimate with a correction step."""
    return builder.target.lanes < REGISTER or builder.target.core.division <= _BESIDE


def times_power_of_two(builder: LlvmBuilder, value: SSAValue, exponent: SSAValue) -> SSAValue:
    """value * 2**floor(exponent), rounded once."""
    arguments = [value, exponent, value, _all(builder), builder.constant(_NEAREST, i32)]
    return _made(builder, "mask.scalef.ps.512", arguments)


def reciprocal_estimate(builder: LlvmBuilder, value: SSAValue) -> SSAValue:
    """1 / value with a relative error of 2**-14."""
    return _made(builder, "rcp14.ps.512", [value, value, _all(builder)])


def within(builder: LlvmBuilder, value: SSAValue, limit: SSAValue) -> SSAValue:
    """The value, or the limit with its sign if that is nearer to 0, or if the value is NaN."""
    kind, rounding = builder.constant(_LESSER_MAGNITUDE, i32), builder.constant(_NEAREST, i32)
    arguments = [value, limit, kind, value, _all(builder), rounding]
    return _made(builder, "mask.range.ps.512", arguments)


def looked_up(builder: LlvmBuilder, table: Sequence[float], indices: SSAValue) -> SSAValue:
    """Numbers of a table of 16 or of 32, by the low bits of the indices."""
    low = builder.vector_of(table[:REGISTER], LANES)
    if len(table) == REGISTER:
        return _made(builder, "permvar.sf.512", [low, indices])
    high = builder.vector_of(table[REGISTER:], LANES)
    return _made(builder, "vpermi2var.ps.512", [low, indices, high])


def _all(builder: LlvmBuilder) -> SSAValue:
    return builder.constant(-1, IntegerType(16))


def _made(builder: LlvmBuilder, name: str, arguments: Sequence[SSAValue]) -> SSAValue:
    return builder.intrinsic(f"llvm.x86.avx512.{name}", arguments, LANES)
