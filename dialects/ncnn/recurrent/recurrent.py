"""Recurrent layers: a row of the result depends on a row of the input and on the state before it.

A step computes the next state from the gates' inputs W x[t] + b and from U h; the cell of a layer
defines how. The inputs of all steps are one product of matrices. The rest is sequential, but both
directions are independent.

A state is (directions, extent), or (extent) for one direction. The hidden state has the extent of a
row of the result, the cell state of an LSTM that of the cell. In reverse the last row comes first,
in the input and in the result. A row of the result has both directions, one after the other.
"""

from __future__ import annotations

from typing import ClassVar

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
from ncc.dialects.ncnn.recurrent.cells import Cell, gru, lstm, rnn
from ncc.dialects.ncnn.recurrent.parted_steps import parts_of
from ncc.dialects.ncnn.recurrent.recurrence import columns, expand_recurrence, recur_array
from ncc.dialects.ncnn.recurrent.recurrent_steps import RecurrentOperands, Rule
from ncc.dialects.scalar import convert
from ncc.dialects.size import are_equal, is_equal
from ncc.dialects.weights.derived import Paired

FORWARD, REVERSE, BOTH = 0, 1, 2


class Recurrent(Layer):
    """The step of a sequence, around the cell that a layer defines.

    With int8_scale_term weights are int8. The inputs of a product are quantized row by row, and its
    sums are integers. A sum is divided by the scale of its row and by that of the input.
    """

    CELL: ClassVar[Cell]
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

    @property
    def rule(self) -> Rule:
        """How a step computes the next states."""
        reverse = self.direction == REVERSE
        return Rule(type(self).CELL, self.hidden, self.num_output, self.STATES, reverse)

    def reference(self, x: Array, *states: Array) -> list[Array]:
        shapes = self.infer(x.shape, *(state.shape for state in states))
        given = [
            (states[k] if states else np.zeros(shape, x.dtype)).reshape(shape[0], 1, shape[1])
            for k, shape in enumerate(self.state_shapes)
        ]
        first, added = self.biases
        inputs = first.reshape(-1) + self._product_array(x, self.input_weight, 0)

        def again(h: Array, d: int) -> Array:
            own = slice(d * self.gates, (d + 1) * self.gates)
            return np.asarray(added[d] + self._product_array(h, self.recurrent_weight, 1, own))

        def project(h: Array, d: int) -> Array:
            return h @ self.weight_hr_data.array()[d].T if self.weight_hr_data else h

        by_step = inputs.reshape(len(x), self.directions, 1, self.gates)
        made = recur_array(self.rule, by_step, again, given, project=project)
        return [array.reshape(shape) for array, shape in zip(made, shapes, strict=False)]

    def _product_array(
        self, x: Array, weight: WeightAttr, which: int, rows: slice = slice(None)
    ) -> Array:
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
        rule, weight, quantized = self.rule, self.recurrent_weight, bool(self.int8_scale_term)
        numbers = 0 if quantized else self.gates * self.num_output
        parts = parts_of(rule, self.directions, numbers, b.threads)
        given = [b.reshape(s, w) for s, w in zip(states, self.state_shapes, strict=False)]
        inputs = self._expand_inputs(b, x)
        if quantized:
            by_column = b.weight(WeightAttr(Paired(weight.data).weights))
        else:
            by_column = columns(b, weight, self.GATES, parts)
        bias, counts = b.table(self.biases[1]), None
        if quantized:
            counts = b.table(self._counts()[1].reshape(self.directions, self.gates))
        projection = columns(b, self.weight_hr_data) if self.weight_hr_data else None
        operands = RecurrentOperands(inputs, by_column, bias, counts, projection, given)
        made = expand_recurrence(b, rule, operands, parts)
        shapes = self.infer(x.shape, *(state.shape for state in states))
        return [b.reshape(y, wanted) for y, wanted in zip(made, shapes, strict=False)]

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


@layer("RNN", inputs=(1, 2), outputs=(1, 2))
class RNNOp(Recurrent):
    """h' = tanh(W x + b + U h)."""

    CELL = rnn
    GATES: ClassVar[int] = 1
    BIASES: ClassVar[int] = 1


@layer("GRU", inputs=(1, 2), outputs=(1, 2))
class GRUOp(Recurrent):
    """h' = (1 - u) n + u h with n = tanh(W_n x + b_w + r (U_n h + b_u)), r and u sigmoid gates.

    The rows of the bias are those of r and u, then b_w and b_u.
    """

    CELL = gru
    GATES: ClassVar[int] = 3
    BIASES: ClassVar[int] = 4

    @property
    def biases(self) -> tuple[Array, Array]:
        bias = held(self.bias_c_data, "bias_c_data").array()
        recurrent = np.zeros_like(bias[:, :3])
        recurrent[:, 2] = bias[:, 3]
        shape = (self.directions, self.gates)
        return bias[:, :3].reshape(shape), recurrent.reshape(shape)


@layer("LSTM", inputs=(1, 3), outputs=(1, 3))
class LSTMOp(Recurrent):
    """c' = f c + i tanh(g), h' = o tanh(c'), with the sigmoid gates i, f and o.

    If num_output is not hidden_size, a matrix maps h' to the hidden state, which is the result.
    """

    CELL = lstm
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
