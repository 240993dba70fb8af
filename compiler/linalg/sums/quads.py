"""int8 contractions in groups of four products: the shape that dot-product instructions have.

    y[o, p, o'] += x[i, p, i'] * w[o, i, i', o']          i' < 16
        ->  y[o, p, o'] += x[i, p, 4 k + q] * w[o, i, k, o', q]         k < 4, q < 4

x is not touched: the four lie side by side there. Weights get another order, in the blob. A
`tails` of the split loop is dropped where the weights behind it are zeros that blocking put there:
0 times any int8 is 0.

So are a loop's last products where it is no whole fours, as the columns of a window over a plain
image: weights are filled up with zeros, and x gets cells behind its rows that these meet.

    y[o, p, q] += x[i, p, q + k] * w[o, i, k]          k < 3
        ->  y[o, p, q] += x[i, p, q + 4 k + l] * w[o, i, k, l]          k < 1, l < 4

Needs: the structured level before groups; constant weights.  Breaks: nothing; sums are exact.
"""

from __future__ import annotations

from dataclasses import dataclass

from xdsl.context import Context
from xdsl.dialects.builtin import AffineMapAttr, ArrayAttr, ModuleOp, TensorType, i8
from xdsl.dialects.linalg.ops import GenericOp
from xdsl.ir import SSAValue
from xdsl.ir.affine import AffineDimExpr
from xdsl.passes import ModulePass
from xdsl.rewriter import InsertPoint, Rewriter

from ncc.compiler.linalg.channels.block_size import BLOCK
from ncc.compiler.linalg.insert import erase_dead
from ncc.compiler.linalg.linear import indexing_map
from ncc.compiler.linalg.network import generics_of, network_of
from ncc.compiler.linalg.padding import padded
from ncc.compiler.linalg.view import TAILS, Access, View, tails_attribute
from ncc.dialects.comprehension import REDUCTION
from ncc.dialects.weights.derived import Blocked
from ncc.dialects.weights.weight import ConstantOp, WeightAttr

QUAD = 4
"""Products that one instruction adds to a lane."""


@dataclass(frozen=True)
class SplitQuads(ModulePass):
    """Split a reduced loop of every int8 contraction that allows it."""

    name = "split-quads"

    def apply(self, ctx: Context, op: ModuleOp) -> None:
        block = network_of(op).body.block
        made: dict[tuple[SSAValue, int], SSAValue] = {}
        for generic in generics_of(block):
            found = find(View(generic))
            if found is not None:
                _split(generic, found, made)
        erase_dead(block)


@dataclass(frozen=True)
class Split:
    """The loop to split, the operands of the data and the weights, and the weights' axis."""

    loop: int
    data: int
    weights: int
    axis: int


def find(view: View) -> Split | None:
    """The reduced loop whose neighbours lie side by side in the data, if there is one."""
    pair = view.product
    if pair is None or not view.reduced:
        return None
    data, weights = view.reads[pair[0]], view.reads[pair[1]]
    if not _is_int8(data.value) or not _is_int8(weights.value):
        return None
    if not isinstance(weights.value.owner, ConstantOp) or not _has_lanes(view, data, weights):
        return None
    found = [
        Split(loop, *pair, axes[0])
        for loop in view.reduced
        if len(axes := [k for k, form in enumerate(weights.index) if form.bare == loop]) == 1
        and _lie_side_by_side(view, loop, data)
        and _needs_no_tail(view, loop, weights.value)
    ]
    whole = [split for split in found if view.extents[split.loop] % QUAD == 0]
    several = [split for split in found if view.extents[split.loop] > 1]
    return next(iter([*whole, *several]), None)


def _has_lanes(view: View, data: Access, weights: Access) -> bool:
    """Whether results that lie side by side read the same data, whole vectors of them."""
    lane = view.write.index[-1].bare
    if lane is None or data.uses(lane) or not weights.uses(lane):
        return False
    return view.extents[lane] % BLOCK == 0


def _lie_side_by_side(view: View, loop: int, data: Access) -> bool:
    """Whether a loop does nothing but walk neighbours in the data, and weights."""
    moved = [form for access in view.reads for form in access.index if form.coefficient(loop)]
    return data.index[-1].coefficient(loop) == 1 and len(moved) == 2 and loop not in view.indexed


def _needs_no_tail(view: View, loop: int, weights: SSAValue) -> bool:
    """Whether the loop has no tail, or blocking made the weights behind it zeros."""
    limited = {d for outer, inner, _ in view.tails for d in (outer, inner)}
    constant = weights.owner
    blocked = isinstance(constant, ConstantOp) and isinstance(constant.value.data.source, Blocked)
    return loop not in limited or blocked


def _is_int8(value: SSAValue) -> bool:
    return isinstance(value.type, TensorType) and value.type.element_type == i8


def _split(op: GenericOp, found: Split, made: dict[tuple[SSAValue, int], SSAValue]) -> None:
    """Make two loops of one, the inner one over four neighbours; weights are blocked once."""
    maps = [m.data for m in op.indexing_maps.data]
    count = maps[0].num_dims
    quads, place = AffineDimExpr(found.loop), AffineDimExpr(count)
    loops = [AffineDimExpr(d) for d in range(count)]
    loops[found.loop] = quads * QUAD + place  # type: ignore[call-overload]
    changed: list[AffineMapAttr] = []
    for position, affine in enumerate(maps):
        if position == found.weights:
            results = (*affine.results, place)
        else:
            results = tuple(e.replace_dims_and_symbols(loops, []) for e in affine.results)
        changed.append(indexing_map(count + 1, results))
    weights = op.operands[found.weights]
    if (weights, found.axis) not in made:
        constant = weights.owner
        assert isinstance(constant, ConstantOp)
        in_fours = Blocked(constant.value.data, (found.axis,), QUAD).weights
        blocked = ConstantOp.of(WeightAttr(in_fours))
        Rewriter.insert_op(blocked, InsertPoint.before(constant))
        made[weights, found.axis] = blocked.result
    op.operands[found.weights] = made[weights, found.axis]
    op.properties["indexing_maps"] = ArrayAttr(changed)
    op.properties["iterator_types"] = ArrayAttr([*op.iterator_types.data, REDUCTION])
    view = View(op)
    reach = sum(by * (view.extents[d] - 1) for d, by in view.reads[found.data].index[-1].terms)
    op.operands[found.data] = padded(op.operands[found.data], reach + 1)
    kept = [tail for tail in View(op).tails if found.loop not in tail[:2]]
    op.attributes.pop(TAILS, None)
    if kept:
        op.attributes[TAILS] = tails_attribute(kept)
