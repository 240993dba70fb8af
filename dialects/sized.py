"""The `sized` dialect: operations of `tensor` whose numbers depend on the inputs.

    %y = sized.extract_slice %x[0, "h@224 // 2"][3, 7][1, 1]
         : tensor<3x?xf32, [#rt.size<"h@224">]> to tensor<3x7xf32>

In `tensor`, each number that is not constant is an operand. Here it is a size, with which passes
compute. An operation of this dialect is one of the class in `tensor` with its name: a pass that
matches that class matches both.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from math import prod
from typing import TypeVar

from xdsl.dialects import tensor
from xdsl.dialects.builtin import ArrayAttr, DenseArrayBase, TensorType, i64
from xdsl.ir import Dialect, Operation, SSAValue
from xdsl.irdl import IRDLOperation, PropertyDef, base
from xdsl.irdl.declarative_assembly_format import (
    AttributeVariable,
    CustomDirective,
    ParsingState,
    PrintingState,
    VariadicOperandVariable,
    irdl_custom_directive,
)
from xdsl.irdl.operations import get_accessors_from_op_def
from xdsl.parser import Parser
from xdsl.printer import Printer
from xdsl.utils.exceptions import VerifyException

from ncc.dialects.attributes import extents_of, integers, values_of
from ncc.dialects.size import are_equal, by_hint, is_open
from ncc.dialects.size_text import size_of_text, text_of_size

OpT = TypeVar("OpT", bound=IRDLOperation)

_NUMBERS = DenseArrayBase.constr(i64) | base(ArrayAttr)
"""A list that `integers` makes."""


@irdl_custom_directive
class SizeList(CustomDirective):
    """A list of numbers and sizes, `[0, "h@224 // 2"]`, in place of operands."""

    operands: VariadicOperandVariable
    numbers: AttributeVariable

    def parse(self, parser: Parser, state: ParsingState) -> None:
        """Without operands."""
        found = parser.parse_comma_separated_list(
            Parser.Delimiter.SQUARE, lambda: _parse_number(parser)
        )
        self.operands.set(state, [])
        self.numbers.set(state, integers(found))

    def print(self, printer: Printer, state: PrintingState, op: IRDLOperation) -> None:
        """Each size as its expression."""
        held = self.numbers.get(op)
        if held is None:
            raise VerifyException(f"{op.name}: a list of numbers is missing")
        state.print_whitespace(printer)
        with printer.in_square_brackets():
            printer.print_list(values_of(held), lambda value: _print_number(printer, value))


def _parse_number(parser: Parser) -> int:
    text = parser.parse_optional_str_literal()
    return parser.parse_integer() if text is None else size_of_text(text)


def _print_number(printer: Printer, value: int) -> None:
    if is_open(value):
        printer.print_string_literal(text_of_size(value))
    else:
        printer.print_int(value)


def sized(op: type[OpT]) -> type[OpT]:
    """Defines the operation like the one that it inherits from, with lists of numbers and sizes.

    (xDSL's decorator does not take fields from a class that is defined already.)
    """
    whole = op.get_irdl_definition()
    lists = [name for name in whole.properties if name.startswith("static_")]
    own = replace(
        whole,
        name=op.name,
        properties=whole.properties | dict.fromkeys(lists, PropertyDef(_NUMBERS)),
        assembly_format=op.assembly_format,
        custom_directives={"DynamicIndexList": SizeList},
    )
    for name, value in get_accessors_from_op_def(own, op.verify_).items():
        setattr(op, name, value)
    return op


@sized
class PadOp(tensor.PadOp):
    """A `tensor.pad` by sizes."""

    name = "sized.pad"

    def verify_(self) -> None:
        """Each axis is longer by what is added to it."""
        low, high = values_of(self.static_low), values_of(self.static_high)
        source = _shape(self.source)
        if not len(low) == len(high) == len(source) == len(self.region.block.args):
            raise VerifyException(f"{self.name}: each axis has two numbers and an argument")
        _check(self, _shape(self.result), [*map(sum, zip(low, source, high, strict=True))])


@sized
class ExtractSliceOp(tensor.ExtractSliceOp):
    """A `tensor.extract_slice` at offsets, or of extents, that are sizes."""

    name = "sized.extract_slice"

    def verify_(self) -> None:
        """The box has the extents of the result."""
        begin, size = values_of(self.static_offsets), values_of(self.static_sizes)
        source = _shape(self.source)
        if not len(begin) == len(size) == len(source):
            raise VerifyException(f"{self.name}: each axis has an offset and an extent")
        if any(step != 1 for step in values_of(self.static_strides)):
            raise VerifyException(f"{self.name}: neighbours stay neighbours")
        _check(self, _shape(self.result), size)


@sized
class ExpandShapeOp(tensor.ExpandShapeOp):
    """A `tensor.expand_shape` to extents that are sizes."""

    name = "sized.expand_shape"

    assembly_format = (
        "$src $reassociation `output_shape` custom<DynamicIndexList>($dynamic_output_shape, "
        "$static_output_shape) attr-dict `:` type($src) `into` type($result)"
    )

    def verify_(self) -> None:
        """Each axis of the source becomes axes with as many elements."""
        shape = values_of(self.static_output_shape)
        groups = [[axis.value.data for axis in group.data] for group in self.reassociation.data]
        if [axis for group in groups for axis in group] != [*range(len(shape))]:
            raise VerifyException(f"{self.name}: each axis of the result is in one group")
        _check(self, _shape(self.src), [prod(shape[axis] for axis in group) for group in groups])
        _check(self, _shape(self.result), shape)


def _shape(value: SSAValue) -> Sequence[int]:
    if not isinstance(value.type, TensorType):
        raise VerifyException(f"{value.type} is no tensor")
    return extents_of(value.type)


@by_hint()
def _check(op: Operation, found: Sequence[int], wanted: Sequence[int]) -> None:
    """Refuse a shape that is another one for the hint: one size has several expressions."""
    if not are_equal(found, wanted):
        raise VerifyException(f"{op.name}: {[*found]} is not {[*wanted]}")


SIZED = Dialect("sized", [PadOp, ExtractSliceOp, ExpandShapeOp])
