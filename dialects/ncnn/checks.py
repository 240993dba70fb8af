"""Checks of single params: numbers outside of the range that ncnn knows are errors."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Attribute

from ncc.dialects.element import holds, name_of
from ncc.dialects.ncnn.param import LayerError


def check_positive(op: object, names: Sequence[str]) -> None:
    """Raise `LayerError` for the first of these params that is not positive."""
    for name in names:
        value = getattr(op, name)
        if value <= 0:
            raise LayerError(f"{name} is {value}, but must be positive", name)


def check_element(op: object, name: str, element: Attribute) -> None:
    """Raise `LayerError` where a param is no number that elements of this type can be."""
    value = getattr(op, name)
    if not holds(element, value):
        raise LayerError(f"{name} is {value:g}, which no {name_of(element)} is", name)


def check_choice(op: object, name: str, choices: Sequence[int]) -> None:
    """Raise `LayerError` where a param is none of these numbers, which follow one another."""
    value = getattr(op, name)
    if value in choices:
        return
    first, *_, last = choices
    if len(choices) == 2:
        raise LayerError(f"{name} is {value}, neither {first} nor {last}", name)
    listed = f"{first} to {last}" if len(choices) > 3 else ", ".join(map(str, choices))
    raise LayerError(f"{name} is {value}, none of {listed}", name)
