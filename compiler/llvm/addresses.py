"""Index arithmetic as linear forms, and the addresses that come of them.

An index is `3*i + 56*j - 1` over SSA values until something needs it. An address then becomes a
chain of getelementptr, one for each loop that has a part in it, each placed in the body of that
loop; the constant part comes last, where it is used, and folds into the addressing mode.

    memref.load %x[%i, %j + 1] : memref<8x16xf32>, %j inside %i
    ->  in %i:  %p = getelementptr float, %x, (16 * %i)
        in %j:  %q = getelementptr float, %p, %j;   load getelementptr float, %q, 1
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import DenseArrayBase, IntegerAttr, MemRefType, i32, i64
from xdsl.ir import Attribute, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.build import POINTER, Builder, Scope

_NO_FLAGS = IntegerAttr(0, i32)
_DYNAMIC = DenseArrayBase.from_list(i32, [llvm.GEP_USE_SSA_VAL])
_LARGEST_CONSTANT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class Linear:
    """A sum of i64 values times constants, plus a constant."""

    terms: dict[SSAValue, int] = field(default_factory=dict)
    constant: int = 0

    def __add__(self, other: Linear) -> Linear:
        if not other.terms:
            return Linear(self.terms, self.constant + other.constant)
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            total = terms.get(value, 0) + factor
            if total:
                terms[value] = total
            else:
                del terms[value]
        return Linear(terms, self.constant + other.constant)

    def __mul__(self, factor: int) -> Linear:
        if factor == 1:
            return self
        if factor == 0:
            return Linear()
        scaled = {value: times * factor for value, times in self.terms.items()}
        return Linear(scaled, self.constant * factor)

    def __sub__(self, other: Linear) -> Linear:
        return self + other * -1


@dataclass(frozen=True, slots=True)
class Memory:
    """What a memref is here: a pointer, and how indices become elements counted from it."""

    pointer: SSAValue
    element: Attribute
    strides: tuple[int, ...]
    offset: Linear

    def at(self, indices: Sequence[Linear]) -> Linear:
        """How many elements an index is away from the pointer."""
        total = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            total = total + index * stride
        return total


@cache
def layout(type: MemRefType) -> tuple[tuple[int, ...], int]:
    """The strides and the offset of a memref, in elements; both must be static."""
    strides, offset = type.get_strides(), type.get_offset()
    known = [stride for stride in strides or () if stride is not None]
    if strides is None or offset is None or len(known) != len(strides):
        raise CompilerBug(f"the layout of {type} is not static", pass_name="lower-to-llvm")
    return tuple(known), offset


class Addresses:
    """Turns linear forms into values and pointers of one function, each computed once."""

    def __init__(self, builder: Builder) -> None:
        self.builder = builder

    def value(self, index: Linear) -> SSAValue:
        """The index as one i64."""
        builder = self.builder
        if not index.terms:
            return builder.constant(index.constant, i64)
        total: SSAValue | None = None
        for scope, terms in self._by_scope(index):
            part = self._sum(scope, terms)
            total = part if total is None else builder.add_in(scope, total, part)
        assert total is not None
        if index.constant:
            scope = builder.scope_of(total)
            total = builder.add_in(scope, total, builder.constant(index.constant, i64))
        return total

    def pointer(self, memory: Memory, indices: Sequence[Linear]) -> SSAValue:
        """The address of an element."""
        builder = self.builder
        offset = memory.at(indices)
        pointer = memory.pointer
        for scope, terms in self._by_scope(offset):
            inside = max(scope, builder.scope_of(pointer), key=lambda scope: scope.depth)
            index = self._sum(scope, terms)
            pointer = self._step(inside, pointer, index, memory.element)
        if offset.constant:
            return self.step(pointer, offset.constant, memory.element, builder.scope)
        return pointer

    def step(self, pointer: SSAValue, count: int, element: Attribute, scope: Scope) -> SSAValue:
        """The pointer moved by a constant number of elements."""
        if abs(count) > _LARGEST_CONSTANT:
            return self._step(scope, pointer, self.builder.constant(count, i64), element)
        key = ("step", pointer, count, element)
        found = scope.known.get(key)
        if found is None:
            op = llvm.GEPOp.create(
                operands=[pointer],
                result_types=[POINTER],
                properties=_gep(_constant_index(count), element),
            )
            found = scope.known[key] = self.builder.emit_in(scope, op)
        return found

    def _by_scope(self, index: Linear) -> list[tuple[Scope, list[tuple[SSAValue, int]]]]:
        """The terms, gathered by the scope where their values are computed, outermost first."""
        groups: dict[int, tuple[Scope, list[tuple[SSAValue, int]]]] = {}
        for value, factor in index.terms.items():
            scope = self.builder.scope_of(value)
            groups.setdefault(scope.depth, (scope, []))[1].append((value, factor))
        return [groups[depth] for depth in sorted(groups)]

    def _sum(self, scope: Scope, terms: list[tuple[SSAValue, int]]) -> SSAValue:
        """The sum of terms whose values are known in that scope, computed there."""
        builder = self.builder
        if len(terms) == 1 and terms[0][1] == 1:
            return terms[0][0]
        key: Hashable = ("sum", frozenset(terms))
        found = scope.known.get(key)
        if found is None:
            for value, factor in terms:
                part = value if factor == 1 else builder.multiply_in(scope, value, factor)
                found = part if found is None else builder.add_in(scope, found, part)
            assert found is not None
            scope.known[key] = found
        return found

    def _step(
        self, scope: Scope, pointer: SSAValue, index: SSAValue, element: Attribute
    ) -> SSAValue:
        key = ("step", pointer, index, element)
        found = scope.known.get(key)
        if found is None:
            op = llvm.GEPOp.create(
                operands=[pointer, index],
                result_types=[POINTER],
                properties=_gep(_DYNAMIC, element),
            )
            found = scope.known[key] = self.builder.emit_in(scope, op)
        return found


@cache
def _constant_index(count: int) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, [count])


def _gep(indices: DenseArrayBase, element: Attribute) -> dict[str, Attribute]:
    return {"rawConstantIndices": indices, "elem_type": element, "noWrapFlags": _NO_FLAGS}
