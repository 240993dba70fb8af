"""Conversions of products of matrices."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, converts, reshaped, weight_of
from ncc.compiler.onnx.shapes import shape
from ncc.dialects.ncnn.layer import WeightAttr
from ncc.dialects.ncnn.linear.linear import InnerProductOp
from ncc.dialects.ncnn.linear.linear import MatMulOp as MatMulLayer
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.onnx.linear import GemmOp, MatMulOp


def inner_product(to: Conversion, x: SSAValue, w: WeightAttr, bias: WeightAttr | None) -> SSAValue:
    """The rows of x, times the transposed matrix w, plus a bias."""
    rows, outputs = shape(x)[0], w.shape[0]
    blob = to.view(x, shape(x)[1:] if rows == 1 else shape(x))
    weights = {"weight": w} | ({"bias": bias} if bias is not None else {})
    params = {"num_output": outputs, "bias_term": int(bias is not None)}
    return to.layer(InnerProductOp, [blob], weights, **params, weight_data_size=prod(w.shape))


@converts(GemmOp)
def gemm(op: GemmOp, to: Conversion) -> SSAValue | None:
    """Rows times a constant matrix."""
    w = weight_of(op.operands[1])
    if w is None or op.transA or op.alpha != 1:
        return None
    bias = None
    if len(op.operands) > 2:
        bias = _bias(op, weight_of(op.operands[2]))
        if bias is None:
            return None
    matrix = w if op.transB else WeightAttr.typed(np.ascontiguousarray(w.array().T))
    return inner_product(to, op.operands[0], matrix, bias)


def _bias(op: GemmOp, c: WeightAttr | None) -> WeightAttr | None:
    """C as one number for each column; None where it is no constant, or has more."""
    columns = shape(op.results[0])[1]
    if c is None or op.beta != 1 or prod(c.shape) not in (1, columns) or prod(c.shape[:-1]) != 1:
        return None
    if prod(c.shape) == columns:
        return reshaped(c, (columns,))
    return WeightAttr.typed(np.full(columns, c.array().reshape(()), np.float32))


@converts(MatMulOp)
def mat_mul(op: MatMulOp, to: Conversion) -> SSAValue | None:
    """Rows times a constant matrix, or matrices times matrices."""
    x, y = op.operands
    w = weight_of(y)
    if w is not None and len(w.shape) == 2 and len(shape(x)) > 1:
        rows = (prod(shape(x)[:-1]), shape(x)[-1])
        matrix = WeightAttr.typed(np.ascontiguousarray(w.array().T))
        return inner_product(to, to.view(x, rows), matrix, None)
    if min(len(shape(x)), len(shape(y))) < 2:
        return None
    extents = [shape(x), shape(y)]
    while max(map(len, extents)) > 2:
        longest = max(map(len, extents))
        if any(len(one) == longest and one[0] != 1 for one in extents):
            break
        extents = [one[1:] if len(one) == longest else one for one in extents]
    if max(map(len, extents)) > MAX_RANK:
        return None
    operands = [to.view(value, one) for value, one in zip((x, y), extents, strict=True)]
    return to.layer(MatMulLayer, operands)
