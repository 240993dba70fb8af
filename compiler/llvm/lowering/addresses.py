"""Index arithmetic as linear forms, and addresses made of them.

An index stays a form such as `3*i + 56*j - 1` over SSA values until an operation needs it. An
address becomes a chain of getelementptr: one for each loop of the form, in the body of that loop.
The constant is added last, at the access, where it folds into the addressing mode.

    memref.load %x[%i, %j + 1] : memref<8x16xf32>, %j inside %i
    ->  in %i:  %p = getelementptr float, %x, (16 * %i)
        in %j:  %q = getelementptr float, %p, %j;   load getelementptr float, %q, 1
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from xdsl.dialects import llvm
from xdsl.dialects.builtin import MemRefType, i64
from xdsl.ir import Attribute, Block, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.llvm_builder import LlvmBuilder, element_pointer
from ncc.compiler.llvm.lowering.streams import Motion, Streams
from ncc.compiler.llvm.scopes import Scope
from ncc.dialects.attributes import memoized
from ncc.dialects.operation import make

_LARGEST_CONSTANT = 2**31 - 1


@dataclass(frozen=True, slots=True)
class AddressForm:
    """A sum of i64 values times constants, plus a constant."""

    terms: dict[SSAValue, int] = field(default_factory=dict)
    constant: int = 0

    def __add__(self, other: AddressForm) -> AddressForm:
        if not other.terms:
            return AddressForm(self.terms, self.constant + other.constant)
        if not self.terms:
            return AddressForm(other.terms, self.constant + other.constant)
        terms = dict(self.terms)
        for value, factor in other.terms.items():
            total = terms.get(value, 0) + factor
            if total:
                terms[value] = total
            else:
                del terms[value]
        return AddressForm(terms, self.constant + other.constant)

    def __mul__(self, factor: int) -> AddressForm:
        if factor == 1:
            return self
        if factor == 0:
            return AddressForm()
        scaled = {value: times * factor for value, times in self.terms.items()}
        return AddressForm(scaled, self.constant * factor)

    def __sub__(self, other: AddressForm) -> AddressForm:
        return self + other * -1


class Memory(NamedTuple):
    """The lowered form of a memref: a pointer, and the strides of its indices."""

    pointer: SSAValue
    element: Attribute
    strides: tuple[int, ...]
    offset: AddressForm

    def at(self, indices: Sequence[AddressForm]) -> AddressForm:
        """The distance of indices from the pointer, in elements."""
        total = self.offset
        for index, stride in zip(indices, self.strides, strict=True):
            total = total + index * stride
        return total


@memoized
def layout(type: MemRefType) -> tuple[tuple[int, ...], int]:
    """The strides and the offset of a memref, in elements; both must be static."""
    strides, offset = type.get_strides(), type.get_offset()
    known = [stride for stride in strides or () if stride is not None]
    if strides is None or offset is None or len(known) != len(strides):
        raise CompilerBug(f"the layout of {type} is not static", pass_name="lower-to-llvm")
    return tuple(known), offset


class Addresses:
    """Turns linear forms into values and pointers of one function, each computed once."""

    def __init__(self, builder: LlvmBuilder) -> None:
        self.builder = builder
        self._streams: dict[Scope, Streams] = {}

    def value(self, index: AddressForm) -> SSAValue:
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

    def quotient(self, index: AddressForm, divisor: int) -> AddressForm:
        """The index, not negative, divided by a constant and rounded down, once."""
        if not index.terms:
            return AddressForm({}, index.constant // divisor)
        dividend = self.value(index)
        scope = self.builder.scope_of(dividend)
        key = ("quotient", dividend, divisor)
        found = scope.known.get(key)
        if found is None:
            op = make(
                llvm.UDivOp,
                operands=[dividend, self.builder.constant(divisor, i64)],
                result_types=[i64],
            )
            found = scope.known[key] = self.builder.emit_in(scope, op)
        return AddressForm({found: 1})

    def pointer(self, memory: Memory, indices: Sequence[AddressForm]) -> SSAValue:
        """The address of an element."""
        offset, scope = memory.at(indices), self.builder.scope
        key = (id(memory), id(offset.terms))
        known = scope.pointers.get(key)
        if known is None:
            pointer = self._without_constant(memory, offset)
            scope.pointers[key] = (pointer, memory, offset.terms)
        else:
            pointer = known[0]
        if offset.constant:
            return self.step(pointer, offset.constant, memory.element, scope)
        return pointer

    def _without_constant(self, memory: Memory, offset: AddressForm) -> SSAValue:
        builder, pointer = self.builder, memory.pointer
        for scope, terms in self._by_scope(offset):
            around = builder.scope_of(pointer)
            streams = self._streams.get(scope)
            if streams is not None and around.depth < scope.depth:
                pointer, terms = _moved(streams, pointer, terms, memory.element)
            if terms:
                inside = max(scope, around, key=lambda scope: scope.depth)
                pointer = self._step(inside, pointer, self._sum(scope, terms), memory.element)
        return pointer

    def step(self, pointer: SSAValue, count: int, element: Attribute, scope: Scope) -> SSAValue:
        """The pointer moved by a constant number of elements."""
        is_short = abs(count) <= _LARGEST_CONSTANT
        index = count if is_short else self.builder.constant(count, i64)
        return self._step(scope, pointer, index, element)

    def enter(self, scope: Scope, header: Block, counter: SSAValue | None) -> None:
        """The scope is the body of a loop; its counter, unless None, goes up by a constant."""
        self._streams[scope] = Streams(self.builder, scope, header, counter)

    def advance(self, scope: Scope, by: int) -> list[SSAValue]:
        """At the end of its body: the values that move with its counter, for the next iteration."""
        streams = self._streams[scope]
        streams.share()
        moved = [
            self.step(moved, motion.factor * by, motion.element, scope)
            for _, motion, moved in streams.alone
        ]
        for motion, offset in streams.shared:
            by_so_much = self.builder.constant(motion.factor * by, i64)
            moved.append(self.builder.add_in(scope, offset, by_so_much))
        return moved

    def start(self, scope: Scope, first: AddressForm) -> list[SSAValue]:
        """In front of the loop: the same for the first iteration."""
        streams = self._streams.pop(scope)
        starts = [
            self.pointer(Memory(base, motion.element, (), first * motion.factor), ())
            for base, motion, _ in streams.alone
        ]
        return starts + [self.value(first * motion.factor) for motion, _ in streams.shared]

    def _by_scope(self, index: AddressForm) -> list[tuple[Scope, list[tuple[SSAValue, int]]]]:
        """The terms, grouped by the scopes of their values, outermost first."""
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
        self, scope: Scope, pointer: SSAValue, index: SSAValue | int, element: Attribute
    ) -> SSAValue:
        key = ("step", pointer, index, id(element))  # the entry keeps the element alive
        found = scope.known.get(key)
        if found is None:
            op = element_pointer(pointer, index, element)
            found = scope.known[key] = self.builder.emit_in(scope, op)
        return found


def _moved(
    streams: Streams, pointer: SSAValue, terms: list[tuple[SSAValue, int]], element: Attribute
) -> tuple[SSAValue, list[tuple[SSAValue, int]]]:
    """The pointer that moves with a loop, and the other terms."""
    for term in terms:
        if term[0] is not streams.counter:
            continue
        motion = Motion(term[1], element)
        if not motion.is_free:
            return streams.moved(pointer, motion), [other for other in terms if other != term]
    return pointer, terms
