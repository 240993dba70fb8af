"""Arithmetic and mathematics of floats, scalar and vector alike, in the llvm dialect.

Floats follow IEEE 754, with one exception: for `maximumf` and `minimumf` both zeros are equal.
maximumf returns a NaN of either operand, maxnumf the operand that is not NaN. Processors have an
instruction for each, or both kinds are compare and select, which is one instruction on x86 if one
operand is a constant, and three in general.
"""

from __future__ import annotations

from functools import partial

from xdsl.dialects import arith, llvm, math
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr, IndexType, IntegerAttr
from xdsl.ir import Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.llvm_builder import LlvmBuilder
from ncc.compiler.llvm.lowering.addresses import AddressForm
from ncc.compiler.llvm.lowering.function import (
    PASS,
    Combine,
    Function,
    Handler,
    binary,
    machine_type,
    of_values,
    unary,
)
from ncc.compiler.llvm.lowering.logistic import lower_division, unless_of_logistic
from ncc.dialects.operation import only_result, operands_of


def _extremum(
    kind: str, keeps_nan: bool, builder: LlvmBuilder, lhs: SSAValue, rhs: SSAValue
) -> SSAValue:
    """`max` or `min`; if an operand is NaN, the result is NaN, or else the other operand."""
    if builder.processor.keeps_nan:
        numbers = builder.is_number(lhs), builder.is_number(rhs)
        result = builder.lane_wise(f"{kind}imum" if keeps_nan else f"{kind}num", lhs, rhs)
        if all(numbers) if keeps_nan else any(numbers):
            builder.call_number(result)
        return result
    first, second = (rhs, lhs) if keeps_nan else (lhs, rhs)
    if builder.is_number(lhs):
        return builder.extremum(kind, second, first)
    chosen = builder.extremum(kind, first, second)
    if builder.is_number(rhs):
        return chosen
    return builder.select(builder.compare("uno", rhs, rhs), first, chosen)


maximum: Combine = partial(_extremum, "max", True)
minimum: Combine = partial(_extremum, "min", True)
maximum_number: Combine = partial(_extremum, "max", False)
minimum_number: Combine = partial(_extremum, "min", False)


def lower_compare(function: Function, op: arith.CmpfOp | arith.CmpiOp) -> None:
    """arith and llvm have the same numbers for predicates."""
    flags = llvm.FCmpPredicateFlag if isinstance(op, arith.CmpfOp) else llvm.ICmpPredicateFlag
    predicate = str(flags.from_int(op.predicate.value.data))
    function.bind(op.result, function.builder.compare(predicate, *function.values(op.operands)))


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


def _reciprocal_root(builder: LlvmBuilder, value: SSAValue) -> SSAValue:
    """One divided by the square root: both are rounded correctly."""
    root = builder.unary(llvm.FSqrtOp, value)
    return builder.binary(llvm.FDivOp, builder.constant(1.0, root.type), root)


def _from_library(name: str) -> Handler:
    """A function of the library."""

    def handle(function: Function, op: Operation) -> None:
        arguments = function.values(operands_of(op))
        function.bind(only_result(op), function.library.call(function.builder, name, arguments))

    return handle


def _rounded(name: str) -> Handler:
    """An instruction if the target has one (SSE 4.1), otherwise a function of the library."""
    instruction = of_values(lambda builder, value: builder.lane_wise(name, value))
    written = _from_library(name)
    return lambda function, op: (instruction if function.target.fma else written)(function, op)


_FLOATS: dict[type[Operation], Handler] = {
    arith.AddfOp: unless_of_logistic(of_values(binary(llvm.FAddOp))),
    arith.SubfOp: of_values(binary(llvm.FSubOp)),
    arith.MulfOp: of_values(binary(llvm.FMulOp)),
    arith.DivfOp: lower_division,
    arith.NegfOp: unless_of_logistic(of_values(unary(llvm.FNegOp))),
    arith.MaximumfOp: of_values(maximum),
    arith.MinimumfOp: of_values(minimum),
    arith.MaxnumfOp: of_values(maximum_number),
    arith.MinnumfOp: of_values(minimum_number),
    arith.CmpfOp: lower_compare,
}

_OF_THE_LIBRARY: tuple[type[Operation], ...] = (
    math.RoundOp, math.Exp2Op, math.ExpM1Op, math.LogOp, math.Log2Op, math.Log10Op, math.Log1pOp,
    math.PowFOp, math.IPowIOp, math.SinOp, math.CosOp, math.TanOp, math.AsinOp, math.AcosOp,
    math.AtanOp, math.Atan2Op, math.SinhOp, math.CoshOp, math.TanhOp, math.AsinhOp, math.AcoshOp,
    math.AtanhOp, math.ErfOp, math.CbrtOp,
)  # fmt: skip
"""Functions of the library, which has them by their names in MLIR."""

_MATH: dict[type[Operation], Handler] = {
    math.AbsFOp: of_values(unary(llvm.FAbsOp)),
    math.SqrtOp: of_values(unary(llvm.FSqrtOp)),
    math.RsqrtOp: of_values(_reciprocal_root),
    math.FmaOp: of_values(LlvmBuilder.multiply_add),
    math.CopySignOp: of_values(binary(llvm.FCopySignOp)),
    math.FloorOp: _rounded("floor"),
    math.CeilOp: _rounded("ceil"),
    math.TruncOp: _rounded("trunc"),
    math.RoundEvenOp: _rounded("roundeven"),
    math.ExpOp: unless_of_logistic(_from_library("exp")),
    **{kind: _from_library(kind.name.removeprefix("math.")) for kind in _OF_THE_LIBRARY},
}

HANDLERS: dict[type[Operation], Handler] = {
    **_FLOATS,
    **_MATH,
    arith.ConstantOp: lower_constant,
    arith.SelectOp: of_values(LlvmBuilder.select),
}
