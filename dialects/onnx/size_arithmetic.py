"""Arithmetic on shapes: what operators make of numbers among which there are sizes.

    (h + 1) / 2, rounded towards zero      is (h + 1) // 2, since h + 1 is never negative

Each function is of two integers of Python. It raises `NeedsNumbers` where the result is no integer,
or where it is not known for all inputs.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import reduce
from typing import TypeAlias

import numpy as np

from ncc.dialects.onnx.operator import Array, objects
from ncc.dialects.size import NeedsNumbers, is_equal, is_never_below, largest, smallest

OfTwo: TypeAlias = Callable[[int, int], int]

LARGEST_WHOLE = 1 << 24
"""The number up to which float32 has all whole ones."""


def whole(number: float) -> int:
    """A number as an integer. Raises `NeedsNumbers` where it is none."""
    if not isinstance(number, float):
        return number
    if not number.is_integer() or abs(number) > LARGEST_WHOLE:
        raise NeedsNumbers(f"{number} is no integer that float32 has")
    return int(number)


def divide(x: int, y: int) -> int:
    """x / y towards zero, of numbers that are never negative."""
    if not is_never_below(x, 0) or not is_never_below(y, 1):
        raise NeedsNumbers(f"the sign of ({x}) / ({y}) is not known")
    return x // y


def divide_exactly(x: int, y: int) -> int:
    """x / y where nothing remains."""
    quotient = divide(x, y)
    if quotient * y != x:
        raise NeedsNumbers(f"({x}) / ({y}) is not always an integer")
    return quotient


def remainder(x: int, y: int) -> int:
    """What remains, of numbers that are never negative: fmod and mod agree."""
    return x - divide(x, y) * y


def power(x: int, y: int) -> int:
    """x to the y, a number."""
    if y not in range(8):
        raise NeedsNumbers(f"({x}) to the {y}")
    return reduce(operator.mul, [x] * y, 1)


ARITHMETIC: dict[str, OfTwo] = {
    "Add": operator.add,
    "Sub": operator.sub,
    "Mul": operator.mul,
    "Div": divide,
    "Mod": remainder,
    "Max": largest,
    "Min": smallest,
    "Sum": operator.add,
    "Equal": is_equal,
    "Less": operator.lt,
    "Greater": operator.gt,
    "LessOrEqual": operator.le,
    "GreaterOrEqual": operator.ge,
}
"""What an operator of two operands is, of integers and sizes."""

OF_ONE: dict[str, Callable[[int], int]] = {
    "Abs": abs,
    "Ceil": operator.pos,
    "Floor": operator.pos,
    "Neg": operator.neg,
    "Round": operator.pos,
}
"""The same of one operand."""

FOLDS: dict[str, OfTwo] = {
    "ReduceMax": largest,
    "ReduceMin": smallest,
    "ReduceProd": operator.mul,
    "ReduceSum": operator.add,
}
"""The same of all numbers of an array."""


def combined(function: OfTwo, *operands: Array) -> Array | None:
    """f(f(x, y), z)..., broadcast; None where something is not known for all inputs."""
    together = np.broadcast_arrays(*operands)
    columns = zip(*(operand.reshape(-1).tolist() for operand in together), strict=True)
    try:
        found = [reduce(function, map(whole, column)) for column in columns]
    except NeedsNumbers:
        return None
    return objects(found, together[0].shape)
