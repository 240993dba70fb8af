"""One function while it is lowered: the new value of each value of the loops level."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    IndexType,
    IntAttr,
    IntegerType,
    MemRefType,
    Signedness,
    VectorType,
    i1,
    i8,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.formulas.math import Library
from ncc.compiler.llvm.llvm_builder import POINTER, LlvmBuilder, with_lanes
from ncc.compiler.llvm.lowering.addresses import Addresses, AddressForm, Memory
from ncc.compiler.llvm.scopes import Scope
from ncc.compiler.target import Target
from ncc.dialects.attributes import memoized
from ncc.dialects.element import i20, i24
from ncc.dialects.operation import only_result, operands_of, ops_of

PASS = "lower-to-llvm"

TWO_BYTES, THREE_BYTES = (llvm.LLVMArrayType(IntAttr(count), i8) for count in (2, 3))
"""The storage types of i20 and i24; sixteen i20 share several words."""

Handler = Callable[["Function", Any], None]
"""Writes the lowering of one operation."""

Handlers = Mapping[type[Operation], Handler]

Combine = Callable[[LlvmBuilder, SSAValue, SSAValue], SSAValue]
"""Computes a value of two values."""


def of_values(compute: Callable[..., SSAValue]) -> Handler:
    """The lowering of an operation whose result depends on the values of its operands alone."""

    def handle(function: Function, op: Operation) -> None:
        values = function.values(operands_of(op))
        function.bind(only_result(op), compute(function.builder, *values))

    return handle


def unary(instruction: type[Operation]) -> Callable[[LlvmBuilder, SSAValue], SSAValue]:
    """One instruction for one operand."""
    return lambda builder, value: builder.unary(instruction, value)


def binary(instruction: type[Operation]) -> Combine:
    """One instruction for two operands."""
    return lambda builder, lhs, rhs: builder.binary(instruction, lhs, rhs)


@memoized
def machine_type(type: Attribute) -> Attribute:
    """The type of the llvm dialect that carries values of a type of the loops level."""
    if isinstance(type, IndexType):
        return i64
    if type in (i20, i24):
        return i32  # whose upper bits are zeros
    if isinstance(type, IntegerType) and type.signedness.data is not Signedness.SIGNLESS:
        return IntegerType(type.width.data)  # operations say whether there is a sign
    if isinstance(type, MemRefType):
        return POINTER
    if isinstance(type, VectorType):
        if len(type.get_shape()) != 1:
            raise CompilerBug(f"{type} has not one dimension", pass_name=PASS)
        return with_lanes(machine_type(type.element_type), type.get_shape()[0])
    return type


def memory_type(type: Attribute) -> Attribute:
    """The type of an element of the loops level in memory; its size is the distance of elements."""
    if type == i1:
        return i8
    return THREE_BYTES if type == i24 else TWO_BYTES if type == i20 else machine_type(type)


class Function:
    """The state of the lowering of one function, and the services that handlers use.

    A value of type index is a Linear form, a memref is a Memory, anything else an llvm value.
    """

    def __init__(self, entry: Block, target: Target, library: Library, handlers: Handlers) -> None:
        self.target = target
        self.library = library
        self.builder = LlvmBuilder(entry, target)
        self.addresses = Addresses(self.builder)
        self._handlers = handlers
        # By the identities of values, since their hash is a call; lowered values stay alive.
        self._values: dict[int, SSAValue] = {}
        self._indices: dict[int, AddressForm] = {}
        self._memories: dict[int, Memory] = {}

    # Reading

    def value(self, source: SSAValue) -> SSAValue:
        """The llvm value; of an index, the i64."""
        found = self._values.get(id(source))
        if found is None:
            index = self._indices.get(id(source))
            if index is None:
                raise CompilerBug(f"a {source.type} as a plain value", pass_name=PASS)
            found = self.addresses.value(index)
        return found

    def values(self, sources: Iterable[SSAValue]) -> list[SSAValue]:
        """The llvm values of several."""
        return [self.value(source) for source in sources]

    def index(self, source: SSAValue) -> AddressForm:
        """The linear form of an index or of an i64."""
        found = self._indices.get(id(source))
        if found is None:
            found = AddressForm({self._values[id(source)]: 1})
        return found

    def memory(self, source: SSAValue) -> Memory:
        """The lowered form of a memref."""
        return self._memories[id(source)]

    # Writing

    def bind(self, source: SSAValue, result: SSAValue) -> None:
        """Map a value of the loops level to an llvm value of the current scope."""
        kind = type(source.type)
        if kind is IndexType:
            self._indices[id(source)] = AddressForm({self.builder.note(result): 1})
        else:
            if kind is IntegerType:
                self.builder.note(result)
            self._values[id(source)] = result

    def bind_index(self, source: SSAValue, form: AddressForm) -> None:
        """Map an index to a linear form."""
        self._indices[id(source)] = form

    def bind_memory(self, source: SSAValue, memory: Memory) -> None:
        """Map a memref to its memory."""
        self._memories[id(source)] = memory

    def alias(self, source: SSAValue, other: SSAValue) -> None:
        """Map a value of the loops level to the same as another one."""
        kind = type(source.type)
        if kind is IndexType:
            self._indices[id(source)] = self._indices[id(other)]
        elif kind is MemRefType:
            self._memories[id(source)] = self._memories[id(other)]
        else:
            self._values[id(source)] = self._values[id(other)]

    def open(self, block: Block, parent: Scope) -> Scope:
        """Add the block to the function; the next operations are in it, in a new scope."""
        self.add(block)
        self.builder.scope = Scope(block, parent)
        return self.builder.scope

    def add(self, block: Block) -> None:
        """Add the block at the end of the function."""
        region = self.builder.entry.parent
        assert region is not None
        region.add_block(block)

    def lower(self, block: Block) -> Operation:
        """Write the operations of a block of the loops level, without its terminator."""
        handlers = self._handlers
        last = block.last_op
        if last is None:
            raise CompilerBug("a block without a terminator", pass_name=PASS)
        for op in ops_of(block):
            if op is last:
                break
            handler = handlers.get(type(op))
            if handler is None:
                raise CompilerBug(f"no lowering for {op.name}", pass_name=PASS, dump=f"{op}\n")
            handler(self, op)
        return last
