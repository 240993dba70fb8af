"""Instructions of the llvm dialect, appended to one function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache

from xdsl.dialects import llvm
from xdsl.dialects.builtin import (
    DenseArrayBase,
    DenseIntOrFPElementsAttr,
    FloatAttr,
    IntegerAttr,
    IntegerType,
    SymbolRefAttr,
    UnitAttr,
    VectorType,
    f32,
    i1,
    i32,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue

from ncc.compiler.llvm.instructions import ExtractElementOp, FCmpOp, SelectOp, element, lanes
from ncc.compiler.llvm.processors.find import processor_of
from ncc.compiler.llvm.scopes import OpT, Scope, ScopeWriter
from ncc.compiler.target import Target
from ncc.dialects.attributes import integer, memoized, segments, string, symbol
from ncc.dialects.operation import NOTHING, make, only_result

POINTER = llvm.LLVMPointerType()
VOID = llvm.LLVMVoidType()

_CALLED_AS_IN_C = llvm.CallingConventionAttr("ccc")
_INTERNAL, _EXTERNAL = llvm.LinkageAttr("internal"), llvm.LinkageAttr("external")
_NO_WRAP_FLAGS = IntegerAttr(0, i32)
_NOT_CONSTANT = llvm.GEP_USE_SSA_VAL
_NO_BUNDLES = DenseArrayBase.from_list(i32, ())
_NSW = {"overflowFlags": IntegerAttr(1, i32)}
_FCMP = {str(flag): flag.to_int() for flag in llvm.FCmpPredicateFlag}
_ICMP = {str(flag): flag.to_int() for flag in llvm.ICmpPredicateFlag}


@cache
def with_lanes(type: Attribute, count: int) -> Attribute:
    """A vector of `count` lanes of that type; for 0 the scalar."""
    return VectorType(type, [count]) if count else type


@memoized
def suffix(type: Attribute) -> str:
    """A type as in the names of intrinsics: v16f32, i64, p0."""
    if isinstance(type, llvm.LLVMPointerType):
        return "p0"
    name = str(element(type))
    return f"v{lanes(type)}{name}" if lanes(type) else name


def function_op(
    name: str,
    inputs: Sequence[Attribute],
    output: Attribute,
    body: Region | None = None,
    *,
    is_internal: bool = False,
    said: Mapping[str, Attribute] = NOTHING,
) -> llvm.FuncOp:
    """A function; without a body, it is declared, and another module defines it.

    said: further properties.
    """
    properties = {
        "sym_name": string(name),
        "function_type": _function_type(tuple(inputs), output),
        "CConv": _CALLED_AS_IN_C,
        "linkage": _INTERNAL if is_internal else _EXTERNAL,
        "no_unwind": UnitAttr(),
        **said,
    }
    return make(llvm.FuncOp, properties=properties, regions=[Region() if body is None else body])


@cache
def _function_type(inputs: tuple[Attribute, ...], output: Attribute) -> llvm.LLVMFunctionType:
    return llvm.LLVMFunctionType(inputs, output)


def element_pointer(base: SSAValue, index: SSAValue | int, element: Attribute) -> llvm.GEPOp:
    """A pointer, moved by so many elements; by a vector of numbers, a pointer for each lane."""
    constant, operands = (index, []) if isinstance(index, int) else (_NOT_CONSTANT, [index])
    return make(
        llvm.GEPOp,
        operands=[base, *operands],
        result_types=[
            POINTER if isinstance(index, int) else with_lanes(POINTER, lanes(index.type))
        ],
        properties={
            "rawConstantIndices": segments(constant),
            "elem_type": element,
            "noWrapFlags": _NO_WRAP_FLAGS,
        },
    )


@memoized
def _has_no_nan(constant: Attribute) -> bool:
    if isinstance(constant, FloatAttr):
        return constant.value.data == constant.value.data
    if isinstance(constant, DenseIntOrFPElementsAttr):
        return all(number == number for number in constant.get_values())
    return False


class LlvmBuilder(ScopeWriter):
    """The methods named after instructions append to the current scope."""

    def __init__(self, entry: Block, target: Target) -> None:
        super().__init__(entry)
        self.target = target
        self.processor = processor_of(target)
        self._numbers: set[SSAValue] = set()
        """Extrema that are never NaN."""

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
        """a * b + c, rounded once if the target has the instruction, otherwise twice."""
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

    def _call(
        self,
        kind: type[OpT],
        operands: Sequence[SSAValue],
        results: Sequence[Attribute],
        properties: Mapping[str, Attribute] = NOTHING,
    ) -> OpT:
        properties = {
            **properties,
            "op_bundle_sizes": _NO_BUNDLES,
            "operandSegmentSizes": segments(len(operands), 0),
        }
        return self.emit(make(kind, operands=operands, result_types=results, properties=properties))

    def intrinsic(self, name: str, arguments: Sequence[SSAValue], type: Attribute) -> SSAValue:
        """The result of an LLVM intrinsic, by its full name."""
        named = {"intrin": string(name)}
        return only_result(self._call(llvm.CallIntrinsicOp, arguments, [type], named))

    def run_intrinsic(self, name: str, arguments: Sequence[SSAValue]) -> None:
        """Call an LLVM intrinsic that has no result, by its full name."""
        self._call(llvm.CallIntrinsicOp, arguments, [], {"intrin": string(name)})

    def lane_wise(self, name: str, *arguments: SSAValue) -> SSAValue:
        """Call the intrinsic `llvm.<name>.<type>` whose operands and result have one type."""
        type = arguments[0].type
        return self.intrinsic(f"llvm.{name}.{suffix(type)}", arguments, type)

    def extremum(self, kind: str, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """`max` or `min`: lhs where it is larger (smaller), otherwise rhs, also for NaN.

        If one instruction does this, the builder names it: LLVM's code generator would find it in a
        comparison and a select, but that takes time.
        """
        type, count = lhs.type, lanes(lhs.type)
        whole = count <= self.target.lanes and element(type) == f32
        name = self.processor.extremum.get(count) if whole else None
        if name is None:
            holds = self.compare("ogt" if kind == "max" else "olt", lhs, rhs)
            result = self.select(holds, lhs, rhs)
        else:
            arguments = [lhs, rhs, self.constant(4, i32)] if count == 16 else [lhs, rhs]
            result = self.intrinsic(name.format(kind), arguments, type)
        if self.is_number(rhs):
            self.call_number(result)
        return result

    def call_number(self, value: SSAValue) -> None:
        """Note that a value is never NaN."""
        self._numbers.add(value)

    def is_number(self, value: SSAValue) -> bool:
        """Whether this is known not to be NaN: a constant, or an extremum with a constant, also if
        a loop carries it.
        """
        if value in self._numbers:
            return True
        owner = value.owner
        if not isinstance(owner, llvm.ConstantOp):
            return False
        return _has_no_nan(owner.value)

    def call(
        self, callee: str, arguments: Sequence[SSAValue], results: Sequence[Attribute] = ()
    ) -> Sequence[SSAValue]:
        """Call a function by its name."""
        return self._call(llvm.CallOp, arguments, results, {"callee": symbol(callee)}).results

    def call_pointer(self, callee: SSAValue, arguments: Sequence[SSAValue]) -> None:
        """Call a function without a result by its address."""
        self._call(llvm.CallOp, [callee, *arguments], [])

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
        return self._count_in(scope, llvm.MulOp, value, self.constant(factor, i64))

    def add_in(self, scope: Scope, lhs: SSAValue, rhs: SSAValue) -> SSAValue:
        """lhs + rhs in a scope around this one, without overflow, once."""
        return self._count_in(scope, llvm.AddOp, lhs, rhs)

    def _count_in(
        self, scope: Scope, kind: type[Operation], lhs: SSAValue, rhs: SSAValue
    ) -> SSAValue:
        key = (kind, lhs, rhs)
        found = scope.known.get(key)
        if found is None:
            op = make(kind, operands=[lhs, rhs], result_types=[i64], properties=_NSW)
            found = scope.known[key] = self.emit_in(scope, op)
        return found


@cache
def _mask(mask: tuple[int, ...]) -> DenseArrayBase:
    return DenseArrayBase.from_list(i32, mask)
