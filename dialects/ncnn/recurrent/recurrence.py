"""A recurrence over the steps of a sequence, which layers of ncnn and operators of ONNX convert to.

inputs = W x + b                  of all steps at once
sums   = U h + b'                 step by step; a direction is independent of the other one
h, ... = cell(inputs[t], sums)
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ncc.dialects.index_notation import Builder, Tensor
from ncc.dialects.ncnn.recurrent.cells import NUMPY
from ncc.dialects.ncnn.recurrent.parted_steps import expand_parted_steps
from ncc.dialects.ncnn.recurrent.recurrent_steps import RecurrentOperands, Rule, expand_steps
from ncc.dialects.weights.derived import Blocked, Taken
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr


def recur_array(
    rule: Rule,
    inputs: Array,
    again: Callable[[Array, int], Array],
    states: Sequence[Array],
    peepholes: Sequence[Array] = (),
    project: Callable[[Array, int], Array] = lambda x, direction: x,
) -> list[Array]:
    """The hidden states of all steps (steps, directions, samples, outputs), and the last states.

    inputs: (steps, directions, samples, gates). again: computes the sums of a hidden state in a
    direction. states: (directions, samples, extent) each. peepholes: (directions, hidden) each.
    project: makes the hidden state of what the cell computes.
    """
    rows, last = [], []
    gates = inputs.shape[-1] // rule.hidden

    def split(of: Array) -> list[Array]:
        return np.split(of, gates, -1)

    for d in range(inputs.shape[1]):
        own, fixed = [state[d] for state in states], [weights[d] for weights in peepholes]
        backwards = rule.reverse or d == 1
        made = []
        for given in reversed(inputs[:, d]) if backwards else inputs[:, d]:
            x, r = split(given), split(again(own[0], d))
            if rule.reset is not None:
                kept = rule.reset(NUMPY, x.__getitem__, r.__getitem__) * own[0]
                r[-1] = split(again(kept, d))[-1]
            own = rule.cell(NUMPY, x.__getitem__, r.__getitem__, [*own, *fixed].__getitem__)
            own[0] = project(own[0], d)
            made.append(own[0])
        rows.append(np.stack(made[::-1] if backwards else made))
        last.append(own)
    return [np.stack(rows, 1), *map(np.stack, zip(*last, strict=True))]


def expand_recurrence(
    b: Builder, rule: Rule, operands: RecurrentOperands, parts: int
) -> list[Tensor]:
    """The rows of all steps, (steps, directions * outputs), and the last states."""
    if parts == 1:
        return expand_steps(b, rule, operands)
    return expand_parted_steps(b, rule, operands, parts)


def columns(b: Builder, matrix: WeightAttr | Tensor, gates: int = 1, parts: int = 1) -> Tensor:
    """A matrix (directions, rows, columns) as (directions * parts, columns, rows / parts); each
    part of a cell has the rows of its elements in all gates.
    """
    directions, rows, width = matrix.shape
    if isinstance(matrix, Tensor):
        d, k, j = b.loops_of((directions, width, rows))
        return b.map((d, k, j), matrix[d, j, k])
    data = matrix.data
    if parts > 1:
        places = np.arange(rows).reshape(gates, parts, -1).transpose(1, 0, 2)
        data = Taken(data, tuple(places.ravel().tolist()), 1).weights
    transposed = b.weight(WeightAttr(Blocked(data, (1,), rows // parts).weights))
    return b.reshape(transposed, (directions * parts, width, rows // parts))
