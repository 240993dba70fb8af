"""Folds layers that are affine in each channel into the weights of the layer before them.

    s * (W x + b) + t  =  (s W) x + (s b + t)
    s * act(W x + b)   =  act((s W) x + s b)       where act is a ReLU, leaky or not, and s > 0

s and t are those of BatchNorm, Scale, Bias, Dropout, Power, or of a BinaryOp by constants, on
either side: one for all, or one for each output channel of the host. Hosts are all convolutions
and their transposes, InnerProduct, Gemm with a constant factor, BatchNorm and Scale.
"""

from __future__ import annotations

from collections.abc import Mapping

from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.optimizations.affine import (
    ADD,
    DIV,
    MUL,
    RDIV,
    RSUB,
    SUB,
    Affine,
    affine_of,
    constant_operand,
)
from ncc.compiler.ncnn.optimizations.affine_hosts import Host, affine_hosts
from ncc.compiler.ncnn.optimizations.optimization import register
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, absorb, is_private
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.per_channel import BatchNormOp, BiasOp, ScaleOp
from ncc.dialects.ncnn.elementwise.unary import PowerOp
from ncc.dialects.ncnn.layer import Layer, WeightAttr
from ncc.dialects.ncnn.plumbing import DropoutOp

CONSUMERS: Mapping[str, tuple[type[Layer], tuple[int, ...]]] = {
    "batchnorm": (BatchNormOp, ()),
    "scale": (ScaleOp, ()),
    "bias": (BiasOp, ()),
    "dropout": (DropoutOp, ()),
    "power": (PowerOp, ()),
    "mul": (BinaryOpOp, (MUL, DIV, RDIV)),
    "add": (BinaryOpOp, (ADD, SUB, RSUB)),
}
"""Foldable operations by their names in patterns: layers, and the op_types of a BinaryOp."""


class FoldAffine(LayerPattern):
    """s * host(x) + t = host'(x), the weights of the host scaled and its bias moved."""

    exact = False

    def __init__(self, host: Host, consumer: str) -> None:
        self.host = host
        self.root, self.op_types = CONSUMERS[consumer]
        self.name = f"fuse_{host.kind.LAYER.type.lower()}_{consumer}"

    def match(self, op: Layer) -> Match | None:
        if not op.operands or not isinstance(op, self.root):
            return None
        constant = None
        x = op.operands[0]
        if isinstance(op, BinaryOpOp):
            if op.op_type not in self.op_types:
                return None
            if len(op.operands) > 1:
                found = constant_operand(op)
                if found is None:
                    return None
                constant, x = found
        host = x.owner
        if type(host) is not self.host.kind:
            return None
        return (host, op) if constant is None else (host, constant, op)

    def check(self, *layers: Layer) -> str | None:
        host, op = layers[0], layers[-1]
        if not is_private(host.results[0]):
            return f"the result of {host.layer_name} is read by others, too"
        affine = self._affine(host, op)
        if isinstance(affine, str):
            return affine
        return affine.refusal or self.host.refuse(host, affine)

    def rewrite(self, rewriter: PatternRewriter, *layers: Layer) -> None:
        host, op = layers[0], layers[-1]
        affine = self._affine(host, op)
        if isinstance(affine, str):
            raise CompilerBug(f"{self.name} is not legal: {affine}", "optimize")
        params, weights = self.host.weights(host, affine)
        rounded = {name: WeightAttr.of(array) for name, array in weights.items()}
        absorb(rewriter, host, op, params, rounded)

    def _affine(self, host: Layer, op: Layer) -> Affine | str:
        channels, axis = self.host.channels(host), self.host.axis(host)
        affine = affine_of(op, host.results[0], channels if axis == 0 else None)
        return affine if isinstance(affine, str) else affine.along(axis, channels)


FOLDS = [FoldAffine(host, consumer) for host in affine_hosts() for consumer in CONSUMERS]
for _fold in FOLDS:
    register(_fold, _fold.root)


def is_taken_up(op: Layer) -> bool:
    """Whether the layer before one takes it up into its weights."""
    found = [(fold, layers) for fold in FOLDS if (layers := fold.match(op)) is not None]
    return any(fold.check(*layers) is None for fold, layers in found)
