"""Reads a tree of arithmetic on one value x as a polynomial in x and f, where f is a function of x.

The tree 0.5 * x * (1 + erf(x / 1.4142135)) is {(1, 0): 0.5, (1, 1): 0.5} with f = erf: half x, and
half x f. Numbers are float64; where they came from float32 params they are compared with a
tolerance.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from itertools import repeat
from typing import TypeAlias

import numpy as np
from xdsl.ir import SSAValue

from ncc.compiler.ncnn.optimizations.affine import ADD, BY_CONSTANT, DIV, MUL, RSUB, SUB
from ncc.dialects.ncnn.elementwise.activation_layers import TanHOp
from ncc.dialects.ncnn.elementwise.arithmetic import PRODUCT, SUM, BinaryOpOp, EltwiseOp
from ncc.dialects.ncnn.elementwise.unary import PowerOp, UnaryOpOp
from ncc.dialects.ncnn.layer import Layer

Terms: TypeAlias = Mapping[tuple[int, int], float]
"""Coefficients by the powers of x and of f."""

POW = 6
"""The op_type of BinaryOp."""

NEGATE, SQUARE, TANH = 1, 4, 16
"""op_types of UnaryOp."""

SIGNS = {ADD: (1.0, 1.0), SUB: (1.0, -1.0), RSUB: (-1.0, 1.0)}
"""The signs of the operands, by op_type of BinaryOp."""

HIGHEST = 4
"""The highest power that is looked at."""

TOLERANCE = 2e-6
"""The relative error that float32 params may have."""


def same_terms(found: Terms, wanted: Terms) -> bool:
    """Whether two polynomials are the same, but for the rounding of params."""
    return found.keys() == wanted.keys() and all(
        abs(found[power] - value) <= TOLERANCE * abs(value) for power, value in wanted.items()
    )


@dataclass
class Reading:
    """One reading of a tree, of layers `within` it, each of which is read once.

    layers: those it went through, in the order they run.
    """

    x: SSAValue
    functions: tuple[type[Layer], ...]
    within: Collection[Layer]
    layers: list[Layer] = field(default_factory=list)
    function: Layer | None = None
    _read: dict[Layer, Terms | None] = field(default_factory=dict)

    def terms(self, value: SSAValue) -> Terms | None:
        """The polynomial of a value, or None where there is more to it."""
        if value is self.x:
            return {(1, 0): 1.0}
        op = value.owner
        if not isinstance(op, Layer) or op not in self.within:
            return None
        if op not in self._read:
            found = self._read[op] = self._of(op)
            if found is not None:
                self.layers.append(op)
        return self._read[op]

    def _of(self, op: Layer) -> Terms | None:
        if isinstance(op, self.functions) or is_tanh(op, self.functions):
            if self.function not in (None, op):
                return None
            self.function = op
            return {(0, 1): 1.0}
        match op:
            case BinaryOpOp() if len(op.operands) == 1:
                return self._with_number(op)
            case BinaryOpOp():
                return self._of_two(op)
            case EltwiseOp() if op.op_type == PRODUCT and len(op.operands) == 2:
                return _product(*self._both(op))
            case EltwiseOp() if op.op_type == SUM:
                return self._of_sum(op)
            case UnaryOpOp() if op.op_type in (NEGATE, SQUARE):
                terms = self.terms(op.operands[0])
                return _scaled(terms, -1.0) if op.op_type == NEGATE else _product(terms, terms)
            case PowerOp() if op.power == 1.0:
                return _sum(_scaled(self.terms(op.operands[0]), op.scale), {(0, 0): op.shift})
        return None

    def _with_number(self, op: BinaryOpOp) -> Terms | None:
        terms = self.terms(op.operands[0])
        if op.op_type in BY_CONSTANT and (op.op_type, op.b) != (DIV, 0.0):
            factor, offset = BY_CONSTANT[op.op_type](np.float64(op.b) * np.ones(()))
            return _sum(_scaled(terms, float(factor)), {(0, 0): float(offset)})
        if op.op_type == POW and op.b in (2.0, 3.0):
            squared = _product(terms, terms)
            return squared if op.b == 2.0 else _product(squared, terms)
        return None

    def _of_two(self, op: BinaryOpOp) -> Terms | None:
        if op.op_type not in (*SIGNS, MUL):
            return None
        a, b = self._both(op)
        if op.op_type == MUL:
            return _product(a, b)
        first, second = SIGNS[op.op_type]
        return _sum(_scaled(a, first), _scaled(b, second))

    def _both(self, op: Layer) -> tuple[Terms | None, Terms | None]:
        """The terms of two operands; of none where those of the first are unknown."""
        a = self.terms(op.operands[0])
        return a, None if a is None else self.terms(op.operands[1])

    def _of_sum(self, op: EltwiseOp) -> Terms | None:
        total: Terms | None = {}
        for operand, factor in zip(op.operands, op.coeffs or repeat(1.0), strict=False):
            total = _sum(total, _scaled(self.terms(operand), factor))
            if total is None:
                return None
        return total


def _sum(a: Terms | None, b: Terms | None) -> Terms | None:
    if a is None or b is None:
        return None
    both = {power: a.get(power, 0.0) + b.get(power, 0.0) for power in {**a, **b}}
    return {power: value for power, value in both.items() if value}


def _scaled(a: Terms | None, factor: float) -> Terms | None:
    return None if a is None else {power: value * factor for power, value in a.items() if factor}


def _product(a: Terms | None, b: Terms | None) -> Terms | None:
    if a is None or b is None:
        return None
    made: dict[tuple[int, int], float] = {}
    for (p, q), u in a.items():
        for (r, s), v in b.items():
            made[p + r, q + s] = made.get((p + r, q + s), 0.0) + u * v
    small = all(max(power) <= HIGHEST for power in made)
    return {power: value for power, value in made.items() if value} if small else None


def is_tanh(op: Layer, functions: tuple[type[Layer], ...]) -> bool:
    """Whether a layer is the tanh of UnaryOp, and tanh is among the functions."""
    return TanHOp in functions and isinstance(op, UnaryOpOp) and op.op_type == TANH
