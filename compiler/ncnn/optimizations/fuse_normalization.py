"""LayerNorm and RMSNorm that were written out, and their gains and offsets.

    d / sqrt(mean(d^2) + eps)  =  LayerNorm(x; eps), d = x - mean(x)        fuse_layernorm
    x / sqrt(mean(x^2) + eps)  =  RMSNorm(x; eps)                           fuse_rmsnorm
    LayerNorm(x) * g           =  LayerNorm(x; g)                           fuse_layernorm_mul
    LayerNorm(x) + b           =  LayerNorm(x; b)                           fuse_layernorm_add

The mean is over the innermost axes; the root may be a square root, a power or its reciprocal; the
division may be a multiplication. g and b are constants of the shape of those axes.

Needs: the shape of x.  Breaks: nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import prod
from typing import NamedTuple

import numpy as np
from xdsl.ir import SSAValue
from xdsl.pattern_rewriter import PatternRewriter

from ncc.compiler.diagnostics import CompilerBug
from ncc.compiler.ncnn.optimizations.affine import (
    ADD,
    DIV,
    MUL,
    RSUB,
    SUB,
    Double,
    constant_operand,
    double,
)
from ncc.compiler.ncnn.optimizations.optimization import WrittenOut, optimization, register
from ncc.dialects.ncnn.canonicalize.pattern import LayerPattern, Match, absorb, is_private
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp, aligned
from ncc.dialects.ncnn.elementwise.unary import UnaryOpOp
from ncc.dialects.ncnn.layer import Layer, LayerError, ParamValue, Shape, WeightAttr, shape_of
from ncc.dialects.ncnn.movement.reshape import View
from ncc.dialects.ncnn.normalization.normalization import InnerRegion, LayerNormOp, RMSNormOp
from ncc.dialects.ncnn.plumbing import MemoryDataOp
from ncc.dialects.ncnn.pooling.pool import MEAN as MEAN_POOLING
from ncc.dialects.ncnn.pooling.pooling import PoolingOp
from ncc.dialects.ncnn.reduction.reduction import MEAN, SQUARES, ReductionOp
from ncc.dialects.size import NeedsNumbers, is_open

NEUTRAL = {"gamma": 1.0, "beta": 0.0}
"""Gains and offsets if a layer has none."""

POW = 6
PLANES = (1, 2)
"""The axes that a global Pooling takes together."""

SQUARE, SQUARE_ROOT, RECIPROCAL_ROOT = 4, 5, 6
"""op_types of UnaryOp."""


class Normalized(NamedTuple):
    """value / sqrt(mean(value^2) + eps), the mean over `axes`; `layers` in the order they run."""

    value: SSAValue
    axes: tuple[int, ...]
    eps: float
    layers: tuple[Layer, ...]


class Mean(NamedTuple):
    """The mean of a value, or of its square, along axes; `layers` in the order they run."""

    value: SSAValue
    axes: tuple[int, ...]
    layers: tuple[Layer, ...]


def _source(value: SSAValue) -> tuple[object, tuple[Layer, ...]]:
    """The producer of a value, and the views behind it that make [C, 1, 1] of a vector."""
    op = value.owner
    if isinstance(op, View):
        shape, viewed = shape_of(op.operands[0]), shape_of(value)
        if shape is not None and len(shape) == 1 and viewed == (*shape, 1, 1):
            return op.operands[0].owner, (op,)
    return op, ()


def _mean(value: SSAValue) -> Mean | None:
    """A mean that keeps its axes as extents of 1, or is the vector of all channels' means."""
    op, views = _source(value)
    if isinstance(op, PoolingOp) and op.global_pooling and op.pooling_type == MEAN_POOLING:
        shape = shape_of(op.operands[0])
        planes = shape is not None and len(shape) == len(PLANES) + 1
        return Mean(op.operands[0], PLANES, (op, *views)) if planes else None
    if not isinstance(op, ReductionOp) or op.operation != MEAN or op.coeff != 1 or not op.keepdims:
        return None
    shape = shape_of(op.operands[0]) or ()
    axes = tuple(op.reduced(len(shape))) if shape else ()
    return Mean(op.operands[0], axes, (op,)) if axes else None


