"""Appends operations of the llvm dialect to one function.

No LLVM pass that simplifies runs later, so this is the place where constants are shared and where
what does not change in a loop is put in front of it: every loop or branch is a Scope, and an
operation can be placed in any scope around the current one.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from functools import cache
from typing import TypeVar

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    BFloat16Type,
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    Float16Type,
    Float32Type,
    Float64Type,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.llvm.instructions import (
    ExtractElementOp,
    FCmpOp,
    SelectOp,
    element,
    lanes,
)
from ncc.compiler.target import Target
from ncc.dialects.attributes import integer, memoized, segments, string, symbol
from ncc.dialects.operation import append, make, only_result

FLOATS = (BFloat16Type, Float16Type, Float32Type, Float64Type)
POINTER = llvm.LLVMPointerType()

_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_NOT_CONSTANT = llvm.GEP_USE_SSA_VAL
_NO_BUNDLES = DenseArrayBase.from_list(i32, ())
_NSW = {"overflowFlags": IntegerAttr(1, i32)}
_EXTREMA = {
    4: "llvm.x86.sse.{}.ps",
    8: "llvm.x86.avx.{}.ps.256",
    16: "llvm.x86.avx512.{}.ps.512",
}
"""What the instructions for extrema of float32 are called, by the number of lanes."""

_FCMP = {str(flag): flag.to_int() for flag in llvm.FCmpPredicateFlag}
_ICMP = {str(flag): flag.to_int() for flag in llvm.ICmpPredicateFlag}

OpT = TypeVar("OpT", bound=Operation)


class Scope:
    """The body of a loop or of a branch (the outermost: of the function) while it is written."""

    def __init__(self, block: Block, parent: Scope | None) -> None:
        self.block = block
        """Where the next operation goes; changes as loops inside end."""
        self.parent = parent
        self.depth: int = 0 if parent is None else parent.depth + 1
        self.known: dict[Hashable, SSAValue] = {}
        """Values computed in this scope, by what they are."""
        self.pointers: dict[tuple[int, int], tuple[SSAValue, object, object]] = {}
        """Addresses asked for in this scope, by the identities of what they were asked for by.

        Most differ by a constant, and share all else. What has the identities is kept with them.
        """


@cache
def with_lanes(type: Attribute, count: int) -> Attribute:
    """A vector of `count` lanes of that type; for 0 the scalar."""
    return VectorType(type, [count]) if count else type


@memoized
def suffix(type: Attribute) -> str:
    """How names of intrinsics spell a type: v16f32, i64, p0."""
    if isinstance(type, llvm.LLVMPointerType):
        return "p0"
    name = str(element(type))
    return f"v{lanes(type)}{name}" if lanes(type) else name


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


def element_pointer(base: SSAValue, index: SSAValue | int, element: Attribute) -> llvm.GEPOp:
    """The address so many elements behind another one."""
    constant, operands = (index, []) if isinstance(index, int) else (_NOT_CONSTANT, [index])
    return make(
        llvm.GEPOp,
        operands=[base, *operands],
        result_types=[POINTER],
        properties={
            "rawConstantIndices": segments(constant),
            "elem_type": element,
            "noWrapFlags": _NO_WRAP_FLAGS,
        },
    )


def element_pointers(base: SSAValue, places: SSAValue, element: Attribute) -> llvm.GEPOp:
    """The addresses so many elements behind another one, a lane each."""
    op = element_pointer(base, places, element)
    return make(
        llvm.GEPOp,
        operands=op.operands,
        result_types=[VectorType(POINTER, [lanes(places.type)])],
        properties=op.properties,
    )


class Builder:
    """Writes one function. The methods named after instructions append to the current scope."""

    def __init__(self, entry: Block, target: Target) -> None:
        self.entry = entry
        self.target = target
        self.scope = Scope(entry, None)
        self._root = self.scope
        # By the identities of their types, which they keep alive.
        self._constants: dict[tuple[int, str], SSAValue] = {}
        self._scopes: dict[SSAValue, Scope] = {}
        self._numbers: set[SSAValue] = set()
        """Extrema that cannot be NaN."""

    # Where things are

    def emit(self, op: OpT) -> OpT:
        """Append to the current scope."""
        append(self.scope.block, op)
        return op

    def result(self, op: Operation) -> SSAValue:
        """Append to the current scope, and give what the operation computes."""
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
        return self._scopes.get(value, self._root)

    def root(self) -> Scope:
        """The scope of the function itself."""
        return self._root

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

    # Instructions

    def unary(self, op: type[Operation], value: SSAValue) -> SSAValue:
        """An instruction with one operand, whose result has the type of the operand."""
        return self.result(make(op, operands=[value], result_types=[value.type]))

    def binary(self, op: type[Operation], lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """An instruction with two operands, whose result has their type."""
        return self.result(make(op, operands=[lhs, rhs], result_types=[lhs.type]))

    def convert(self, op: type[Operation], value: SSAValue, type: Attribute) -> SSAValue:
        """A conversion of each lane to the element of `type`."""
        return self.result(make(op, operands=[value], result_types=[type]))

    def multiply_add(self, a: SSAValue, b: SSAValue, c: SSAValue) -> SSAValue:
        """a * b + c: rounded once where the target has the instruction, otherwise twice."""
        if self.target.fma:
            op = make(llvm.FMAOp, operands=[a, b, c], result_types=[a.type])
            return self.result(op)
        return self.binary(llvm.FAddOp, self.binary(llvm.FMulOp, a, b), c)

    def compare(self, predicate: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """An i1 a lane. Predicates are LLVM's: `olt`, `uno` ... for floats, `slt` ... integers."""
        integers = isinstance(element(lhs.type), IntegerType)
        op: type[Operation] = llvm.ICmpOp if integers else FCmpOp
        number = (_ICMP if integers else _FCMP)[predicate]
        made = make(
            op,
            operands=[lhs, rhs],
            result_types=[with_lanes(i1, lanes(lhs.type))],
            properties={"predicate": integer(number)},
        )
        return self.result(made)

    def select(self, condition: SSAValue, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs where the condition holds, otherwise rhs."""
        op = make(SelectOp, operands=[condition, lhs, rhs], result_types=[lhs.type])
        return self.result(op)

    def intrinsic(
        self, name: str, arguments: Sequence[SSAValue], result: Attribute | None
    ) -> SSAValue | None:
        """Call an LLVM intrinsic by its full name."""
        op = make(
            llvm.CallIntrinsicOp,
            operands=arguments,
            result_types=[] if result is None else [result],
            properties={
                "intrin": string(name),
                "op_bundle_sizes": _NO_BUNDLES,
                "operandSegmentSizes": segments(len(arguments), 0),
            },
        )
        self.emit(op)
        return only_result(op) if op.results else None

    def lane_wise(self, name: str, *arguments: SSAValue) -> SSAValue:
        """Call the intrinsic `llvm.<name>.<type>` whose operands and result have one type."""
        type = arguments[0].type
        result = self.intrinsic(f"llvm.{name}.{suffix(type)}", arguments, type)
        assert result is not None
        return result

    def extremum(self, kind: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`max` or `min`: lhs where it is the larger (smaller) one, otherwise, also if NaN, rhs.

        Where one instruction does that, it is named: LLVM's code generator would find it in the
        comparison and the choice, but takes time for that.
        """
        type, count = lhs.type, lanes(lhs.type)
        name = _EXTREMA.get(count) if count <= self.target.lanes and element(type) == f32 else None
        result: SSAValue | None
        if name is None:
            holds = self.compare("ogt" if kind == "max" else "olt", lhs, rhs)
            result = self.select(holds, lhs, rhs)
        else:
            arguments = [lhs, rhs, self.constant(4, i32)] if count == 16 else [lhs, rhs]
            result = self.intrinsic(name.format(kind), arguments, type)
            assert result is not None
        if self.is_number(rhs):
            self._numbers.add(result)
        return result

    def is_number(self, value: SSAValue) -> bool:
        """Whether this is known to be no NaN: a constant, or the extremum of one and another."""
        if value in self._numbers:
            return True
        owner = value.owner
        if not isinstance(owner, llvm.ConstantOp):
            return False
        attribute = owner.value
        if isinstance(attribute, FloatAttr):
            return attribute.value.data == attribute.value.data
        if isinstance(attribute, DenseIntOrFPElementsAttr):
            return all(number == number for number in attribute.get_values())
        return False

    def call(
        self, callee: str, arguments: Sequence[SSAValue], results: Sequence[Attribute] = ()
    ) -> Sequence[SSAValue]:
        """Call a function by its name."""
        op = make(
            llvm.CallOp,
            operands=arguments,
            result_types=results,
            properties={
                "callee": symbol(callee),
                "op_bundle_sizes": _NO_BUNDLES,
                "operandSegmentSizes": segments(len(arguments), 0),
            },
        )
        return self.emit(op).results

    def call_pointer(self, callee: SSAValue, arguments: Sequence[SSAValue]) -> None:
        """Call a function without a result by its address."""
        properties = {
            "op_bundle_sizes": _NO_BUNDLES,
            "operandSegmentSizes": segments(1 + len(arguments), 0),
        }
        self.emit(make(llvm.CallOp, operands=[callee, *arguments], properties=properties))

    def address_of(self, function: SymbolRefAttr) -> SSAValue:
        """The address of a function of this module, or of another one."""
        properties = {"global_name": function}
        return self.result(make(llvm.AddressOfOp, result_types=[POINTER], properties=properties))

    # Control

    def branch(self, target: Block, arguments: Sequence[SSAValue]) -> None:
        """Go on in another block."""
        self.emit(llvm.BrOp.create(operands=arguments, successors=[target]))

    def branch_if(
        self,
        condition: SSAValue,
        then: Block,
        then_arguments: Sequence[SSAValue],
        otherwise: Block,
        other_arguments: Sequence[SSAValue],
    ) -> None:
        """Go on in one of two blocks."""
        sizes = (1, len(then_arguments), len(other_arguments))
        op = llvm.CondBrOp.create(
            operands=[condition, *then_arguments, *other_arguments],
            successors=[then, otherwise],
            properties={"operandSegmentSizes": segments(*sizes)},
        )
        self.emit(op)

    # Vectors

    def splat(self, scalar: SSAValue, type: Attribute) -> SSAValue:
        """A vector of that type whose lanes all are the scalar."""
        owner = scalar.owner
        if isinstance(owner, llvm.ConstantOp):
            value = owner.value
            if isinstance(value, FloatAttr | IntegerAttr):
                return self.constant(value.value.data, type)
        undefined = self.undefined(type)
        inserted = make(
            llvm.InsertElementOp,
            operands=[undefined, scalar, self.constant(0, i32)],
            result_types=[type],
        )
        first = self.result(inserted)
        return self.shuffle(first, undefined, (0,) * lanes(type))

    def shuffle(self, lhs: SSAValue, rhs: SSAValue, mask: Sequence[int]) -> SSAValue:
        """Lanes of the two vectors, counted through both, in the order of the mask."""
        op = make(
            llvm.ShuffleVectorOp,
            operands=[lhs, rhs],
            result_types=[with_lanes(element(lhs.type), len(mask))],
            properties={"mask": _mask(tuple(mask))},
        )
        return self.result(op)

    def extract(self, vector: SSAValue, position: SSAValue) -> SSAValue:
        """One lane of a vector."""
        op = make(
            ExtractElementOp, operands=[vector, position], result_types=[element(vector.type)]
        )
        return self.result(op)

    # Integers that count

    def multiply_in(self, scope: Scope, value: SSAValue, factor: int) -> SSAValue:
        """value * factor in a scope around this one, without overflow, once."""
        key = ("multiply", value, factor)
        found = scope.known.get(key)
        if found is None:
            op = make(
                llvm.MulOp,
                operands=[value, self.constant(factor, i64)],
                result_types=[i64],
                properties=_NSW,
            )
            found = scope.known[key] = self.emit_in(scope, op)
        return found

    def add_in(self, scope: Scope, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs + rhs in a scope around this one, without overflow, once."""
        key = ("add", lhs, rhs)
        found = scope.known.get(key)
        if found is None:
            op = make(llvm.AddOp, operands=[lhs, rhs], result_types=[i64], properties=_NSW)
            found = scope.known[key] = self.emit_in(scope, op)
        return found


@cache
def _mask(mask: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, mask)
