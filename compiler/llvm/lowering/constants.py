"""Numbers that operations of the loops level are known to read."""

from __future__ import annotations

from math import nan

from xdsl.dialects import arith, vector
from xdsl.dialects.builtin import DenseIntOrFPElementsAttr, FloatAttr
from xdsl.ir import SSAValue


def number_of(value: SSAValue) -> float:
    """The number that a float is in every lane; NaN for any other value."""
    owner = value.owner
    if type(owner) is vector.BroadcastOp:
        return number_of(owner.source)
    held = owner.value if type(owner) is arith.ConstantOp else None
    if isinstance(held, FloatAttr):
        return float(held.value.data)
    if isinstance(held, DenseIntOrFPElementsAttr) and held.is_splat():
        return float(held.get_values()[0])
    return nan
