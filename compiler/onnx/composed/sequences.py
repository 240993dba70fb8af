"""Recurrent operators of one sample, as ncnn's layers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, composes
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.recurrent.recurrent import GRUOp, LSTMOp, RNNOp
from ncc.dialects.ncnn.recurrent.recurrent import Recurrent as RecurrentLayer
from ncc.dialects.onnx.dialect import versions_of
from ncc.dialects.onnx.operator import constant_of
from ncc.dialects.onnx.recurrent import DIRECTIONS, Recurrent
from ncc.dialects.weights.sources import Array
from ncc.dialects.weights.weight import WeightAttr

LAYERS: tuple[type[RecurrentLayer], ...] = (RNNOp, GRUOp, LSTMOp)


@composes(*versions_of("LSTM", "GRU", "RNN"))
def recurrent(op: Recurrent, to: Conversion) -> Sequence[SSAValue] | None:
    """Weights are constants; a state that is not given is one of zeros."""
    x, extents = op.operands[0], shape(op.operands[0])
    held = [op.operand_at(place) for place in (1, 2, 3)]
    w, r, bias = (None if value is None else constant_of(value) for value in held)
    steps, batch = (extents[1], extents[0]) if op.layout else extents[:2]
    layer = next((layer for layer in LAYERS if layer.CELL is op.cell), None)
    missing = w is None or r is None or (bias is None) != (held[2] is None)
    if missing or batch != 1 or layer is None:
        return None
    assert w is not None and r is not None
    hidden = r.shape[2]
    states = [op.operand_at(5 + k) for k in range(op.STATES)]
    own = [] if _are_zeros(states) else [_state(to, one, op.directions, hidden) for one in states]
    params = {"num_output": hidden, "weight_data_size": w.size}
    weights = {
        "weight_xc_data": WeightAttr.of(_gates(op, w).reshape(-1, w.shape[2])),
        "weight_hc_data": WeightAttr.of(_gates(op, r).reshape(r.shape)),
        "bias_c_data": WeightAttr.of(_bias(op, layer, bias)),
    }
    # ncnn takes a blob that nobody reads for an output of the network.
    count = 1 + op.STATES if any(state.uses for state in list(op.results)[1:]) else 1
    rows = to.view(x, (steps, extents[2]))
    direction = DIRECTIONS[op.direction]
    found = to.layers(count, layer, [rows, *own], weights, **params, direction=direction)
    unread = len(op.results) - len(found)
    return [*found[: len(op.results)], *found[:1] * unread]


def _gates(op: Recurrent, of: Array) -> Array:
    """Weights (directions, gates, ...) by gates in ncnn's order."""
    split = of.reshape(len(of), op.GATES, -1)
    return split[:, list(op.ORDER)]


def _bias(op: Recurrent, layer: type[RecurrentLayer], bias: Array | None) -> Array:
    """ncnn's rows of the bias: the sums of both, except that the last gate of a GRU has two."""
    if bias is None:
        return np.zeros((op.directions, layer.BIASES, op.hidden), np.float32)
    first, added = (_gates(op, half) for half in np.split(bias, 2, 1))
    if layer is not GRUOp:
        return first + added
    return np.concatenate([first[:, :2] + added[:, :2], first[:, 2:], added[:, 2:]], 1)


def _are_zeros(states: Sequence[SSAValue | None]) -> bool:
    arrays = [np.zeros(1) if one is None else constant_of(one) for one in states]
    return all(one is not None and not one.any() for one in arrays)


def _state(to: Conversion, value: SSAValue | None, directions: int, hidden: int) -> SSAValue:
    """A first state as a blob of a row for each direction."""
    if value is None:
        return to.constant(np.zeros((directions, hidden)))
    return to.view(value, (directions, hidden))
