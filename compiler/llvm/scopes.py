"""Insertion points in a function: every loop or branch is a scope, nested in others.

No LLVM pass that simplifies runs later, so this is the place where constants are shared and where
what a loop does not change is hoisted out of it: an operation can be placed in any scope around
the current one.
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
        """Where the next operation goes; changes as loops inside end."""
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.known: dict[Hashable, SSAValue] = {}
        """Values computed in this scope, by operation and operands."""
        self.pointers: dict[tuple[int, int], tuple[SSAValue, object, object]] = {}
        """Addresses asked for in this scope, by the identities of what they were asked for by.

        Most differ by a constant, and share all else. What has the identities is kept with them.
        """


class ScopeWriter:
    """Writes one function: appends to the current scope, or to one around it; shares constants."""

    def __init__(self, entry: Block) -> None:
        self.entry = entry
        self.scope = Scope(entry, None)
        self.root = self.scope
        """The scope of the function itself."""
        # By the identities of their types, which they keep alive.
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
        """Append to a scope around the current one, in front of the loop or branch it is in, into
        which it only jumps once that is written.
        """
        append(scope.block, op)
        return self.note_in(scope, only_result(op))

    def emit_first(self, ops: Sequence[Operation]) -> None:
        """Put at the very start of the function."""
        for op in reversed(ops):
            if self.entry.first_op is None:
                self.entry.add_op(op)
            else:
                self.entry.insert_op_before(op, self.entry.first_op)

    def note(self, value: SSAValue) -> SSAValue:
        """Remember that the value is computed in the current scope."""
        return self.note_in(self.scope, value)

    def note_in(self, scope: Scope, value: SSAValue) -> SSAValue:
        """Remember that the value is computed in a scope."""
        self._scopes[value] = scope
        return value

    def scope_of(self, value: SSAValue) -> Scope:
        """Where it is computed; unknown values (arguments, constants) are there from the start."""
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
        """A value that does not matter."""
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
