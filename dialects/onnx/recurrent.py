"""LSTM, GRU and RNN: rows of a sequence (steps, batch, size), in one direction or both.

Constant weights make a layer of ncnn, one for each sample: its steps are a loop. Other weights are
inputs of the network; their steps are written one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import f32

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import Layer, WeightAttr
from ncc.dialects.ncnn.recurrent.recurrent import GRUOp as GRULayer
from ncc.dialects.ncnn.recurrent.recurrent import LSTMOp as LSTMLayer
from ncc.dialects.ncnn.recurrent.recurrent import RNNOp as RNNLayer
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
from ncc.dialects.scalar import Scalar, sigmoid, tanh
from ncc.dialects.shapes import shown

DIRECTIONS = {"forward": 0, "reverse": 1, "bidirectional": 2}

MOST_UNROLLED = 64
"""Steps that are written one after the other, at most."""


class Recurrent(Operator):
    """A cell over the steps of a sequence."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2, 3, 5, 6, 7)

    GATES: ClassVar[int]
    STATES: ClassVar[int] = 1
    ACTIVATIONS: ClassVar[tuple[str, ...]]
    ORDER: ClassVar[tuple[int, ...]]
    """ONNX's number of each gate of ncnn's layer."""

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

    def check(self) -> None:
        if self.direction not in DIRECTIONS:
            raise LayerError(f"direction is {self.direction!r}", "direction")
        wanted = self.ACTIVATIONS * self.directions
        if self.activations and tuple(a.lower() for a in self.activations) != tuple(
            a.lower() for a in wanted
        ):
            raise NotYet(f"{self.type_name} with the activations {', '.join(self.activations)}")
        if self.clip is not None:
            raise NotYet(f"{self.type_name} with clip")
        if self.operand_at(7) is not None:
            raise NotYet(f"{self.type_name} with peepholes")

    def infer(self, x: Shape, w: Shape, r: Shape, *others: Shape | None) -> list[Shape]:
        hidden = required(self.hidden_size, "hidden_size")
        gates = self.GATES * hidden
        if len(x) != 3 or w != (self.directions, gates, x[2]) or r != (*w[:2], hidden):
            raise LayerError(f"weights {shown(w)} and {shown(r)} for {shown(x)}")
        steps, batch = self._steps(x)
        lengths = self.operand_at(4)
        if lengths is not None:
            known = constant_of(lengths)
            if known is None or any(length != steps for length in known.flat):
                raise NotYet(f"{self.type_name} of sequences of different lengths")
        state = (self.directions, batch, hidden)
        whole = (steps, self.directions, batch, hidden)
        if self.layout:
            return [(batch, steps, *state[::2]), *[(batch, *state[::2])] * self.STATES]
        return [whole, *[state] * self.STATES]

    def _steps(self, x: Shape) -> tuple[int, int]:
        """The number of steps, and of samples."""
        return (x[1], x[0]) if self.layout else (x[0], x[1])

    # --- as ncnn's layer ------------------------------------------------------------------------

    def layer(self, w: Array, r: Array, bias: Array) -> Layer:
        """The layer of ncnn with these weights."""
        raise NotImplementedError

    def _reordered(self, of: Array) -> Array:
        """The gates along axis 1 in ncnn's order."""
        parts = np.split(of, self.GATES, 1)
        return np.concatenate([parts[gate] for gate in self.ORDER], 1)

    def params(self, w: Array) -> dict[str, Any]:
        """The params of ncnn's layer."""
        return {
            "num_output": required(self.hidden_size, "hidden_size"),
            "weight_data_size": w.size,
            "direction": DIRECTIONS[self.direction],
        }

    def made_layer(self, layer: type[Layer], w: Array, r: Array, bias: Array) -> Layer:
        weights = {
            "weight_xc_data": WeightAttr.of(self._reordered(w).reshape(-1, w.shape[2])),
            "weight_hc_data": WeightAttr.of(self._reordered(r)),
            "bias_c_data": WeightAttr.of(bias),
        }
        blobs = [""] * (1 + self.STATES)
        return layer.make([], self.params(w), weights, name=self.layer_name, blobs=blobs)

    def _biases(self, bias: Array | None, kind: Any) -> tuple[Array, Array]:
        """Those of the inputs, and those of the recurrent part, each (directions, gates)."""
        gates = self.GATES * required(self.hidden_size, "hidden_size")
        if bias is None:
            zeros = np.zeros((self.directions, gates), kind)
            return zeros, zeros
        return bias[:, :gates], bias[:, gates:]

    def reference(
        self, x: Array, w: Array, r: Array, bias: Array | None = None, *others: Array | None
    ) -> list[Array]:
        if self.layout:
            x = x.swapaxes(0, 1)
        layer = self.layer(w, r, np.stack(self._biases(bias, x.dtype), 1))
        hidden, states = w.shape[1] // self.GATES, self._given(others)
        made = []
        for k in range(x.shape[1]):
            zero = np.zeros((self.directions, hidden), x.dtype)
            own = [zero if s is None else self._of_sample(s, k) for s in states]
            made.append(layer.reference(x[:, k], *own))
        return self._together(made, len(x), hidden)

    def _of_sample(self, state: Array, k: int) -> Array:
        return state[k] if self.layout else state[:, k]

    def _given(self, others: Sequence[Any]) -> list[Any]:
        """The first states; None for zeros."""
        return [others[k + 1] if k + 1 < len(others) else None for k in range(self.STATES)]

    def _together(self, made: Sequence[Any], steps: int, hidden: int) -> list[Array]:
        y = np.stack([one[0].reshape(steps, self.directions, hidden) for one in made], 2)
        states = [np.stack([one[1 + k] for one in made], 1) for k in range(self.STATES)]
        if self.layout:
            return [y.transpose(2, 0, 1, 3), *(state.swapaxes(0, 1) for state in states)]
        return [y, *states]

    def lower(
        self,
        b: Builder,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        bias: Tensor | None = None,
        *others: Tensor | None,
    ) -> list[Tensor]:
        if x.element_type != f32:
            raise NotYet(f"{self.type_name} of other elements than float32")
        if self.layout:
            x = _swapped(b, x)
        arrays = [constant_of(v) for v in self.operands[1:3]]
        given = None if bias is None else constant_of(self.operands[3])
        states = self._given(others)
        if self.layout:
            states = [None if s is None else _swapped(b, s) for s in states]
        w_array, r_array = arrays
        if w_array is not None and r_array is not None and (bias is None) == (given is None):
            biases = np.stack(self._biases(given, np.float32), 1)
            y, finals = self._by_layer(b, x, self.layer(w_array, r_array, biases), states)
        else:
            y, finals = self._unrolled(b, x, w, r, bias, states)
        if self.layout:
            at = b.loops_of([y.shape[k] for k in (2, 0, 1, 3)])
            y = b.map(at, y[at[1], at[2], at[0], at[3]])
            finals = [_swapped(b, final) for final in finals]
        return [y, *finals]

    def _by_layer(
        self, b: Builder, x: Tensor, layer: Layer, states: Sequence[Tensor | None]
    ) -> tuple[Tensor, list[Tensor]]:
        steps, batch, size = x.shape
        hidden = required(self.hidden_size, "hidden_size")
        state = (self.directions, hidden)
        made = []
        for k in range(batch):
            rows = b.reshape(b.cut(x, 1, k, k + 1), (steps, size))
            own = [
                b.full(state, 0.0) if s is None else b.reshape(b.cut(s, 1, k, k + 1), state)
                for s in states
            ]
            made.append(layer.expand_all(b, [rows, *own]))
        whole = (steps, self.directions, 1, hidden)
        y = b.concat([b.reshape(one[0], whole) for one in made], 2)
        finals = [
            b.concat([b.reshape(one[1 + k], (state[0], 1, hidden)) for one in made], 1)
            for k in range(self.STATES)
        ]
        return y, finals

    # --- step by step ---------------------------------------------------------------------------

    def cell(
        self, x: Callable[[int], Scalar], r: Callable[[int], Scalar], state: list[Scalar]
    ) -> list[Scalar]:
        """The next state, the hidden one first, of the gates' inputs and recurrent parts."""
        raise NotImplementedError

    def _unrolled(
        self,
        b: Builder,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        bias: Tensor | None,
        states: Sequence[Tensor | None],
    ) -> tuple[Tensor, list[Tensor]]:
        steps, batch, _ = x.shape
        if steps > MOST_UNROLLED:
            raise NotYet(f"{self.type_name} of {steps} steps with weights that are no constants")
        hidden = required(self.hidden_size, "hidden_size")
        rows: list[list[Tensor]] = []
        finals: list[list[Tensor]] = []
        for d in range(self.directions):
            own = [
                b.map(b.loops_of((batch, hidden)), 0.0)
                if s is None
                else b.reshape(b.cut(s, 0, d, d + 1), (batch, hidden))
                for s in states
            ]
            backwards = self.direction == "reverse" or d == 1
            made: list[Tensor] = []
            for t in reversed(range(steps)) if backwards else range(steps):
                own = self._step(b, x, w, r, bias, own, t, d)
                made.append(own[0])
            rows.append(made[::-1] if backwards else made)
            finals.append(own)
        shape = (1, 1, batch, hidden)
        by_step = [
            b.concat([b.reshape(rows[d][t], shape) for d in range(self.directions)], 1)
            for t in range(steps)
        ]
        last = [
            b.concat([b.reshape(final[k], (1, batch, hidden)) for final in finals], 0)
            for k in range(self.STATES)
        ]
        return b.concat(by_step, 0), last

    def _step(
        self,
        b: Builder,
        x: Tensor,
        w: Tensor,
        r: Tensor,
        bias: Tensor | None,
        own: Sequence[Tensor],
        t: int,
        d: int,
    ) -> list[Tensor]:
        _, batch, size = x.shape
        hidden = own[0].shape[1]
        gates = self.GATES * hidden
        n, g, i = b.loops_of((batch, gates, size))
        inputs = b.sum((n, g), over=(i,), of=x[t, n, i] * w[d, g, i])
        n, g, i = b.loops_of((batch, gates, hidden))
        again = b.sum((n, g), over=(i,), of=own[0][n, i] * r[d, g, i])
        parts = {
            (of, k): b.cut(of, 1, k * hidden, (k + 1) * hidden)
            for of in (inputs, again)
            for k in range(self.GATES)
        }
        added = [] if bias is None else self._bias_parts(b, bias, d, hidden)
        n, j = b.loops_of((batch, hidden))

        def gate(of: Tensor, behind: int) -> Callable[[int], Scalar]:
            def read(number: int) -> Scalar:
                value = parts[of, number][n, j]
                return value + added[behind * self.GATES + number][j] if added else value

            return read

        made = self.cell(gate(inputs, 0), gate(again, 1), [one[n, j] for one in own])
        found = []
        for value in made:
            b.loops_of((batch, hidden))
            found.append(b.map((n, j), value))
        return found

    def _bias_parts(self, b: Builder, bias: Tensor, d: int, hidden: int) -> list[Tensor]:
        """The biases of each gate: those of the inputs, then those of the recurrent part."""
        row = b.reshape(b.cut(bias, 0, d, d + 1), bias.shape[1:])
        return [b.cut(row, 0, k * hidden, (k + 1) * hidden) for k in range(2 * self.GATES)]


