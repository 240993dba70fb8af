"""Weights as attributes: the location of the numbers, not the numbers.

A module of a 500 MB network prints, clones and compares at once.
"""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_args, get_type_hints

import numpy as np
from xdsl.dialects.builtin import TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import (
    IRDLOperation,
    irdl_attr_definition,
    irdl_op_definition,
    prop_def,
    result_def,
    traits_def,
)
from xdsl.parser import AttrParser
from xdsl.printer import Printer
from xdsl.traits import ConstantLike, Pure

from ncc.dialects.attributes import tensor_type
from ncc.dialects.element import element_of_dtype
from ncc.dialects.operation import make
from ncc.dialects.shapes import Shape
from ncc.dialects.weights.derived import (
    Bf16Pairs,
    Bits,
    Blocked,
    Dequantized,
    Folded,
    Joined,
    Paired,
    Phases,
    Surplus,
    Taken,
    Transformed,
    Transposed,
    Unstrided,
)
from ncc.dialects.weights.narrow import FixedPoint, Narrow, Scales, ShortFixedPoint
from ncc.dialects.weights.sources import Array, Derived, Inline, Random, Source, Weights
from ncc.dialects.weights.stored import Encoding, Raw, Stored

_DERIVED: dict[str, type[Derived]] = {
    "bf16pairs": Bf16Pairs,
    "bits": Bits,
    "blocked": Blocked,
    "dequantized": Dequantized,
    "fixedpoint": FixedPoint,
    "folded": Folded,
    "joined": Joined,
    "narrow": Narrow,
    "paired": Paired,
    "phases": Phases,
    "scales": Scales,
    "short": ShortFixedPoint,
    "surplus": Surplus,
    "taken": Taken,
    "transformed": Transformed,
    "transposed": Transposed,
    "unstrided": Unstrided,
}
"""Sources that are made of another one. Their fields stand between the name and `of`."""

_NAMES = {made: name for name, made in _DERIVED.items()}


