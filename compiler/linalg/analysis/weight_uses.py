"""How often weights are used in a run, which decides whether to work on them pays."""

from __future__ import annotations

from math import prod

from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue

from ncc.compiler.linalg.analysis.linalg_op import LinalgOp, TensorAccess, shape_of
from ncc.compiler.target import Core


def is_large(weights: SSAValue, core: Core) -> bool:
    """Whether a first-level cache does not hold weights of float32."""
    return 4 * prod(shape_of(weights)) > core.l1_bytes


def points_with(weights: TensorAccess, linalg_op: LinalgOp) -> int:
    """At how many points a linalg operation uses each element of an operand."""
    return prod(n for d, n in enumerate(linalg_op.extents) if not weights.uses(d))


def points_of(data: TensorAccess, linalg_op: LinalgOp) -> int:
    """How many points of a result differ in what they read of an operand."""
    return prod(linalg_op.extents[d] for d in linalg_op.parallel if data.uses(d))


def positions_with(weights: SSAValue) -> int:
    """At how many points of an image sums with the same weights are taken, in all its parts.

    What is chosen by that is the same however high the parts are.
    """
    products = 0
    for use in weights.uses:
        linalg_op = LinalgOp(use.operation) if isinstance(use.operation, GenericOp) else None
        pair = linalg_op.product if linalg_op is not None else None
        if linalg_op is not None and pair is not None and use.index == pair[1]:
            products += prod(linalg_op.extents)
    return products // prod(shape_of(weights))