def _swapped(b: Builder, x: Tensor) -> Tensor:
    """The first two axes the other way round."""
    at = b.loops_of([x.shape[1], x.shape[0], *x.shape[2:]])
    return b.map(at, x[[at[1], at[0], *at[2:]]])


@operator("LSTM", since=7, inputs=(3, 8), outputs=(1, 3))
class LSTMOp(Recurrent):
    """Gates i, o, f, c: c' = f c + i tanh(c), h' = o tanh(c')."""

    GATES = 4
    STATES = 2
    ACTIVATIONS = ("Sigmoid", "Tanh", "Tanh")
    ORDER = (0, 2, 1, 3)

    input_forget = integer(0)

    def check(self) -> None:
        super().check()
        if self.input_forget:
            raise NotYet("LSTM with input_forget")

    def layer(self, w: Array, r: Array, bias: Array) -> Layer:
        both = self._reordered(bias.sum(1)).reshape(self.directions, 4, -1)
        return self.made_layer(LSTMLayer, w, r, both)

    def cell(
        self, x: Callable[[int], Scalar], r: Callable[[int], Scalar], state: list[Scalar]
    ) -> list[Scalar]:
        i, o, f = (sigmoid(x(gate) + r(gate)) for gate in range(3))
        c = f * state[1] + i * tanh(x(3) + r(3))
        return [o * tanh(c), c]


