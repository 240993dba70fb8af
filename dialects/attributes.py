"""Attributes are immutable: common ones are made once, and cache values computed from them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import lru_cache, wraps
from typing import TypeVar

from xdsl.dialects.builtin import (
    DYNAMIC_INDEX,
    ArrayAttr,
    BytesAttr,
    DenseArrayBase,
    IntegerAttr,
    IntegerType,
    MemRefType,
    NoneAttr,
    StringAttr,
    SymbolRefAttr,
    TensorType,
    i32,
    i64,
)
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ncc.dialects.size import Size, is_open
from ncc.dialects.size_text import size_of_text, text_of_size

AttributeT = TypeVar("AttributeT", bound=Attribute)
ResultT = TypeVar("ResultT")


_VALUES = f"{__name__}.values"


def memoized(function: Callable[[AttributeT], ResultT]) -> Callable[[AttributeT], ResultT]:
    """`function` with results cached in the attributes: a table would hash all their parts."""
    name = f"{function.__module__}.{function.__qualname__}"

    @wraps(function)
    def look_up(attribute: AttributeT) -> ResultT:
        held = attribute.__dict__
        if name not in held:
            held[name] = function(attribute)
        found: ResultT = held[name]
        return found

    return look_up


@lru_cache(maxsize=1024)
def integer(value: int) -> IntegerAttr[IntegerType] | SizeAttr:
    """A number as i64, or as a size."""
    return SizeAttr(value) if isinstance(value, Size) else IntegerAttr(value, i64)


@lru_cache(maxsize=1024)
def string(value: str) -> StringAttr:
    """A text."""
    return StringAttr(value)


@lru_cache(maxsize=1024)
def symbol(name: str) -> SymbolRefAttr:
    """A function by its name."""
    return SymbolRefAttr(name)


def integers(values: Sequence[int]) -> DenseArrayBase[IntegerType] | ArrayAttr[Attribute]:
    """A list of i64; with sizes among them, a list of attributes."""
    if is_open(*values):
        return ArrayAttr([integer(value) for value in values])
    return _integers(tuple(values))


@lru_cache(maxsize=1024)
def segments(*sizes: int) -> DenseArrayBase[IntegerType]:
    """How many operands each segment of an operation has, as i32."""
    return _array(i32, sizes)


@irdl_attr_definition
class SizeAttr(Data[Size]):
    """A number that depends on the inputs: `#rt.size<"(h@224 + 1) // 2">`.

    The number behind each extent is its hint; `h@224:3:1024` has its range as well.
    """

    name = "rt.size"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Size:
        with parser.in_angle_brackets():
            size = size_of_text(parser.parse_str_literal())
        if not isinstance(size, Size):
            parser.raise_error("a number that no input decides is no size")
        return size

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string_literal(text_of_size(self.data))


def number_of(attribute: Attribute) -> int:
    """The number of an attribute that `integer` made."""
    if isinstance(attribute, SizeAttr):
        return attribute.data
    if not isinstance(attribute, IntegerAttr):
        raise TypeError(f"{attribute} is no integer")
    return attribute.value.data


def memref_type(element: Attribute, shape: Sequence[int]) -> MemRefType[Attribute]:
    """The type of contiguous memory; an extent that depends on the inputs is left out."""
    return MemRefType(element, _known(shape))


@memoized
def extents_of(kind: TensorType[Attribute] | MemRefType[Attribute]) -> tuple[int, ...]:
    """The shape of a tensor type; -1 is an extent that only the run knows."""
    if isinstance(kind, MemRefType) or not isinstance(kind.encoding, ArrayAttr):
        return kind.get_shape()
    sizes = map(number_of, kind.encoding)
    return tuple(next(sizes) if n == DYNAMIC_INDEX else n for n in kind.get_shape())


def values_of(array: Attribute) -> Sequence[int]:
    """The numbers of a list: those that it was made of here, or else those of its bytes."""
    if isinstance(array, ArrayAttr):
        return tuple(map(number_of, array.data))
    if not isinstance(array, DenseArrayBase):
        raise TypeError(f"{array} is no list of numbers")
    held: Sequence[int] | None = vars(array).get(_VALUES)
    return array.get_values() if held is None else held


def tensor_type(element: Attribute, shape: Sequence[int]) -> TensorType[Attribute]:
    """The type of a tensor. Sizes are its encoding: `tensor<3x?xf32, [#rt.size<"h@224">]>`."""
    return _tensor_type(element, tuple(shape))


@lru_cache(maxsize=1024)
def _integers(values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    return _array(i64, values)


def _array(kind: IntegerType, values: tuple[int, ...]) -> DenseArrayBase[IntegerType]:
    made = DenseArrayBase.__new__(DenseArrayBase)  # without looking whether it is one
    object.__setattr__(made, "elt_type", kind)
    object.__setattr__(made, "data", BytesAttr(kind.pack(values)))
    vars(made)[_VALUES] = values
    return made


@lru_cache(maxsize=1024)
def _tensor_type(element: Attribute, shape: tuple[int, ...]) -> TensorType[Attribute]:
    sizes = [SizeAttr(extent) for extent in shape if isinstance(extent, Size)]
    return TensorType(element, _known(shape), ArrayAttr(sizes) if sizes else NoneAttr())


def _known(shape: Sequence[int]) -> Sequence[int]:
    """A shape as MLIR's types hold it: with `DYNAMIC_INDEX` in place of sizes."""
    return [DYNAMIC_INDEX if isinstance(extent, Size) else extent for extent in shape]
