"""Attention that was written out, layer by layer, as one SDPA.

    MatMul(softmax(s * MatMul(q, k; transB) + m), v)  =  SDPA(q, k, v, m; scale = s)

The factor, or a divisor, and the mask may be absent; q is (heads, rows, features), and all heads
may share one of k and v. Only where there are more scores than stay in a second-level cache: SDPA
computes a part of them at a time, layers of their own would write all of them to memory and read
them again.

Needs: shapes.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

from xdsl.ir import SSAValue

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.optimizations.affine import ADD, DIV, MUL
from ncc.compiler.ncnn.optimizations.optimization import WrittenOut, optimization
from ncc.dialects.ncnn.attention.attention import SDPAOp
from ncc.dialects.ncnn.attention.scaled_dot_product import MOST_SCORES
from ncc.dialects.ncnn.canonicalize.pattern import Match, is_private
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.layer import Layer, ParamValue, shape_of
from ncc.dialects.ncnn.linear.linear import MatMulOp
from ncc.dialects.ncnn.reduction.reduction import SoftmaxOp


class Scores(NamedTuple):
    """scale * q k^T + mask; `layers` in the order they run."""

    query: SSAValue
    key: SSAValue
    scale: float
    mask: SSAValue | None
    layers: Match


def _product(value: SSAValue) -> Scores | None:
    """q k^T, or that times or over a number."""
    op, scale = value.owner, 1.0
    scaled: Match = ()
    if isinstance(op, BinaryOpOp) and len(op.operands) == 1 and op.op_type in (MUL, DIV) and op.b:
        scale = op.b if op.op_type == MUL else 1.0 / op.b
        scaled, op = (op,), op.operands[0].owner
    if not isinstance(op, MatMulOp) or not op.transB:
        return None
    return Scores(op.operands[0], op.operands[1], scale, None, (op, *scaled))


def _scores(value: SSAValue) -> Scores | None:
    """A product, or the sum of one and a mask."""
    op = value.owner
    if not isinstance(op, BinaryOpOp) or len(op.operands) != 2 or op.op_type != ADD:
        return _product(value)
    for summand, mask in (op.operands, reversed(op.operands)):
        found = _product(summand)
        if found is not None:
            return Scores(found.query, found.key, found.scale, mask, (*found.layers, op))
    return None


def _written(op: Layer) -> Scores | None:
    """The scores of which `op` weighs the values, the softmax as the last of their layers."""
    weights = op.operands[0].owner
    if not isinstance(op, MatMulOp) or op.transB or not isinstance(weights, SoftmaxOp):
        return None
    found = _scores(weights.operands[0])
    if found is None:
        return None
    return Scores(found.query, found.key, found.scale, found.mask, (*found.layers, weights))


def _found_in(op: Layer) -> Scores:
    """The same where there are some, as `look` has seen."""
    found = _written(op)
    if found is None:
        raise CompilerBug("fuse_attention does not find what it found", "optimize")
    return found


@optimization(MatMulOp)
class FuseAttention(WrittenOut):
    """softmax(s * q k^T + m) v = SDPA(q, k, v, m)."""

    name = "fuse_attention"

    def match(self, op: Layer) -> Match | None:
        found = _written(op)
        return None if found is None else (*found.layers, op)

    def check(self, *layers: Layer) -> str | None:
        *inner, op = layers
        for layer in inner:
            if not is_private(layer.results[0]):
                return f"{layer.layer_name} is read by others, too"
        found, softmax = _found_in(op), inner[-1]
        assert isinstance(softmax, SoftmaxOp)
        query, key, value = map(shape_of, (found.query, found.key, op.operands[1]))
        if query is None or key is None or value is None:
            return "shapes are known for a part of the network only"
        if not len(query) == len(key) == len(value) == 3:
            return "q, k and v are not (heads, rows, features)"
        pairs = (query[1], key[1])
        if key[0] != value[0] or key[0] not in (1, query[0]):
            return "q, k and v differ in their heads"
        if found.mask is not None and shape_of(found.mask) not in ((1, *pairs), (query[0], *pairs)):
            return "the mask is not one of rows and keys for all heads, or one a head"
        if softmax.along(3) != 2:
            return f"{softmax.layer_name} is not along the keys"
        scores = query[0] * prod(pairs)
        if scores <= MOST_SCORES:
            return f"{scores} scores stay in a cache as they are"
        return None

    def made(self, op: Layer) -> tuple[type[Layer], Sequence[SSAValue], Mapping[str, ParamValue]]:
        found = _found_in(op)
        masks = [] if found.mask is None else [found.mask]
        operands = [found.query, found.key, op.operands[1], *masks]
        return SDPAOp, operands, {"attn_mask": len(masks), "scale": found.scale}
