"""Arithmetic and mathematics of floats, scalar and vector alike, in the llvm dialect.

Floats follow IEEE 754, with one exception: for `maximumf` and `minimumf` both zeros are equal.
maximumf returns a NaN of either operand, maxnumf the operand that is not NaN. Processors have an
instruction for each, or both kinds are compare and select, which is one instruction on x86 if one
operand is a constant, and three in general.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.llvm_builder import LlvmBuilder
from ncc.compiler.llvm.lowering.addresses import AddressForm
from ncc.compiler.llvm.lowering.function import PASS, Function, Handler, machine_type
from ncc.compiler.llvm.lowering.logistic import lower_division, unless_of_logistic
from ncc.dialects.operation import only_result, operands_of

Combine = Callable[[LlvmBuilder, SSAValue, SSAValue], SSAValue]


def _keeping_nan(kind: str, builder: LlvmBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`max` or `min`, or NaN if an operand is NaN."""
    if builder.processor.keeps_nan:
        is_number = builder.is_number(lhs) and builder.is_number(rhs)
        return _generic(builder, f"{kind}imum", lhs, rhs, is_number)
    if builder.is_number(lhs):
        return builder.extremum(kind, lhs, rhs)
    chosen = builder.extremum(kind, rhs, lhs)
    if builder.is_number(rhs):
        return chosen
    return builder.select(builder.compare("uno", rhs, rhs), rhs, chosen)


