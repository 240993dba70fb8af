"""Arithmetic of integers and of indices, scalar and vector alike, in the llvm dialect.

Index arithmetic stays a linear form as long as it is one.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import IndexType, VectorType, i16, i32
from xdsl.ir import Operation, SSAValue

from ncc.compiler.llvm.instructions import lanes
from ncc.compiler.llvm.llvm_builder import LlvmBuilder
from ncc.compiler.llvm.lowering.addresses import AddressForm
from ncc.compiler.llvm.lowering.arithmetic import lower_compare
from ncc.compiler.llvm.lowering.function import Combine, Function, Handler, binary, of_values
from ncc.dialects.code import DotOp
from ncc.dialects.operation import operands_of


def chosen_by(predicate: str) -> Combine:
    """lhs where `lhs predicate rhs`, otherwise rhs: extrema of integers."""
    return lambda builder, lhs, rhs: builder.select(builder.compare(predicate, lhs, rhs), lhs, rhs)


def _linear(
    combine: Callable[[AddressForm, AddressForm], AddressForm], instruction: type[Operation]
) -> Handler:
    """Addition of indices only changes the form; other integers need an instruction."""
    plain = of_values(binary(instruction))

    def handle(function: Function, op: arith.AddiOp | arith.SubiOp) -> None:
        (result,) = op.results
        if type(result.type) is IndexType:
            lhs, rhs = map(function.index, operands_of(op))
            function.bind_index(result, combine(lhs, rhs))
        else:
            plain(function, op)

    return handle


def lower_multiply(function: Function, op: arith.MuliOp) -> None:
    """Index times constant is a linear form; anything else is an instruction."""
    (result,) = op.results
    if type(result.type) is IndexType:
        lhs, rhs = map(function.index, operands_of(op))
        if not rhs.terms:
            return function.bind_index(result, lhs * rhs.constant)
        if not lhs.terms:
            return function.bind_index(result, rhs * lhs.constant)
    of_values(binary(llvm.MulOp))(function, op)


def lower_quotient(function: Function, op: arith.DivUIOp) -> None:
    """An index by a constant is divided once."""
    divisor = _constant_divisor(function, op)
    if divisor is None:
        return of_values(binary(llvm.UDivOp))(function, op)
    function.bind_index(op.result, function.addresses.quotient(function.index(op.lhs), divisor))


def lower_remainder(function: Function, op: arith.RemUIOp) -> None:
    """Of an index by a constant: index - quotient * constant, so that sums of both cancel."""
    divisor = _constant_divisor(function, op)
    if divisor is None:
        return of_values(binary(llvm.URemOp))(function, op)
    lhs = function.index(op.lhs)
    quotient = function.addresses.quotient(lhs, divisor)
    function.bind_index(op.result, lhs - quotient * divisor)


def _constant_divisor(function: Function, op: arith.DivUIOp | arith.RemUIOp) -> int | None:
    if not isinstance(op.result.type, IndexType):
        return None
    divisor = function.index(op.rhs)
    return None if divisor.terms else divisor.constant


def _floor_division(builder: LlvmBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """Signed division rounded down: the truncated quotient is one too large if the remainder is not
    zero and the exact quotient is negative.
    """
    zero = builder.constant(0, lhs.type)
    truncated = builder.binary(llvm.SDivOp, lhs, rhs)
    remainder = builder.binary(llvm.SRemOp, lhs, rhs)
    inexact = builder.compare("ne", remainder, zero)
    negative = builder.compare("slt", builder.binary(llvm.XOrOp, lhs, rhs), zero)
    moved = builder.binary(llvm.AddOp, truncated, builder.constant(-1, lhs.type))
    both = builder.binary(llvm.AndOp, inexact, negative)
    return builder.select(both, moved, truncated)


def _dot(builder: LlvmBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """One instruction for a whole vector register; else sign-extended halves are multiplied."""
    type, count = a.type, lanes(a.type)
    if _holds_pairs(builder, count):
        pairs = VectorType(i16, [2 * count])
        factors = (builder.convert(llvm.BitcastOp, value, pairs) for value in (a, b))
        return paired_products(builder, *factors)
    by = builder.constant(16, type)
    products = []
    for moved in (lambda value: builder.binary(llvm.ShlOp, value, by), lambda value: value):
        x, y = (builder.binary(llvm.AShrOp, moved(value), by) for value in (a, b))
        products.append(builder.binary(llvm.MulOp, x, y))
    return builder.binary(llvm.AddOp, *products)


def _holds_pairs(builder: LlvmBuilder, count: int) -> bool:
    """Whether the target multiplies pairs of int16 for so many int32 by instructions of their own:
    named ones, or those that LLVM finds for a whole register.
    """
    named = builder.processor.paired_products
    return count in named or (not named and count == builder.target.lanes)


def paired_products(builder: LlvmBuilder, a: SSAValue, b: SSAValue) -> SSAValue:
    """a[2 k] * b[2 k] + a[2 k + 1] * b[2 k + 1] of int16, as int32, for a whole vector register."""
    count = lanes(a.type) // 2
    if name := builder.processor.paired_products.get(count):
        return builder.intrinsic(name, [a, b], VectorType(i32, [count]))
    wide = VectorType(i32, [2 * count])
    factors = [builder.convert(llvm.SExtOp, value, wide) for value in (a, b)]
    products = builder.binary(llvm.MulOp, *factors)
    sides = (range(first, 2 * count, 2) for first in range(2))
    return builder.binary(
        llvm.AddOp, *(builder.shuffle(products, products, side) for side in sides)
    )


def _absolute(builder: LlvmBuilder, value: SSAValue) -> SSAValue:
    """max(x, -x)."""
    zero = builder.constant(0, value.type)
    negated = builder.binary(llvm.SubOp, zero, value)
    return builder.select(builder.compare("slt", value, zero), negated, value)


HANDLERS: dict[type[Operation], Handler] = {
    arith.AddiOp: _linear(AddressForm.__add__, llvm.AddOp),
    arith.SubiOp: _linear(AddressForm.__sub__, llvm.SubOp),
    arith.MuliOp: lower_multiply,
    arith.DivSIOp: of_values(binary(llvm.SDivOp)),
    arith.DivUIOp: lower_quotient,
    arith.RemSIOp: of_values(binary(llvm.SRemOp)),
    arith.RemUIOp: lower_remainder,
    arith.FloorDivSIOp: of_values(_floor_division),
    arith.AndIOp: of_values(binary(llvm.AndOp)),
    arith.OrIOp: of_values(binary(llvm.OrOp)),
    arith.XOrIOp: of_values(binary(llvm.XOrOp)),
    arith.ShLIOp: of_values(binary(llvm.ShlOp)),
    arith.ShRSIOp: of_values(binary(llvm.AShrOp)),
    arith.ShRUIOp: of_values(binary(llvm.LShrOp)),
    arith.MaxSIOp: of_values(chosen_by("sgt")),
    arith.MinSIOp: of_values(chosen_by("slt")),
    arith.MaxUIOp: of_values(chosen_by("ugt")),
    arith.MinUIOp: of_values(chosen_by("ult")),
    arith.CmpiOp: lower_compare,
    math.AbsIOp: of_values(_absolute),
    DotOp: of_values(_dot),
}
