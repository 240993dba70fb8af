"""What LSTM, GRU and RNN share: rows of a sequence (steps, batch, size), one way or both.

Constant weights make a layer of ncnn for all samples: its steps are a loop. Where weights are
inputs of the network, or ncnn has no such cells, steps are written one after the other.
"""

from __future__ import annotations

from collections.abc import Container, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from xdsl.dialects.builtin import f32
from xdsl.ir.affine import AffineExpr

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.layer import WeightAttr
from ncc.dialects.ncnn.recurrent.recurrent import Recurrent as RecurrentLayer
from ncc.dialects.onnx.attribute import integer, real, reals, required, string, strings
from ncc.dialects.onnx.operator import Array, LayerError, NotYet, Operator, Shape, constant_of
from ncc.dialects.scalar import Scalar
from ncc.dialects.shapes import shown
from ncc.dialects.size import are_equal, is_open

DIRECTIONS = {"forward": 0, "reverse": 1, "bidirectional": 2}

MOST_UNROLLED = 64
"""Steps that are written one after the other, at most."""


class Recurrent(Operator):
    """A cell over the steps of a sequence."""

    ALIKE: ClassVar[Container[int]] = (0, 1, 2, 3, 5, 6, 7)
    SETTLES = (4,)

    GATES: ClassVar[int]
    STATES: ClassVar[int] = 1
    ACTIVATIONS: ClassVar[tuple[tuple[str, ...], ...]]
    """Those of one direction, in small letters."""
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
        named = tuple(one.lower() for one in self.activations or ())
        if named and named not in {of * self.directions for of in self.ACTIVATIONS}:
            raise NotYet(f"{self.type_name} with the activations {', '.join(named)}")
        if self.clip is not None:
            raise NotYet(f"{self.type_name} with clip")

    def infer(self, x: Shape, w: Shape, r: Shape, *others: Shape | None) -> list[Shape]:
        hidden = required(self.hidden_size, "hidden_size")
        gates = self.GATES * hidden
        fit = len(x) == 3 and are_equal(w, (self.directions, gates, x[2]))
        if not fit or r != (*w[:2], hidden):
            raise LayerError(f"weights {shown(w)} and {shown(r)} for {shown(x)}")
        steps, batch = self._steps(x)
        lengths = self.optional(4)
        if lengths is not None and any(length != steps for length in lengths.flat):
            raise NotYet(f"{self.type_name} of sequences of different lengths")
        state = (self.directions, batch, hidden)
        whole = (steps, *state)
        if self.layout:
            state, whole = (batch, *state[::2]), (batch, steps, *state[::2])
        for given in self._given(others[1:]):
            if given is not None and not are_equal(given, state):
                raise LayerError(f"a first state {shown(given)}, not {shown(state)}")
        return [whole, *[state] * self.STATES]

    def _steps(self, x: Shape) -> tuple[int, int]:
        """The number of steps, and of samples."""
        return (x[1], x[0]) if self.layout else (x[0], x[1])

    # --- as ncnn's layer ------------------------------------------------------------------------

    @property
    def is_layer(self) -> bool:
        """Whether ncnn's layer has such cells."""
        return True

    def layer(self, w: Array, r: Array, bias: Array) -> RecurrentLayer:
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

    def made_layer(
        self, layer: type[RecurrentLayer], w: Array, r: Array, bias: Array
    ) -> RecurrentLayer:
        weights = {
            "weight_xc_data": WeightAttr.of(self._reordered(w).reshape(-1, w.shape[2])),
            "weight_hc_data": WeightAttr.of(self._reordered(r)),
            "bias_c_data": WeightAttr.of(bias),
        }
        blobs = [""] * (1 + self.STATES)
        return layer.make([], self.params(w), weights, name=self.layer_name, blobs=blobs)

    def biases_of(self, bias: Array | None, kind: Any) -> tuple[Array, Array]:
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
        biases = self.biases_of(bias, x.dtype)
        hidden, states = w.shape[1] // self.GATES, self._given(others)
        made = []
        for k in range(x.shape[1]):
            zero = np.zeros((self.directions, hidden), x.dtype)
            own = [zero if s is None else self._of_sample(s, k) for s in states]
            if self.is_layer:
                layer = self.layer(w, r, np.stack(biases, 1))
                made.append(layer.reference(x[:, k], *own))
            else:
                made.append(self._walked(x[:, k], w, r, biases, own, others))
        return self._together(made, len(x), hidden)

    def _walked(
        self,
        rows: Array,
        w: Array,
        r: Array,
        biases: tuple[Array, Array],
        first: Sequence[Array],
        others: Sequence[Array | None],
    ) -> list[Array]:
        """The rows of one sample, step by step, and the last states."""
        made = np.zeros((len(rows), self.directions, w.shape[1] // self.GATES), rows.dtype)
        last = []
        for d in range(self.directions):
            own = [state[d] for state in first]
            inputs = rows @ w[d].T + biases[0][d]
            for t in self._order(len(rows), d):
                own = self.array_cell(
                    inputs[t], r[d], biases[1][d], own, self._peepholes(others, d)
                )
                made[t, d] = own[0]
            last.append(own)
        return [made, *(np.stack(states) for states in zip(*last, strict=True))]

    def array_cell(
        self, x: Array, r: Array, bias: Array, state: list[Array], peepholes: Array | None
    ) -> list[Array]:
        """The next state of the gates' inputs, in numpy, of cells that ncnn's layer has not."""
        raise NotImplementedError

    def _order(self, steps: int, d: int) -> Sequence[int]:
        """The steps of a direction in their order."""
        backwards = self.direction == "reverse" or d == 1
        return range(steps)[::-1] if backwards else range(steps)

    def _peepholes(self, others: Sequence[Any], d: int) -> Any:
        """The weights by which an LSTM's gates see its cell; the last operand."""
        return others[3][d] if len(others) > 3 and others[3] is not None else None

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
        known = w_array is not None and r_array is not None and (bias is None) == (given is None)
        few = not is_open(x.shape[0]) and x.shape[0] <= MOST_UNROLLED
        if self.is_layer and known and not (few and is_open(x.shape[1])):
            assert w_array is not None and r_array is not None
            biases = np.stack(self.biases_of(given, np.float32), 1)
            y, finals = self._by_layer(b, x, self.layer(w_array, r_array, biases), states)
        else:
            y, finals = self._unrolled(b, x, (w, r, bias, *others[3:4]), states)
        if self.layout:
            at = b.loops_of([y.shape[k] for k in (2, 0, 1, 3)])
            y = b.map(at, y[at[1], at[2], at[0], at[3]])
            finals = [_swapped(b, final) for final in finals]
        return [y, *finals]

    def _by_layer(
        self, b: Builder, x: Tensor, layer: RecurrentLayer, states: Sequence[Tensor | None]
    ) -> tuple[Tensor, list[Tensor]]:
        """A batch of 1 is no axis of the layer."""
        steps, batch, size = x.shape
        hidden = required(self.hidden_size, "hidden_size")
        samples = () if batch == 1 else (batch,)
        state = (self.directions, *samples, hidden)
        own = [b.full(state, 0.0) if s is None else b.reshape(s, state) for s in states]
        y, *finals = layer.expand(b, b.reshape(x, (steps, *samples, size)), own)
        whole = (self.directions, batch, hidden)
        finals = [b.reshape(one, whole) for one in finals]
        if 1 in whole[:2]:
            return b.reshape(y, (steps, *whole)), finals
        y = b.reshape(y, (steps, batch, self.directions, hidden))
        t, d, n, j = b.loops_of((steps, *whole))
        return b.map((t, d, n, j), y[t, n, d, j]), finals

    # --- step by step ---------------------------------------------------------------------------

    def cell(self, gates: Gates, state: list[Scalar]) -> list[Scalar]:
        """The next state, the hidden one first."""
        raise NotImplementedError

    def again(self, b: Builder, weights: Weights, own: Tensor, inputs: Part) -> Part:
        """The recurrent part of all gates; inputs: what x gives to them."""
        return Part(b, weights, own, weights.r, self.GATES)

    def _unrolled(
        self, b: Builder, x: Tensor, of: Sequence[Tensor | None], states: Sequence[Tensor | None]
    ) -> tuple[Tensor, list[Tensor]]:
        steps, batch, _ = x.shape
        if steps > MOST_UNROLLED:
            raise NotYet(f"{self.type_name} of {steps} steps that is no layer of ncnn")
        hidden = required(self.hidden_size, "hidden_size")
        rows: list[list[Tensor]] = []
        finals: list[list[Tensor]] = []
        for d in range(self.directions):
            weights = Weights(*(None if one is None else _direction(b, one, d) for one in of))
            own = [
                b.map(b.loops_of((batch, hidden)), 0.0) if s is None else _direction(b, s, d)
                for s in states
            ]
            made: dict[int, Tensor] = {}
            for t in self._order(steps, d):
                own = self._step(b, _direction(b, x, t), weights, own)
                made[t] = own[0]
            rows.append([made[t] for t in range(steps)])
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
        self, b: Builder, row: Tensor, weights: Weights, own: Sequence[Tensor]
    ) -> list[Tensor]:
        inputs = Part(b, weights, row, weights.w, self.GATES)
        again = self.again(b, weights, own[0], inputs)
        hidden, of = own[0].shape[1], weights.peepholes
        seen = [] if of is None else [b.cut(of, 0, k * hidden, (k + 1) * hidden) for k in range(3)]
        n, j = at = b.loops_of(own[0].shape)
        gates = Gates(inputs, again, seen, n, j)
        found = []
        for value in self.cell(gates, [one[n, j] for one in own]):
            b.loops_of(own[0].shape)
            found.append(b.map(at, value))
        return found


@dataclass(frozen=True)
class Weights:
    """Those of one direction: (gates, size), (gates, hidden), biases of both, peepholes."""

    w: Tensor | None
    r: Tensor | None
    bias: Tensor | None
    peepholes: Tensor | None = None


class Part:
    """What x, or the hidden state, gives to each gate: a product, and a bias."""

    def __init__(
        self, b: Builder, weights: Weights, rows: Tensor, matrix: Tensor | None, count: int
    ) -> None:
        assert matrix is not None
        batch, width = rows.shape
        all_gates = matrix.shape[0]
        hidden = all_gates // count
        n, g, i = b.loops_of((batch, all_gates, width))
        product = b.sum((n, g), over=(i,), of=rows[n, i] * matrix[g, i])
        first = 0 if matrix is weights.w else all_gates
        starts = range(0, all_gates, hidden)
        self.products = [b.cut(product, 1, k, k + hidden) for k in starts]
        self.biases = [
            b.cut(weights.bias, 0, first + k, first + k + hidden)
            for k in (starts if weights.bias is not None else ())
            if weights.bias is not None
        ]

    def read(self, gate: int, n: AffineExpr, j: AffineExpr) -> Scalar:
        """What one gate is given."""
        value = self.products[gate][n, j]
        return value + self.biases[gate][j] if self.biases else value


@dataclass(frozen=True)
class Gates:
    """The gates at one element of a state."""

    inputs: Part
    again: Part
    peepholes: Sequence[Tensor]
    n: AffineExpr
    j: AffineExpr

    def x(self, gate: int) -> Scalar:
        return self.inputs.read(gate, self.n, self.j)

    def r(self, gate: int) -> Scalar:
        return self.again.read(gate, self.n, self.j)

    def seen(self, number: int, cell: Scalar) -> Scalar | float:
        """What a gate sees of the cell."""
        return self.peepholes[number][self.j] * cell if self.peepholes else 0.0


def _direction(b: Builder, of: Tensor, d: int) -> Tensor:
    """One element along the first axis."""
    return b.reshape(b.cut(of, 0, d, d + 1), of.shape[1:])


def _swapped(b: Builder, x: Tensor) -> Tensor:
    """The first two axes the other way round."""
    at = b.loops_of([x.shape[1], x.shape[0], *x.shape[2:]])
    return b.map(at, x[[at[1], at[0], *at[2:]]])
