"""How often an operation uses each weight: work on weights pays if they are used often."""

from __future__ import annotations

from math import prod

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.target import Core
from ncc.dialects.size import hint


def is_large(weights: SSAValue, core: Core) -> bool:
    """Whether float32 weights exceed the first-level cache."""
    return 4 * prod(shape_of(weights)) > core.l1_bytes


def points_with(weights: TensorAccess, linalg_op: LinalgOp) -> int:
    """How often a linalg operation uses each element of an operand."""
    return prod(hint(n) for d, n in enumerate(linalg_op.extents) if not weights.uses(d))


def points_of(data: TensorAccess, linalg_op: LinalgOp) -> int:
    """How many elements of a result read different parts of an operand."""
    return prod(hint(linalg_op.extents[d]) for d in linalg_op.parallel if data.uses(d))


def positions_with(weights: SSAValue) -> int:
    """How many elements of an image use each weight, over all sums with these weights.

    An image that is computed in parts has the same number for any height of the parts.
    """
    products = 0
    for use in weights.uses:
        linalg_op = LinalgOp(use.operation) if isinstance(use.operation, GenericOp) else None
        pair = linalg_op.product if linalg_op is not None else None
        if linalg_op is not None and pair is not None and use.index == pair[1]:
            products += prod(linalg_op.extents)
    return products // prod(shape_of(weights))
