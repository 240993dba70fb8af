"""LSTM, GRU and RNN: rows of a sequence (steps, batch, size), one way or both."""

from __future__ import annotations

from collections.abc import Container, Sequence
from typing import ClassVar, TypeVar

import numpy as np
from xdsl.dialects.builtin import f32

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import WeightAttr
from ncc.dialects.ncnn.linear.linear import rows_by_matrix
from ncc.dialects.ncnn.recurrent.cells import (
    Cell,
    Reset,
    early_gru,
    gru,
    in_order,
    lstm,
    peephole_lstm,
    relu_rnn,
    reset_gate,
    rnn,
)
from ncc.dialects.ncnn.recurrent.parted_steps import parts_of
from ncc.dialects.ncnn.recurrent.recurrence import columns, expand_recurrence, recur_array
from ncc.dialects.ncnn.recurrent.recurrent_steps import RecurrentOperands, Rule
from ncc.dialects.onnx.attribute import integer, real, reals, required, string, strings
from ncc.dialects.onnx.operator import (
    Array,
    LayerError,
    NotYet,
    Operator,
    Shape,
    constant_of,
    operator,
)
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal

DIRECTIONS = {"forward": 0, "reverse": 1, "bidirectional": 2}
"""ncnn's number of each."""

PEEPHOLES = (0, 2, 1)
"""ONNX's number of the peepholes of i, f and o."""

T = TypeVar("T")


class Recurrent(Operator):
    """A cell over the steps of a sequence."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2, 3, 5, 6, 7)
    SETTLES = (4,)

    GATES: ClassVar[int]
    STATES: ClassVar[int] = 1
    ACTIVATIONS: ClassVar[tuple[tuple[str, ...], ...]]
    """Those of one direction, in small letters."""
    ORDER: ClassVar[tuple[int, ...]]
    """ONNX's number of each gate of the cell."""

    activation_alpha = reals()
    activation_beta = reals()
    activations = strings()
    clip = real()
    direction = string("forward")
    hidden_size = integer()
    layout = integer(0)

    @property
    def directions(self) -> int:
        return 2 if self.direction == "bidirectional" else 1

    @property
    def hidden(self) -> int:
        return required(self.hidden_size, "hidden_size")

    def check(self) -> None:
        if self.direction not in DIRECTIONS:
            raise LayerError(f"direction is {self.direction!r}", "direction")
        named = tuple(one.lower() for one in self.activations or ())
        if named and named not in {of * self.directions for of in self.ACTIVATIONS}:
            raise NotYet(f"{self.type_name} with the activations {', '.join(named)}")
        if self.clip is not None:
            raise NotYet(f"{self.type_name} with clip")

    def infer(self, x: Shape, w: Shape, r: Shape, *others: Shape | None) -> list[Shape]:
        hidden = self.hidden
        fit = len(x) == 3 and are_equal(w, (self.directions, self.GATES * hidden, x[2]))
        if not fit or r != (*w[:2], hidden):
            raise LayerError(f"weights {shown(w)} and {shown(r)} for {shown(x)}")
        steps, batch = (x[1], x[0]) if self.layout else (x[0], x[1])
        lengths = self.optional(4)
        if lengths is not None and any(length != steps for length in lengths.flat):
            raise NotYet(f"{self.type_name} of sequences of different lengths")
        state = (self.directions, batch, hidden)
        whole = (steps, *state)
        if self.layout:
            state, whole = (batch, *state[::2]), (batch, steps, *state[::2])
        for given in self._others(others)[1]:
            if given is not None and not are_equal(given, state):
                raise LayerError(f"a first state {shown(given)}, not {shown(state)}")
        return [whole, *[state] * self.STATES]

    def _others(self, others: Sequence[T | None]) -> tuple[T | None, list[T | None], T | None]:
        """The biases, the first states and the peepholes, behind the matrices; None for zeros."""
        given: list[T | None] = [*others, None, None, None, None, None]
        return given[0], given[2 : 2 + self.STATES], given[4]

    # --- as a recurrence ------------------------------------------------------------------------

    @property
    def cell(self) -> Cell:
        """The next states."""
        raise NotImplementedError

    @property
    def reset(self) -> Reset | None:
        """The gate that resets the hidden state before the product of the last one."""
        return None

    @property
    def rule(self) -> Rule:
        """How a step computes the next states, of gates in ONNX's order."""
        cell = in_order(self.cell, self.ORDER)
        reset = self.reset and in_order(self.reset, self.ORDER)
        reverse = self.direction == "reverse"
        return Rule(cell, self.hidden, self.hidden, self.STATES, reverse, reset=reset)

    def reference(self, x: Array, w: Array, r: Array, *others: Array | None) -> list[Array]:
        def swapped(array: Array) -> Array:
            return array.swapaxes(0, 1) if self.layout else array

        x, (bias, given, seen) = swapped(x), self._others(others)
        zeros = np.zeros((self.directions, x.shape[1], self.hidden), x.dtype)
        states = [zeros if state is None else swapped(state) for state in given]
        biases = np.zeros((self.directions, 2 * w.shape[1]), x.dtype) if bias is None else bias
        first, added = np.split(biases[:, None], 2, -1)
        inputs = x[:, None] @ w.swapaxes(1, 2) + first
        peepholes = []
        if seen is not None:
            peepholes = [np.split(seen, len(PEEPHOLES), 1)[k] for k in PEEPHOLES]

        def again(h: Array, d: int) -> Array:
            return np.asarray(h @ r[d].T + added[d])

        y, *last = recur_array(self.rule, inputs, again, states, peepholes)
        return [y.transpose(2, 0, 1, 3) if self.layout else y, *map(swapped, last)]

    def lower(
        self, b: Builder, x: Tensor, w: Tensor, r: Tensor, *others: Tensor | None
    ) -> list[Tensor]:
        if x.element_type != f32:
            raise NotYet(f"{self.type_name} of other elements than float32")
        bias, given, seen = self._others(others)
        if self.layout:
            x, given = _swapped(b, x), [state and _swapped(b, state) for state in given]
        rule, (steps, batch, size) = self.rule, x.shape
        directions, hidden, gates = self.directions, self.hidden, w.shape[1]
        samples = () if batch == 1 else (batch,)
        state = (directions, *samples, hidden)
        states = [b.full(state, 0.0) if s is None else b.reshape(s, state) for s in given]
        first, added = self._biases(b, bias, (directions, gates))
        matrix = self._matrix(b, 1, w, (directions * gates, size))
        rows, first = b.reshape(x, (steps * batch, size)), b.reshape(first, matrix.shape[:1])
        inputs = rows_by_matrix(b, rows, matrix, first)
        inputs = b.reshape(inputs, (steps, *samples, directions * gates))
        again = self._matrix(b, 2, r, r.shape)
        alone = isinstance(again, WeightAttr) and not samples and seen is None
        parts = parts_of(rule, directions, gates * hidden if alone else 0, b.threads)
        weight = columns(b, again, self.GATES, parts)
        peepholes = []
        if seen is not None:
            peepholes = [b.cut(seen, 1, k * hidden, (k + 1) * hidden) for k in PEEPHOLES]
        operands = RecurrentOperands(inputs, weight, added, None, None, states, peepholes)
        y, *last = expand_recurrence(b, rule, operands, parts)
        return self._results(b, y, last, steps, batch)

    def _matrix(self, b: Builder, place: int, x: Tensor, shape: Shape) -> WeightAttr | Tensor:
        """An operand under this shape, as a weight where it is a constant."""
        array = constant_of(self.operands[place])
        return b.reshape(x, shape) if array is None else WeightAttr.of(array.reshape(shape))

    def _biases(self, b: Builder, bias: Tensor | None, shape: Shape) -> list[Tensor]:
        """Those of the inputs and of the recurrent part."""
        if bias is None:
            return [b.table(np.zeros(shape, np.float32))] * 2
        array = constant_of(self.operands[3])
        if array is not None:
            return [b.table(half) for half in np.split(array, 2, 1)]
        return [b.cut(bias, 1, k * shape[1], (k + 1) * shape[1]) for k in range(2)]

    def _results(
        self, b: Builder, rows: Tensor, last: list[Tensor], steps: int, batch: int
    ) -> list[Tensor]:
        """Rows (steps, batch, directions * hidden) and states with the axes of ONNX."""
        state = (self.directions, batch, self.hidden)
        last = [b.reshape(one, state) for one in last]
        y = b.reshape(rows, (steps, batch, *state[::2]))
        if self.layout:
            return [_swapped(b, y), *(_swapped(b, one) for one in last)]
        if 1 in state[:2]:
            return [b.reshape(y, (steps, *state)), *last]
        t, d, n, j = b.loops_of((steps, *state))
        return [b.map((t, d, n, j), y[t, n, d, j]), *last]


