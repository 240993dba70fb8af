"""The arithmetic in string params: sizes computed from the extents of the inputs.

    6="0w,//(0h,2),*(0d,0c)"          # Reshape: w as it is, half of h, d times c
    19="-(1h,10)"                     # Crop: starts
    9="trunc(*(0w,1.2)),5"            # Interp: w and h

A list of calls in prefix notation. `Nd` is an extent (w, h, d, c, or n = 1) of input N. As in
ncnn, the arity of an operator alone decides what it takes; parentheses and commas only separate.
Integers stay integers but where an operator makes floats; floats are float32. Results that are
floats are truncated toward zero.
"""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping, Sequence
from itertools import accumulate
from typing import TypeAlias

import numpy as np

from ncc.dialects.ncnn.axes import extents
from ncc.dialects.ncnn.layer import LayerError, Shape
from ncc.dialects.size import NeedsNumbers, Size, form_of, is_open, largest, smallest
from ncc.dialects.size_form import least

Number: TypeAlias = "int | np.float32"
Function: TypeAlias = Callable[..., Number]

_EXTENT = re.compile(r"([0-9])([whdcn])")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_INT_MIN, _INT_MAX = -(2**31), 2**31 - 1


def _float(function: Function) -> Function:
    """Always a float."""
    return lambda *xs: np.float32(function(*(np.float32(x) for x in xs)))


def _same(function: Callable[..., Number]) -> Function:
    """An integer of integers, else a float."""
    floating = _float(function)
    return lambda *xs: function(*xs) if all(isinstance(x, int) for x in xs) else floating(*xs)


def _whole(function: Callable[[np.float32], np.float32]) -> Function:
    """An integer: a float rounded, an integer as it is."""
    return lambda x: x if isinstance(x, int) else _integer(function(x))


def _bits(function: Callable[[int, int], int]) -> Function:
    """An integer of integers only."""

    def apply(a: Number, b: Number) -> Number:
        if not (isinstance(a, int) and isinstance(b, int)):
            raise LayerError(f"bits of a number that is not whole: {a}, {b}")
        return function(a, b)

    return apply


def _shift(function: Callable[[int, int], int]) -> Function:
    def checked(a: int, b: int) -> int:
        if not 0 <= b < 32:
            raise LayerError(f"a shift by {b} bits")
        return function(a, b)

    return _bits(checked)


def _floor_divide(a: Number, b: Number) -> Number:
    """On integers C's division, toward zero; on floats the floor of the quotient."""
    if not (isinstance(a, int) and isinstance(b, int)):
        return np.float32(np.floor(np.float32(a) / np.float32(b)))
    if is_open(a, b):
        if any((low := least(form_of(x))) is None or low < 0 for x in (a, b)):
            raise NeedsNumbers("a quotient of sizes that may be negative")
        return a // b
    if b == 0:
        raise LayerError(f"division of {a} by 0")
    quotient = abs(a) // abs(b)
    return quotient if (a < 0) == (b < 0) else -quotient


def _round(x: np.float32) -> np.float32:
    """To the nearest integer, halves away from zero."""
    return np.float32(np.copysign(np.floor(np.abs(x) + np.float32(0.5)), x))


def _sign(x: Number) -> Number:
    return (x > 0) - (x < 0) if isinstance(x, int) else np.float32(np.sign(x))


def _remainder(a: np.float32, b: np.float32) -> np.float32:
    return np.float32(a - np.rint(a / b) * b)


