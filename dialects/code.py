"""Operations for algorithms that are written as loops from the start.

    %y = rt.code(%x) {
    ^bb0(%source: memref<8xf32>, %result: memref<8xf32>):
      rt.lanes %first to %last {
      ^bb0(%i: index):
        ...
      }
      rt.yield
    } : (tensor<8xf32>) -> tensor<8xf32>

They are operations of the `rt` dialect.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import ClassVar

from xdsl.dialects.builtin import (
    AnyFloatConstr,
    ArrayAttr,
    FunctionType,
    IndexType,
    IntegerAttr,
    IntegerType,
    MemRefType,
    StringAttr,
    TensorType,
    VectorType,
    i64,
)
from xdsl.ir import Attribute, Block, Operation, Region, SSAValue
from xdsl.irdl import (
    BaseAttr,
    IRDLOperation,
    VarConstraint,
    base,
    irdl_op_definition,
    operand_def,
    opt_prop_def,
    prop_def,
    region_def,
    result_def,
    traits_def,
    var_operand_def,
    var_result_def,
)
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.traits import HasParent, IsolatedFromAbove, IsTerminator, NoTerminator, Pure
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.attributes import SizeAttr, extents_of, integer, memref_type

I64Attr = IntegerAttr.constr(type=i64)


@irdl_op_definition
class CodeOp(IRDLOperation):
    """What no `linalg.generic` can express (suppression, recurrences), as loops.

    The region's arguments are memrefs: first those of the operands (read only), then those of
    the results (undefined at entry, to be filled), then the scratch memory that the property
    `scratch` lists. The region sees no other values from outside, and ends in `rt.yield`.

    With `iterations` n the region runs n times, in any order or at the same time. Its last argument
    is the index of the iteration. No iteration reads or writes what another one writes.

    With `steps` m all iterations run m times, one step after another. The index of the step is the
    argument in front of that of the iteration. Results keep their values from step to step, and an
    iteration sees what any iteration wrote in earlier steps; scratch memory is undefined again.
    """

    name = "rt.code"

    inputs = var_operand_def(TensorType)
    outputs = var_result_def(TensorType)
    scratch = opt_prop_def(ArrayAttr[MemRefType])
    iterations = opt_prop_def(I64Attr | base(SizeAttr))
    steps = opt_prop_def(I64Attr | base(SizeAttr))
    body = region_def("single_block")

    traits = traits_def(Pure(), IsolatedFromAbove())

    def __init__(
        self,
        inputs: Sequence[SSAValue | Operation],
        result_types: Sequence[TensorType],
        body: Region | None = None,
        scratch: Sequence[MemRefType] = (),
        iterations: int | None = None,
        steps: int | None = None,
    ) -> None:
        """Without a body, an empty block with the right arguments is made, to be filled."""
        values = [SSAValue.get(value) for value in inputs]
        if body is None:
            shaped = [value.type for value in values] + list(result_types)
            memrefs = [
                memref_type(type.get_element_type(), extents_of(type))
                for type in shaped
                if isinstance(type, TensorType)
            ]
            numbers = [IndexType() for count in (steps, iterations) if count is not None]
            body = Region(Block(arg_types=[*memrefs, *scratch, *numbers]))
        properties: dict[str, Attribute] = {}
        if scratch:
            properties["scratch"] = ArrayAttr(scratch)
        if iterations is not None:
            properties["iterations"] = integer(iterations)
        if steps is not None:
            properties["steps"] = integer(steps)
        super().__init__(
            operands=[values], result_types=[result_types], properties=properties, regions=[body]
        )

    def verify_(self) -> None:
        arguments = [argument.type for argument in self.body.block.args]
        self._verify_numbers(arguments)
        self._verify_memory(arguments)
        if not isinstance(self.body.block.last_op, YieldOp):
            raise VerifyException("rt.code: the region ends in rt.yield")

    def _verify_numbers(self, arguments: list[Attribute]) -> None:
        """The indices of step and iteration are last; they are taken off the arguments."""
        if self.iterations is not None:
            if _is_none(self.iterations):
                raise VerifyException("rt.code: it has one iteration or more")
            if not arguments or not isinstance(arguments.pop(), IndexType):
                raise VerifyException("rt.code: the index of the iteration is its last argument")
        if self.steps is not None:
            if self.iterations is None or _is_none(self.steps):
                raise VerifyException("rt.code: one step or more, of some iterations")
            if not arguments or not isinstance(arguments.pop(), IndexType):
                raise VerifyException(
                    "rt.code: the index of the step is in front of that of the iteration"
                )

    def _verify_memory(self, arguments: Sequence[Attribute]) -> None:
        """The other arguments are the memrefs of operands and results, then scratch memory."""
        tensors = [*self.operand_types, *self.result_types]
        scratch = list(self.scratch) if self.scratch is not None else []
        if len(arguments) != len(tensors) + len(scratch):
            raise VerifyException(
                f"rt.code: the region has {len(arguments)} arguments, expected {len(tensors)} for "
                f"operands and results and {len(scratch)} for scratch memory"
            )
        for position, (argument, tensor) in enumerate(zip(arguments, tensors, strict=False)):
            assert isinstance(tensor, TensorType)
            if (
                not isinstance(argument, MemRefType)
                or argument.get_shape() != tensor.get_shape()
                or argument.element_type != tensor.element_type
            ):
                raise VerifyException(
                    f"rt.code: argument {position} of the region is {argument}, expected the "
                    f"memref of {tensor}"
                )
        for argument, expected in zip(arguments[len(tensors) :], scratch, strict=True):
            if argument != expected:
                raise VerifyException(
                    f"rt.code: scratch memory is {argument} in the region and {expected} outside"
                )

    def print(self, printer: Printer) -> None:
        with printer.in_parens():
            printer.print_list(self.inputs, printer.print_ssa_value)
        if self.scratch is not None:
            printer.print_string(" scratch ")
            printer.print_attribute(self.scratch)
        if self.steps is not None:
            _print_number(printer, " steps ", self.steps)
        if self.iterations is not None:
            _print_number(printer, " iterations ", self.iterations)
        printer.print_op_attributes(self.attributes, print_keyword=True)
        printer.print_string(" ")
        printer.print_region(self.body)
        printer.print_string(" : ")
        printer.print_function_type(self.operand_types, self.result_types)

    @classmethod
    def parse(cls, parser: Parser) -> CodeOp:
        position = parser.pos
        inputs = parser.parse_comma_separated_list(
            Parser.Delimiter.PAREN, parser.parse_unresolved_operand
        )
        properties: dict[str, Attribute] = {}
        if parser.parse_optional_keyword("scratch"):
            properties["scratch"] = parser.parse_attribute()
        for name in ("steps", "iterations"):
            if parser.parse_optional_keyword(name):
                number = parser.parse_optional_integer()
                found = parser.parse_attribute() if number is None else integer(number)
                properties[name] = found
        attributes = parser.parse_optional_attr_dict_with_keyword()
        body = parser.parse_region()
        parser.parse_punctuation(":")
        function_type = parser.parse_type()
        if not isinstance(function_type, FunctionType):
            parser.raise_error("expected a function type", at_position=position)
        return cls.create(
            operands=parser.resolve_operands(inputs, function_type.inputs.data, position),
            result_types=function_type.outputs.data,
            properties=properties,
            attributes=attributes.data if attributes is not None else {},
            regions=[body],
        )


def _is_none(number: Attribute) -> bool:
    """Whether a number is known, and below one."""
    return isinstance(number, IntegerAttr) and number.value.data < 1


def _print_number(printer: Printer, text: str, number: Attribute) -> None:
    printer.print_string(text)
    if isinstance(number, IntegerAttr):
        printer.print_string(str(number.value.data))
    else:
        printer.print_attribute(number)


@irdl_op_definition
class LanesOp(IRDLOperation):
    """A loop of an `rt.code` whose iterations are independent: lanes of vectors may run them.

    Its body has no branches: only arithmetic, reads and writes. The last index of a write moves
    with the iteration. So does that of a read, or all indices are the same for all iterations.
    """

    name = "rt.lanes"

    first = operand_def(IndexType())
    last = operand_def(IndexType())
    body = region_def("single_block")

    traits = traits_def(NoTerminator())
    assembly_format = "$first `to` $last $body attr-dict"

    def __init__(self, first: SSAValue, last: SSAValue, body: Block) -> None:
        super().__init__(operands=[first, last], regions=[Region(body)])

    def verify_(self) -> None:
        if [type(argument.type) for argument in self.body.block.args] != [IndexType]:
            raise VerifyException("rt.lanes: the region's argument is the index of the lane")
        if any(op.regions for op in self.body.block.ops):
            raise VerifyException("rt.lanes: the region has no loops or branches")


REDUCTIONS = ("add", "max")
"""How `rt.reduce` combines: a sum in any order, or the largest, where NaN does not count."""


@irdl_op_definition
class ReduceOp(IRDLOperation):
    """`initial` and the results of all iterations of a loop, combined in any order.

    Its body is that of an `rt.lanes` that writes nothing, and ends in `rt.reduce.return`:

        %dot = rt.reduce "add" from %zero, %first to %last {
        ^bb0(%i: index):
          ...
          rt.reduce.return %product : f32
        } : f32
    """

    name = "rt.reduce"

    T: ClassVar = VarConstraint("T", AnyFloatConstr)

    combine = prop_def(StringAttr)
    initial = operand_def(T)
    first = operand_def(IndexType())
    last = operand_def(IndexType())
    body = region_def("single_block")
    result = result_def(T)

    assembly_format = (
        "$combine `from` $initial `,` $first `to` $last $body attr-dict `:` type($result)"
    )

    def __init__(
        self, combine: str, initial: SSAValue, first: SSAValue, last: SSAValue, body: Block
    ) -> None:
        super().__init__(
            operands=[initial, first, last],
            properties={"combine": StringAttr(combine)},
            result_types=[initial.type],
            regions=[Region(body)],
        )

    def verify_(self) -> None:
        if self.combine.data not in REDUCTIONS:
            raise VerifyException(
                f"rt.reduce: {self.combine.data} is none of {', '.join(REDUCTIONS)}"
            )
        if [type(argument.type) for argument in self.body.block.args] != [IndexType]:
            raise VerifyException("rt.reduce: the region's argument is the index of the lane")
        if any(op.regions for op in self.body.block.ops):
            raise VerifyException("rt.reduce: the region has no loops or branches")
        if not isinstance(self.body.block.last_op, ReduceReturnOp):
            raise VerifyException("rt.reduce: the region ends in rt.reduce.return")


@irdl_op_definition
class ReduceReturnOp(IRDLOperation):
    """The result of one iteration of an `rt.reduce`."""

    name = "rt.reduce.return"

    value = operand_def(AnyFloatConstr)

    traits = traits_def(IsTerminator(), Pure(), HasParent(ReduceOp))
    assembly_format = "$value attr-dict `:` type($value)"

    def __init__(self, value: SSAValue) -> None:
        super().__init__(operands=[value])


@irdl_op_definition
class DotOp(IRDLOperation):
    """Two products of int16, added: of the low halves of two i32, and of their high halves.

    Also of vectors of i32, lane by lane.
    """

    name = "rt.dot"

    T: ClassVar = VarConstraint("T", BaseAttr(IntegerType) | BaseAttr(VectorType))

    a = operand_def(T)
    b = operand_def(T)
    result = result_def(T)

    traits = traits_def(Pure())
    assembly_format = "$a `,` $b attr-dict `:` type($result)"

    def __init__(self, a: SSAValue, b: SSAValue) -> None:
        super().__init__(operands=[a, b], result_types=[a.type])


@irdl_op_definition
class YieldOp(IRDLOperation):
    """The end of the region of an `rt.code`: the results are in their memrefs."""

    name = "rt.yield"

    traits = traits_def(IsTerminator(), Pure(), HasParent(CodeOp))
    assembly_format = "attr-dict"

    def __init__(self) -> None:
        super().__init__()


CODE: list[type[Operation]] = [CodeOp, LanesOp, ReduceOp, ReduceReturnOp, DotOp, YieldOp]
"""Operations of the `rt` dialect that are defined here."""
