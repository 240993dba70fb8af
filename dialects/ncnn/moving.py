"""Layers that move elements and compute nothing: of whatever type these are."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute, SSAValue

from ncc.dialects.element import BLOB_ELEMENTS, name_of
from ncc.dialects.ncnn.layer import Layer, LayerError


class MovingLayer(Layer):
    """A layer whose operands may have any elements."""

    def takes(self, position: int) -> tuple[Attribute, ...]:
        return tuple(BLOB_ELEMENTS.values())

    def element_types(self, *operands: Attribute) -> Attribute | Sequence[Attribute]:
        """Every result has the elements of the first operand."""
        return operands[0]


class JoiningLayer(MovingLayer):
    """A layer that moves elements of all its inputs into one result: they are of one type."""

    def element_types(self, *operands: Attribute) -> Attribute:
        if len(set(operands)) > 1:
            raise LayerError(f"its inputs are {', '.join(map(name_of, operands))}, not of one type")
        return operands[0]


def wanted_by_readers(value: SSAValue) -> Attribute | None:
    """The element type that the readers of a value want; None where any will do.

    A layer that only moves elements wants what the readers of its results want. Where readers want
    different types, the type of the first.
    """
    waiting, passed = [*value.uses][::-1], set[Layer]()
    while waiting:
        use = waiting.pop()
        layer = use.operation
        if isinstance(layer, MovingLayer) and use.index not in layer.settling():
            if layer not in passed:
                passed.add(layer)
                waiting += [use for result in layer.results for use in result.uses][::-1]
        elif isinstance(layer, Layer):
            return layer.takes(use.index)[0]
    return None