def _squared(op: object) -> SSAValue | None:
    """v of v * v, v ** 2, square(v)."""
    match op:
        case UnaryOpOp() if op.op_type == SQUARE:
            return op.operands[0]
        case BinaryOpOp() if op.op_type == POW and len(op.operands) == 1 and op.b == 2:
            return op.operands[0]
        case BinaryOpOp() if op.op_type == MUL and len(op.operands) == 2:
            return op.operands[0] if op.operands[0] is op.operands[1] else None
    return None


def _mean_of_squares(value: SSAValue) -> Mean | None:
    """mean(v * v): of a square, or by a Reduction that squares."""
    found = _mean(value)
    if found is not None:
        square = found.value.owner
        squared = _squared(square)
        if squared is not None and isinstance(square, Layer):
            return Mean(squared, found.axes, (square, *found.layers))
    op = value.owner
    if isinstance(op, ReductionOp) and op.operation == SQUARES and op.keepdims:
        shape = shape_of(op.operands[0]) or ()
        axes = tuple(op.reduced(len(shape))) if shape else ()
        count = prod(shape[axis] for axis in axes)
        if axes and not is_open(count) and np.float32(op.coeff) == np.float32(1 / count):
            return Mean(op.operands[0], axes, (op,))
    return None


def _root(op: object) -> tuple[SSAValue, bool] | None:
    """v of sqrt(v), or of 1 / sqrt(v) (then True)."""
    match op:
        case UnaryOpOp() if op.op_type in (SQUARE_ROOT, RECIPROCAL_ROOT):
            return op.operands[0], op.op_type == RECIPROCAL_ROOT
        case BinaryOpOp() if op.op_type == POW and len(op.operands) == 1 and abs(op.b) == 0.5:
            return op.operands[0], op.b < 0
    return None


def _normalized(op: Layer) -> Normalized | None:
    """A layer as the last of a normalization that was written out."""
    if not isinstance(op, BinaryOpOp) or len(op.operands) != 2 or op.op_type not in (MUL, DIV):
        return None
    for value, divisor in (op.operands, op.operands[::-1]):
        root, views = _source(divisor)
        found = _root(root)
        if found is None or found[1] != (op.op_type == MUL) or not isinstance(root, Layer):
            continue
        if op.op_type == DIV and value is not op.operands[0]:
            continue
        shifted, between = _source(found[0])
        if not isinstance(shifted, BinaryOpOp) or (shifted.op_type, len(shifted.operands)) != (
            ADD,
            1,
        ):
            continue
        squares = _mean_of_squares(shifted.operands[0])
        if squares is not None and squares.value is value:
            layers = (*squares.layers, shifted, *between, root, *views, op)
            return Normalized(value, squares.axes, shifted.b, layers)
    return None


def _centred(value: SSAValue, axes: tuple[int, ...]) -> tuple[SSAValue, tuple[Layer, ...]] | None:
    """x and the layers of x - mean(x) along the axes."""
    op = value.owner
    if not isinstance(op, BinaryOpOp) or len(op.operands) != 2 or op.op_type not in (SUB, RSUB):
        return None
    x, mean = op.operands if op.op_type == SUB else op.operands[::-1]
    found = _mean(mean)
    if found is None or found.value is not x or found.axes != axes:
        return None
    return x, (*found.layers, op)


class FuseNorm(WrittenOut):
    """A written-out normalization as the layer that does it, without gains."""

    differs_on = ("large", "infinities")
    kind: type[InnerRegion]

    def match(self, op: Layer) -> Match | None:
        found = self._find(op)
        return None if found is None else found[1]

    def check(self, *layers: Layer) -> str | None:
        reason = super().check(*layers)
        if reason is not None:
            return reason
        _, [x], params = self.made(layers[-1])
        shape = shape_of(x)
        try:
            # Without its operand: a question must not leave a reader behind.
            region = self.kind.make([], params).region(shape or ())
        except LayerError as error:
            return error.message
        except NeedsNumbers as error:
            return str(error)
        normalized = _normalized(layers[-1])
        if shape is None or normalized is None or region != normalized.axes:
            return f"it takes other axes together than {self.kind.LAYER.type} does"
        return None

    def made(self, op: Layer) -> tuple[type[Layer], Sequence[SSAValue], Mapping[str, ParamValue]]:
        found, normalized = self._find(op), _normalized(op)
        if found is None or normalized is None:
            raise CompilerBug(f"{self.name} does not find what it found", "optimize")
        shape = shape_of(found[0]) or ()
        count = prod(shape[axis] for axis in normalized.axes)
        params = {"affine_size": count, "eps": normalized.eps, "affine": 0}
        return self.kind, [found[0]], params

    def _find(self, op: Layer) -> tuple[SSAValue, Match] | None:
        """The value that is normalized, and the layers that do it."""
        raise NotImplementedError(self.name)


