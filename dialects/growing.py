"""Extents that grow from run to run: the rows of a cache, and extents that depend on them.

A network is compiled once for all of them. The run tells its code one number for each `counter`.
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import DYNAMIC_INDEX, TensorType
from xdsl.ir import Attribute, Data
from xdsl.irdl import irdl_attr_definition
from xdsl.parser import AttrParser
from xdsl.printer import Printer

from ncc.dialects.attributes import tensor_type
from ncc.dialects.shapes import DYNAMIC

GROWING = "growing"
"""The attribute of a network's function that has the types of inputs and outputs that grow."""


class Growing(int):
    """`more` rows than a counter says. As a number it is `more`: the extent in a first run."""

    counter: int

    def __new__(cls, counter: int, more: int = 0) -> Growing:
        self = super().__new__(cls, more)
        self.counter = counter
        return self

    def __add__(self, other: int) -> Growing:
        if isinstance(other, Growing):
            raise TypeError("two extents that grow cannot be added")
        return Growing(self.counter, int(self) + other)

    __radd__ = __add__

    def __sub__(self, other: int) -> Growing:
        return self + -other

    def __eq__(self, other: object) -> bool:
        return (
            isinstance(other, Growing) and other.counter == self.counter and int(other) == int(self)
        )

    def __ne__(self, other: object) -> bool:
        return not self == other

    def __hash__(self) -> int:
        return hash((self.counter, int(self)))

    def __repr__(self) -> str:
        return f"?+{int(self)}" if self > 0 else "?"

    __str__ = __repr__


def growing_axis(shape: Sequence[int]) -> int | None:
    """The axis of which only the run knows the extent, where there is one."""
    return next((axis for axis, n in enumerate(shape) if isinstance(n, Growing)), None)


@irdl_attr_definition
class GrowingAttr(Data[Growing]):
    """The meaning of the extent `?` of a type: `tensor<8x?x64xf32, #ncnn.growing<0, 16>>`."""

    name = "ncnn.growing"

    @classmethod
    def parse_parameter(cls, parser: AttrParser) -> Growing:
        with parser.in_angle_brackets():
            counter = parser.parse_integer()
            parser.parse_punctuation(",")
            return Growing(counter, parser.parse_integer())

    def print_parameter(self, printer: Printer) -> None:
        with printer.in_angle_brackets():
            printer.print_string(f"{self.data.counter}, {int(self.data)}")

    def fill(self, shape: Sequence[int]) -> tuple[int, ...]:
        """The shape with the extent that grows where the type has none."""
        return tuple(self.data if extent == DYNAMIC_INDEX else extent for extent in shape)


def blob_type(element: Attribute, shape: Sequence[int]) -> TensorType[Attribute]:
    """The type of a value; an extent of `DYNAMIC`, or one that grows, only the run knows."""
    grows = [n for n in shape if isinstance(n, Growing)]
    known = [DYNAMIC_INDEX if n == DYNAMIC or n in grows else n for n in shape]
    if not grows:
        return tensor_type(element, known)
    return TensorType(element, known, *map(GrowingAttr, grows))