@irdl_attr_definition
class WeightAttr(Data[Weights]):
    """The values of one weight of a layer.

    ```mlir
    #ncnn.weight<[64, 3, 3, 3] stored "net.bin" 4 "fp32">
    #ncnn.weight<[64, 3, 3, 3] raw "net.data" 4 "f8">
    #ncnn.weight<[2] inline "f4" "0000803f0000003f">
    #ncnn.weight<[64, 3, 3, 3] random 7 0 1.0 0.0>
    #ncnn.weight<[4, 3, 3, 3, 16] blocked [0] 16 of <[64, 3, 3, 3] random 7 0 1.0 0.0>>
    #ncnn.weight<[2, 2, 16, 16] folded 2 of <[2, 2, 16, 16] blocked [1, 0] 16 of <[24, 32] ..>>>
    #ncnn.weight<[3, 4] paired of <[4, 6] inline "i1" "07..">>
    #ncnn.weight<[64] surplus [0] of <[64, 3, 3, 3] random 7 0 1.0 0.0 "i1">>
    #ncnn.weight<[3] bits of <[3] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[3, 4] narrow of <[3, 4] stored "net.bin" 4 "fp16">>
    #ncnn.weight<[3, 5] taken [1, 0, 1] 0 of <[2, 5] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[6, 5, 2] phases [[[1, 0], [2, -1]]] of <[3, 5, 3] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[3, 16, 16, 3, 3] joined 2 of <[6, 8, 8, 3, 3] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[4, 2, 16, 16, 2] bf16pairs of <[4, 16, 16, 2] random 7 0 1.0 0.0>>
    #ncnn.weight<[4, 9] dequantized <[4, 1] random 7 1 1.0 9.0> 6 32 9 of <[4, 7] inline "i1" "..">>
    #ncnn.weight<[5, 3, 3, 2] transposed [0, 2, 3, 1] of <[5, 2, 3, 3] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[2, 1, 6] transformed [[1.0], [0.0]] [[1.0]] -2 of <[6, 1, 1] random 7 0 1.0 0.0>>
    ```
    """

    name = "ncnn.weight"

    @staticmethod
    def of(array: Array) -> WeightAttr:
        """The values of a numpy array, inline; floats become float32, int8 stays."""
        return WeightAttr.typed(array if array.dtype == np.int8 else np.asarray(array, np.float32))

    @staticmethod
    def typed(array: Array) -> WeightAttr:
        """The values of a numpy array, inline, in the type that they have there; uint16 are the
        bits of bfloat16.
        """
        dtype = array.dtype.newbyteorder("<").str[1:]
        kept = np.asarray(array, array.dtype.newbyteorder("<"))
        return WeightAttr(Weights(tuple(kept.shape), Inline(kept.tobytes(), dtype)))

    @property
    def shape(self) -> Shape:
        return self.data.shape

    @property
    def element_type(self) -> Attribute:
        return element_of_dtype(self.data.dtype)

    def array(self) -> Array:
        """The values in the weight's shape; read-only where they are a view of the file."""
        return self.data.array()

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Weights:
        with parser.in_angle_brackets():
            return Weights(cls._parse_value(parser, Shape), cls._parse_source(parser))

    @classmethod
    def _parse_source(cls, parser: AttrParser) -> Source:
        for name, derived in _DERIVED.items():
            if parser.parse_optional_keyword(name):
                kinds = get_type_hints(derived)
                values = [cls._parse_value(parser, kinds[one.name]) for one in fields(derived)[1:]]
                parser.parse_keyword("of")
                return derived(cls.parse_parameter(parser), *values)
        if parser.parse_optional_keyword("stored"):
            path, offset = parser.parse_str_literal(), parser.parse_integer()
            return Stored(path, offset, Encoding(parser.parse_str_literal()))
        if parser.parse_optional_keyword("raw"):
            path, offset = parser.parse_str_literal(), parser.parse_integer()
            return Raw(path, offset, parser.parse_str_literal())
        if parser.parse_optional_keyword("inline"):
            dtype = parser.parse_str_literal()
            return Inline(bytes.fromhex(parser.parse_str_literal()), dtype)
        parser.parse_keyword("random")
        seed, stream = parser.parse_integer(), parser.parse_integer()
        scale, mean = float(parser.parse_number()), float(parser.parse_number())
        return Random(seed, stream, scale, mean, parser.parse_optional_str_literal() or "f4")

    @classmethod
    def _parse_value(cls, parser: AttrParser, kind: Any) -> Any:
        """A number, a list, or other weights, as the type of a field says."""
        if kind is int:
            return parser.parse_integer(allow_boolean=False)
        if kind is float:
            return float(parser.parse_number(allow_boolean=False))
        if kind is Weights:
            return cls.parse_parameter(parser)
        one, _ = get_args(kind)
        return tuple(
            parser.parse_comma_separated_list(
                parser.Delimiter.SQUARE, lambda: cls._parse_value(parser, one)
            )
        )

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{_text(self.data.shape)} ")
            match self.data.source:
                case Derived(of) as source:
                    printer.print_string(_NAMES[type(source)])
                    for field in fields(source)[1:]:
                        printer.print_string(" ")
                        value = getattr(source, field.name)
                        if isinstance(value, Weights):
                            WeightAttr(value).print_parameter(printer)
                        else:
                            printer.print_string(_text(value))
                    printer.print_string(" of ")
                    WeightAttr(of).print_parameter(printer)
                case Stored(path, offset, encoding):
                    printer.print_string("stored ")
                    printer.print_string_literal(path)
                    printer.print_string(f" {offset} ")
                    printer.print_string_literal(encoding.value)
                case Raw(path, offset, dtype):
                    printer.print_string("raw ")
                    printer.print_string_literal(path)
                    printer.print_string(f' {offset} "{dtype}"')
                case Inline(data, dtype):
                    printer.print_string(f'inline "{dtype}" "{data.hex()}"')
                case Random(seed, stream, scale, mean, dtype):
                    printer.print_string(f"random {seed} {stream} {_text(scale)} {_text(mean)}")
                    printer.print_string("" if dtype == "f4" else f' "{dtype}"')


def _text(value: Any) -> str:
    """A number, or a list of such texts. xDSL reads 1e-05 only with a point."""
    if isinstance(value, tuple):
        return f"[{', '.join(map(_text, value))}]"
    text = str(value)
    return text if "." in text else text.replace("e", ".0e")


@irdl_op_definition
class ConstantOp(IRDLOperation):
    """A weight as a tensor of the linalg level."""

    name = "ncnn.constant"

    value = prop_def(WeightAttr)
    result = result_def(TensorType)

    traits = traits_def(Pure(), ConstantLike())
    assembly_format = "$value attr-dict `:` type($result)"

    @staticmethod
    def of(value: WeightAttr) -> ConstantOp:
        """The tensor of a weight's values."""
        kind = tensor_type(value.element_type, value.shape)
        return make(ConstantOp, properties={"value": value}, result_types=[kind])
