"""Builds loops: each constant once in a function, each sum of an address once in a scope."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache, partial, reduce
from typing import TypeAlias

from xdsl.dialects import arith, func, memref, scf, vector
from xdsl.dialects.builtin import IndexType, MemRefType, UnitAttr, VectorType, i1, i64
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.dialects import rt
from ncc.dialects.attributes import integer, integers, segments
from ncc.dialects.element import number, signless
from ncc.dialects.functions import private_function
from ncc.dialects.operation import NOTHING, append, make, only_result
from ncc.dialects.scalar import flags_of
from ncc.dialects.size import Size
from ncc.dialects.size_atoms import Atom, Extremum, Quotient, Symbol, TileSize
from ncc.dialects.size_form import Form, is_at_least

index = IndexType()

LinearForm: TypeAlias = tuple[tuple[tuple[SSAValue, int], ...], int]
"""Values with their factors, and a constant: their sum is an index."""


@cache
def vector_type(element: Attribute, lanes: int) -> VectorType[Attribute]:
    """A vector of `lanes` elements; made once, since making a type checks it."""
    return VectorType(element, [lanes])


@cache
def memory_type(element: Attribute, elements: int) -> MemRefType[Attribute]:
    """So many contiguous elements."""
    return MemRefType(element, [elements])


@cache
def _number(text: str, type: Attribute) -> Attribute:
    """By its text: 0.0 and -0.0 would be one key."""
    return number(int(text) if text.lstrip("-").isdigit() else float(text), type)


@cache
def _flags(operation: type[Operation]) -> Mapping[str, Attribute]:
    return dict(flags_of(operation))


class LoopBuilder:
    """Adds operations at the end of the innermost open block of a function."""

    def __init__(self, entry: Block, sizes: SSAValue | None = None) -> None:
        """sizes: memory with the values of the kernel's own sizes, n0, n1 and so on."""
        self.blocks = [entry]
        self.sizes = sizes
        self._constants: dict[object, SSAValue] = {}
        self._first_constant: Operation | None = None
        self._sums: list[dict[tuple[tuple[SSAValue, int], ...], SSAValue]] = [{}]
        self._bases: list[dict[tuple[tuple[SSAValue, int], ...], SSAValue]] = [{}]
        """For each open block its sums, by the terms that were given."""
        self._depth: dict[SSAValue, int] = {}

    def add(
        self,
        operation: type[Operation],
        operands: Sequence[SSAValue],
        result_type: Attribute,
        properties: Mapping[str, Attribute] = NOTHING,
    ) -> SSAValue:
        """One operation with one result."""
        op = make(operation, operands=operands, result_types=[result_type], properties=properties)
        append(self.blocks[-1], op)
        return only_result(op)

    def put(self, op: Operation) -> None:
        """Append an operation."""
        self.blocks[-1].add_op(op)

    def binary(self, operation: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Arithmetic on two numbers of one type, or on two vectors."""
        return self.add(operation, [a, b], a.type, _flags(operation))

    def constant(self, value: float, type: Attribute = index) -> SSAValue:
        """A number of any type; at the head of the function, once."""
        key = value if type is index else (repr(value), type)
        found = self._constants.get(key)
        if found is None:
            if isinstance(value, Size):
                found = self._computed(value.form)
                if type is not index:
                    found = self.at_head(arith.IndexCastOp, [found], type)
            else:
                found = self._number(value, type)
            self._constants[key] = found
        return found

    def _number(self, value: float, type: Attribute) -> SSAValue:
        """A number at the head of the function."""
        if (held := signless(type)) != type:
            bits = self.constant(number(value, type).value.data, held)
            return self.at_head(arith.BitcastOp, [bits], type)
        return self.at_head(arith.ConstantOp, [], type, {"value": _number(repr(value), type)})

    def at_head(
        self,
        operation: type[Operation],
        operands: Sequence[SSAValue],
        type: Attribute,
        properties: Mapping[str, Attribute] = NOTHING,
    ) -> SSAValue:
        """An operation at the head of the function, behind those that stand there."""
        op = make(operation, operands=operands, properties=properties, result_types=[type])
        entry = self.blocks[0]
        if self._first_constant is None and entry.first_op is not None:
            entry.insert_op_before(op, entry.first_op)
        elif self._first_constant is None:
            entry.add_op(op)
        else:
            entry.insert_op_after(op, self._first_constant)
        self._first_constant = op
        made = only_result(op)
        self._depth[made] = 0
        return made

    # --- sizes ------------------------------------------------------------------------------

    def _computed(self, form: Form) -> SSAValue:
        """The value of an expression of the kernel's own sizes."""
        total: SSAValue | None = None
        for monomial, factor in form.terms:
            parts = [self._part(atom) for atom in monomial]
            if factor != 1 or not parts:
                parts.append(self.constant(factor))
            product = reduce(partial(self._binary_at_head, arith.MuliOp), parts)
            if total is not None:
                product = self._binary_at_head(arith.AddiOp, total, product)
            total = product
        return self.constant(0) if total is None else total

    def _part(self, atom: Atom) -> SSAValue:
        """The value of a part of an expression: once, since large ones have it many times."""
        key = ("part", atom)
        if key not in self._constants:
            self._constants[key] = self._atom(atom)
        return self._constants[key]

    def _atom(self, atom: Atom) -> SSAValue:
        match atom:
            case Symbol():
                return self._own_size(int(atom.name[1:]))
            case Quotient():
                if not is_at_least(atom.divisor, 1):
                    raise CompilerBug(f"a kernel divides by {atom.divisor}, which may be 0")
                both = self._computed(atom.dividend), self._computed(atom.divisor)
                # Most dividends are extents, and an unsigned division takes fewer instructions.
                is_extent = is_at_least(atom.dividend, 0)
                return self._binary_at_head(
                    arith.DivUIOp if is_extent else arith.FloorDivSIOp, *both
                )
            case Extremum():
                operation = arith.MinSIOp if atom.name == "min" else arith.MaxSIOp
                values = [self._computed(form) for form in atom.forms]
                return reduce(partial(self._binary_at_head, operation), values)
            case TileSize():
                raise CompilerBug("the size of a tile is no number of a kernel's own")

    def _own_size(self, number: int) -> SSAValue:
        """A number that the launch tells."""
        key = ("size", number)
        if key not in self._constants:
            if self.sizes is None:
                raise CompilerBug("a kernel with sizes, but no memory for their values")
            place = self.constant(number)
            stored = self.at_head(memref.LoadOp, [self.sizes, place], i64)
            self._constants[key] = self.at_head(arith.IndexCastOp, [stored], index)
        return self._constants[key]

    def _binary_at_head(self, operation: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        properties = _flags(operation) if operation in (arith.AddiOp, arith.MuliOp) else NOTHING
        return self.at_head(operation, [a, b], index, properties)

    def plus(self, at: SSAValue | int, number: int = 0) -> SSAValue:
        """An index as a value, so much further."""
        if isinstance(at, int):
            return self.constant(at + number)
        return self.linear([(at, 1)], number) if number != 0 else at

    def limited(self, a: SSAValue, most: int) -> SSAValue:
        """The smaller of two indices, which may be negative."""
        return self.local(self.add(arith.MinSIOp, [a, self.constant(most)], index))

    # --- index arithmetic -------------------------------------------------------------------

    def linear(self, terms: Sequence[tuple[SSAValue, int]], constant: int) -> SSAValue:
        """constant + sum(value * factor), outer loops first: each partial sum once a scope."""
        asked = tuple(terms)
        base = self._bases[-1].get(asked)
        if base is None:
            ordered = sorted(
                (t for t in asked if t[1] != 0), key=lambda t: self._depth.get(t[0], 0)
            )
            if not ordered:
                return self.constant(constant)
            base = self._bases[-1][asked] = self._sum(tuple(ordered))
        return base if constant == 0 else self.binary(arith.AddiOp, base, self.constant(constant))

    def _sum(self, terms: tuple[tuple[SSAValue, int], ...]) -> SSAValue:
        depth = max(self._depth.get(value, 0) for value, _ in terms)
        cache = self._sums[depth]
        if terms not in cache:
            value, factor = terms[-1]
            at = self.blocks[depth]
            if factor != 1:
                value = self._in(at, arith.MuliOp, value, self.constant(factor))
            if len(terms) > 1:
                value = self._in(at, arith.AddiOp, self._sum(terms[:-1]), value)
            cache[terms] = value
        return cache[terms]

    def _in(self, block: Block, operation: type[Operation], a: SSAValue, b: SSAValue) -> SSAValue:
        """Arithmetic at the end of a block that need not be the innermost."""
        op = make(operation, operands=[a, b], result_types=[a.type], properties=_flags(operation))
        append(block, op)
        return only_result(op)

    def quotient(self, a: SSAValue, b: int) -> SSAValue:
        """a / b for a >= 0."""
        return self.local(a if b == 1 else self.add(arith.DivUIOp, [a, self.constant(b)], index))

    def remainder(self, a: SSAValue, b: int) -> SSAValue:
        """a % b for a >= 0."""
        return self.local(self.add(arith.RemUIOp, [a, self.constant(b)], index))

    def local(self, value: SSAValue) -> SSAValue:
        """Note that an index is made in the innermost open block."""
        self._depth.setdefault(value, len(self.blocks) - 1)
        return value

    # --- memory -----------------------------------------------------------------------------

    def scratch(self, kind: Attribute) -> SSAValue:
        """Memory on the stack, aligned to a cache line."""
        properties: dict[str, Attribute] = {
            "alignment": integer(64),
            "operandSegmentSizes": segments(0, 0),
        }
        return self.add(memref.AllocaOp, [], kind, properties)

    def load(self, source: SSAValue, at: SSAValue, lanes: int) -> SSAValue:
        """One element, or a vector of `lanes` neighbours."""
        element = _element_of(source)
        if lanes == 1:
            return self.add(memref.LoadOp, [source, at], element)
        return self.add(vector.LoadOp, [source, at], vector_type(element, lanes))

    def gather(self, source: SSAValue, first: SSAValue, offsets: SSAValue) -> SSAValue:
        """A vector of elements at int32 offsets from the first."""
        lanes = offsets.type
        if not isinstance(lanes, VectorType):
            raise TypeError(f"{lanes} is no vector")
        type = vector_type(_element_of(source), lanes.get_shape()[0])
        return self.add(rt.GatherOp, [source, first, offsets], type)

    def store(self, value: SSAValue, target: SSAValue, at: SSAValue) -> None:
        """An element or a vector."""
        operation: type[Operation] = (
            vector.StoreOp if isinstance(value.type, VectorType) else memref.StoreOp
        )
        append(self.blocks[-1], make(operation, operands=[value, target, at]))

    def element(self, value: SSAValue, lane: int) -> SSAValue:
        """One lane of a vector."""
        at: dict[str, Attribute] = {"static_position": integers([lane])}
        return self.add(vector.ExtractOp, [value], _element_of(value), at)

    def with_element(self, value: SSAValue, element: SSAValue, lane: int) -> SSAValue:
        """A vector with one lane replaced."""
        at: dict[str, Attribute] = {"static_position": integers([lane])}
        return self.add(vector.InsertOp, [element, value], value.type, at)

    def shuffle(self, a: SSAValue, b: SSAValue, mask: Sequence[int]) -> SSAValue:
        """Lanes of two vectors; the numbers of those of b follow those of a."""
        lanes: dict[str, Attribute] = {"mask": integers(mask)}
        return self.add(vector.ShuffleOp, [a, b], vector_type(_element_of(a), len(mask)), lanes)

    def prefetch(self, source: SSAValue, at: SSAValue, l1: bool = False) -> None:
        """Prefetch the line of an element into L2, or into L1."""
        properties: dict[str, Attribute] = {"l1": UnitAttr()} if l1 else {}
        append(self.blocks[-1], make(rt.PrefetchOp, operands=[source, at], properties=properties))

    def fence(self) -> None:
        """Loads behind it are not scheduled before it."""
        append(self.blocks[-1], make(rt.FenceOp))

    def splat(self, value: SSAValue, lanes: int) -> SSAValue:
        """A vector of `lanes` copies."""
        return self.add(vector.BroadcastOp, [value], vector_type(value.type, lanes))

    # --- control ----------------------------------------------------------------------------

    def loop(
        self,
        first: SSAValue | int,
        last: SSAValue | int,
        step: int,
        carried: Sequence[SSAValue],
        body: Callable[[SSAValue, list[SSAValue]], Sequence[SSAValue]],
    ) -> list[SSAValue]:
        """for i from first to last: `body(i, carried)` gives the next carried values."""
        block = Block(arg_types=[index, *(value.type for value in carried)])
        bounds = [self.plus(n) for n in (first, last, step)]
        self._enter(block)
        self.local(block.args[0])
        results = body(block.args[0], list(block.args[1:]))
        append(block, make(scf.YieldOp, operands=list(results)))
        self._leave()
        op = scf.ForOp.create(
            operands=[*bounds, *carried],
            result_types=[value.type for value in carried],
            regions=[Region(block)],
        )
        self.put(op)
        return list(op.results)

    def each(
        self,
        first: SSAValue | int,
        last: SSAValue | int,
        step: int,
        body: Callable[[SSAValue], None],
    ) -> None:
        """The same without carried values."""

        def iteration(i: SSAValue, _: list[SSAValue]) -> Sequence[SSAValue]:
            body(i)
            return []

        self.loop(first, last, step, [], iteration)

    def branch(
        self,
        condition: SSAValue,
        yes: Callable[[], Sequence[SSAValue] | None],
        no: Callable[[], Sequence[SSAValue] | None] = lambda: None,
    ) -> list[SSAValue]:
        """Either of two pieces of code, and the values that both give, if they do."""
        regions, types = [], list[Attribute]()
        for body in (yes, no):
            block = Block()
            self._enter(block)
            values = body() or ()
            block.add_op(scf.YieldOp.create(operands=list(values)))
            self._leave()
            regions.append(Region(block))
            types = [value.type for value in values]
        op = scf.IfOp.create(operands=[condition], result_types=types, regions=regions)
        self.put(op)
        return list(op.results)

    def select(self, condition: SSAValue, yes: SSAValue, no: SSAValue) -> SSAValue:
        """Either of two values."""
        return self.add(arith.SelectOp, [condition, yes, no], yes.type)

    def equal(self, a: SSAValue, b: int) -> SSAValue:
        """a == b for indices."""
        return self.add(arith.CmpiOp, [a, self.constant(b)], i1, {"predicate": integer(0)})

    def less(self, a: SSAValue, b: int) -> SSAValue:
        """a < b for indices that are 0 or more."""
        return self.below(a, self.constant(b))

    def below(self, a: SSAValue, b: SSAValue) -> SSAValue:
        """The same for two that are computed."""
        return self.add(arith.CmpiOp, [a, b], i1, {"predicate": integer(6)})

    def function(self, name: str) -> func.FuncOp:
        """The operations so far, as a private function without results."""
        entry = self.blocks[0]
        entry.add_op(make(func.ReturnOp))
        return private_function(name, entry)

    def _enter(self, block: Block) -> None:
        self.blocks.append(block)
        self._sums.append({})
        self._bases.append({})

    def _leave(self) -> None:
        self.blocks.pop()
        self._sums.pop()
        self._bases.pop()


def _element_of(value: SSAValue) -> Attribute:
    """The type of the elements of memory or of a vector."""
    kind = value.type
    if not isinstance(kind, MemRefType | VectorType):
        raise CompilerBug(f"{kind} is neither memory nor a vector")
    element: Attribute = kind.element_type
    return element
