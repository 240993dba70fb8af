"""Conversions of operators that compute element by element."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

from xdsl.ir import SSAValue

from ncc.compiler.onnx.conversion import Conversion, converts, number_of, reshaped, weight_of
from ncc.compiler.onnx.shapes import shape, without_batch
from ncc.dialects.ncnn.elementwise.activation_layers import (
    CELUOp,
    ELUOp,
    GELUOp,
    ReLUOp,
    SELUOp,
    SigmoidOp,
    TanHOp,
)
from ncc.dialects.ncnn.elementwise.activation_layers import ClipOp as ClipLayer
from ncc.dialects.ncnn.elementwise.activation_layers import HardSigmoidOp as HardSigmoidLayer
from ncc.dialects.ncnn.elementwise.activation_layers import HardSwishOp as HardSwishLayer
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.per_channel import PReLUOp as PReLULayer
from ncc.dialects.ncnn.elementwise.unary import ErfOp, UnaryOpOp
from ncc.dialects.ncnn.layer import Layer, ParamValue, Shape
from ncc.dialects.ncnn.movement.reshape import MAX_RANK
from ncc.dialects.onnx import activations, binary, unary
from ncc.dialects.onnx.operator import Operator

UNARY: Mapping[type[Operator], int] = {
    unary.AbsOp: 0,
    unary.NegOp: 1,
    unary.FloorOp: 2,
    unary.CeilOp: 3,
    unary.SqrtOp: 5,
    unary.ExpOp: 7,
    unary.LogOp: 8,
    unary.SinOp: 9,
    unary.CosOp: 10,
    unary.TanOp: 11,
    unary.AsinOp: 12,
    unary.AcosOp: 13,
    unary.AtanOp: 14,
    unary.ReciprocalOp: 15,
    unary.RoundOp: 18,
}
"""The op_type of UnaryOp."""

BINARY: Mapping[type[Operator], tuple[int, int]] = {
    binary.AddOp: (0, 0),
    binary.SubOp: (1, 7),
    binary.MulOp: (2, 2),
    binary.DivOp: (3, 8),
    binary.PowOp: (6, 9),
}
"""The op_type of BinaryOp, and the one with the operands swapped."""


@converts(*BINARY)
def two_operands(op: Operator, to: Conversion) -> SSAValue | None:
    """Two operands that are broadcast: both with all axes of the result, or one a number."""
    result, (x, y) = shape(op.results[0]), op.operands
    kind, swapped = BINARY[type(op)]
    for one, other, way in ((x, y, kind), (y, x, swapped)):
        number = number_of(other)
        if number is not None and shape(one) == result:
            blob = to.blob(one)
            if len(shape(blob)) > MAX_RANK:
                return None
            return to.layer(BinaryOpOp, [blob], op_type=way, with_scalar=1, b=number)
    extents = _together(shape(x), shape(y))
    if len(extents[0]) > MAX_RANK:
        return None
    operands = [to.view(value, wanted) for value, wanted in zip((x, y), extents, strict=True)]
    return to.layer(BinaryOpOp, operands, op_type=kind)


def _together(x: Shape, y: Shape) -> tuple[Shape, Shape]:
    """Two shapes with as many axes, without those in front that are 1 in both."""
    rank = max(len(x), len(y), 1)
    x, y = (1,) * (rank - len(x)) + x, (1,) * (rank - len(y)) + y
    while len(x) > 1 and x[0] == y[0] == 1:
        x, y = x[1:], y[1:]
    return x, y


@converts(activations.ClipOp)
def clip(op: activations.ClipOp, to: Conversion) -> SSAValue | None:
    """Limits that are constants."""
    limits: dict[str, ParamValue] = {}
    for place, name in ((1, "min"), (2, "max")):
        held = op.operand_at(place)
        if held is not None:
            number = number_of(held)
            if number is None:
                return None
            limits[name] = number
    return _each(op, to, ClipLayer, **limits)


LAYERS: Mapping[type[Operator], tuple[type[Layer], Callable[[Any], dict[str, ParamValue]]]] = {
    **{cls: (UnaryOpOp, lambda op: {"op_type": UNARY[type(op)]}) for cls in UNARY},
    activations.ReluOp: (ReLUOp, lambda op: {}),
    activations.SigmoidOp: (SigmoidOp, lambda op: {}),
    unary.ErfOp: (ErfOp, lambda op: {}),
    unary.TanhOp: (TanHOp, lambda op: {}),
    activations.ClipV6Op: (ClipLayer, lambda op: {"min": op.min, "max": op.max}),
    activations.HardSwishOp: (HardSwishLayer, lambda op: {"alpha": 1 / 6, "beta": 0.5}),
    activations.LeakyReluOp: (ReLUOp, lambda op: {"slope": op.alpha}),
    activations.EluOp: (ELUOp, lambda op: {"alpha": op.alpha}),
    activations.CeluOp: (CELUOp, lambda op: {"alpha": op.alpha}),
    activations.SeluOp: (SELUOp, lambda op: {"alpha": op.alpha, "lambd": op.gamma}),
    activations.GeluOp: (GELUOp, lambda op: {"fast_gelu": int(op.approximate == "tanh")}),
}
"""The layer of an operator of one operand, and the params that its attributes are."""


@converts(*LAYERS)
def one_operand(op: Operator, to: Conversion) -> SSAValue | None:
    """One operand, each element by itself: any axes will do."""
    layer, params = LAYERS[type(op)]
    return _each(op, to, layer, **params(op))


@converts(activations.HardSigmoidOp)
def hard_sigmoid(op: activations.HardSigmoidOp, to: Conversion) -> SSAValue | None:
    """Of a positive slope."""
    if op.alpha <= 0:
        return None
    return _each(op, to, HardSigmoidLayer, alpha=op.alpha, beta=op.beta)


@converts(activations.PReluOp)
def prelu(op: activations.PReluOp, to: Conversion) -> SSAValue | None:
    """A slope for each channel of one image, or one for all."""
    x, slope = op.operands[0], weight_of(op.operands[1])
    blob = without_batch(shape(x))
    if slope is None or len(blob) > MAX_RANK or prod(slope.shape) not in (1, blob[0]):
        return None
    channels = (1,) * (len(shape(x)) - len(slope.shape)) + slope.shape
    if prod(slope.shape) > 1 and channels[-len(blob)] != blob[0]:
        return None
    weights = {"slope": reshaped(slope, (prod(slope.shape),))}
    return to.layer(PReLULayer, [to.blob(x)], weights, num_slope=prod(slope.shape))


def _each(op: Operator, to: Conversion, cls: type[Layer], **params: ParamValue) -> SSAValue | None:
    x = to.blob(op.operands[0])
    return None if len(shape(x)) > MAX_RANK else to.layer(cls, [x], **params)
