"""Random nodes that compute element by element."""

from __future__ import annotations

from typing import Any

import numpy as np
from onnx import TensorProto

from ncc.runtime.results import Array
from tests.onnx.random_nodes.growth import Growth, Rejected, Value

SMOOTH = [
    *("Sigmoid", "Tanh", "Erf", "Softplus", "Softsign", "Elu", "Selu", "HardSigmoid", "Sin", "Cos"),
    *("LeakyRelu", "HardSwish", "Gelu", "Mish", "Celu", "Atan", "Identity", "Dropout"),
]
EXACT = ["Relu", "Abs", "Neg"]
WITH_ALPHA = ["LeakyRelu", "Elu", "HardSigmoid", "Celu", "ThresholdedRelu"]
JUMPING = ["Floor", "Ceil", "Round", "Sign", "ThresholdedRelu"]


def unary(g: Growth) -> None:
    kind = g.pick([*SMOOTH, *EXACT, *JUMPING])
    x = g.some(lambda v: v.is_real and (v.exact or kind not in JUMPING))
    attributes: dict[str, Any] = {}
    if kind in WITH_ALPHA and g.chance(0.4):
        attributes["alpha"] = g.pick([0.5, 1.0, 1.25])
    g.node(kind, [x], exact=kind in (*EXACT, *JUMPING, "Identity"), **attributes)


def positive(g: Growth) -> None:
    """Functions of positive numbers."""
    (x,) = g.node("Abs", [g.real()], exact=True)
    (x,) = g.node("Add", [x, g.constant(g.pick([0.5, 1, 2]), np.float32)], exact=True)
    kind = g.pick(["Log", "Sqrt", "Reciprocal", "Pow", "Div"])
    if kind in ("Pow", "Div"):
        other = (
            other_for(g, x) if kind == "Div" else g.constant(g.pick([0.5, 2, -1, 3]), np.float32)
        )
        g.node(kind, [x, other] if kind == "Pow" else [other, x])
    else:
        g.node(kind, [x])


def exponential(g: Growth) -> None:
    x = g.real()
    if max(float(array.max()) for array in x.arrays) > 5:
        raise Rejected
    g.node("Exp", [x])


def other_for(g: Growth, x: Value, dtype: object = np.float32) -> Value:
    """A value that may be broadcast with another one."""
    if g.chance(0.4):
        return g.some(lambda v: v.dtype == dtype)
    shape = [
        extent if x.is_fixed(axis) and g.chance(0.6) else 1 for axis, extent in enumerate(x.shape)
    ]
    return g.constant(g.numbers(shape[g.number(0, x.rank) :], dtype))


def binary(g: Growth) -> None:
    kind = g.pick(["Add", "Sub", "Mul", "Max", "Min", "Sum", "Mean", "Div", "PRelu"])
    x = g.real()
    other = other_for(g, x)
    if kind == "Div":
        other = g.constant(np.where(np.abs(g.numbers(())) < 0.5, 2, 0.75), np.float32)
    if kind == "PRelu" and any(map(_is_smaller, x.arrays, other.arrays)):
        raise Rejected
    pair = [x, other] if g.chance(0.6) or kind in ("PRelu", "Div") else [other, x]
    if kind in ("Max", "Min", "Sum", "Mean") and g.chance(0.3):
        pair = [*pair, other_for(g, x)][: g.pick([1, 3])]
    g.node(kind, pair, exact=kind in ("Add", "Sub", "Mul", "Max", "Min", "Sum"))


def _is_smaller(x: Array, other: Array) -> bool:
    """Whether a value becomes larger where it meets another one."""
    try:
        return bool(np.broadcast_shapes(x.shape, other.shape) != x.shape)
    except ValueError:
        return True


def clip(g: Growth) -> None:
    least, most = (
        g.constant(value, np.float32) if g.chance(0.7) else None
        for value in (-0.5, g.pick([0.25, 6]))
    )
    g.node("Clip", [g.real(), least, most], exact=True)


def select(g: Growth) -> None:
    """A comparison, and a choice by it."""
    x = g.some(lambda v: v.exact and v.dtype.kind in "fiu")
    compared = g.pick(["Greater", "Less", "GreaterOrEqual", "LessOrEqual", "Equal"])
    (mask,) = g.node(compared, [x, other_for(g, x, x.dtype)], exact=True)
    if g.chance(0.3):
        other = g.some(lambda v: v.dtype == np.bool_)
        (mask,) = g.node(g.pick(["And", "Or", "Xor"]), [mask, other], exact=True)
    if g.chance(0.2):
        (mask,) = g.node("Not", [mask], exact=True)
    value = g.real()
    g.node(
        "Where",
        [mask, *g.pick([(value, other_for(g, value)), (other_for(g, value), value)])],
        exact=True,
    )


def cast(g: Growth) -> None:
    to = g.pick(["FLOAT", "INT64", "INT32", "UINT8", "INT8", "BOOL", "FLOAT16", "DOUBLE"])
    x = g.some(lambda v: v.exact)
    if to == "UINT8":
        (x,) = g.node("Abs", [g.some(lambda v: v.exact and v.dtype.kind in "fi")], exact=True)
    (y,) = g.node("Cast", [x], exact=True, to=getattr(TensorProto, to))
    if to in ("FLOAT16", "DOUBLE"):
        (y,) = g.node(g.pick(["Add", "Mul", "Max"]), [y, y], exact=True)
        g.node("Cast", [y], exact=True, to=TensorProto.FLOAT)


def whole(g: Growth) -> None:
    """Arithmetic of integers."""
    kind = g.pick(
        ["Add", "Sub", "Mul", "Div", "Mod", "Max", "Min", "Abs", "Neg", "Sign", "Relu", "Clip"]
    )
    x = g.some(lambda v: v.is_whole and v.exact)
    if kind in ("Abs", "Neg", "Sign", "Relu"):
        g.node(kind, [x], exact=True)
    elif kind in ("Div", "Mod"):
        by = g.constant(g.pick([2, 3, -2] if x.dtype.kind == "i" else [2, 3]), x.dtype)
        signed: dict[str, Any] = {"fmod": 1} if kind == "Mod" and g.chance(0.3) else {}
        g.node(kind, [x, by], exact=True, **signed)
    elif kind == "Clip":
        g.node(kind, [x, g.constant(1, x.dtype), g.constant(4, x.dtype)], exact=True)
    else:
        g.node(kind, [x, other_for(g, x, x.dtype)], exact=True)


GROWING = [unary, unary, positive, exponential, binary, binary, binary, clip, select, cast, whole]
