"""Conversions of normalizations by statistics of a region."""

from __future__ import annotations

from math import prod

from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, converts, reshaped, weight_of
from ncc.compiler.onnx.shapes import shape, without_batch
from ncc.dialects.ncnn.layer import ParamValue, WeightAttr
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.ncnn.normalization.local_response import LRNOp as LRNLayer
from ncc.dialects.ncnn.normalization.normalization import (
    GroupNormOp,
    InstanceNormOp,
    LayerNormOp,
    RMSNormOp,
)
from ncc.dialects.onnx.normalization import InstanceNormalizationOp
from ncc.dialects.onnx.statistics import (
    GroupNormalizationOp,
    LayerNormalizationOp,
    LRNOp,
    RMSNormalizationOp,
)


def _weights(op: object, values: tuple[SSAValue, ...], count: int) -> list[WeightAttr] | None:
    """Constants of so many numbers each; None where one is none."""
    held = [weight_of(value) for value in values]
    found = [
        reshaped(one, (count,)) for one in held if one is not None and prod(one.shape) == count
    ]
    return found if len(found) == len(values) else None


@converts(LayerNormalizationOp, RMSNormalizationOp)
def inner_region(op: LayerNormalizationOp | RMSNormalizationOp, to: Conversion) -> SSAValue | None:
    """The innermost axes of one blob, with a scale, and of LayerNorm a bias, that are constants."""
    extents = shape(op.operands[0])
    blob, region = without_batch(extents), op.region(extents)
    count = prod(extents[axis] for axis in region)
    is_layer_norm = isinstance(op, LayerNormalizationOp)
    weights = _weights(op, tuple(op.operands[1:]), count)
    if weights is None or len(op.results) > 1 or len(blob) > MAX_RANK or len(region) > len(blob):
        return None
    if is_layer_norm and len(weights) < 2:
        return None
    params: dict[str, ParamValue] = {"affine_size": count, "eps": op.epsilon}
    held = dict(zip(("gamma", "beta"), weights, strict=False))
    layer = LayerNormOp if is_layer_norm else RMSNormOp
    made = layer.make([], params, held)
    wanted = tuple(range(len(blob) - len(region), len(blob)))
    if made.region(blob) != wanted:
        return None  # ncnn would take others of this size
    return to.layer(layer, [to.blob(op.operands[0])], held, **params)


@converts(GroupNormalizationOp)
def group_norm(op: GroupNormalizationOp, to: Conversion) -> SSAValue | None:
    """Groups of channels of one image."""
    extents = shape(op.operands[0])
    weights = _weights(op, tuple(op.operands[1:]), extents[1])
    if weights is None or extents[0] != 1 or not 2 <= len(extents) <= MAX_RANK + 1:
        return None
    params: dict[str, ParamValue] = {"group": op.groups(extents), "channels": extents[1]}
    held = dict(zip(("gamma", "beta"), weights, strict=True))
    blob = to.view(op.operands[0], extents[1:])
    return to.layer(GroupNormOp, [blob], held, **params, eps=op.epsilon)


@converts(InstanceNormalizationOp)
def instance_norm(op: InstanceNormalizationOp, to: Conversion) -> SSAValue | None:
    """The channels of one image, of two axes of space: ncnn has no others."""
    extents = shape(op.operands[0])
    weights = _weights(op, tuple(op.operands[1:]), extents[1])
    if weights is None or extents[0] != 1 or len(extents) != 4:
        return None
    held, blob = dict(zip(("gamma", "beta"), weights, strict=True)), to.blob(op.operands[0])
    return to.layer(InstanceNormOp, [blob], held, channels=extents[1], eps=op.epsilon)


@converts(LRNOp)
def local_response(op: LRNOp, to: Conversion) -> SSAValue | None:
    """Over channels of one image, as many before as behind."""
    extents = shape(op.operands[0])
    low, high = op.around()
    if extents[0] != 1 or len(extents) != 4 or low != high:
        return None
    numbers = {"alpha": op.alpha, "beta": op.beta, "bias": op.bias}
    blob, size = to.blob(op.operands[0]), low + high + 1
    return to.layer(LRNLayer, [blob], region_type=0, local_size=size, **numbers)
