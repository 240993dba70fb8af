"""arith and math, scalar and vector alike, in the llvm dialect.

Index arithmetic stays a linear form as long as it is one. Floats follow IEEE 754 as written, with
one exception: `maximumf` and `minimumf` take the two zeros for equal. Both flavours of maximum
are compare and select, which is one instruction on x86 where one operand is a constant, three in
general: maximumf keeps a NaN of either operand, maxnumf the number beside it.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from xdsl.dialects import arith, llvm, math, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    FloatAttr,
    IndexType,
    IntegerAttr,
    VectorType,
    i16,
)
from xdsl.dialects.utils import FastMathFlag
from xdsl.ir import Attribute, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm import half
from ncc.compiler.llvm.addresses import Linear
from ncc.compiler.llvm.build import Builder, is_number, with_lanes
from ncc.compiler.llvm.function import PASS, Function, Handler, machine_type
from ncc.compiler.llvm.instructions import FPToSIOp, FPToUIOp, UIToFPOp, element, lanes
from ncc.compiler.llvm.real import Lanes
from ncc.dialects import rt

Combine = Callable[[Builder, SSAValue, SSAValue], SSAValue]


def greater(builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """lhs where lhs > rhs, otherwise rhs: a NaN anywhere gives rhs, as maxps does."""
    return builder.select(builder.compare("ogt", lhs, rhs), lhs, rhs)


def smaller(builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """lhs where lhs < rhs, otherwise rhs: a NaN anywhere gives rhs, as minps does."""
    return builder.select(builder.compare("olt", lhs, rhs), lhs, rhs)


def _keeping_nan(choose: Combine, builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The extremum, or NaN if there is one: `choose` keeps that of its second operand."""
    if is_number(lhs):
        return choose(builder, lhs, rhs)
    chosen = choose(builder, rhs, lhs)
    if is_number(rhs):
        return chosen
    return builder.select(builder.compare("uno", rhs, rhs), rhs, chosen)