@operator("GRU", since=7, inputs=(3, 6), outputs=(1, 2))
class GRUOp(Recurrent):
    """Gates z, r, h: h' = (1 - z) n + z h, n = tanh(W_n x + r (U_n h + b)), or r inside of U."""

    GATES = 3
    ACTIVATIONS = ("Sigmoid", "Tanh")
    ORDER = (1, 0, 2)

    linear_before_reset = integer(0)

    def check(self) -> None:
        super().check()
        if not self.linear_before_reset:
            raise NotYet("GRU with linear_before_reset=0")

    def layer(self, w: Array, r: Array, bias: Array) -> Layer:
        first, again = (self._reordered(bias[:, k]) for k in range(2))
        parts = first.reshape(self.directions, 3, -1), again.reshape(self.directions, 3, -1)
        rows = [parts[0][:, :2] + parts[1][:, :2], parts[0][:, 2:], parts[1][:, 2:]]
        return self.made_layer(GRULayer, w, r, np.concatenate(rows, 1))

    def cell(
        self, x: Callable[[int], Scalar], r: Callable[[int], Scalar], state: list[Scalar]
    ) -> list[Scalar]:
        update, reset = sigmoid(x(0) + r(0)), sigmoid(x(1) + r(1))
        new = tanh(x(2) + reset * r(2))
        return [(1.0 - update) * new + update * state[0]]


@operator("RNN", since=7, inputs=(3, 6), outputs=(1, 2))
class RNNOp(Recurrent):
    """h' = tanh(W x + U h + b)."""

    GATES = 1
    ACTIVATIONS = ("Tanh",)
    ORDER = (0,)

    def layer(self, w: Array, r: Array, bias: Array) -> Layer:
        return self.made_layer(RNNLayer, w, r, bias.sum(1).reshape(self.directions, 1, -1))

    def cell(
        self, x: Callable[[int], Scalar], r: Callable[[int], Scalar], state: list[Scalar]
    ) -> list[Scalar]:
        return [tanh(x(0) + r(0))]
