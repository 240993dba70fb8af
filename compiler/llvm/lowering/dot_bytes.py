"""Products of bytes: `rt.dot_bytes`, four a lane, and `rt.matrix_bytes`, 2 x 8 by 8 x 2.

    VNNI      vpdpbusd %sum, %x, %w
    dotprod   sdot %sum, %w, %x         both with signs
    i8mm      smmla %sum, %x, %w        of matrices
    others    %sum + pmaddwd(even bytes) + pmaddwd(odd bytes)

Even and odd bytes become two vectors of 16 bits: w with sign, x with its sign if it has one. LLVM
computes them once for all products that share an operand.
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


def lower_dot_bytes(function: Function, op: rt.DotBytesOp) -> None:
    """By the target's instructions for whole vectors."""
    builder = function.builder
    total, x, w = function.values(op.operands)
    count = lanes(total.type)
    if count != function.target.lanes:
        raise CompilerBug(f"a dot product of {count} lanes", pass_name=PASS)
    signed = op.signed is not None
    how = _by_instruction if function.target.dot else _by_pairs
    function.bind(op.result, how(builder, total, x, w, signed))


def lower_matrix_bytes(function: Function, op: rt.MatrixBytesOp) -> None:
    """By the target's instruction for matrices, or as dot products of halves of rows."""
    builder, name = function.builder, function.builder.processor.matrix_bytes
    total, x, w = function.values(op.operands)
    if name is not None and function.target.matrix_bytes:
        made = builder.intrinsic(name, [total, x, w], total.type)
        return function.bind(op.result, made)
    for half in (range(4), range(4, 8)):
        of_x, of_w = (
            builder.shuffle(bytes, bytes, [8 * row + k for row in rows for k in half])
            for bytes, rows in ((x, (0, 0, 1, 1)), (w, (0, 1, 0, 1)))
        )
        total = _by_pairs(builder, total, of_x, of_w, signed=True)
    function.bind(op.result, total)


def _by_pairs(
    builder: LlvmBuilder, total: SSAValue, x: SSAValue, w: SSAValue, signed: bool
) -> SSAValue:
    """The sums by products of 16 bits."""
    upper = llvm.AShrOp if signed else llvm.LShrOp
    pair = VectorType(i16, [2 * lanes(total.type)])
    x, w = (builder.convert(llvm.BitcastOp, value, pair) for value in (x, w))
    even_x = _shift(builder, upper, _low(builder, x))
    even = paired_products(builder, even_x, _shift(builder, llvm.AShrOp, _low(builder, w)))
    odd_x = _shift(builder, upper, x)
    odd = paired_products(builder, odd_x, _shift(builder, llvm.AShrOp, w))
    both = builder.binary(llvm.AddOp, even, odd)
    return builder.binary(llvm.AddOp, total, both)


def _by_instruction(
    builder: LlvmBuilder, total: SSAValue, x: SSAValue, w: SSAValue, signed: bool
) -> SSAValue:
    """The sums by one instruction of the target."""
    count, processor = lanes(total.type), builder.processor
    names = processor.dot_signed_bytes if signed else processor.dot_bytes
    if count not in names:
        factor = "signed" if signed else "unsigned"
        raise CompilerBug(f"a dot product of {count} lanes by {factor} bytes", pass_name=PASS)
    factors = [w, x] if signed else [x, w]
    return builder.intrinsic(names[count], [total, *factors], total.type)


def _low(builder: LlvmBuilder, value: SSAValue) -> SSAValue:
    """The low byte of every 16 bits, moved to the high byte."""
    return builder.binary(llvm.ShlOp, value, builder.constant(8, value.type))


def _shift(builder: LlvmBuilder, operation: type[Operation], value: SSAValue) -> SSAValue:
    """The high byte of every 16 bits, moved to the low byte."""
    return builder.binary(operation, value, builder.constant(8, value.type))
