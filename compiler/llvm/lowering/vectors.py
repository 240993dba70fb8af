"""The vector dialect, for vectors of one dimension, in the llvm dialect.

Every access has the alignment of an element: a caller's memory has no other.
"""

from __future__ import annotations

import functools
from functools import partial

from xdsl.dialects import llvm, vector
from xdsl.dialects.builtin import DYNAMIC_INDEX, IntegerType, VectorType, i32, i64
from xdsl.dialects.vector import CombiningKindFlag
from xdsl.ir import Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.instructions import element, lanes
from ncc.compiler.llvm.llvm_builder import LlvmBuilder, suffix
from ncc.compiler.llvm.lowering import arithmetic
from ncc.compiler.llvm.lowering.conversions import lower_bitcast
from ncc.compiler.llvm.lowering.function import (
    PASS,
    Combine,
    Function,
    Handler,
    binary,
    machine_type,
    of_values,
)
from ncc.compiler.llvm.lowering.integers import chosen_by
from ncc.compiler.llvm.lowering.memory import alignment, held_as, neighbours_at, truth
from ncc.dialects.operation import make, operands_of


def lower_masked_load(function: Function, op: vector.MaskedLoadOp) -> None:
    """The elements whose mask is set; other memory is not touched."""
    builder = function.builder
    pointer = neighbours_at(function, op.base, op.indices)
    type = machine_type(op.result.type)
    mask, other = function.value(op.mask), held_as(builder, function.value(op.pass_thru))
    name = f"llvm.masked.load.{suffix(other.type)}.p0"
    arguments = [pointer, builder.constant(alignment(type), i32), mask, other]
    found = builder.intrinsic(name, arguments, other.type)
    function.bind(op.result, found if other.type == type else truth(builder, found))


def lower_masked_store(function: Function, op: vector.MaskedStoreOp) -> None:
    """The elements whose mask is set; other memory is not touched."""
    builder = function.builder
    value, mask = held_as(builder, function.value(op.value_to_store)), function.value(op.mask)
    pointer = neighbours_at(function, op.base, op.indices)
    builder.run_intrinsic(
        f"llvm.masked.store.{suffix(value.type)}.p0",
        [value, pointer, builder.constant(alignment(value.type), i32), mask],
    )


def lower_create_mask(function: Function, op: vector.CreateMaskOp) -> None:
    """The first n lanes: those whose number is smaller than n."""
    builder = function.builder
    count = lanes(op.mask_vector.type)
    type = VectorType(i32, [count])
    size = function.value(op.mask_dim_sizes[0])
    most = builder.constant(count, i64)
    limit = builder.select(builder.compare("slt", size, most), size, most)
    splat = builder.splat(builder.convert(llvm.TruncOp, limit, i32), type)
    numbers = builder.vector_of(range(count), type)
    function.bind(op.mask_vector, builder.compare("slt", numbers, splat))


def lower_broadcast(function: Function, op: vector.BroadcastOp) -> None:
    """A scalar in every lane."""
    (source,), (result,) = operands_of(op), op.results
    value = function.value(source)
    if lanes(value.type):
        raise CompilerBug(f"a broadcast of {source.type}", pass_name=PASS)
    function.bind(result, function.builder.splat(value, machine_type(result.type)))


def lower_shuffle(function: Function, op: vector.ShuffleOp) -> None:
    """Lanes of two vectors in any order."""
    lhs, rhs = function.value(op.v1), function.value(op.v2)
    mask = op.mask.get_values()
    if lanes(lhs.type) != lanes(rhs.type):
        raise CompilerBug("a shuffle of vectors of different lengths", pass_name=PASS)
    function.bind(op.result, function.builder.shuffle(lhs, rhs, [int(lane) for lane in mask]))


def _position(function: Function, op: vector.ExtractOp | vector.InsertOp) -> SSAValue:
    (position,) = op.static_position.get_values()
    if position == DYNAMIC_INDEX:
        return function.value(op.dynamic_position[0])
    return function.builder.constant(int(position), i64)


def lower_extract(function: Function, op: vector.ExtractOp) -> None:
    """One lane."""
    value = function.value(op.vector)
    function.bind(op.result, function.builder.extract(value, _position(function, op)))


def lower_insert(function: Function, op: vector.InsertOp) -> None:
    """The vector with one lane replaced."""
    dest = function.value(op.dest)
    made = make(
        llvm.InsertElementOp,
        operands=[dest, function.value(op.source), _position(function, op)],
        result_types=[dest.type],
    )
    function.bind(op.result, function.builder.result(made))


_FLOAT_KINDS: dict[CombiningKindFlag, Combine] = {
    CombiningKindFlag.ADD: binary(llvm.FAddOp),
    CombiningKindFlag.MUL: binary(llvm.FMulOp),
    CombiningKindFlag.MAXIMUMF: arithmetic.maximum,
    CombiningKindFlag.MINIMUMF: arithmetic.minimum,
    CombiningKindFlag.MAXNUMF: arithmetic.maximum_number,
    CombiningKindFlag.MINNUMF: arithmetic.minimum_number,
}
_INTEGER_KINDS: dict[CombiningKindFlag, Combine] = {
    CombiningKindFlag.ADD: binary(llvm.AddOp),
    CombiningKindFlag.MUL: binary(llvm.MulOp),
    CombiningKindFlag.MAXSI: chosen_by("sgt"),
    CombiningKindFlag.MINSI: chosen_by("slt"),
    CombiningKindFlag.MAXUI: chosen_by("ugt"),
    CombiningKindFlag.MINUI: chosen_by("ult"),
}


def reduce(builder: LlvmBuilder, combine: Combine, vector: SSAValue) -> SSAValue:
    """All lanes combined in a tree: upper half with lower half, while both are as long. What is
    left is combined one by one.
    """
    while (count := lanes(vector.type)) > 2 and count % 2 == 0:
        halves = (range(count // 2), range(count // 2, count))
        lower, upper = (builder.shuffle(vector, vector, half) for half in halves)
        vector = combine(builder, lower, upper)
    places = (builder.constant(lane, i64) for lane in range(lanes(vector.type)))
    return functools.reduce(partial(combine, builder), (builder.extract(vector, n) for n in places))


def lower_reduction(function: Function, op: vector.ReductionOp) -> None:
    """The lanes as a tree, then the accumulator if there is one. Sums are reassociated."""
    value = function.value(op.vector)
    integers = isinstance(element(value.type), IntegerType)
    combine = (_INTEGER_KINDS if integers else _FLOAT_KINDS).get(op.kind.data)
    if combine is None:
        raise CompilerBug(f"a reduction {op.kind.data} of {value.type}", pass_name=PASS)
    total = reduce(function.builder, combine, value)
    if op.acc is not None:
        total = combine(function.builder, function.value(op.acc), total)
    function.bind(op.dest, total)


HANDLERS: dict[type[Operation], Handler] = {
    vector.MaskedLoadOp: lower_masked_load,
    vector.MaskedStoreOp: lower_masked_store,
    vector.CreateMaskOp: lower_create_mask,
    vector.BroadcastOp: lower_broadcast,
    vector.FMAOp: of_values(LlvmBuilder.multiply_add),
    vector.ShuffleOp: lower_shuffle,
    vector.ExtractOp: lower_extract,
    vector.InsertOp: lower_insert,
    vector.BitcastOp: lower_bitcast,
    vector.ReductionOp: lower_reduction,
}