def _dropping_nan(choose: Combine, builder: Builder, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
    """The extremum, or the number beside a NaN: `choose` drops that of its first operand."""
    if is_number(lhs):
        return choose(builder, rhs, lhs)
    chosen = choose(builder, lhs, rhs)
    if is_number(rhs):
        return chosen
    return builder.select(builder.compare("uno", rhs, rhs), lhs, chosen)


maximum: Combine = partial(_keeping_nan, greater)
minimum: Combine = partial(_keeping_nan, smaller)
maximum_number: Combine = partial(_dropping_nan, greater)
minimum_number: Combine = partial(_dropping_nan, smaller)


def _extremum(strict: Combine, relaxed: Combine) -> Handler:
    def handle(
        function: Function,
        op: arith.MaximumfOp | arith.MinimumfOp | arith.MaxnumfOp | arith.MinnumfOp,
    ) -> None:
        combine = relaxed if FastMathFlag.NO_NANS in op.fastmath.data else strict
        lhs, rhs = function.values(op.operands)
        function.bind(op.results[0], combine(function.builder, lhs, rhs))

    return handle


def _binary(instruction: type[Operation]) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        lhs, rhs = function.values(op.operands)
        function.bind(op.results[0], function.builder.binary(instruction, lhs, rhs))

    return handle


def _float_binary(instruction: type[Operation]) -> Handler:
    def handle(function: Function, op: arith.AddfOp | arith.MulfOp) -> None:
        lhs, rhs = function.values(op.operands)
        flags = op.fastmath.data
        made = instruction.create(
            operands=[lhs, rhs],
            result_types=[lhs.type],
            properties={"fastmathFlags": llvm.FastMathAttr(flags)} if flags else {},
        )
        function.bind(op.results[0], function.builder.emit(made).results[0])

    return handle


def _combined(combine: Combine) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        lhs, rhs = function.values(op.operands)
        function.bind(op.results[0], combine(function.builder, lhs, rhs))

    return handle


def chosen_by(predicate: str) -> Combine:
    """lhs where `lhs predicate rhs`, otherwise rhs: extrema of integers."""
    return lambda builder, lhs, rhs: builder.select(builder.compare(predicate, lhs, rhs), lhs, rhs)


def _converted(instruction: type[Operation]) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        value = function.value(op.operands[0])
        target = machine_type(op.results[0].type)
        function.bind(op.results[0], function.builder.convert(instruction, value, target))

    return handle


def lower_to_single(function: Function, op: arith.ExtFOp) -> None:
    """float16 and bfloat16 to float32, exactly; by a formula where there is no instruction."""
    builder, value = function.builder, function.value(op.input)
    source, target = element(value.type), machine_type(op.result.type)
    if _has_instruction(function, source):
        return function.bind(op.result, builder.convert(llvm.FPExtOp, value, target))
    bits = builder.convert(llvm.BitcastOp, value, with_lanes(i16, lanes(value.type)))
    function.bind(op.result, half.FROM_BITS[source.name](Lanes(builder, bits)).value)


def lower_from_single(function: Function, op: arith.TruncFOp) -> None:
    """float32 to the nearest float16 or bfloat16; by a formula where there is no instruction."""
    builder, value = function.builder, function.value(op.input)
    target = machine_type(op.result.type)
    narrow = element(target)
    if _has_instruction(function, narrow) or _rounds_vectors(function, value, narrow):
        return function.bind(op.result, builder.convert(llvm.FPTruncOp, value, target))
    bits = half.TO_BITS[narrow.name](Lanes(builder, value)).value
    function.bind(op.result, builder.convert(llvm.BitcastOp, bits, target))


def _rounds_vectors(function: Function, value: SSAValue, narrow: Attribute) -> bool:
    """Whether the target rounds whole vectors to bfloat16, denormal numbers to zeros.

    Targets with matrix tiles do, and so do their products.
    """
    whole = lanes(value.type) == function.target.lanes
    return whole and function.target.tiles and isinstance(narrow, BFloat16Type)


def _has_instruction(function: Function, narrow: Attribute) -> bool:
    """Whether the target converts between this type and the next wider one."""
    if isinstance(narrow, BFloat16Type):
        return False
    return function.target.fma or not isinstance(narrow, Float16Type)


# Integers


def _linear(combine: Callable[[Linear, Linear], Linear], instruction: type[Operation]) -> Handler:
    """Additive arithmetic on indices only changes the form; other integers take an instruction."""
    plain = _binary(instruction)

    def handle(function: Function, op: arith.AddiOp | arith.SubiOp) -> None:
        (result,) = op.results
        if isinstance(result.type, IndexType):
            lhs, rhs = map(function.index, op.operands)
            function.bind_index(result, combine(lhs, rhs))
        else:
            plain(function, op)

    return handle


def lower_multiply(function: Function, op: arith.MuliOp) -> None:
    """Index times constant is a linear form; anything else is an instruction."""
    if isinstance(op.result.type, IndexType):
        lhs, rhs = function.index(op.lhs), function.index(op.rhs)
        if not rhs.terms:
            return function.bind_index(op.result, lhs * rhs.constant)
        if not lhs.terms:
            return function.bind_index(op.result, rhs * lhs.constant)
    _binary(llvm.MulOp)(function, op)


def _towards(quotient: str) -> Handler:
    """Signed division rounded down ("floor") or up ("ceil").

    The truncated quotient is off by one where the remainder is not zero and the exact quotient is
    negative (floor), or positive (ceil).
    """

    def handle(function: Function, op: arith.FloorDivSIOp | arith.CeilDivSIOp) -> None:
        builder = function.builder
        lhs, rhs = function.value(op.lhs), function.value(op.rhs)
        zero = builder.constant(0, lhs.type)
        truncated = builder.binary(llvm.SDivOp, lhs, rhs)
        remainder = builder.binary(llvm.SRemOp, lhs, rhs)
        inexact = builder.compare("ne", remainder, zero)
        signs = builder.binary(llvm.XOrOp, lhs, rhs)
        off = builder.compare("slt" if quotient == "floor" else "sge", signs, zero)
        change = builder.constant(-1 if quotient == "floor" else 1, lhs.type)
        moved = builder.binary(llvm.AddOp, truncated, change)
        both = builder.binary(llvm.AndOp, inexact, off)
        function.bind(op.result, builder.select(both, moved, truncated))

    return handle


def lower_compare_integers(function: Function, op: arith.CmpiOp) -> None:
    """arith and llvm number the predicates alike."""
    predicate = str(llvm.ICmpPredicateFlag.from_int(op.predicate.value.data))
    lhs, rhs = function.value(op.lhs), function.value(op.rhs)
    function.bind(op.result, function.builder.compare(predicate, lhs, rhs))


def lower_compare_floats(function: Function, op: arith.CmpfOp) -> None:
    """arith and llvm number the predicates alike."""
    predicate = str(llvm.FCmpPredicateFlag.from_int(op.predicate.value.data))
    lhs, rhs = function.value(op.lhs), function.value(op.rhs)
    function.bind(op.result, function.builder.compare(predicate, lhs, rhs))


def lower_select(function: Function, op: arith.SelectOp) -> None:
    """A choice by one condition, or lane by lane."""
    condition, lhs, rhs = function.values(op.operands)
    function.bind(op.result, function.builder.select(condition, lhs, rhs))


def lower_constant(function: Function, op: arith.ConstantOp) -> None:
    """An index is a linear form; anything else is shared in the function."""
    value, (result,) = op.value, op.results
    if isinstance(result.type, IndexType):
        assert isinstance(value, IntegerAttr)
        return function.bind_index(result, Linear(constant=value.value.data))
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


def _width(type: Attribute) -> int:
    scalar = element(machine_type(type))
    return int(getattr(scalar, "bitwidth", 64))


def lower_index_cast(function: Function, op: arith.IndexCastOp) -> None:
    """An index is an i64."""
    source, result = op.input, op.result
    before, after = _width(source.type), _width(result.type)
    if before == after:
        if isinstance(result.type, IndexType):
            return function.bind_index(result, function.index(source))
        return function.bind(result, function.value(source))
    _converted(llvm.TruncOp if after < before else llvm.SExtOp)(function, op)


_PAIRS_OF_PRODUCTS = {
    4: "llvm.x86.sse2.pmadd.wd",
    8: "llvm.x86.avx2.pmadd.wd",
    16: "llvm.x86.avx512.pmaddw.d.512",
}


def lower_dot(function: Function, op: rt.DotOp) -> None:
    """One instruction for a whole vector register; else halves apart, their signs spread."""
    builder = function.builder
    a, b = function.values(op.operands)
    type, count = a.type, lanes(a.type)
    if count in _PAIRS_OF_PRODUCTS:
        halves = VectorType(i16, [2 * count])
        factors = [builder.convert(llvm.BitcastOp, value, halves) for value in (a, b)]
        result = builder.intrinsic(_PAIRS_OF_PRODUCTS[count], factors, type)
        assert result is not None
        return function.bind(op.result, result)
    by = builder.constant(16, type)
    products = []
    for place in (lambda value: builder.binary(llvm.ShlOp, value, by), lambda value: value):
        x, y = (builder.binary(llvm.AShrOp, place(value), by) for value in (a, b))
        products.append(builder.binary(llvm.MulOp, x, y))
    function.bind(op.result, builder.binary(llvm.AddOp, *products))


# Floats


def lower_negate(function: Function, op: arith.NegfOp) -> None:
    """The sign bit changes, also that of a NaN or a zero."""
    function.bind(op.result, function.builder.unary(llvm.FNegOp, function.value(op.operand)))


def lower_multiply_add(function: Function, op: math.FmaOp) -> None:
    """Fused where the target can."""
    a, b, c = function.values(op.operands)
    function.bind(op.result, function.builder.multiply_add(a, b, c))


def lower_absolute_integer(function: Function, op: math.AbsIOp) -> None:
    """max(x, -x)."""
    builder = function.builder
    value = function.value(op.operand)
    negated = builder.binary(llvm.SubOp, builder.constant(0, value.type), value)
    negative = builder.compare("slt", value, builder.constant(0, value.type))
    function.bind(op.result, builder.select(negative, negated, value))


def lower_reciprocal_root(function: Function, op: math.RsqrtOp) -> None:
    """One divided by the square root: both are rounded correctly."""
    builder = function.builder
    value = function.value(op.operand)
    root = builder.unary(llvm.FSqrtOp, value)
    function.bind(op.result, builder.binary(llvm.FDivOp, builder.constant(1.0, root.type), root))


def lower_division(function: Function, op: arith.DivfOp) -> None:
    """As IEEE 754 has it, but y / (exp(-x) + 1), which is y * logistic(x), without a division."""
    builder = function.builder
    argument = _logistic_argument(function, op.rhs)
    if argument is None:
        lhs, rhs = function.values(op.operands)
        function.bind(op.result, builder.binary(llvm.FDivOp, lhs, rhs))
        return
    share = function.library.call(builder, "logistic", [argument])
    if not _is_one(op.lhs):
        share = builder.binary(llvm.FMulOp, function.value(op.lhs), share)
    function.bind(op.result, share)


def _logistic_argument(function: Function, value: SSAValue) -> SSAValue | None:
    """x where the value is exp(-x) + 1."""
    total = value.owner
    if not isinstance(total, arith.AddfOp):
        return None
    for raised, one in ((total.lhs, total.rhs), (total.rhs, total.lhs)):
        if isinstance(raised.owner, math.ExpOp) and _is_one(one):
            exponent = raised.owner.operand
            if isinstance(exponent.owner, arith.NegfOp):
                return function.value(exponent.owner.operand)
            return function.builder.unary(llvm.FNegOp, function.value(exponent))
    return None


def _is_one(value: SSAValue) -> bool:
    """Whether a float is the number 1 in every lane."""
    owner = value.owner
    if isinstance(owner, vector.BroadcastOp):
        return _is_one(owner.source)
    if not isinstance(owner, arith.ConstantOp):
        return False
    held = owner.value
    if isinstance(held, DenseIntOrFPElementsAttr):
        return held.is_splat() and held.get_values()[0] == 1.0
    return isinstance(held, FloatAttr) and held.value.data == 1.0


def _rounded(intrinsic: str, name: str) -> Handler:
    """An instruction where the target has one (SSE 4.1), otherwise a function of the library."""

    def handle(function: Function, op: math.FloorOp) -> None:
        value = function.value(op.operand)
        if function.target.fma:
            function.bind(op.result, function.builder.lane_wise(intrinsic, value))
        else:
            function.bind(op.result, function.library.call(function.builder, name, [value]))

    return handle


def _from_library(name: str) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        arguments = function.values(op.operands)
        function.bind(op.results[0], function.library.call(function.builder, name, arguments))

    return handle


def lower_integer_power(function: Function, op: math.FPowIOp) -> None:
    """powf of the exponent as a float: exact up to 2**24."""
    builder = function.builder
    base, exponent = function.values(op.operands)
    real = builder.convert(llvm.SIToFPOp, exponent, base.type)
    function.bind(op.result, function.library.call(builder, "pow", [base, real]))


def _unary(instruction: type[Operation]) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        value = function.value(op.operands[0])
        function.bind(op.results[0], function.builder.unary(instruction, value))

    return handle


_INTEGERS: dict[type[Operation], Handler] = {
    arith.AddiOp: _linear(Linear.__add__, llvm.AddOp),
    arith.SubiOp: _linear(Linear.__sub__, llvm.SubOp),
    arith.MuliOp: lower_multiply,
    arith.DivSIOp: _binary(llvm.SDivOp),
    arith.DivUIOp: _binary(llvm.UDivOp),
    arith.RemSIOp: _binary(llvm.SRemOp),
    arith.RemUIOp: _binary(llvm.URemOp),
    arith.FloorDivSIOp: _towards("floor"),
    arith.CeilDivSIOp: _towards("ceil"),
    arith.AndIOp: _binary(llvm.AndOp),
    arith.OrIOp: _binary(llvm.OrOp),
    arith.XOrIOp: _binary(llvm.XOrOp),
    arith.ShLIOp: _binary(llvm.ShlOp),
    arith.ShRSIOp: _binary(llvm.AShrOp),
    arith.ShRUIOp: _binary(llvm.LShrOp),
    arith.MaxSIOp: _combined(chosen_by("sgt")),
    arith.MinSIOp: _combined(chosen_by("slt")),
    arith.MaxUIOp: _combined(chosen_by("ugt")),
    arith.MinUIOp: _combined(chosen_by("ult")),
    arith.CmpiOp: lower_compare_integers,
    math.AbsIOp: lower_absolute_integer,
    rt.DotOp: lower_dot,
}

_FLOATS: dict[type[Operation], Handler] = {
    arith.AddfOp: _float_binary(llvm.FAddOp),
    arith.SubfOp: _float_binary(llvm.FSubOp),
    arith.MulfOp: _float_binary(llvm.FMulOp),
    arith.DivfOp: lower_division,
    arith.NegfOp: lower_negate,
    arith.MaximumfOp: _extremum(maximum, greater),
    arith.MinimumfOp: _extremum(minimum, smaller),
    arith.MaxnumfOp: _extremum(maximum_number, greater),
    arith.MinnumfOp: _extremum(minimum_number, smaller),
    arith.CmpfOp: lower_compare_floats,
}

_CONVERSIONS: dict[type[Operation], Handler] = {
    arith.IndexCastOp: lower_index_cast,
    arith.ExtFOp: lower_to_single,
    arith.TruncFOp: lower_from_single,
    arith.ExtSIOp: _converted(llvm.SExtOp),
    arith.ExtUIOp: _converted(llvm.ZExtOp),
    arith.TruncIOp: _converted(llvm.TruncOp),
    arith.SIToFPOp: _converted(llvm.SIToFPOp),
    arith.UIToFPOp: _converted(UIToFPOp),
    arith.FPToSIOp: _converted(FPToSIOp),
    arith.FPToUIOp: _converted(FPToUIOp),
    arith.BitcastOp: _converted(llvm.BitcastOp),
}

_MATH: dict[type[Operation], Handler] = {
    math.AbsFOp: _unary(llvm.FAbsOp),
    math.SqrtOp: _unary(llvm.FSqrtOp),
    math.RsqrtOp: lower_reciprocal_root,
    math.FmaOp: lower_multiply_add,
    math.CopySignOp: _binary(llvm.FCopySignOp),
    math.FloorOp: _rounded("floor", "floor"),
    math.CeilOp: _rounded("ceil", "ceil"),
    math.TruncOp: _rounded("trunc", "trunc"),
    math.RoundEvenOp: _rounded("roundeven", "round_even"),
    math.RoundOp: _from_library("round"),
    math.ExpOp: _from_library("exp"),
    math.Exp2Op: _from_library("exp2"),
    math.ExpM1Op: _from_library("expm1"),
    math.LogOp: _from_library("log"),
    math.Log2Op: _from_library("log2"),
    math.Log10Op: _from_library("log10"),
    math.Log1pOp: _from_library("log1p"),
    math.PowFOp: _from_library("pow"),
    math.FPowIOp: lower_integer_power,
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
    **_INTEGERS,
    **_FLOATS,
    **_CONVERSIONS,
    **_MATH,
    arith.ConstantOp: lower_constant,
    arith.SelectOp: lower_select,
}
