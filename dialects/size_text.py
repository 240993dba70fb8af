"""Sizes as text of the IR, and back: `2 * h@224 + (w@256:1:640 + 1) // 2`."""

from __future__ import annotations

import ast
import operator
import re
from collections.abc import Callable
from functools import reduce

from ncc.dialects.size import Size, form_of, largest, smallest, tile_size
from ncc.dialects.size_atoms import Symbol

_SYMBOL = re.compile(r"([A-Za-z_]\w*)@(\d+)(?::(\d+))?(?::(\d+))?")

_OPERATORS: dict[type[ast.operator], Callable[[int, int], int]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.FloorDiv: operator.floordiv,
}
_FUNCTIONS: dict[str, Callable[..., int]] = {
    "min": smallest,
    "max": largest,
    "tile": tile_size,
}


def text_of_size(size: int) -> str:
    """The expression of a size, with the hint and the range of each extent."""
    form = form_of(size)
    marks = {symbol.name: _marked(symbol) for symbol in form.symbols}
    return re.sub(r"[A-Za-z_]\w*", lambda name: marks.get(name[0], name[0]), form.text)


def _marked(symbol: Symbol) -> str:
    numbers = [symbol.hint]
    if (symbol.least, symbol.most) != (1, None):
        numbers.append(symbol.least)
    if symbol.most is not None:
        numbers.append(symbol.most)
    return f"{symbol.name}@{':'.join(map(str, numbers))}"


def size_of_text(text: str) -> int:
    """The size, or the number, that a text says; ValueError for any other text."""
    symbols: dict[str, int] = {}
    for name, hint, least, most in _SYMBOL.findall(text):
        symbols[name] = Size.symbol(
            name, int(hint), int(least) if least else 1, int(most) if most else None
        )
    try:
        tree = ast.parse(_SYMBOL.sub(lambda found: found[1], text), mode="eval")
    except SyntaxError as error:
        raise ValueError(f"{text!r} is no size") from error
    return _value(tree.body, symbols, text)


def _value(node: ast.expr, symbols: dict[str, int], text: str) -> int:
    match node:
        case ast.Constant(value=int() as value):
            return value
        case ast.Name(id=name) if name in symbols:
            return symbols[name]
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_value(operand, symbols, text)
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _OPERATORS:
            both = _value(left, symbols, text), _value(right, symbols, text)
            return reduce(_OPERATORS[type(op)], both)
        case ast.Call(func=ast.Name(id=name), args=arguments, keywords=[]) if name in _FUNCTIONS:
            return _FUNCTIONS[name](*(_value(one, symbols, text) for one in arguments))
        case ast.Call(
            func=ast.Name(id="max"),
            args=arguments,
            keywords=[ast.keyword(arg="hint", value=ast.Constant(value=int() as hint))],
        ):
            return largest(*(_value(one, symbols, text) for one in arguments), hint=hint)
    raise ValueError(f"{text!r} is no size")
