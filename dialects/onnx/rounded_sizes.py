"""Whole numbers that floats of sizes are rounded to, as expressions.

    Floor(Cast(h) * 0.5)      is h // 2
    Ceil(Cast(h) / 3.0)       is (h + 2) // 3

Such nodes stand in files for `interpolate(x, size=(int(h * 1.3), ...))`. Floats round, and so no
algebra is right for them: the nodes are computed for all extents up to `MOST_SCALED`, and an
expression is found that gives the same numbers (`scaling_to`). An extent is assumed to be no
larger.
"""

from __future__ import annotations

from fractions import Fraction
from math import prod

import numpy as np
from xdsl.ir import SSAValue

from ncc.dialects.element import dtype_of, element_of
from ncc.dialects.ncnn.axes import MOST_SCALED, scaling_to
from ncc.dialects.ncnn.layer import shape_of
from ncc.dialects.onnx.operator import Array, Operator, SizesOp, constant_of, objects
from ncc.dialects.size import NeedsNumbers, is_open

MOST_ELEMENTS = 16
"""Numbers that nodes are computed for: a shape has fewer."""


def rounded(op: Operator) -> Array | None:
    """The whole numbers that an operator of one operand rounds floats of sizes to. None where the
    operand is something else.
    """
    (operand,) = op.operands
    shape, sizes = shape_of(operand), _sizes(operand)
    if shape is None or sizes is None or is_open(*shape) or prod(shape) > MOST_ELEMENTS:
        return None
    own = sizes.array
    ones = (1,) * (len(shape) - own.ndim)
    extents = np.arange(1, MOST_SCALED + 1).reshape(-1, *(1 for _ in shape))
    at_all = np.broadcast_to(extents, (MOST_SCALED, *ones, *own.shape))
    floats = _computed(operand, sizes, at_all.astype(dtype_of(element_of(sizes.results[0]))))
    if not np.isfinite(floats).all():
        return None
    wanted = op.reference_all([floats])[0].astype(np.int64)
    first, last = _computed(operand, sizes, at_all[[0, -1]].astype(np.float64))
    shares = np.broadcast_to((last - first) / (MOST_SCALED - 1), shape)
    columns = np.broadcast_to(wanted, (MOST_SCALED, *shape)).reshape(MOST_SCALED, -1).T
    given = np.broadcast_to(own, shape)
    return objects(list(map(_rounded, given.flat, columns, shares.flat)), shape)


def _rounded(extent: int, wanted: Array, share: float) -> int:
    """The number among these for an extent, which grows by a share of it."""
    if not is_open(extent) and 0 < extent <= len(wanted):
        return int(wanted[extent - 1])
    scaling = scaling_to(wanted, Fraction(share))
    if extent < 1 or extent > scaling.last:
        raise NeedsNumbers(f"floats of {extent} are rounded")
    return scaling.of(extent)


def _sizes(value: SSAValue) -> SizesOp | None:
    """The only sizes that a value is computed from, element by element."""
    found: set[SizesOp] = set()
    todo, seen = [value], {value}
    while todo:
        owner = todo.pop().owner
        if isinstance(owner, SizesOp):
            found.add(owner)
        elif isinstance(owner, Operator) and owner.BY_ELEMENT:
            more = {one for one in owner.operands if constant_of(one) is None} - seen
            seen |= more
            todo.extend(more)
        else:
            return None
    return found.pop() if len(found) == 1 else None


def _computed(value: SSAValue, sizes: SizesOp, numbers: Array) -> Array:
    """The value for many numbers in place of the sizes, along an axis in front."""
    owner = value.owner
    if owner is sizes:
        return numbers
    constant = constant_of(value)
    if constant is not None:
        return constant
    assert isinstance(owner, Operator)
    return owner.reference_all([_computed(one, sizes, numbers) for one in owner.operands])[0]
