"""memref and the buffers of the runtime, in the llvm dialect.

A memref is a pointer, with the strides of its type.
The arguments of a kernel are bare pointers, and the callee adds the offset of the type.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import prod

from xdsl.dialects import llvm, memref, vector
from xdsl.dialects.builtin import MemRefType, VectorType, i1, i8, i32, i64
from xdsl.ir import Attribute, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.instructions import FenceOp, element, lanes
from ncc.compiler.llvm.llvm_builder import POINTER, LlvmBuilder, element_pointer, suffix, with_lanes
from ncc.compiler.llvm.lowering.addresses import AddressForm, Memory, layout
from ncc.compiler.llvm.lowering.function import (
    PASS,
    THREE_BYTES,
    TWO_BYTES,
    Function,
    Handler,
    machine_type,
    memory_type,
)
from ncc.dialects import rt
from ncc.dialects.attributes import integer, memoized
from ncc.dialects.element import i20
from ncc.dialects.fixed_point import TO_MANTISSA
from ncc.dialects.operation import make, only_result, operands_of
from ncc.dialects.weights.narrow import TOGETHER

WORD = 4
"""Bytes of a word."""

# Scratch memory of a kernel starts at a cache line, so that no vector access crosses two.
_SCRATCH_ALIGNMENT = 64


@memoized
def alignment(type: Attribute) -> int:
    """The alignment of addresses of a type: the size of one element."""
    scalar = element(type)
    if isinstance(scalar, llvm.LLVMPointerType):
        return 8
    bits = getattr(scalar, "bitwidth", None)
    if not isinstance(bits, int):
        raise CompilerBug(f"memory of {type}", pass_name=PASS)
    return max(1, bits // 8)


@memoized
def _access(type: Attribute) -> dict[str, Attribute]:
    """The attributes of an access to memory of a type."""
    return {"alignment": integer(alignment(type)), "ordering": integer(0)}


def load(builder: LlvmBuilder, pointer: SSAValue, type: Attribute) -> SSAValue:
    """A value of that type in memory."""
    properties = _access(type)
    if element(type) == i8 and lanes(type) == WORD and not builder.processor.short_vectors:
        word = make(llvm.LoadOp, operands=[pointer], result_types=[i32], properties=properties)
        return builder.convert(llvm.BitcastOp, builder.result(word), type)
    op = make(llvm.LoadOp, operands=[pointer], result_types=[type], properties=properties)
    return builder.result(op)


def load_from(builder: LlvmBuilder, memory: Memory, pointer: SSAValue, type: Attribute) -> SSAValue:
    """The same for elements whose type in memory differs from that of values."""
    if element(type) == i1:
        return truth(builder, load(builder, pointer, with_lanes(i8, lanes(type))))
    loaded = _LOADS.get(id(memory.element), load)
    return loaded(builder, pointer, type)


def _load_three_bytes(builder: LlvmBuilder, pointer: SSAValue, type: Attribute) -> SSAValue:
    """Elements of three bytes each, below a byte of zeros; nothing after them is read."""
    count = max(1, lanes(type))
    offsets = [3 * k + byte if byte < 3 else None for k in range(count) for byte in range(4)]
    return _load_bytes(builder, pointer, type, offsets)


def _load_twenty_bits(builder: LlvmBuilder, pointer: SSAValue, type: Attribute) -> SSAValue:
    """Sixteen elements: two bytes of each, then four bits of each. These are the lowest bits of
    even elements, and the highest of odd ones.

    A shift and a mask put the bits where a float32 has them, since they become float32 numbers
    (`ncc.dialects.fixed_point`).
    """
    if lanes(type) != TOGETHER:
        raise CompilerBug(f"{type} of 20 bits: they are read by sixteen", pass_name=PASS)
    offsets: list[int | None] = []
    for k in range(TOGETHER):
        low, high, half = 2 * k, 2 * k + 1, 2 * TOGETHER + k // 2
        offsets += [low, low, high, half] if k % 2 else [half, half, low, high]
    held = _load_bytes(builder, pointer, type, offsets)
    down = builder.vector_of([(8 if k % 2 else 12) - TO_MANTISSA for k in range(TOGETHER)], type)
    moved = builder.binary(llvm.LShrOp, held, down)
    mask = builder.constant(((1 << i20.width.data) - 1) << TO_MANTISSA, type)
    number = builder.binary(llvm.AndOp, moved, mask)
    return builder.binary(llvm.LShrOp, number, builder.constant(TO_MANTISSA, type))


def _load_bytes(
    builder: LlvmBuilder, pointer: SSAValue, type: Attribute, offsets: Sequence[int | None]
) -> SSAValue:
    """Bytes at offsets from a pointer, or zeros; nothing after the last of them is read."""
    inside, bytes = 1 + max(offset or 0 for offset in offsets), VectorType(i8, [len(offsets)])
    mask = builder.vector_of(
        [k < inside for k in range(len(offsets))], VectorType(i1, [len(offsets)])
    )
    zeros = builder.constant(0, bytes)
    arguments = [pointer, builder.constant(1, i32), mask, zeros]
    held = builder.intrinsic(f"llvm.masked.load.{suffix(bytes)}.p0", arguments, bytes)
    shuffled = [len(offsets) if offset is None else offset for offset in offsets]
    return builder.convert(llvm.BitcastOp, builder.shuffle(held, zeros, shuffled), type)


_LOADS = {id(TWO_BYTES): _load_twenty_bits, id(THREE_BYTES): _load_three_bytes}
"""How to load elements whose type in memory differs from that of values."""


def truth(builder: LlvmBuilder, held: SSAValue) -> SSAValue:
    """Truth values by their bytes: any byte but 0 is true."""
    return builder.compare("ne", held, builder.constant(0, held.type))


def held_as(builder: LlvmBuilder, value: SSAValue) -> SSAValue:
    """A value as memory holds it: truth values are bytes."""
    if element(value.type) != i1:
        return value
    return builder.convert(llvm.ZExtOp, value, with_lanes(i8, lanes(value.type)))


def store(builder: LlvmBuilder, value: SSAValue, pointer: SSAValue) -> None:
    """A value into memory."""
    value = held_as(builder, value)
    properties = _access(value.type)
    builder.emit(make(llvm.StoreOp, operands=[value, pointer], properties=properties))


def memory_at(pointer: SSAValue, type: MemRefType) -> Memory:
    """The memory of a memref of that type, by its bare pointer."""
    strides, offset = layout(type)
    return Memory(pointer, memory_type(type.element_type), strides, AddressForm(constant=offset))


def passed(function: Function, arguments: Iterable[SSAValue]) -> list[SSAValue]:
    """The arguments of a call: memrefs are bare pointers."""
    return [
        bare_pointer(function, argument)
        if isinstance(argument.type, MemRefType)
        else function.value(argument)
        for argument in arguments
    ]


def bare_pointer(function: Function, source: SSAValue) -> SSAValue:
    """The pointer to pass to a function whose argument has the type of this memref."""
    assert isinstance(source.type, MemRefType)
    memory = function.memory(source)
    _, offset = layout(source.type)
    start = Memory(memory.pointer, memory.element, (1,), memory.offset)
    return function.addresses.pointer(start, [AddressForm(constant=-offset)])


def address(function: Function, base: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """The pointer of an element of a memref."""
    places = [function.index(index) for index in indices]
    return function.addresses.pointer(function.memory(base), places)


def neighbours_at(function: Function, base: SSAValue, indices: Sequence[SSAValue]) -> SSAValue:
    """The same of neighbours."""
    if function.memory(base).strides[-1:] not in ((1,), ()):
        raise CompilerBug(f"a vector access to {base.type}: its last stride is not 1", PASS)
    return address(function, base, indices)


def lower_load(function: Function, op: memref.LoadOp | vector.LoadOp) -> None:
    """One element, or consecutive ones."""
    base, *indices = operands_of(op)
    place = address if isinstance(op, memref.LoadOp) else neighbours_at
    pointer, result = place(function, base, indices), only_result(op)
    type = machine_type(result.type)
    function.bind(result, load_from(function.builder, function.memory(base), pointer, type))


def lower_store(function: Function, op: memref.StoreOp | vector.StoreOp) -> None:
    """One element, or consecutive ones."""
    value, base, *indices = operands_of(op)
    place = address if isinstance(op, memref.StoreOp) else neighbours_at
    store(function.builder, function.value(value), place(function, base, indices))


def lower_prefetch(function: Function, op: rt.PrefetchOp) -> None:
    """A prefetch into the second-level cache, or into the first one, for reading."""
    builder = function.builder
    pointer = address(function, op.memref, [op.index])
    level = 2 if op.l1 is None else 3
    hints = [builder.constant(number, i32) for number in (0, level, 1)]  # read, level, data
    builder.run_intrinsic("llvm.prefetch.p0", [pointer, *hints])


def lower_fence(function: Function, op: rt.FenceOp) -> None:
    """A fence that only the code generator sees."""
    function.builder.emit(FenceOp.create())


def lower_gather(function: Function, op: rt.GatherOp) -> None:
    """One load for each lane, or a gather instruction if it is fast: LLVM decides."""
    builder, memory = function.builder, function.memory(op.memref)
    type, offsets = machine_type(op.result.type), function.value(op.offsets)
    pointer = address(function, op.memref, [op.first])
    pointers = builder.result(element_pointer(pointer, offsets, memory.element))
    mask = builder.constant(1, VectorType(i1, [lanes(type)]))
    held = with_lanes(i8, lanes(type)) if element(type) == i1 else type
    size = builder.constant(alignment(held), i32)
    name = f"llvm.masked.gather.{suffix(held)}.v{lanes(held)}p0"
    arguments = [pointers, size, mask, builder.undefined(held)]
    found = builder.intrinsic(name, arguments, held)
    function.bind(op.result, found if held is type else truth(builder, found))


def lower_alloca(function: Function, op: memref.AllocaOp) -> None:
    """Memory on the stack, allocated when the function starts."""
    type = op.memref.type
    if op.dynamic_sizes:
        raise CompilerBug(f"an alloca of {type}: its shape is not static", pass_name=PASS)
    scalar, count = memory_type(type.element_type), integer(prod(type.get_shape()))
    size = make(llvm.ConstantOp, result_types=[i64], properties={"value": count})
    taken = make(
        llvm.AllocaOp,
        operands=[size.results[0]],
        result_types=[POINTER],
        properties={"alignment": integer(_SCRATCH_ALIGNMENT), "elem_type": scalar},
    )
    function.builder.emit_first([size, taken])
    function.bind_memory(op.memref, memory_at(taken.results[0], type))


def buffer_pointer(function: Function, buffers: SSAValue, index: int) -> SSAValue:
    """buffers[index], loaded once, at the start of the function."""
    builder = function.builder
    root = builder.root
    array = function.value(buffers)
    found = root.known.get(("buffer", array, index))
    if found is None:
        slot = array if index == 0 else function.addresses.step(array, index, POINTER, root)
        op = make(
            llvm.LoadOp,
            operands=[slot],
            result_types=[POINTER],
            properties={"alignment": integer(8), "ordering": integer(0)},
        )
        found = root.known["buffer", array, index] = builder.emit_in(root, op)
    return found


def lower_buffer(function: Function, op: rt.BufferOp) -> None:
    """A pointer of the array, moved by a number of bytes."""
    pointer = buffer_pointer(function, op.buffers, op.index.value.data)
    offset = op.offset.value.data
    if op.further is not None:
        moved = function.index(op.further) + AddressForm(constant=offset)
        pointer = function.addresses.pointer(Memory(pointer, i8, (), moved), [])
    elif offset:
        pointer = function.addresses.step(pointer, offset, i8, function.builder.root)
    function.bind_memory(op.memref, memory_at(pointer, op.memref.type))


HANDLERS: dict[type[Operation], Handler] = {
    memref.LoadOp: lower_load,
    memref.StoreOp: lower_store,
    vector.LoadOp: lower_load,
    vector.StoreOp: lower_store,
    memref.AllocaOp: lower_alloca,
    rt.PrefetchOp: lower_prefetch,
    rt.FenceOp: lower_fence,
    rt.GatherOp: lower_gather,
    rt.BufferOp: lower_buffer,
}
