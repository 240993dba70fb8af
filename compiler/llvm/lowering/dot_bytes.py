"""rt.dot_bytes: four products of bytes a lane, by one instruction or by pairs of 16 bits.

    VNNI      vpdpbusd %sum, %x, %w
    others    %sum + pmaddwd(even bytes) + pmaddwd(odd bytes)

Even and odd bytes become two vectors of 16 bits: x without sign, w with sign. LLVM computes them
once for all products that share an operand.
"""

from __future__ import annotations

from xdsl.dialects import llvm
from xdsl.dialects.builtin import VectorType, i16
from xdsl.ir import Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.instructions import lanes
from ncc.compiler.llvm.llvm_builder import LlvmBuilder
from ncc.compiler.llvm.lowering.function import PASS, Function
from ncc.compiler.llvm.lowering.integers import paired_products
from ncc.dialects import rt

_BITS = 32
_VNNI = "llvm.x86.avx512.vpdpbusd.{bits}"


def lower_dot_bytes(function: Function, op: rt.DotBytesOp) -> None:
    """By the target's instructions for whole vectors."""
    builder = function.builder
    total, x, w = function.values(op.operands)
    count = lanes(total.type)
    if count != function.target.lanes:
        raise CompilerBug(f"a dot product of {count} lanes", pass_name=PASS)
    if function.target.dot:
        name = _VNNI.format(bits=count * _BITS)
        return function.bind(op.result, builder.intrinsic(name, [total, x, w], total.type))
    pair = VectorType(i16, [2 * count])
    x, w = (builder.convert(llvm.BitcastOp, value, pair) for value in (x, w))
    even_x = _shift(builder, llvm.LShrOp, _low(builder, x))
    even = paired_products(builder, even_x, _shift(builder, llvm.AShrOp, _low(builder, w)))
    odd_x = _shift(builder, llvm.LShrOp, x)
    odd = paired_products(builder, odd_x, _shift(builder, llvm.AShrOp, w))
    both = builder.binary(llvm.AddOp, even, odd)
    function.bind(op.result, builder.binary(llvm.AddOp, total, both))


def _low(builder: LlvmBuilder, value: SSAValue) -> SSAValue:
    """The low byte of every 16 bits, moved to the high byte."""
    return builder.binary(llvm.ShlOp, value, builder.constant(8, value.type))


def _shift(builder: LlvmBuilder, operation: type[Operation], value: SSAValue) -> SSAValue:
    """The high byte of every 16 bits, moved to the low byte."""
    return builder.binary(operation, value, builder.constant(8, value.type))
