"""LSTM, GRU and RNN."""

from __future__ import annotations

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.recurrent.recurrent import GRUOp as GRULayer
from ncc.dialects.ncnn.recurrent.recurrent import LSTMOp as LSTMLayer
from ncc.dialects.ncnn.recurrent.recurrent import Recurrent as RecurrentLayer
from ncc.dialects.ncnn.recurrent.recurrent import RNNOp as RNNLayer
from ncc.dialects.onnx.attribute import integer
from ncc.dialects.onnx.operator import Array, NotYet, operator
from ncc.dialects.onnx.recurrent import Gates, Part, Recurrent, Weights
from ncc.dialects.scalar import Scalar, maximum, sigmoid, tanh


def _sigmoid(x: Array) -> Array:
    return np.asarray(1 / (1 + np.exp(-x)))


@operator("LSTM", since=7, inputs=(3, 8), outputs=(1, 3))
class LSTMOp(Recurrent):
    """Gates i, o, f, c: c' = f c + i tanh(c), h' = o tanh(c'). With peepholes, i and f see c, and o
    sees c'.
    """

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
    def is_layer(self) -> bool:
        return self.operand_at(7) is None

    def layer(self, w: Array, r: Array, bias: Array) -> RecurrentLayer:
        both = self._reordered(bias.sum(1)).reshape(self.directions, 4, -1)
        return self.made_layer(LSTMLayer, w, r, both)

    def array_cell(
        self, x: Array, r: Array, bias: Array, state: list[Array], peepholes: Array | None
    ) -> list[Array]:
        h, c = state
        i, o, f, new = np.split(x + h @ r.T + bias, 4)
        to_i, to_o, to_f = np.zeros((3, len(c))) if peepholes is None else np.split(peepholes, 3)
        c = _sigmoid(f + to_f * c) * c + _sigmoid(i + to_i * c) * np.tanh(new)
        return [_sigmoid(o + to_o * c) * np.tanh(c), c]

    def cell(self, gates: Gates, state: list[Scalar]) -> list[Scalar]:
        i = sigmoid(gates.x(0) + gates.r(0) + gates.seen(0, state[1]))
        f = sigmoid(gates.x(2) + gates.r(2) + gates.seen(2, state[1]))
        c = f * state[1] + i * tanh(gates.x(3) + gates.r(3))
        o = sigmoid(gates.x(1) + gates.r(1) + gates.seen(1, c))
        return [o * tanh(c), c]


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
    def is_layer(self) -> bool:
        return bool(self.linear_before_reset)

    def layer(self, w: Array, r: Array, bias: Array) -> RecurrentLayer:
        first, again = (self._reordered(bias[:, k]) for k in range(2))
        parts = first.reshape(self.directions, 3, -1), again.reshape(self.directions, 3, -1)
        rows = [parts[0][:, :2] + parts[1][:, :2], parts[0][:, 2:], parts[1][:, 2:]]
        return self.made_layer(GRULayer, w, r, np.concatenate(rows, 1))

    def array_cell(
        self, x: Array, r: Array, bias: Array, state: list[Array], peepholes: Array | None
    ) -> list[Array]:
        (h,) = state
        of_x, of_bias, matrices = (np.split(one, 3) for one in (x, bias, r))
        update, reset = (_sigmoid(of_x[k] + matrices[k] @ h + of_bias[k]) for k in range(2))
        new = np.tanh(of_x[2] + matrices[2] @ (reset * h) + of_bias[2])
        return [(1 - update) * new + update * h]

    def again(self, b: Builder, weights: Weights, own: Tensor, inputs: Part) -> Part:
        early = super().again(b, weights, own, inputs)
        if self.linear_before_reset:
            return early
        n, j = at = b.loops_of(own.shape)
        reset = sigmoid(inputs.read(1, n, j) + early.read(1, n, j))
        late = super().again(b, weights, b.map(at, reset * own[n, j]), inputs)
        late.products[:2] = early.products[:2]
        return late

    def cell(self, gates: Gates, state: list[Scalar]) -> list[Scalar]:
        update = sigmoid(gates.x(0) + gates.r(0))
        late = gates.r(2)
        if self.linear_before_reset:
            late = sigmoid(gates.x(1) + gates.r(1)) * late
        return [(1.0 - update) * tanh(gates.x(2) + late) + update * state[0]]


@operator("RNN", since=7, inputs=(3, 6), outputs=(1, 2))
class RNNOp(Recurrent):
    """h' = f(W x + U h + b), where f is tanh or ReLU."""

    GATES = 1
    ACTIVATIONS = (("tanh",), ("relu",))
    ORDER = (0,)

    @property
    def is_layer(self) -> bool:
        return not self.activations or self.activations[0].lower() == "tanh"

    def layer(self, w: Array, r: Array, bias: Array) -> RecurrentLayer:
        return self.made_layer(RNNLayer, w, r, bias.sum(1).reshape(self.directions, 1, -1))

    def array_cell(
        self, x: Array, r: Array, bias: Array, state: list[Array], peepholes: Array | None
    ) -> list[Array]:
        return [np.maximum(x + r @ state[0] + bias, 0)]

    def cell(self, gates: Gates, state: list[Scalar]) -> list[Scalar]:
        value = gates.x(0) + gates.r(0)
        return [tanh(value) if self.is_layer else maximum(value, 0.0)]