@optimization(BinaryOpOp)
class FuseLayerNorm(FuseNorm):
    """d / sqrt(mean(d^2) + eps) = LayerNorm(x; eps) where d = x - mean(x)."""

    name = "fuse_layernorm"
    kind = LayerNormOp

    def _find(self, op: Layer) -> tuple[SSAValue, Match] | None:
        normalized = _normalized(op)
        if normalized is None:
            return None
        centred = _centred(normalized.value, normalized.axes)
        return None if centred is None else (centred[0], (*centred[1], *normalized.layers))


@optimization(BinaryOpOp)
class FuseRMSNorm(FuseNorm):
    """x / sqrt(mean(x^2) + eps) = RMSNorm(x; eps)."""

    name = "fuse_rmsnorm"
    kind = RMSNormOp

    def _find(self, op: Layer) -> tuple[SSAValue, Match] | None:
        normalized = _normalized(op)
        if normalized is None or _centred(normalized.value, normalized.axes) is not None:
            return None
        return normalized.value, normalized.layers


class FuseGain(LayerPattern):
    """norm(x) * g = norm(x; g), norm(x) + b = norm(x; b), the constants along the same axes."""

    exact = False

    def __init__(self, kind: type[InnerRegion], op_type: int, name: str) -> None:
        self.kind, self.op_type, self.name = kind, op_type, name

    def match(self, op: Layer) -> Match | None:
        if not isinstance(op, BinaryOpOp) or op.op_type != self.op_type:
            return None
        found = constant_operand(op)
        norm = None if found is None else found[1].owner
        if found is None or not isinstance(norm, self.kind) or not isinstance(norm, Layer):
            return None
        return (norm, found[0], op)

    def check(self, norm: InnerRegion, constant: MemoryDataOp, op: BinaryOpOp) -> str | None:
        if not is_private(norm.results[0]):
            return f"the result of {norm.layer_name} is read by others, too"
        shape = shape_of(norm.results[0])
        if shape is None:
            return "the shape of what is normalized is not known"
        region = norm.region(shape)
        if self._spread(constant.shape, shape, region) is None:
            return f"the constant {constant.shape} is not along the axes that are normalized"
        return None

    def rewrite(
        self, rewriter: PatternRewriter, norm: InnerRegion, constant: MemoryDataOp, op: BinaryOpOp
    ) -> None:
        shape = shape_of(norm.results[0]) or ()
        inner = self._spread(constant.shape, shape, norm.region(shape))
        if inner is None:
            raise CompilerBug(f"{self.name} is not legal", "optimize")
        held = double(constant.values).reshape(inner[0])
        values = np.broadcast_to(held, inner[1]).ravel()
        made: dict[str, Double] = {}
        for name, neutral in NEUTRAL.items():
            if name in norm.LAYER.weights:
                old = norm.properties.get(name)
                fresh = np.full(values.shape, neutral)
                made[name] = double(old) if isinstance(old, WeightAttr) else fresh
        if self.op_type == MUL:
            made = {name: array * values for name, array in made.items()}
        else:
            made["beta"] = made["beta"] + values
        weights = {name: WeightAttr.of(array) for name, array in made.items()}
        absorb(rewriter, norm, op, {"affine": 1, "affine_size": values.size}, weights)

    @staticmethod
    def _spread(constant: Shape, shape: Shape, region: Sequence[int]) -> tuple[Shape, Shape] | None:
        """The constant's shape along the region and the region's shape, if it fits there."""
        if len(constant) > len(shape):
            return None
        placed = aligned(constant, shape)
        outer = placed[: region[0]]
        inner, wanted = placed[region[0] :], shape[region[0] :]
        fits = all(n in (1, m) for n, m in zip(inner, wanted, strict=True))
        return (inner, wanted) if set(outer) <= {1} and fits else None


register(FuseGain(LayerNormOp, MUL, "fuse_layernorm_mul"), BinaryOpOp)
register(FuseGain(LayerNormOp, ADD, "fuse_layernorm_add"), BinaryOpOp)
register(FuseGain(RMSNormOp, MUL, "fuse_rmsnorm_mul"), BinaryOpOp)
