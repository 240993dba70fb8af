"""Normalizations that are layers once a batch, or a missing bias, is seen as something else."""

from __future__ import annotations

from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, composes, weight_of
from ncc.compiler.onnx.shapes import shape, without_batch
from ncc.dialects.ncnn.layer import Array, WeightAttr
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.normalization.normalization import InstanceNormOp, LayerNormOp
from ncc.dialects.onnx.normalization import InstanceNormalizationOp
from ncc.dialects.onnx.statistics import LayerNormalizationOp


def _arrays(values: tuple[SSAValue, ...]) -> list[Array] | None:
    """The arrays of constants; None if one is none."""
    found = [weight_of(value) for value in values]
    held = [one.array() for one in found if one is not None]
    return held if len(held) == len(values) else None


@composes(InstanceNormalizationOp)
def instance_norm(op: InstanceNormalizationOp, to: Conversion) -> SSAValue | None:
    """The channels of all samples, each as an image of one row."""
    extents, held = shape(op.operands[0]), _arrays(tuple(op.operands[1:]))
    if held is None:
        return None
    batch, channels, *sides = extents
    tiled = [WeightAttr.of(np.tile(one, batch)) for one in held]
    weights = dict(zip(("gamma", "beta"), tiled, strict=True))
    image = to.view(op.operands[0], (batch * channels, 1, prod(sides)))
    return to.layer(InstanceNormOp, [image], weights, channels=batch * channels, eps=op.epsilon)


@composes(LayerNormalizationOp)
def layer_norm(op: LayerNormalizationOp, to: Conversion) -> SSAValue | None:
    """The region as one axis; without a bias, with one of zeros."""
    extents, held = shape(op.operands[0]), _arrays(tuple(op.operands[1:]))
    region = op.region(extents)
    count = prod(extents[axis] for axis in region)
    inner = tuple(region) == tuple(range(len(extents) - len(region), len(extents)))
    if held is None or len(op.results) > 1 or not inner or any(one.size != count for one in held):
        return None
    gamma = held[0].reshape(-1)
    beta = held[1].reshape(-1) if len(held) > 1 else np.zeros_like(gamma)
    weights = {"gamma": WeightAttr.of(gamma), "beta": WeightAttr.of(beta)}
    outer = without_batch((*extents[: len(extents) - len(region)], count))
    blob = outer if len(outer) < MAX_RANK else (prod(outer[:-1]), count)
    rows = to.view(op.operands[0], blob)
    return to.layer(LayerNormOp, [rows], weights, affine_size=count, eps=op.epsilon)
