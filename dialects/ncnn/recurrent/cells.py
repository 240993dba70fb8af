"""The cells of recurrent layers. A cell computes the next states from its gates and states.

A formula holds for numbers of any kind: for an element in statements (`Code`), and for all at once
in numpy (`NUMPY`). The input gives `x(k)` to gate k, and the hidden state gives `r(k)`. `state(k)`
is a state; the hidden state is the first, in the arguments and in the result.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

from ncc.dialects.weights.sources import Array

Number: TypeAlias = Any
"""A `Value` of statements, or an array."""

Numbers: TypeAlias = Callable[[int], Number]
"""Those of the gates, or the states, by their place."""


class Maths(Protocol):
    """Functions of one kind of numbers."""

    def sigmoid(self, x: Number) -> Number: ...
    def tanh(self, x: Number) -> Number: ...
    def maximum(self, x: Number, y: Number) -> Number: ...


class _Numpy:
    def sigmoid(self, x: Array) -> Array:
        with np.errstate(over="ignore"):
            return np.asarray(1 / (1 + np.exp(-x)))

    def tanh(self, x: Array) -> Array:
        return np.asarray(np.tanh(x))

    def maximum(self, x: Array, y: float) -> Array:
        return np.asarray(np.maximum(x, y))


NUMPY = _Numpy()

Cell: TypeAlias = Callable[[Maths, Numbers, Numbers, Numbers], list[Number]]
"""Computes the next states. The first one is the hidden state, or what is projected to it."""

Reset: TypeAlias = Callable[[Maths, Numbers, Numbers], Number]
"""Computes the gate by which the hidden state is multiplied before the product of the last gate."""


def rnn(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """h' = tanh(x + r)."""
    return [m.tanh(x(0) + r(0))]


def relu_rnn(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """h' = max(x + r, 0)."""
    return [m.maximum(x(0) + r(0), 0.0)]


def gru(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """h' = (1 - u) n + u h, n = tanh(x + reset r). The gates: reset and u, which are sigmoid, n."""
    reset, update = reset_gate(m, x, r), m.sigmoid(x(1) + r(1))
    return [(1.0 - update) * m.tanh(x(2) + reset * r(2)) + update * state(0)]


def early_gru(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """The same with n = tanh(x + r), where r is the product of the reset h."""
    update = m.sigmoid(x(1) + r(1))
    return [(1.0 - update) * m.tanh(x(2) + r(2)) + update * state(0)]


def reset_gate(m: Maths, x: Numbers, r: Numbers) -> Number:
    """The first gate of a GRU."""
    return m.sigmoid(x(0) + r(0))


def lstm(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """c' = f c + i tanh(g), h' = o tanh(c'). The gates: i, f and o, which are sigmoid, then g."""
    i, f, o = (m.sigmoid(x(gate) + r(gate)) for gate in range(3))
    c = f * state(1) + i * m.tanh(x(3) + r(3))
    return [o * m.tanh(c), c]


def peephole_lstm(m: Maths, x: Numbers, r: Numbers, state: Numbers) -> list[Number]:
    """The same where i and f see c, and o sees c', by weights that stand behind the states."""
    i, f = (m.sigmoid(x(gate) + r(gate) + state(2 + gate) * state(1)) for gate in range(2))
    c = f * state(1) + i * m.tanh(x(3) + r(3))
    o = m.sigmoid(x(2) + r(2) + state(4) * c)
    return [o * m.tanh(c), c]


def in_order(formula: Callable[..., Number], order: Sequence[int]) -> Callable[..., Number]:
    """A cell, or the reset of one, whose gates lie in another order."""

    def ordered(m: Maths, x: Numbers, r: Numbers, *state: Numbers) -> Number:
        return formula(m, lambda gate: x(order[gate]), lambda gate: r(order[gate]), *state)

    return ordered
