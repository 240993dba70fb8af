"""Insertion points in a function: every loop or branch is a scope, nested in others.

No LLVM pass simplifies the code later. So constants are shared here, and loop-invariant operations
are hoisted here: an operation can be placed in any scope around the current one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    VectorType,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.instructions import element
from ncc.dialects.operation import append, make, only_result

FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)

OpT = TypeVar("OpT", bound=Operation)


class Scope:
    """The body of a loop or of a branch (the outermost: of the function) while it is written."""

    def __init__(self, block: Block, parent: Scope | None) -> None:
        self.block = block
        """The block of the next operation; it changes when an inner loop ends."""
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.known: dict[Hashable, SSAValue] = {}
        """Values computed in this scope, by operation and operands."""
        self.pointers: dict[tuple[int, int], tuple[SSAValue, object, object]] = {}
        """Addresses in this scope, by the identities of their terms, which are kept alive with
        them.

        Most addresses differ only by a constant.
        """


class ScopeWriter:
    """Writes one function: appends to the current scope or one around it, and shares constants."""

    def __init__(self, entry: Block) -> None:
        self.entry = entry
        self.scope = Scope(entry, None)
        self.root = self.scope
        """The scope of the function itself."""
        # By the identities of their types, which the constants keep alive.
        self._constants: dict[tuple[int, str], SSAValue] = {}
        self._scopes: dict[SSAValue, Scope] = {}

    # Where things are

    def emit(self, op: OpT) -> OpT:
        """Append to the current scope."""
        append(self.scope.block, op)
        return op

    def result(self, op: Operation) -> SSAValue:
        """Append an operation to the current scope, and return its result."""
        append(self.scope.block, op)
        return only_result(op)

    def emit_in(self, scope: Scope, op: Operation) -> SSAValue:
        """Append to a scope around the current one, in front of the loop or branch that contains
        the current one: the jump into this loop is written later.
        """
        append(scope.block, op)
        return self.note_in(scope, only_result(op))

    def emit_first(self, ops: Sequence[Operation]) -> None:
        """Insert at the very start of the function."""
        for op in reversed(ops):
            if self.entry.first_op is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, self.entry.first_op)

    def note(self, value: SSAValue) -> SSAValue:
        """Note that the value is computed in the current scope."""
        return self.note_in(self.scope, value)

    def note_in(self, scope: Scope, value: SSAValue) -> SSAValue:
        """Note that the value is computed in a scope."""
        self._scopes[value] = scope
        return value

    def scope_of(self, value: SSAValue) -> Scope:
        """The scope of a value; unknown ones (arguments, constants) are in that of the function."""
        return self._scopes.get(value, self.root)

    # Constants

    def constant(self, value: float | int, type: Attribute) -> SSAValue:
        """A constant, or a vector of equal constants."""
        key = (id(type), repr(value))
        found = self._constants.get(key)
        if found is None:
            found = self.literal(_constant_attribute(type, repr(value)), type)
            self._constants[key] = found
        return found

    def literal(self, attribute: Attribute, type: Attribute) -> SSAValue:
        """A constant given as an attribute."""
        op = make(llvm.ConstantOp, result_types=[type], properties={"value": attribute})
        self.emit_first([op])
        return only_result(op)

    def undefined(self, type: Attribute) -> SSAValue:
        """A value that is not used."""
        key = (id(type), "undefined")
        found = self._constants.get(key)
        if found is None:
            op = make(llvm.UndefOp, result_types=[type])
            self.emit_first([op])
            found = self._constants[key] = only_result(op)
        return found

    def vector_of(self, numbers: Iterable[float], type: Attribute) -> SSAValue:
        """A constant vector of different numbers."""
        if not isinstance(type, VectorType):
            raise CompilerBug(f"a constant vector of type {type}", pass_name="lower-to-llvm")
        return self.literal(DenseIntOrFPElementsAttr.from_list(type, list(numbers)), type)


@cache
def _constant_attribute(type: Attribute, text: str) -> Attribute:
    scalar = element(type)
    if isinstance(scalar, IntegerType):
        number: int | float = int(text)
    else:
        number = float(text)
    if isinstance(type, VectorType):
        return DenseIntOrFPElementsAttr.from_list(type, [number])
    if isinstance(scalar, IntegerType):
        return IntegerAttr(int(number), scalar)
    if isinstance(scalar, FLOATS):
        return FloatAttr(float(number), scalar)
    raise CompilerBug(f"a constant of type {type}", pass_name="lower-to-llvm")
