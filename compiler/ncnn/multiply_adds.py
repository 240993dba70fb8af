"""How many multiply-adds a network takes: the count that people compare networks by.

A layer of a matrix product counts one for each weight and each place the weight is used at; what an
element-wise layer, a pooling or a normalization does is not counted.

    Convolution    weights x elements of the result          MatMul   elements of the result x K
    Deconvolution  weights x elements of the input           Gemm     elements of the result x K
    InnerProduct   weights x rows                          LSTM...  weights x steps
    MultiHeadAttention, SDPA: their products, and queries x keys x (features of keys and of values)
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import prod
from typing import Any, TypeAlias

from xdsl.dialects.builtin import ModuleOp

from ncc.dialects.ncnn.layer import Layer, Shape, WeightAttr, stated_shape
from ncc.dialects.ncnn.network import Network

Shapes: TypeAlias = Sequence[Shape]


def multiply_adds(module: ModuleOp) -> int:
    """The multiply-adds of all layers whose shapes are known."""
    return sum(multiply_adds_of(op) or 0 for op in Network.of(module).layers)


def multiply_adds_of(op: Layer) -> int | None:
    """The multiply-adds of one layer; None where its shapes are not known."""
    shapes = [stated_shape(value) for value in (*op.operands, *op.results)]
    known = [shape for shape in shapes if shape is not None]
    if len(known) < len(shapes):
        return None
    count, inputs = _COUNTS.get(op.type_name), len(op.operands)
    return 0 if count is None else count(op, known[:inputs], known[inputs:])


def _weights(op: Layer, inputs: Shapes) -> int:
    """The values of a window's weights: stored, or an operand."""
    stored = getattr(op, "weight_data_size", 0)
    return int(stored) if stored or len(inputs) < 2 else prod(inputs[1])


def _convolution(op: Layer, inputs: Shapes, outputs: Shapes) -> int:
    if len(inputs[0]) == 1:  # a 1x1 window on a vector: an inner product
        return _weights(op, inputs)
    return _weights(op, inputs) * prod(outputs[0][1:])


def _matrices(op: Layer) -> int:
    held = (a for a in op.properties.values() if isinstance(a, WeightAttr))
    return sum(prod(weight.shape) for weight in held if len(weight.shape) > 1)


def _multi_head_attention(op: Any, inputs: Shapes, outputs: Shapes) -> int:
    given = inputs[: len(inputs) - 1] if op.attn_mask else inputs
    queries = given[0][0]
    keys = given[1][0] if len(given) > 1 else queries
    projections = op.embed_dim * (2 * op.qdim * queries + (op.kdim + op.vdim) * keys)
    return int(projections + 2 * queries * keys * op.embed_dim)


def _sdpa(op: Layer, inputs: Shapes, outputs: Shapes) -> int:
    heads, queries, features = inputs[0]
    keys, values = inputs[1][1], inputs[2][2]
    return heads * queries * keys * (features + values)


_KINDS = "", "1D", "3D", "DepthWise", "DepthWise1D", "DepthWise3D"

_COUNTS: Mapping[str, Callable[[Any, Shapes, Shapes], int]] = {
    **{f"Convolution{d}": _convolution for d in _KINDS},
    "DeformableConv2D": _convolution,
    **{f"Deconvolution{d}": lambda op, x, _: _weights(op, x) * prod(x[0][1:]) for d in _KINDS},
    "InnerProduct": lambda op, x, y: _weights(op, x) * (y[0][0] if len(y[0]) == 2 else 1),
    "Gemm": lambda op, x, y: prod(y[0]) * int(op.sizes(x).k),
    "MatMul": lambda _, x, y: prod(y[0]) * x[0][-1],
    "MultiHeadAttention": _multi_head_attention,
    "SDPA": _sdpa,
    **{type: lambda op, x, _: _matrices(op) * x[0][0] for type in ("RNN", "LSTM", "GRU")},
}
