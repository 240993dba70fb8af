"""Weights as attributes: the location of the numbers, not the numbers.

A module of a 500 MB network prints, clones and compares at once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, TypeVar

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
    Unstrided,
)
from ncc.dialects.weights.narrow import FixedPoint, Narrow, Scales, ShortFixedPoint
from ncc.dialects.weights.sources import Array, Inline, Random, Source, Weights
from ncc.dialects.weights.stored import Encoding, Raw, Stored

T = TypeVar("T")

_DERIVED: dict[str, Callable[[Weights], Source]] = {
    "paired": Paired,
    "bits": Bits,
    "bf16pairs": Bf16Pairs,
    "narrow": Narrow,
}
"""Sources that have no parameters except the source that they are made of."""

_OF_ROWS: dict[str, Callable[[Weights, tuple[int, ...]], Source]] = {
    "fixedpoint": FixedPoint,
    "short": ShortFixedPoint,
    "scales": Scales,
}
"""Sources that also have the axes of their rows."""

_NAMES: dict[object, str] = {made: name for name, made in (*_DERIVED.items(), *_OF_ROWS.items())}


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
    #ncnn.weight<[3, 5] taken 0 [1, 0, 1] of <[2, 5] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[6, 5, 2] phases [[1, 0], [2, -1]] of <[3, 5, 3] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[3, 16, 16, 3, 3] joined 2 of <[6, 8, 8, 3, 3] stored "net.bin" 4 "fp32">>
    #ncnn.weight<[4, 2, 16, 16, 2] bf16pairs of <[4, 16, 16, 2] random 7 0 1.0 0.0>>
    #ncnn.weight<[4, 9] dequantized 6 32 9 <[4, 1] random 7 1 1.0 9.0> of <[4, 7] inline "i1" "..">>
    #ncnn.weight<[2, 1, 6] transformed [[1.0], [0.0]] by [[1.0]] of <[6, 1, 1] random 7 0 1.0 0.0>>
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
            return Weights(_parse_integers(parser), cls._parse_source(parser))

    @classmethod
    def _parse_source(cls, parser: AttrParser) -> Source:
        def of() -> Weights:
            parser.parse_keyword("of")
            return cls.parse_parameter(parser)

        for name, derived in _DERIVED.items():
            if parser.parse_optional_keyword(name):
                return derived(of())
        if parser.parse_optional_keyword("blocked"):
            axes, block = _parse_integers(parser), parser.parse_integer()
            return Blocked(of(), axes, block)
        if parser.parse_optional_keyword("folded"):
            times = parser.parse_integer()
            return Folded(of(), times)
        for name, of_rows in _OF_ROWS.items():
            if parser.parse_optional_keyword(name):
                axes = _parse_integers(parser)
                return of_rows(of(), axes)
        if parser.parse_optional_keyword("taken"):
            axis, places = parser.parse_integer(), _parse_integers(parser)
            return Taken(of(), places, axis)
        if parser.parse_optional_keyword("phases"):
            phases = [_parse_phases(parser)]
            while parser.parse_optional_punctuation(","):
                phases.append(_parse_phases(parser))
            return Phases(of(), tuple(phases))
        if parser.parse_optional_keyword("surplus"):
            kept = _parse_integers(parser)
            return Surplus(of(), kept)
        if parser.parse_optional_keyword("joined"):
            count = parser.parse_integer()
            return Joined(of(), count)
        if parser.parse_optional_keyword("unstrided"):
            stride = parser.parse_integer()
            return Unstrided(of(), stride)
        if parser.parse_optional_keyword("transformed"):
            down = _parse_matrix(parser)
            parser.parse_keyword("by")
            across = _parse_matrix(parser)
            return Transformed(of(), down, across)
        if parser.parse_optional_keyword("dequantized"):
            bits, block, columns = (parser.parse_integer() for _ in range(3))
            scales = cls.parse_parameter(parser)
            return Dequantized(of(), scales, bits, block, columns)
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

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{_list_text(self.data.shape)} ")
            match self.data.source:
                case Blocked(of, axes, block):
                    _print_made(printer, f"blocked {_list_text(axes)} {block}", of)
                case Folded(of, times):
                    _print_made(printer, f"folded {times}", of)
                case FixedPoint(of, axes) | ShortFixedPoint(of, axes) | Scales(of, axes) as source:
                    _print_made(printer, f"{_NAMES[type(source)]} {_list_text(axes)}", of)
                case Taken(of, places, axis):
                    _print_made(printer, f"taken {axis} {_list_text(places)}", of)
                case Phases(of, places):
                    _print_made(printer, f"phases {', '.join(map(_table_text, places))}", of)
                case Surplus(of, kept):
                    _print_made(printer, f"surplus {_list_text(kept)}", of)
                case Joined(of, count):
                    _print_made(printer, f"joined {count}", of)
                case Unstrided(of, stride):
                    _print_made(printer, f"unstrided {stride}", of)
                case Transformed(of, down, across):
                    both = f"{_table_text(down)} by {_table_text(across)}"
                    _print_made(printer, f"transformed {both}", of)
                case Paired(of) | Bits(of) | Bf16Pairs(of) | Narrow(of) as source:
                    _print_made(printer, _NAMES[type(source)], of)
                case Dequantized(of, scales, bits, block, columns):
                    printer.print_string(f"dequantized {bits} {block} {columns} ")
                    WeightAttr(scales).print_parameter(printer)
                    _print_made(printer, "", of)
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
                    printer.print_string(f"random {seed} {stream} {scale!r} {mean!r}")
                    printer.print_string("" if dtype == "f4" else f' "{dtype}"')


def _parse_list(parser: AttrParser, one: Callable[[], T]) -> tuple[T, ...]:
    return tuple(parser.parse_comma_separated_list(parser.Delimiter.SQUARE, one))


def _parse_integers(parser: AttrParser) -> tuple[int, ...]:
    return _parse_list(parser, lambda: parser.parse_integer(allow_boolean=False))


def _parse_phases(parser: AttrParser) -> tuple[tuple[int, ...], ...]:
    return _parse_list(parser, lambda: _parse_integers(parser))


def _parse_matrix(parser: AttrParser) -> tuple[tuple[float, ...], ...]:
    return _parse_list(parser, lambda: _parse_list(parser, lambda: float(parser.parse_number())))


def _print_made(printer: Printer, how: str, of: Weights) -> None:
    printer.print_string(f"{how} of ")
    WeightAttr(of).print_parameter(printer)


def _list_text(values: Iterable[Any], text: Callable[[Any], str] = str) -> str:
    return f"[{', '.join(map(text, values))}]"


def _table_text(rows: Iterable[Iterable[float]]) -> str:
    return _list_text(rows, _list_text)


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
