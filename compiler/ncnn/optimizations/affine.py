"""Layers that are factor * x + offset by constants: one pair for all, or one for each channel."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from xdsl.ir import SSAValue

from ncc.dialects.ncnn.canonicalize.ranks import rank_of
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp, aligned, broadcast
from ncc.dialects.ncnn.elementwise.per_channel import GIVEN, BatchNormOp, BiasOp, ScaleOp
from ncc.dialects.ncnn.elementwise.unary import PowerOp
from ncc.dialects.ncnn.layer import Layer, LayerError, Shape, WeightAttr, shape_of
from ncc.dialects.ncnn.plumbing import DropoutOp, MemoryDataOp

Double = NDArray[np.float64]

ADD, SUB, MUL, DIV, RSUB, RDIV = 0, 1, 2, 3, 7, 8
"""The op_types of BinaryOp that are affine in one of their operands."""

SWAPPED = {ADD: ADD, MUL: MUL, SUB: RSUB, RSUB: SUB, DIV: RDIV, RDIV: DIV}
"""f(a, b) = swapped(b, a)."""

BY_CONSTANT: Mapping[int, Callable[[Double], tuple[Double, Double]]] = {
    ADD: lambda c: (np.ones_like(c), c),
    SUB: lambda c: (np.ones_like(c), -c),
    RSUB: lambda c: (-np.ones_like(c), c),
    MUL: lambda c: (c, np.zeros_like(c)),
    DIV: lambda c: (1 / c, np.zeros_like(c)),
}
"""Factor and offset of f(x, c), by op_type."""


class Affine(NamedTuple):
    """factor * x + offset, in float64: two scalars, or two vectors along `axis` of x."""

    factor: Double
    offset: Double
    axis: int | None = None

    @property
    def refusal(self) -> str | None:
        """Why this cannot go into weights."""
        if np.isfinite(self.factor).all() and np.isfinite(self.offset).all():
            return None
        return "its factors and offsets are not all finite"

    def along(self, axis: int | None, channels: int) -> Affine | str:
        """As two vectors along an axis of so many channels, or why it is none."""
        if self.axis is None:
            shape = (channels,)
            return Affine(
                np.broadcast_to(self.factor, shape), np.broadcast_to(self.offset, shape), axis
            )
        if axis is None:
            return "along which axis the channels lie is not known"
        if self.axis != axis:
            return f"it works along axis {self.axis}, the channels lie along axis {axis}"
        if self.factor.size != channels:
            return f"there are {channels} channels, not {self.factor.size}"
        return self


def affine_of(op: Layer, x: SSAValue, channels: int | None) -> Affine | str:
    """A layer as an affine function of its operand x, or why it is none.

    channels: the extent of axis 0 of x where that is known without a shape.
    """
    with np.errstate(all="ignore"):
        match op:
            case BatchNormOp():
                return _of_batchnorm(op)
            case ScaleOp():
                return _of_scale(op)
            case BiasOp():
                return _of_bias(op, x)
            case DropoutOp():
                return Affine(np.float64(op.scale) * np.ones(()), np.zeros(()))
            case PowerOp():
                if op.power != 1.0:
                    return f"its power is {op.power:g}, not 1"
                return Affine(np.array(op.scale, np.float64), np.array(op.shift, np.float64))
            case BinaryOpOp():
                return _of_binary(op, x, channels)
    return f"{op.type_name} is not affine"


def constant_operand(op: BinaryOpOp) -> tuple[MemoryDataOp, SSAValue] | None:
    """The constant that a BinaryOp of two blobs reads and its other operand, which is none."""
    if len(op.operands) != 2:
        return None
    for constant, x in (op.operands[::-1], op.operands):
        owner = constant.owner
        if isinstance(owner, MemoryDataOp) and not isinstance(x.owner, MemoryDataOp):
            return owner, x
    return None


def double(weight: WeightAttr) -> Double:
    """The values of a weight in float64."""
    return weight.array().astype(np.float64)


def _of_batchnorm(op: BatchNormOp) -> Affine | str:
    if op.slope is None or op.mean is None or op.var is None or op.bias is None:
        return "its weights are missing"
    deviation = np.sqrt(op.var.array() + np.float32(op.eps))
    # As the layer has it: a deviation of 0 counts as 1e-4.
    safe = np.where(deviation == 0, np.float32(1e-4), deviation).astype(np.float64)
    factor = double(op.slope) / safe
    return Affine(factor, double(op.bias) - double(op.mean) * factor, 0)


def _of_scale(op: ScaleOp) -> Affine | str:
    if op.scale_data_size == GIVEN or op.scale is None:
        return "its scales are a second input"
    factor = double(op.scale)
    return Affine(factor, double(op.bias) if op.bias else np.zeros_like(factor), 0)


def _of_bias(op: BiasOp, x: SSAValue) -> Affine | str:
    if op.bias is None:
        return "its weights are missing"
    bias, rank = double(op.bias), rank_of(x)
    if rank is None:
        return "the rank of its input is not known"
    if rank > 2:
        return Affine(np.ones_like(bias), bias, 0)
    return Affine(np.ones(()), bias[0])


def _of_binary(op: BinaryOpOp, x: SSAValue, channels: int | None) -> Affine | str:
    """A constant is scalar, or along the one axis of x where it has more than one element."""
    kind = op.op_type
    if op.with_scalar:
        constant, axis = np.array(op.b, np.float64), None
    else:
        found = constant_operand(op)
        if found is None:
            return "it does not combine a value with a constant"
        memory, _ = found
        if memory.results[0] is op.operands[0]:
            kind = SWAPPED.get(kind, -1)
        place = _axis_of(memory.shape, x, channels)
        if isinstance(place, str):
            return place
        axis = None if place < 0 else place
        constant = double(memory.values).reshape(() if axis is None else -1)
    if kind not in BY_CONSTANT:
        return f"op_type {op.op_type} is not affine in its input"
    return Affine(*BY_CONSTANT[kind](constant), axis)


def _axis_of(constant: Shape, x: SSAValue, channels: int | None) -> int | str:
    """The axis of x along which a constant varies, -1 for none; or why that is not one axis."""
    shape, rank = shape_of(x), rank_of(x)
    if len(constant) > 1 and (rank is None or rank < len(constant)):
        return "the constant may have a higher rank than what it is combined with"
    if max(constant) == 1:
        return -1
    if shape is None:
        if constant[0] == channels and max(constant[1:], default=1) == 1:
            return 0
        return "the shape of what the constant is combined with is not known"
    try:
        result = broadcast(constant, shape)
    except LayerError as error:
        return error.message
    if result != shape:
        return f"the constant makes {result} of {shape}"
    axes = [axis for axis, extent in enumerate(aligned(constant, shape)) if extent > 1]
    return axes[0] if len(axes) == 1 else f"the constant varies along {len(axes)} axes"