def _dropping_nan(kind: str, builder: LlvmBuilder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """`max` or `min`, or the operand that is not NaN."""
    if builder.processor.keeps_nan:
        is_number = builder.is_number(lhs) or builder.is_number(rhs)
        return _generic(builder, f"{kind}num", lhs, rhs, is_number)
    if builder.is_number(lhs):
        return builder.extremum(kind, rhs, lhs)
    chosen = builder.extremum(kind, lhs, rhs)
    if builder.is_number(rhs):
        return chosen
    return builder.select(builder.compare("uno", rhs, rhs), lhs, chosen)


def _generic(
    builder: LlvmBuilder, name: str, lhs: SSAValue, rhs: SSAValue, is_number: bool
) -> SSAValue:
    """An extremum by the generic intrinsic of this name, which is one instruction."""
    result = builder.lane_wise(name, lhs, rhs)
    if is_number:
        builder.call_number(result)
    return result


maximum: Combine = partial(_keeping_nan, "max")
minimum: Combine = partial(_keeping_nan, "min")
maximum_number: Combine = partial(_dropping_nan, "max")
minimum_number: Combine = partial(_dropping_nan, "min")


def binary(instruction: type[Operation]) -> Handler:
    """One instruction for two operands."""

    def handle(function: Function, op: Operation) -> None:
        lhs, rhs = function.values(operands_of(op))
        function.bind(only_result(op), function.builder.binary(instruction, lhs, rhs))

    return handle


def combined(combine: Combine) -> Handler:
    """A builder's method for two operands."""

    def handle(function: Function, op: Operation) -> None:
        lhs, rhs = function.values(operands_of(op))
        function.bind(only_result(op), combine(function.builder, lhs, rhs))

    return handle


def lower_compare_floats(function: Function, op: arith.CmpfOp) -> None:
    """arith and llvm have the same numbers for predicates."""
    predicate = str(llvm.FCmpPredicateFlag.from_int(op.predicate.value.data))
    lhs, rhs = function.value(op.lhs), function.value(op.rhs)
    function.bind(op.result, function.builder.compare(predicate, lhs, rhs))


def lower_select(function: Function, op: arith.SelectOp) -> None:
    """A choice by one condition, or lane by lane."""
    condition, lhs, rhs = function.values(operands_of(op))
    function.bind(op.result, function.builder.select(condition, lhs, rhs))


def lower_constant(function: Function, op: arith.ConstantOp) -> None:
    """An index is a linear form; anything else is shared in the function."""
    value, (result,) = op.value, op.results
    if isinstance(result.type, IndexType):
        assert isinstance(value, IntegerAttr)
        return function.bind_index(result, AddressForm(constant=value.value.data))
    type = machine_type(result.type)
    if isinstance(value, IntegerAttr | FloatAttr):
        made = function.builder.constant(value.value.data, type)
    elif isinstance(value, DenseIntOrFPElementsAttr) and value.is_splat():
        made = function.builder.constant(value.get_values()[0], type)
    elif isinstance(value, DenseIntOrFPElementsAttr):
        made = function.builder.vector_of(value.get_values(), type)
    else:
        raise CompilerBug(f"a constant {value}", pass_name=PASS)
    function.bind(result, made)


def lower_negate(function: Function, op: arith.NegfOp) -> None:
    """The sign bit changes, also that of a NaN or a zero."""
    function.bind(op.result, function.builder.unary(llvm.FNegOp, function.value(op.operand)))


def lower_multiply_add(function: Function, op: math.FmaOp) -> None:
    """Fused if the target has the instruction."""
    a, b, c = function.values(operands_of(op))
    function.bind(op.result, function.builder.multiply_add(a, b, c))


def lower_reciprocal_root(function: Function, op: math.RsqrtOp) -> None:
    """One divided by the square root: both are rounded correctly."""
    builder = function.builder
    value = function.value(op.operand)
    root = builder.unary(llvm.FSqrtOp, value)
    function.bind(op.result, builder.binary(llvm.FDivOp, builder.constant(1.0, root.type), root))


def _rounded(intrinsic: str, name: str) -> Handler:
    """An instruction if the target has one (SSE 4.1), otherwise a function of the library."""

    def handle(function: Function, op: math.FloorOp) -> None:
        value = function.value(op.operand)
        if function.target.fma:
            function.bind(op.result, function.builder.lane_wise(intrinsic, value))
        else:
            function.bind(op.result, function.library.call(function.builder, name, [value]))

    return handle


def _from_library(name: str) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        arguments = function.values(operands_of(op))
        function.bind(only_result(op), function.library.call(function.builder, name, arguments))

    return handle


def _unary(instruction: type[Operation]) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        value = function.value(op.operands[0])
        function.bind(only_result(op), function.builder.unary(instruction, value))

    return handle


_FLOATS: dict[type[Operation], Handler] = {
    arith.AddfOp: unless_of_logistic(binary(llvm.FAddOp)),
    arith.SubfOp: binary(llvm.FSubOp),
    arith.MulfOp: binary(llvm.FMulOp),
    arith.DivfOp: lower_division,
    arith.NegfOp: unless_of_logistic(lower_negate),
    arith.MaximumfOp: combined(maximum),
    arith.MinimumfOp: combined(minimum),
    arith.MaxnumfOp: combined(maximum_number),
    arith.MinnumfOp: combined(minimum_number),
    arith.CmpfOp: lower_compare_floats,
}

_MATH: dict[type[Operation], Handler] = {
    math.AbsFOp: _unary(llvm.FAbsOp),
    math.SqrtOp: _unary(llvm.FSqrtOp),
    math.RsqrtOp: lower_reciprocal_root,
    math.FmaOp: lower_multiply_add,
    math.CopySignOp: binary(llvm.FCopySignOp),
    math.FloorOp: _rounded("floor", "floor"),
    math.CeilOp: _rounded("ceil", "ceil"),
    math.TruncOp: _rounded("trunc", "trunc"),
    math.RoundEvenOp: _rounded("roundeven", "round_even"),
    math.RoundOp: _from_library("round"),
    math.ExpOp: unless_of_logistic(_from_library("exp")),
    math.Exp2Op: _from_library("exp2"),
    math.ExpM1Op: _from_library("expm1"),
    math.LogOp: _from_library("log"),
    math.Log2Op: _from_library("log2"),
    math.Log10Op: _from_library("log10"),
    math.Log1pOp: _from_library("log1p"),
    math.PowFOp: _from_library("pow"),
    math.IPowIOp: _from_library("integer_power"),
    math.SinOp: _from_library("sin"),
    math.CosOp: _from_library("cos"),
    math.TanOp: _from_library("tan"),
    math.AsinOp: _from_library("asin"),
    math.AcosOp: _from_library("acos"),
    math.AtanOp: _from_library("atan"),
    math.Atan2Op: _from_library("atan2"),
    math.SinhOp: _from_library("sinh"),
    math.CoshOp: _from_library("cosh"),
    math.TanhOp: _from_library("tanh"),
    math.AsinhOp: _from_library("asinh"),
    math.AcoshOp: _from_library("acosh"),
    math.AtanhOp: _from_library("atanh"),
    math.ErfOp: _from_library("erf"),
    math.CbrtOp: _from_library("cbrt"),
}

HANDLERS: dict[type[Operation], Handler] = {
    **_FLOATS,
    **_MATH,
    arith.ConstantOp: lower_constant,
    arith.SelectOp: lower_select,
}
