"""Recurrent layers: a row of the result depends on a row of the input and on the state before it.

A step computes the next state from the gates' inputs W x[t] + b and from U h; the cell of a layer
defines how. The inputs of all steps are one product of matrices. The rest is sequential, but both
directions are independent.

A state is (directions, extent), or (extent) for one direction. The hidden state has the extent of a
row of the result, the cell state of an LSTM that of the cell. In reverse the last row comes first,
in the input and in the result. A row of the result has both directions, one after the other.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import prod
from typing import ClassVar, TypeAlias

import numpy as np
from xdsl.dialects.builtin import f32, i8
from xdsl.ir import Attribute

from ncc.dialects.ncnn.checks import check_choice, check_positive
from ncc.dialects.ncnn.layer import (
    Array,
    Builder,
    Layer,
    LayerError,
    Shape,
    Shapes,
    Tensor,
    Weight,
    WeightAttr,
    integer,
    layer,
)
from ncc.dialects.ncnn.linear.gemm import EVERY_BYTE
from ncc.dialects.ncnn.linear.linear import rows_by_matrix
from ncc.dialects.ncnn.param import held
from ncc.dialects.ncnn.quantization.int8 import product
from ncc.dialects.ncnn.quantization.int8_product import Factor, FactorArray
from ncc.dialects.ncnn.recurrent.parted_steps import expand_parted_steps, parts_of
from ncc.dialects.ncnn.recurrent.recurrent_steps import (
    RecurrentOperands,
    Rule,
    Values,
    expand_steps,
)
from ncc.dialects.scalar import convert
from ncc.dialects.size import are_equal, is_equal
from ncc.dialects.statements import Code, Value
from ncc.dialects.weights.derived import Blocked, Paired, Taken

FORWARD, REVERSE, BOTH = 0, 1, 2

Arrays: TypeAlias = Callable[[int], Array]
"""Like `Values`, for all elements at once."""


class Recurrent(Layer):
    """The step of a sequence, around the cell that a layer defines.

    With int8_scale_term weights are int8. The inputs of a product are quantized row by row, and its
    sums are integers. A sum is divided by the scale of its row and by that of the input.
    """

    GATES: ClassVar[int]
    BIASES: ClassVar[int]
    STATES: ClassVar[int] = 1

    num_output = integer(0)
    weight_data_size = integer(1)
    direction = integer(2)
    int8_scale_term = integer(8)

    weight_xc_data = Weight(
        lambda op: None if op.int8_scale_term else (op.gate_rows, op.size), tagged=True
    )
    weight_xc_data_int8 = Weight(
        lambda op: (op.gate_rows, op.size) if op.int8_scale_term else None, packed=True
    )
    bias_c_data = Weight(lambda op: (op.directions, op.BIASES, op.hidden), tagged=True)
    weight_hc_data = Weight(
        lambda op: None if op.int8_scale_term else op.recurrent_shape, tagged=True
    )
    weight_hc_data_int8 = Weight(
        lambda op: op.recurrent_shape if op.int8_scale_term else None, packed=True
    )
    weight_hr_data = Weight(
        lambda op: (op.directions, op.num_output, op.hidden) if op.projects else None, tagged=True
    )
    weight_xc_data_int8_scales = Weight(
        lambda op: (op.gate_rows,) if op.int8_scale_term else None,
        around=lambda op: EVERY_BYTE.typical_scale(op.size),
    )
    weight_hc_data_int8_scales = Weight(
        lambda op: (op.gate_rows,) if op.int8_scale_term else None,
        around=lambda op: EVERY_BYTE.typical_scale(op.num_output),
    )

    # --- extents ----------------------------------------------------------------------------

    @property
    def directions(self) -> int:
        return 2 if self.direction == BOTH else 1

    @property
    def hidden(self) -> int:
        """The extent of a gate, and of the cell."""
        return self.num_output

    @property
    def projects(self) -> bool:
        """Whether a projection matrix makes a row of the result from the output of the cell."""
        return self.hidden != self.num_output

    @property
    def gates(self) -> int:
        """The extent of all gates of one direction together."""
        return self.GATES * self.hidden

    @property
    def gate_rows(self) -> int:
        return self.directions * self.gates

    @property
    def recurrent_shape(self) -> Shape:
        return (self.directions, self.gates, self.num_output)

    @property
    def size(self) -> int:
        """The extent of an input's row."""
        return self.weight_data_size // self.gate_rows

    def check(self) -> None:
        check_positive(self, ["num_output", "weight_data_size"])
        check_choice(self, "direction", range(FORWARD, BOTH + 1))
        if self.weight_data_size % self.gate_rows:
            raise LayerError(
                f"weight_data_size is {self.weight_data_size}, not a multiple of {self.gate_rows}, "
                "the rows of all gates",
                "weight_data_size",
            )
        for what, count in (("inputs", len(self.operands)), ("outputs", len(self.results))):
            if count not in (1, 1 + self.STATES):
                raise LayerError(f"{count} {what}, but states come all ({self.STATES}) or not")

    @property
    def state_shapes(self) -> list[Shape]:
        extents = [self.num_output, self.hidden][: self.STATES]
        return [(self.directions, extent) for extent in extents]

    def element_types(self, *operands: Attribute) -> Attribute:
        for weight in (self.input_weight, self.recurrent_weight):
            if (weight.element_type == i8) != bool(self.int8_scale_term):
                raise LayerError("int8 weights and their scales go together", "int8_scale_term")
        return f32

    def infer(self, x: Shape, *states: Shape) -> Shapes:
        if len(x) != 2 or not is_equal(x[1], self.size):
            raise LayerError(f"input {x} is not a matrix with rows of {self.size}")
        for state, wanted in zip(states, self.state_shapes, strict=False):
            if not are_equal(state, wanted) and not are_equal((1, *state), wanted):
                raise LayerError(f"a state has shape {state}, not {wanted}")
        shapes = [(x[0], self.directions * self.num_output), *(states or self.state_shapes)]
        return shapes[: len(self.results)]

    # --- meaning ----------------------------------------------------------------------------

    @property
    def input_weight(self) -> WeightAttr:
        """W, of both directions: float32 or int8."""
        return held(self.weight_xc_data or self.weight_xc_data_int8, "weight_xc_data")

    @property
    def recurrent_weight(self) -> WeightAttr:
        """U, (directions, gates, num_output): float32 or int8."""
        return held(self.weight_hc_data or self.weight_hc_data_int8, "weight_hc_data")

    @property
    def biases(self) -> tuple[Array, Array]:
        """The biases of the inputs and of the recurrent part, each (directions, gates)."""
        bias = held(self.bias_c_data, "bias_c_data").array().reshape(self.directions, self.gates)
        return bias, np.zeros_like(bias)

    def cell_array(self, x: Arrays, r: Arrays, state: Arrays) -> list[Array]:
        """The next state of the gates' inputs x and recurrent parts r; the hidden one first."""
        raise NotImplementedError(f"{self.name} has no cell")

    def cell(self, code: Code, x: Values, r: Values, state: Values) -> list[Value]:
        """`cell_array` for one element of the cell."""
        raise NotImplementedError(f"{self.name} has no cell")

    def reference(self, x: Array, *states: Array) -> list[Array]:
        shapes = self.infer(x.shape, *(state.shape for state in states))
        given = [
            states[k].reshape(shape) if states else np.zeros(shape, x.dtype)
            for k, shape in enumerate(self.state_shapes)
        ]
        runs = [self._run(x, d, [state[d] for state in given]) for d in range(self.directions)]
        y = np.concatenate([rows for rows, _ in runs], axis=1)
        finals = [np.stack(final) for final in zip(*(state for _, state in runs), strict=True)]
        made = zip([y, *finals], shapes, strict=False)
        return [array.reshape(shape) for array, shape in made]

    def _run(self, x: Array, d: int, state: list[Array]) -> tuple[Array, list[Array]]:
        """One direction: the rows of its result, and its last state."""
        own = slice(d * self.gates, (d + 1) * self.gates)
        first, added = (bias[d] for bias in self.biases)
        inputs = first + self._product_array(x, self.input_weight, 0, own)
        y = np.empty((len(x), self.num_output), x.dtype)
        backwards = self.direction == REVERSE or d == 1
        for t in reversed(range(len(x))) if backwards else range(len(x)):
            hidden = self._product_array(state[0][None], self.recurrent_weight, 1, own)
            given_gates, own_gates = (
                part.reshape(self.GATES, -1).__getitem__ for part in (inputs[t], added + hidden[0])
            )
            state = self.cell_array(given_gates, own_gates, state.__getitem__)
            if self.projects:
                state[0] = held(self.weight_hr_data, "weight_hr_data").array()[d] @ state[0]
            y[t] = state[0]
        return y, state

    def _product_array(self, x: Array, weight: WeightAttr, which: int, rows: slice) -> Array:
        """Rows of x times some rows of a weight, with its first or its second scales."""
        w = weight.array().reshape(-1, x.shape[1])[rows]
        if not self.int8_scale_term:
            return np.asarray(x @ w.T)
        factor = FactorArray.of_rows(x)
        sums = factor.values.astype(np.float64) @ w.T.astype(np.float64)
        counts = 1 / factor.scale * self._counts()[which][rows]
        return np.asarray(sums.astype(np.float32) * counts)

    def _counts(self) -> tuple[Array, Array]:
        """The scale of a weight, by its row: of the inputs, of the recurrent part."""
        inputs = held(self.weight_xc_data_int8_scales, "weight_xc_data_int8_scales").array()
        recurrent = held(self.weight_hc_data_int8_scales, "weight_hc_data_int8_scales").array()
        return 1 / inputs, 1 / recurrent

    # --- lowering --------------------------------------------------------------------------

    def lower(self, b: Builder, x: Tensor, *states: Tensor) -> list[Tensor]:
        given = [b.reshape(s, w) for s, w in zip(states, self.state_shapes, strict=False)]
        made = self.expand(b, x, given)
        shapes = self.infer(x.shape, *(state.shape for state in states))
        return [b.reshape(y, wanted) for y, wanted in zip(made, shapes, strict=False)]

    def expand(self, b: Builder, x: Tensor, states: Sequence[Tensor]) -> list[Tensor]:
        """The rows and the last states; of several samples where x is (steps, samples, size) and
        a state (directions, samples, extent).
        """
        shape = (self.directions, self.gates)
        reverse = self.direction == REVERSE
        rule = Rule(self.cell, self.hidden, self.num_output, self.STATES, reverse)
        weights = 0 if self.int8_scale_term else self.gates * self.num_output
        several = x.rank > 2
        parts = 1 if several else parts_of(rule, self.directions, weights, b.threads)
        inputs = self._expand_inputs(b, b.reshape(x, (prod(x.shape[:-1]), self.size)))
        operands = RecurrentOperands(
            inputs=b.reshape(inputs, (*x.shape[:-1], self.gate_rows)),
            weight=self._expand_weight(b, parts),
            bias=b.table(self.biases[1]),
            counts=b.table(self._counts()[1].reshape(shape)) if self.int8_scale_term else None,
            projection=_columns(b, self.weight_hr_data) if self.weight_hr_data else None,
            states=states,
        )
        if parts > 1:
            return expand_parted_steps(b, rule, operands, parts)
        return expand_steps(b, rule, operands)

    def _expand_weight(self, b: Builder, parts: int) -> Tensor:
        """The matrix for the hidden state: columns become rows, int8 in pairs; each part of the
        cell has the rows of its elements in all gates.
        """
        if self.int8_scale_term:
            return b.weight(WeightAttr(Paired(self.recurrent_weight.data).weights))
        weight = self.recurrent_weight
        if parts > 1:
            places = np.arange(self.gates).reshape(self.GATES, parts, -1).transpose(1, 0, 2)
            weight = WeightAttr(Taken(weight.data, tuple(places.ravel().tolist()), 1).weights)
        return _columns(b, weight, parts)

    def _expand_inputs(self, b: Builder, x: Tensor) -> Tensor:
        """W x[t] + b of all steps and directions: (steps, directions * gates)."""
        weight, bias = self.input_weight, self.biases[0].reshape(-1)
        if not self.int8_scale_term:
            return rows_by_matrix(b, x, weight, WeightAttr.of(bias))
        rows, w = Factor.of_rows(b, x), b.weight(weight)
        t, o, k = b.loops("t o k")
        sums = b.sum((t, o), over=(k,), of=product(rows.values[t, k], w[o, k]))
        added, counts = b.table(bias), b.table(self._counts()[0])
        t, o = b.loops_of(sums.shape)
        count = 1.0 / rows.scale[t] * counts[o]
        return b.map((t, o), added[o] + convert(sums[t, o], f32) * count)


