"""Recurrent operators of one sample, as ncnn's layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, composes
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.onnx.dialect import versions_of
from ncc.dialects.onnx.operator import constant_of
from ncc.dialects.onnx.recurrent import Recurrent


@composes(*versions_of("LSTM", "GRU", "RNN"))
def recurrent(op: Recurrent, to: Conversion) -> Sequence[SSAValue] | None:
    """Weights are constants; a state that is not given is one of zeros."""
    x, extents = op.operands[0], shape(op.operands[0])
    held = [op.operand_at(place) for place in (1, 2, 3)]
    w, r, bias = (None if value is None else constant_of(value) for value in held)
    steps, batch = (extents[1], extents[0]) if op.layout else extents[:2]
    missing = w is None or r is None or (bias is None) != (held[2] is None)
    if missing or batch != 1 or not op.is_layer or op.operand_at(7) is not None:
        return None
    assert w is not None and r is not None
    both = op.biases_of(bias, np.float32)
    made = op.layer(w, r, np.stack(both, 1))
    hidden = r.shape[2]
    states = [op.operand_at(5 + k) for k in range(op.STATES)]
    own = [] if _are_zeros(states) else [_state(to, one, op.directions, hidden) for one in states]
    params = {n: getattr(made, n) for n in made.LAYER.params if n in made.properties}
    weights = {n: getattr(made, n) for n in made.LAYER.weights if n in made.properties}
    # ncnn takes a blob that nobody reads for an output of the network.
    count = 1 + op.STATES if any(state.uses for state in list(op.results)[1:]) else 1
    rows = to.view(x, (steps, extents[2]))
    found = to.layers(count, type(made), [rows, *own], weights, **params)
    unread = len(op.results) - len(found)
    return [*found[: len(op.results)], *found[:1] * unread]


def _are_zeros(states: Sequence[SSAValue | None]) -> bool:
    arrays = [np.zeros(1) if one is None else constant_of(one) for one in states]
    return all(one is not None and not one.any() for one in arrays)


def _state(to: Conversion, value: SSAValue | None, directions: int, hidden: int) -> SSAValue:
    """A first state as a blob of a row for each direction."""
    if value is None:
        return to.constant(np.zeros((directions, hidden)))
    return to.view(value, (directions, hidden))