_OPERATORS: Mapping[str, tuple[int, Function]] = {
    "+": (2, _same(operator.add)),
    "-": (2, _same(operator.sub)),
    "*": (2, _same(operator.mul)),
    "//": (2, _floor_divide),
    "/": (2, _float(np.divide)),
    "max": (2, _same(largest)),
    "min": (2, _same(smallest)),
    "pow": (2, _float(np.power)),
    "fmod": (2, _float(np.fmod)),
    "remainder": (2, _float(_remainder)),
    "atan2": (2, _float(np.arctan2)),
    "logaddexp": (2, _float(np.logaddexp)),
    "and": (2, _bits(operator.and_)),
    "or": (2, _bits(operator.or_)),
    "xor": (2, _bits(operator.xor)),
    "lshift": (2, _shift(operator.lshift)),
    "rshift": (2, _shift(operator.rshift)),
    "abs": (1, _same(lambda x: largest(x, -x))),
    "neg": (1, _same(operator.neg)),
    "square": (1, _same(lambda x: x * x)),
    "sign": (1, _sign),
    "trunc": (1, _whole(np.trunc)),
    "ceil": (1, _whole(np.ceil)),
    "floor": (1, _whole(np.floor)),
    "round": (1, _whole(_round)),
    "sqrt": (1, _float(np.sqrt)),
    "rsqrt": (1, _float(lambda x: np.float32(1) / np.sqrt(x))),
    "reciprocal": (1, _float(lambda x: np.float32(1) / x)),
    "exp": (1, _float(np.exp)),
    "expm1": (1, _float(np.expm1)),
    "log": (1, _float(np.log)),
    "log10": (1, _float(np.log10)),
    "log1p": (1, _float(np.log1p)),
    "erf": (1, _float(lambda x: np.float32(math.erf(float(x))))),
    "sin": (1, _float(np.sin)),
    "cos": (1, _float(np.cos)),
    "tan": (1, _float(np.tan)),
    "asin": (1, _float(np.arcsin)),
    "acos": (1, _float(np.arccos)),
    "atan": (1, _float(np.arctan)),
    "sinh": (1, _float(np.sinh)),
    "cosh": (1, _float(np.cosh)),
    "tanh": (1, _float(np.tanh)),
    "asinh": (1, _float(np.arcsinh)),
    "acosh": (1, _float(np.arccosh)),
    "atanh": (1, _float(np.arctanh)),
}


def check_expression(text: str, inputs: int, param: str) -> int:
    """How many numbers the expression makes for a layer with so many inputs.

    Raises `LayerError` for an operator or operand that is none, an input that the layer does not
    have, an operator with too few operands, parentheses that do not pair.
    """
    if not _pairs(text):
        raise LayerError(f'the parentheses of "{text}" do not pair', param)
    depth = 0
    for token in reversed(_tokens(text)):
        if token in _OPERATORS:
            arity = _OPERATORS[token][0]
            if depth < arity:
                raise LayerError(f"'{token}' in \"{text}\" takes {arity} operands", param)
            depth += 1 - arity
        elif extent := _EXTENT.fullmatch(token):
            if int(extent[1]) >= inputs:
                raise LayerError(f"'{token}' in \"{text}\": there is no input {extent[1]}", param)
            depth += 1
        elif _NUMBER.fullmatch(token):
            depth += 1
        else:
            raise LayerError(f"'{token}' in \"{text}\" is no operator, extent or number", param)
    if depth == 0:
        raise LayerError("an empty expression", param)
    return depth


def evaluate_expression(text: str, shapes: Sequence[Shape], param: str) -> tuple[int, ...]:
    """The numbers that the expression makes of the inputs' shapes.

    Raises `LayerError` as `check_expression` does, and where a result is no 32-bit integer.
    """
    check_expression(text, len(shapes), param)
    stack: list[Number] = []
    try:
        with np.errstate(all="ignore"):
            for token in reversed(_tokens(text)):
                if token in _OPERATORS:
                    arity, function = _OPERATORS[token]
                    operands = [stack.pop() for _ in range(arity)]
                    stack.append(function(*operands))
                else:
                    stack.append(_operand(token, shapes))
            return tuple(_integer(value) for value in reversed(stack))
    except LayerError as error:
        raise LayerError(f'{error.message}, in "{text}"', param) from error


def _pairs(text: str) -> bool:
    """Whether each parenthesis has its other one."""
    depths = list(accumulate((char == "(") - (char == ")") for char in text))
    return not depths or (min(depths) >= 0 and depths[-1] == 0)


def _tokens(text: str) -> list[str]:
    return re.findall(r"[^\s(),]+", text)


def _operand(token: str, shapes: Sequence[Shape]) -> Number:
    if extent := _EXTENT.fullmatch(token):
        named = {"n": 1, **extents(shapes[int(extent[1])])}
        return named[extent[2]]
    value = np.float32(token)
    return int(value) if value == np.trunc(value) else value


def _integer(value: Number) -> int:
    """A number truncated toward zero, if it is a 32-bit integer then; or a size."""
    if isinstance(value, Size):
        return value
    if not np.isfinite(value) or not _INT_MIN <= int(value) <= _INT_MAX:
        raise LayerError(f"{value} is no 32-bit integer")
    return int(value)