def _columns(b: Builder, weight: WeightAttr, parts: int = 1) -> Tensor:
    """A weight (directions, rows, columns) as (directions * parts, columns, rows / parts)."""
    data = weight.data
    directions, rows, columns = data.shape
    extent = rows // parts
    transposed = b.weight(WeightAttr(Blocked(data, (1,), extent).weights))
    return b.reshape(transposed, (directions * parts, columns, extent))


def sigmoid(x: Array) -> Array:
    """1 / (1 + exp(-x))."""
    with np.errstate(over="ignore"):
        return np.asarray(1 / (1 + np.exp(-x)))


@layer("RNN", inputs=(1, 2), outputs=(1, 2))
class RNNOp(Recurrent):
    """h' = tanh(W x + b + U h)."""

    GATES: ClassVar[int] = 1
    BIASES: ClassVar[int] = 1

    def cell_array(self, x: Arrays, r: Arrays, state: Arrays) -> list[Array]:
        return [np.tanh(x(0) + r(0))]

    def cell(self, code: Code, x: Values, r: Values, state: Values) -> list[Value]:
        return [code.tanh(x(0) + r(0))]


@layer("GRU", inputs=(1, 2), outputs=(1, 2))
class GRUOp(Recurrent):
    """h' = (1 - u) n + u h with n = tanh(W_n x + b_w + r (U_n h + b_u)), r and u sigmoid gates.

    The rows of the bias are those of r and u, then b_w and b_u.
    """

    GATES: ClassVar[int] = 3
    BIASES: ClassVar[int] = 4

    @property
    def biases(self) -> tuple[Array, Array]:
        bias = held(self.bias_c_data, "bias_c_data").array()
        recurrent = np.zeros_like(bias[:, :3])
        recurrent[:, 2] = bias[:, 3]
        shape = (self.directions, self.gates)
        return bias[:, :3].reshape(shape), recurrent.reshape(shape)

    def cell_array(self, x: Arrays, r: Arrays, state: Arrays) -> list[Array]:
        reset, update = sigmoid(x(0) + r(0)), sigmoid(x(1) + r(1))
        return [(1 - update) * np.tanh(x(2) + reset * r(2)) + update * state(0)]

    def cell(self, code: Code, x: Values, r: Values, state: Values) -> list[Value]:
        reset, update = code.sigmoid(x(0) + r(0)), code.sigmoid(x(1) + r(1))
        return [(1.0 - update) * code.tanh(x(2) + reset * r(2)) + update * state(0)]


@layer("LSTM", inputs=(1, 3), outputs=(1, 3))
class LSTMOp(Recurrent):
    """c' = f c + i tanh(g), h' = o tanh(c'), with the sigmoid gates i, f and o.

    If num_output is not hidden_size, a matrix maps h' to the hidden state, which is the result.
    """

    GATES: ClassVar[int] = 4
    BIASES: ClassVar[int] = 4
    STATES: ClassVar[int] = 2

    hidden_size = integer(3, "num_output")

    @property
    def hidden(self) -> int:
        return self.hidden_size

    def check(self) -> None:
        check_positive(self, ["hidden_size"])
        super().check()

    def cell_array(self, x: Arrays, r: Arrays, state: Arrays) -> list[Array]:
        i, f, o = (sigmoid(x(gate) + r(gate)) for gate in range(3))
        c = f * state(1) + i * np.tanh(x(3) + r(3))
        return [o * np.tanh(c), c]

    def cell(self, code: Code, x: Values, r: Values, state: Values) -> list[Value]:
        i, f, o = (code.sigmoid(x(gate) + r(gate)) for gate in range(3))
        c = f * state(1) + i * code.tanh(x(3) + r(3))
        return [o * code.tanh(c), c]
