"""Arithmetic by neutral elements."""

from __future__ import annotations

from math import inf

import numpy as np

from ncc.dialects.ncnn.canonicalize.identities import Identity
from ncc.dialects.ncnn.canonicalize.pattern import canonical
from ncc.dialects.ncnn.elementwise.activation_layers import ClipOp, ReLUOp
from ncc.dialects.ncnn.elementwise.arithmetic import BinaryOpOp
from ncc.dialects.ncnn.elementwise.per_channel import PReLUOp, ScaleOp
from ncc.dialects.ncnn.elementwise.unary import PowerOp
from ncc.dialects.ncnn.layer import WeightAttr

NEUTRAL = {0: 0.0, 1: 0.0, 2: 1.0, 3: 1.0, 6: 1.0}
"""v where f(x, v) = x, by op_type of BinaryOp: add, sub, mul, div, pow."""


@canonical(BinaryOpOp)
class EliminateBinaryOp(Identity):
    """x + 0 = x - 0 = x * 1 = x / 1 = x ** 1 = x, the number a param. (-0 + 0 is 0.)"""

    name = "eliminate_binaryop"
    exact = False

    def refuse(self, op: BinaryOpOp) -> str | None:
        if not op.with_scalar:
            return "it has two inputs"
        if op.op_type not in NEUTRAL:
            return f"op_type {op.op_type} has no neutral element"
        if op.b != NEUTRAL[op.op_type]:
            return f"its number is {op.b:g}, not {NEUTRAL[op.op_type]:g}"
        return None


@canonical(ScaleOp)
class EliminateScale(Identity):
    """Scale(x; 1, 1, ...; 0, 0, ...) = x. (-0 + 0 is 0.)"""

    name = "eliminate_scale"
    exact = False

    def refuse(self, op: ScaleOp) -> str | None:
        if op.scale is None:
            return "its scales are a second input"
        if not _all(op.scale, 1.0):
            return "its scales are not all 1"
        if op.bias is not None and not _all(op.bias, 0.0):
            return "its biases are not all 0"
        return None


@canonical(PowerOp)
class EliminatePower(Identity):
    """(0 + 1 x) ** 1 = x. (-0 + 0 is 0.)"""

    name = "eliminate_power"
    exact = False

    def refuse(self, op: PowerOp) -> str | None:
        if (op.power, op.scale, op.shift) != (1.0, 1.0, 0.0):
            return f"it is ({op.shift:g} + {op.scale:g} x) ** {op.power:g}"
        return None


@canonical(ReLUOp)
class EliminateReLU(Identity):
    """ReLU(x; 1) = x."""

    name = "eliminate_relu"

    def refuse(self, op: ReLUOp) -> str | None:
        return f"its slope is {op.slope:g}, not 1" if op.slope != 1.0 else None


@canonical(PReLUOp)
class EliminatePReLU(Identity):
    """PReLU(x; 1, 1, ...) = x."""

    name = "eliminate_prelu"

    def refuse(self, op: PReLUOp) -> str | None:
        if op.slope is None or not _all(op.slope, 1.0):
            return "its slopes are not all 1"
        return None


@canonical(ClipOp)
class EliminateClip(Identity):
    """Clip(x, -inf, inf) = x. Limits of FLT_MAX are limits: infinity becomes FLT_MAX."""

    name = "eliminate_clip"

    def refuse(self, op: ClipOp) -> str | None:
        if (op.min, op.max) != (-inf, inf):
            return f"its limits are {op.min:g} and {op.max:g}"
        return None


def _all(weight: WeightAttr, value: float) -> bool:
    return bool(np.all(weight.array() == np.float32(value)))