def _swapped(b: Builder, x: Tensor) -> Tensor:
    """The first two axes the other way round."""
    at = b.loops_of([x.shape[1], x.shape[0], *x.shape[2:]])
    return b.map(at, x[[at[1], at[0], *at[2:]]])


@operator("LSTM", since=7, inputs=(3, 8), outputs=(1, 3))
class LSTMOp(Recurrent):
    """Gates i, o, f, c; with peepholes, i and f see the cell, and o sees the next one."""

    GATES = 4
    STATES = 2
    ACTIVATIONS = (("sigmoid", "tanh", "tanh"),)
    ORDER = (0, 2, 1, 3)

    input_forget = integer(0)

    def check(self) -> None:
        super().check()
        if self.input_forget:
            raise NotYet("LSTM with input_forget")

    @property
    def cell(self) -> Cell:
        return lstm if self.operand_at(7) is None else peephole_lstm


@operator("GRU", since=7, inputs=(3, 6), outputs=(1, 2))
class GRUOp(Recurrent):
    """Gates z, r, h: h' = (1 - z) n + z h, n = tanh(W x + r (U h + b)), or with
    linear_before_reset=0 n = tanh(W x + U (r h) + b).
    """

    GATES = 3
    ACTIVATIONS = (("sigmoid", "tanh"),)
    ORDER = (1, 0, 2)

    linear_before_reset = integer(0)

    @property
    def cell(self) -> Cell:
        return gru if self.linear_before_reset else early_gru

    @property
    def reset(self) -> Reset | None:
        return None if self.linear_before_reset else reset_gate


@operator("RNN", since=7, inputs=(3, 6), outputs=(1, 2))
class RNNOp(Recurrent):
    """h' = f(W x + U h + b), where f is tanh or ReLU."""

    GATES = 1
    ACTIVATIONS = (("tanh",), ("relu",))
    ORDER = (0,)

    @property
    def cell(self) -> Cell:
        return relu_rnn if self.activations and self.activations[0].lower() == "relu" else rnn
