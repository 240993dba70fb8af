"""Conversions of numbers, scalar and vector alike, in the llvm dialect."""

from __future__ import annotations

from xdsl.dialects import arith, llvm, vector
from xdsl.dialects.builtin import (
    BFloat16Type,
    Float16Type,
    Float32Type,
    Float64Type,
    IndexType,
    f32,
    i16,
)
from xdsl.ir import Attribute, Operation, SSAValue

from ncc.compiler.llvm.formulas import half
from ncc.compiler.llvm.formulas.real import Lanes
from ncc.compiler.llvm.instructions import FPToUIOp, UIToFPOp, element, lanes
from ncc.compiler.llvm.llvm_builder import with_lanes
from ncc.compiler.llvm.lowering.function import Function, Handler, machine_type
from ncc.compiler.llvm.lowering.nearest import lower_to_integer
from ncc.dialects.element import i20, i24

_TWO_VECTORS = "llvm.x86.avx512bf16.cvtne2ps2bf16.512"
"""Rounds two vectors of float32 to one of bfloat16, the second one into its lower half."""


def _converted(instruction: type[Operation]) -> Handler:
    def handle(function: Function, op: Operation) -> None:
        value = function.value(op.operands[0])
        target = machine_type(op.results[0].type)
        function.bind(op.results[0], function.builder.convert(instruction, value, target))

    return handle


def lower_to_wider(function: Function, op: arith.ExtFOp) -> None:
    """A float as a wider one, exactly: from half precision to float32, then to float64."""
    builder, value = function.builder, function.value(op.input)
    target = machine_type(op.result.type)
    if isinstance(element(value.type), Float16Type | BFloat16Type):
        value = _to_single(function, value)
    if value.type != target:
        value = builder.convert(llvm.FPExtOp, value, target)
    function.bind(op.result, value)


def _to_single(function: Function, value: SSAValue) -> SSAValue:
    """float16 and bfloat16 to float32; by a formula if there is no instruction."""
    builder, source = function.builder, element(value.type)
    if _has_instruction(function, source):
        return builder.convert(llvm.FPExtOp, value, with_lanes(f32, lanes(value.type)))
    bits = builder.convert(llvm.BitcastOp, value, with_lanes(i16, lanes(value.type)))
    return half.FROM_BITS[source.name](Lanes(builder, bits)).value


def lower_to_narrower(function: Function, op: arith.TruncFOp) -> None:
    """A float as the nearest narrower one; by a formula if there is no instruction."""
    builder, value = function.builder, function.value(op.input)
    target = machine_type(op.result.type)
    narrow = element(target)
    if isinstance(element(value.type), Float64Type):
        if isinstance(narrow, Float32Type):
            return function.bind(op.result, builder.convert(llvm.FPTruncOp, value, target))
        value = half.single_to_be_rounded(Lanes(builder, value)).value
    vectors = _rounded_vectors(function, value, narrow)
    if _has_instruction(function, narrow) or vectors == 1:
        return function.bind(op.result, builder.convert(llvm.FPTruncOp, value, target))
    if vectors == 2:
        count = function.target.lanes
        parts = [builder.shuffle(value, value, range(n * count, (n + 1) * count)) for n in (1, 0)]
        return function.bind(op.result, builder.intrinsic(_TWO_VECTORS, parts, target))
    bits = half.TO_BITS[narrow.name](Lanes(builder, value)).value
    function.bind(op.result, builder.convert(llvm.BitcastOp, bits, target))


def _rounded_vectors(function: Function, value: SSAValue, narrow: Attribute) -> int:
    """How many whole vectors a value has that the target rounds to bfloat16; 0 if it has no
    instruction for them.

    Targets with matrix tiles round one or two vectors at once. Denormal numbers become zeros, as in
    products of tiles.
    """
    if not function.target.tiles or not isinstance(narrow, BFloat16Type):
        return 0
    vectors, rest = divmod(lanes(value.type), function.target.lanes)
    return vectors if rest == 0 else 0


def lower_extend(function: Function, op: arith.ExtUIOp) -> None:
    """An integer with zeros above it; fixed-point numbers are loaded with them."""
    if element(op.input.type) in (i20, i24):
        return function.bind(op.result, function.value(op.input))
    _converted(llvm.ZExtOp)(function, op)


def _has_instruction(function: Function, narrow: Attribute) -> bool:
    """Whether the target converts between this type and the next wider one."""
    if isinstance(narrow, BFloat16Type):
        return False
    return function.target.widens_float16 or not isinstance(narrow, Float16Type)


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


def lower_bitcast(function: Function, op: arith.BitcastOp | vector.BitcastOp) -> None:
    """The same bits; an integer with or without a sign is the same value."""
    value, target = function.value(op.operands[0]), machine_type(op.result.type)
    same = value.type == target
    made = value if same else function.builder.convert(llvm.BitcastOp, value, target)
    function.bind(op.result, made)


HANDLERS: dict[type[Operation], Handler] = {
    arith.IndexCastOp: lower_index_cast,
    arith.ExtFOp: lower_to_wider,
    arith.TruncFOp: lower_to_narrower,
    arith.ExtSIOp: _converted(llvm.SExtOp),
    arith.ExtUIOp: lower_extend,
    arith.TruncIOp: _converted(llvm.TruncOp),
    arith.SIToFPOp: _converted(llvm.SIToFPOp),
    arith.UIToFPOp: _converted(UIToFPOp),
    arith.FPToSIOp: lower_to_integer,
    arith.FPToUIOp: _converted(FPToUIOp),
    arith.BitcastOp: lower_bitcast,
}
